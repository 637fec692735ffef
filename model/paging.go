package model

import (
	"context"
	"errors"
	"fmt"
	"os"

	"gorun/compute"
	"gorun/gguf"
	"gorun/internal/pageio"
	"gorun/internal/units"
	"gorun/pager"
	"gorun/policy"
)

// Paging is how weights are paged, or nil if they are all resident.
func (p *Plan) Paging() *pager.Layout { return p.paging }

// besideWeights is the memory of everything else.
func (p *Plan) besideWeights() int64 {
	n := p.Bytes()
	for _, item := range p.Items {
		if item.Name == "weights" {
			n -= item.Bytes
		}
	}
	return n
}

// headroom is left of the memory that may be used, for what a plan does not
// count: the tokenizer, buffers of files, the garbage collector.
func headroom(memory int64) int64 { return 64<<20 + memory/64 }

// page plans a pool for the weights: what was asked for, or what is left.
func (p *Plan) page() error {
	o := p.Options
	budget := o.WeightsMemory
	if budget == 0 && o.Memory > 0 {
		budget = max(1, o.Memory-p.besideWeights()-headroom(o.Memory))
	}
	layout, err := pager.Plan(&p.weights.catalog, budget, o.Batch, !o.hostMemory())
	if err != nil && (o.WeightsMemory > 0 || !errors.Is(err, pager.ErrPool)) {
		return err
	} // otherwise this is the smallest pool, and Check says that it does not fit
	p.paging, p.mapped = &layout, false
	return p.itemize()
}

// pagingDetail describes the pool.
func (p *Plan) pagingDetail() string {
	text := fmt.Sprintf("paged, %.1f %% of %v", 100*p.paging.Resident(), units.Size(p.paging.Bytes()))
	for _, pool := range p.paging.Pools {
		if pool.Pages > 0 {
			text += fmt.Sprintf(", %d of %d pages of %v", pool.Slots, pool.Pages, units.Size(pool.Page))
		}
	}
	return text
}

// mapper is the device, or what stands for the CPU before there is one.
func (o Options) mapper() compute.Device {
	if o.Device == nil {
		return hostMapper{}
	}
	return o.Device
}

// hostMemory reports whether the device computes in memory of the host.
func (o Options) hostMemory() bool {
	_, ok := o.mapper().(compute.HostMapper)
	return ok
}

// openPages makes the residency that the plan says.
func (p *Plan) openPages(ctx context.Context, f *gguf.File, dev compute.Device, stream compute.Stream, trace *policy.Writer) (pager.Residency, error) {
	c := &p.weights.catalog
	switch {
	case p.paging != nil:
		var sums *pager.Checksums
		if p.Options.VerifyWeights {
			var err error
			if sums, err = pager.ReadChecksums(pager.ChecksumPath(f), f, c); err != nil {
				return nil, fmt.Errorf("%w (gorun inspect --checksums makes them)", err)
			}
		}
		return pager.Open(f, dev, c, pager.Config{
			Layout: *p.paging, Checksums: sums, Stream: stream, Trace: trace, Readers: p.Options.readers, Tail: p.Options.tail,
			Files: pageio.Options{Wrap: p.Options.wrapFiles},
		})
	case p.mapped:
		return pager.Map(f, dev, c)
	}
	return pager.Load(ctx, f, dev, c, p.Options.Progress)
}

// WriteChecksums writes the checksums of all pages of a model beside its file,
// for Options.VerifyWeights, and returns where they are. progress, if not nil,
// is told of the bytes read so far.
func WriteChecksums(ctx context.Context, f *gguf.File, progress func(done, total int64)) (path string, err error) {
	if _, ok := f.Parts()[0].ReaderAt.(*os.File); !ok {
		return "", fmt.Errorf("%s is not a file on disk", f.Parts()[0].Path)
	}
	p, err := NewPlan(f, Options{Weights: ResidentPaged, Context: 1, Batch: 1})
	if err != nil {
		return "", err
	}
	c := &p.weights.catalog
	sums, err := pager.NewChecksums(ctx, f, c, progress)
	if err != nil {
		return "", err
	}
	path = pager.ChecksumPath(f)
	return path, sums.WriteFile(path, f, c)
}

// openTrace begins the trace that was asked for.
func (p *Plan) openTrace(f *gguf.File) (*policy.Writer, error) {
	if p.Options.Trace == "" {
		return nil, nil
	}
	h := policy.Header{Model: f.Parts()[0].Path}
	if p.paging != nil {
		h.Pools = p.paging.TracePools()
	}
	h.Pools = append(h.Pools, p.kvTracePool()) // the last one: see newPool
	w, err := policy.Create(p.Options.Trace, h)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	return w, nil
}

// PagingStats counts what paging has done so far; ok is false if all weights
// are resident.
func (m *Model) PagingStats() (s pager.Stats, ok bool) {
	p, ok := m.pages.(*pager.Paged)
	if !ok {
		return s, false
	}
	return p.Stats(), true
}

// PagingDirect reports whether paging reads around the page cache.
func (m *Model) PagingDirect() bool {
	p, ok := m.pages.(*pager.Paged)
	return ok && p.Direct()
}
