package model

import "gorun/compute"

// shortConv is a short convolution between two gates: c * conv(b * x), for
// projections b, c and x of the input.
func (p *pass) shortConv(i int, s ShortConv, w *shortConvWeights) error {
	stream, width := p.d.stream, p.d.spec.Width
	all := view(p.d.scratch.qkv, p.rows, 3*width)
	if err := p.linear(all, p.normed, w.in); err != nil {
		return err
	}
	b, c, x := all.ColsAt(0, width), all.ColsAt(width, width), all.ColsAt(2*width, width)
	mixed := view(p.d.scratch.mixed, p.rows, width)
	product := compute.Gated{F: compute.Identity}
	stream.GatedUnit(x, b, x, product)
	stream.Conv(mixed, x, w.conv, p.stateRuns(i, 0, s.stateBytes(width)))
	stream.GatedUnit(mixed, c, mixed, product)
	return p.linear(p.branch, mixed, w.out)
}

// shortConvWeights are those of a short convolution.
type shortConvWeights struct {
	in, out linear
	conv    compute.Matrix
}

func (b *binder) shortConv(s *Spec, w *shortConvWeights, c ShortConv, name func(string) string) {
	b.linear(&w.in, name("shortconv.in_proj"), 3*s.Width, s.Width)
	b.vector(&w.conv, name("shortconv.conv.weight"), c.Kernel, s.Width)
	b.linear(&w.out, name("shortconv.out_proj"), s.Width, s.Width)
}

// stateBytes is the state of the layer of one sequence.
func (s ShortConv) stateBytes(width int) int64 { return compute.ConvStateBytes(width, s.Kernel) }
