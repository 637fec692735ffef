package model

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"gorun/compute"
	"gorun/gguf"
	"gorun/kvtier"
	"gorun/kvtier/store"
	"gorun/model/tokenizer"
	"gorun/pager"
)

// Model is a model that is ready to run.
type Model struct {
	file    *gguf.File
	plan    *Plan
	pages   pager.Residency
	pool    *kvtier.Pool
	store   *store.Store // nil without a cold tier
	decoder *Decoder
	device  compute.Device
	text    func() (*tokenizer.Tokenizer, error)
	close   []func() error
}

// Open opens the model file at path, or the split set that it belongs to.
func Open(ctx context.Context, path string, o Options) (*Model, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	m, err := New(ctx, f, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	m.close = append([]func() error{f.Close}, m.close...)
	return m, nil
}

// New makes a model of an open file, which must stay open until the model is
// closed.
func New(ctx context.Context, f *gguf.File, o Options) (*Model, error) {
	plan, err := NewPlan(f, o)
	if err != nil {
		return nil, err
	}
	return plan.Load(ctx, f)
}

// Load allocates what the plan says and reads the weights of the file that it
// was made for.
func (p *Plan) Load(ctx context.Context, f *gguf.File) (*Model, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	m := &Model{file: f, plan: p}
	m.text = sync.OnceValues(func() (*tokenizer.Tokenizer, error) { return tokenizer.New(f.Metadata()) })
	if err := m.load(ctx); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

func (m *Model) load(ctx context.Context) (err error) {
	p, dev := m.plan, m.plan.Options.Device
	cold := m.openCold()
	m.close = append(m.close, cold.close)
	if dev == nil {
		if dev, err = p.Options.newCPU(); err != nil {
			return err
		}
		m.close = append(m.close, dev.Close)
	}
	m.device = dev
	w := p.weights
	trace, err := p.openTrace(m.file)
	if err != nil {
		return err
	}
	m.close = append(m.close, trace.Close)
	stream, err := dev.NewStream(p.work())
	if err != nil {
		return fmt.Errorf("workspace: %w", err)
	}
	if m.pages, err = p.openPages(ctx, m.file, dev, stream, trace); err != nil {
		return errors.Join(err, stream.Close())
	}
	m.close = append(m.close, m.pages.Close, stream.Close)
	vectors, err := dev.NewBuffer(w.vectorBytes())
	if err != nil {
		return fmt.Errorf("vectors: %w", err)
	}
	m.close = append(m.close, vectors.Free)
	if err := w.loadVectors(m.file, stream, vectors); err != nil {
		return err
	}
	sc, err := newScratch(dev, p.Spec, p.Options.Batch)
	if err != nil {
		return err
	}
	m.close = append(m.close, sc.free)
	if m.pool, err = m.newPool(stream, trace, cold); err != nil {
		return err
	}
	m.close = append(m.close, m.pool.Close)
	if err := m.compare(dev, vectors, sc.buf); err != nil {
		return err
	}
	m.decoder, err = newDecoder(p, m.file, m.pages, stream, m.pool, sc)
	return err
}

// compare holds the plan against what has been allocated.
func (m *Model) compare(dev compute.Device, vectors, scratch compute.Buffer) error {
	real := map[string]int64{
		"vectors": vectors.Bytes(), "activations": scratch.Bytes(), "workspace": dev.Workspace(m.plan.work()),
	}
	for _, item := range m.plan.kvItems(m.pool.Sizes()) {
		real[item.Name] = item.Bytes
	}
	if n := m.pool.Capacity(); n != real["kv"]+real["kv windows"]+real["state"] {
		return fmt.Errorf("kv: planned %d bytes, allocated %d: this is a bug in gorun", real["kv"]+real["kv windows"]+real["state"], n)
	}
	if !m.plan.mapped {
		real["weights"] = m.pages.Bytes()
	}
	for _, item := range m.plan.Items {
		if n, ok := real[item.Name]; ok && n != item.Bytes {
			return fmt.Errorf("%s: planned %d bytes, allocated %d: this is a bug in gorun", item.Name, item.Bytes, n)
		}
	}
	return nil
}

func newDecoder(p *Plan, f *gguf.File, pages pager.Residency, stream compute.Stream, pool *kvtier.Pool, sc *scratch) (*Decoder, error) {
	d := &Decoder{
		spec: p.Spec, weights: p.weights, pages: pages, stream: stream, scratch: sc,
		pool: pool, batch: p.Options.Batch,
	}
	if sc.host == nil {
		d.host = make([]float32, sc.logits.Rows*max(p.Spec.Vocab, p.Spec.Width))
	}
	for i, l := range p.Spec.Layers {
		if kvOf := i - l.Attention.KVBack; p.Geometry.Layers[kvOf].Holds() && l.Attention.Heads > 0 {
			d.attends = append(d.attends, kvOf)
		}
	}
	for _, r := range p.Spec.Ropes {
		var factors []float32
		if r.Factors != "" {
			t, _ := f.Tensor(r.Factors)
			var err error
			if factors, err = readFloats(f, t); err != nil {
				return nil, err
			}
		}
		magnitude := r.Scaling.Magnitude
		if magnitude == 0 {
			magnitude = 1
		}
		d.ropes = append(d.ropes, ropeTable{r.frequencies(factors), magnitude, make([]float32, p.Options.Batch*r.Dims)})
	}
	return d, nil
}

// File is the model's file.
func (m *Model) File() *gguf.File { return m.file }

// Plan is the plan that the model was loaded by.
func (m *Model) Plan() *Plan { return m.plan }

// Spec describes the model.
func (m *Model) Spec() *Spec { return m.plan.Spec }

// Numerics names the kernels that compute: the same name gives the same bits.
func (m *Model) Numerics() string { return m.device.Numerics() }

// Tokenizer is the model's tokenizer, made when it is first asked for: files
// without a vocabulary run as well.
func (m *Model) Tokenizer() (*tokenizer.Tokenizer, error) { return m.text() }

// NewSequence makes an empty sequence in the model's KV cache.
func (m *Model) NewSequence() *kvtier.Sequence { return m.pool.NewSequence() }

// Forward extends sequences by tokens; see Decoder.Forward. It also holds
// sequences to the planned context.
func (m *Model) Forward(ctx context.Context, runs []Run, emit Emit) error {
	for _, run := range runs {
		if n := run.Seq.Len() + len(run.Tokens); n > m.plan.Options.Context {
			return fmt.Errorf("%w: %d tokens are more than the context of %d", ErrContext, n, m.plan.Options.Context)
		}
	}
	return m.decoder.Forward(ctx, runs, emit)
}

// ErrContext is returned when a sequence would outgrow the context.
var ErrContext = errors.New("the context is full")

// Close frees everything that the model holds.
func (m *Model) Close() error {
	var errs []error
	for i := len(m.close) - 1; i >= 0; i-- {
		errs = append(errs, m.close[i]())
	}
	m.close = nil
	return errors.Join(errs...)
}
