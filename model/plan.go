package model

import (
	"errors"
	"fmt"
	"slices"

	"gorun/compute"
	"gorun/gguf"
	"gorun/internal/units"
	"gorun/kvtier"
	"gorun/pager"
	"gorun/tensor"
)

// Plan is the memory that a model needs, before any of it is allocated.
type Plan struct {
	Spec     *Spec
	Options  Options // with defaults filled in
	Geometry kvtier.Geometry
	Items    []Item

	weights *weights
	mapped  bool
	sizes   kvtier.Sizes
	paging  *pager.Layout // nil: all weights are resident
}

// Item is one line of a plan.
type Item struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	Detail string `json:"detail"`
}

// Bytes is the sum of all items.
func (p *Plan) Bytes() int64 {
	var n int64
	for _, item := range p.Items {
		n += item.Bytes
	}
	return n
}

// Mapped reports whether the weights stay in the mapped file.
func (p *Plan) Mapped() bool { return p.mapped }

// NewPlan plans to run the model of a file.
func NewPlan(f *gguf.File, o Options) (*Plan, error) {
	anyKV := o.KV == nil
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	spec, err := Describe(f, o.Context)
	if err != nil {
		return nil, err
	}
	if anyKV && spec.Bidirectional { // nothing is kept beyond a pass
		o.KV = &KVTypes{tensor.F32, tensor.F32}
	}
	fit := o.Context == 0
	if fit {
		o.Context = spec.TrainedContext
	}
	if o.Context <= 0 {
		return nil, fmt.Errorf("the file does not say for which context the model was trained: give one")
	}
	if spec.Positions > 0 && o.Context > spec.Positions {
		return nil, fmt.Errorf("a context of %d tokens: the model has learned positions for %d", o.Context, spec.Positions)
	}
	w, err := bind(spec, f)
	if err != nil {
		return nil, err
	}
	geo, err := o.geometry(spec)
	if err != nil {
		return nil, err
	}
	p := &Plan{Spec: spec, Options: o, Geometry: geo, weights: w}
	switch o.Weights {
	case ResidentMapped:
		p.mapped = true
	case ResidentAuto, Resident:
		p.mapped = pager.CanMap(f, o.mapper())
	}
	if o.Weights != ResidentPaged {
		if err := p.shrink(fit, func() bool { return p.Bytes() <= o.Memory }); err != nil {
			return nil, err
		}
		if o.Weights != ResidentAuto || o.Memory == 0 || p.Bytes() <= o.Memory {
			if o.VerifyWeights {
				return nil, errors.New("weights are verified as their pages are read: that needs paged weights, and these are resident")
			}
			return p, nil
		}
	}
	p.Options = o
	// The more the rest takes, the more of the weights is read for each token.
	if err := p.shrink(fit, func() bool { return p.besideWeights() <= o.Memory/4 }); err != nil {
		return nil, err
	}
	return p, p.page()
}

// shrink plans with less and less context, if it may choose that, until the
// rest fits.
func (p *Plan) shrink(may bool, fits func() bool) error {
	for {
		if err := p.itemize(); err != nil {
			return err
		}
		if !may || p.Options.Memory == 0 || fits() || p.Options.Context <= smallestContext {
			return nil
		}
		p.Options.Context = max(smallestContext, p.Options.Context/2)
	}
}

// smallestContext is the least that a plan shrinks the context to by itself.
const smallestContext = 512

// Check is ErrMemory if the plan needs more memory than it may take.
func (p *Plan) Check() error {
	if limit := p.Options.Memory; limit > 0 && p.Bytes() > limit {
		return fmt.Errorf("%w: it needs %v and may take %v", ErrMemory, units.Size(p.Bytes()), units.Size(limit))
	}
	return nil
}

// ErrMemory is returned when a plan does not fit.
var ErrMemory = errors.New("the model does not fit")

// hostMapper stands for the CPU device before there is one.
type hostMapper struct {
	compute.Device
	compute.HostMapper
}

func (p *Plan) itemize() (err error) {
	p.Options.Batch = min(p.Options.Batch, p.Options.Context)
	if p.Spec.Bidirectional {
		p.Options.Batch = p.Options.Context
	}
	o := p.Options
	if p.sizes, err = p.Geometry.Sizes(o.Context, o.Batch, o.Sequences, p.tiers()); err != nil {
		return err
	}
	weights, where := pager.LoadBytes(&p.weights.catalog), fmt.Sprintf("%d matrices, in memory", len(p.weights.catalog.Matrices()))
	if p.mapped {
		weights, where = p.weights.catalog.Bytes(), fmt.Sprintf("%d matrices, mapped from the file", len(p.weights.catalog.Matrices()))
	}
	if p.paging != nil {
		weights, where = p.paging.TotalBytes(), p.pagingDetail()
	}
	_, activations := layout(p.Spec, o.Batch)
	p.Items = []Item{
		{"weights", weights, where},
		{"vectors", p.weights.vectorBytes(), fmt.Sprintf("%d norms, biases and tables as f32", len(p.weights.vectors))},
		{"activations", activations, fmt.Sprintf("batches of %d tokens", o.Batch)},
		{"workspace", o.workspace(p.work()), "scratch of the kernels"},
	}
	p.Items = slices.Insert(p.Items, 2, p.kvItems(p.sizes)...)
	return nil
}

// work bounds the operations of the forward pass.
func (p *Plan) work() compute.Work {
	w := compute.Work{Rows: p.Options.Batch, Context: p.Options.Context}
	for _, l := range p.Spec.Layers {
		w.Accumulator = max(w.Accumulator, l.Attention.accumulatorCols())
	}
	for _, page := range p.weights.catalog.Pages() {
		w.Cols = max(w.Cols, page.Cols)
	}
	return w
}

// Shapes is what each layer remembers of a sequence.
func (s *Spec) Shapes() []kvtier.Shape {
	shapes := make([]kvtier.Shape, len(s.Layers))
	for i, l := range s.Layers {
		if l.Delta.ValueHeads > 0 {
			shapes[i] = kvtier.Shape{State: l.Delta.stateBytes()}
			continue
		}
		if l.Conv.Kernel > 0 {
			shapes[i] = kvtier.Shape{State: l.Conv.stateBytes(s.Width)}
			continue
		}
		a := l.Attention
		if a.KVBack > 0 {
			continue // the layer holds nothing of its own
		}
		shapes[i] = kvtier.Shape{Heads: a.KVHeads, KDim: a.KDim, VDim: a.VDim, VInK: a.Latent.Rank > 0, Window: a.Window}
	}
	return shapes
}
