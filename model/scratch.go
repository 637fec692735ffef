package model

import (
	"fmt"

	"gorun/compute"
)

// scratch is the device memory of the activations of one pass of at most
// batch rows. All of it is one buffer, laid out by a function that the plan
// calls as well.
type scratch struct {
	buf compute.Buffer

	x, normed, branch compute.Matrix // residual stream, its norm, a branch's result
	qkv               compute.Matrix // query, key and value side by side
	acc               compute.Matrix // attention accumulators
	heads             compute.Matrix // attention's result
	ropes             []compute.Matrix
	temperature       compute.Matrix // factors of queries
	gateUp            compute.Matrix // gate and up side by side

	router       compute.Matrix
	expertIDs    compute.Span
	expertWeight compute.Matrix
	slots        compute.Matrix // results of experts, in the order of the router

	selected, logits compute.Matrix
}

// logitRows is the number of rows whose logits are computed at a time.
const logitRows = 32

// layout describes the scratch of passes of at most batch rows; sizes are
// those of the largest layer.
func layout(s *Spec, batch int) (*scratch, int64) {
	var qkv, acc, heads, gateUp, slots, experts int
	temperature := false
	for _, l := range s.Layers {
		a, f := l.Attention, l.FFN
		qkv = max(qkv, a.Heads*a.KDim+a.KVHeads*(a.KDim+a.VDim))
		acc = max(acc, a.Heads*(a.VDim+2))
		heads = max(heads, a.Heads*a.VDim)
		temperature = temperature || a.Temperature.Scale != 0
		if f.Experts.Count > 0 {
			slots = max(slots, f.Experts.Used)
			experts = max(experts, f.Experts.Count)
			gateUp = max(gateUp, f.Experts.Used*2*f.Experts.Hidden)
		} else {
			gateUp = max(gateUp, f.width())
		}
	}
	var size int64
	take := func(bytes int64) (off int64) {
		off = size
		size += (bytes + 63) &^ 63
		return off
	}
	matrix := func(rows, cols int) compute.Matrix {
		return compute.Matrix{Off: take(4 * int64(rows) * int64(cols)), Rows: rows, Cols: cols, Stride: cols}
	}
	sc := &scratch{
		x: matrix(batch, s.Width), normed: matrix(batch, s.Width), branch: matrix(batch, s.Width),
		qkv: matrix(batch, qkv), acc: matrix(batch, acc), heads: matrix(batch, heads),
		gateUp: matrix(batch, gateUp),
		router: matrix(batch, experts), expertWeight: matrix(batch, slots), slots: matrix(batch*slots, s.Width),
		selected: matrix(min(batch, logitRows), s.Width), logits: matrix(min(batch, logitRows), s.Vocab),
	}
	sc.expertIDs = compute.Span{Off: take(4 * int64(batch) * int64(slots)), N: 4 * int64(batch) * int64(slots)}
	for _, r := range s.Ropes {
		sc.ropes = append(sc.ropes, matrix(batch, r.Dims))
	}
	if temperature {
		sc.temperature = matrix(batch, 1)
	}
	return sc, size
}

// width is the columns of gate and up side by side.
func (f FFN) width() int {
	if f.Gated {
		return 2 * f.Hidden
	}
	return f.Hidden
}

// newScratch allocates what layout describes.
func newScratch(dev compute.Device, s *Spec, batch int) (*scratch, error) {
	sc, size := layout(s, batch)
	buf, err := dev.NewBuffer(size)
	if err != nil {
		return nil, fmt.Errorf("activations: %w", err)
	}
	sc.buf = buf
	for _, m := range []*compute.Matrix{
		&sc.x, &sc.normed, &sc.branch, &sc.qkv, &sc.acc, &sc.heads, &sc.temperature, &sc.gateUp,
		&sc.router, &sc.expertWeight, &sc.slots, &sc.selected, &sc.logits,
	} {
		m.Buf = buf
	}
	for i := range sc.ropes {
		sc.ropes[i].Buf = buf
	}
	sc.expertIDs.Buf = buf
	return sc, nil
}

// view is rows by cols values packed at the beginning of m.
func view(m compute.Matrix, rows, cols int) compute.Matrix {
	if rows*cols > m.Rows*m.Stride {
		panic(fmt.Sprintf("model: %dx%d values in scratch of %dx%d", rows, cols, m.Rows, m.Stride))
	}
	return compute.Matrix{Buf: m.Buf, Off: m.Off, Rows: rows, Cols: cols, Stride: cols}
}
