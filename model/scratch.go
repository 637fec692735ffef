package model

import (
	"errors"
	"fmt"

	"gorun/compute"
	"gorun/internal/arena"
)

// scratch is the device memory of the activations of one pass of at most
// batch rows. All of it is one buffer, laid out by a function that the plan
// calls as well.
type scratch struct {
	buf  compute.Buffer
	host *arena.Arena // the same memory, if the device computes in that of the host

	x, normed, branch compute.Matrix // residual stream, its norm, a branch's result
	qkv               compute.Matrix // query, key and value
	mixed             compute.Matrix // what becomes of them on the way
	headGate          compute.Matrix // gates of heads
	acc               compute.Matrix // attention accumulators
	heads             compute.Matrix // attention's result
	ropes             []compute.Matrix
	temperature       compute.Matrix // factors of queries
	gateUp            compute.Matrix // gate and up side by side
	inputs, projected compute.Matrix // what layers are given beside x, and a part of it

	router       compute.Matrix
	expertIDs    compute.Span
	expertWeight compute.Matrix
	slots        compute.Matrix // results of experts, in the order of the router
	shared       compute.Matrix // result of the shared expert
	sharedGate   compute.Matrix

	selected, logits compute.Matrix
}

// logitRows is the number of rows whose logits are computed at a time.
const logitRows = 32

// layout describes the scratch of passes of at most batch rows; sizes are
// those of the largest layer.
func layout(s *Spec, batch int) (*scratch, int64) {
	var qkv, mixed, gates, acc, heads, gateUp, slots, experts, shared int
	temperature := false
	for _, l := range s.Layers {
		a, f, d := l.Attention, l.FFN, l.Delta
		switch {
		case d.ValueHeads > 0:
			qkv = max(qkv, d.channels())
			mixed = max(mixed, d.channels())
			gates = max(gates, 2*2*d.ValueHeads)
			heads = max(heads, 2*d.ValueHeads*d.ValueDim)
		case l.Conv.Kernel > 0:
			qkv = max(qkv, 3*s.Width)
			mixed = max(mixed, s.Width)
		case a.Latent.Rank > 0:
			qkv = max(qkv, a.Heads*(a.Latent.NoPE+a.Latent.RoPE)+a.Latent.Rank+a.Latent.RoPE)
			mixed = max(mixed, a.Heads*a.KDim, a.Latent.QRank)
			acc = max(acc, a.accumulatorCols())
			heads = max(heads, a.Heads*(a.VDim+a.Latent.VDim))
		default:
			qkv = max(qkv, a.Heads*a.KDim+a.KVHeads*(a.KDim+a.VDim))
			if a.Gate == GateFull {
				mixed = max(mixed, 2*a.Heads*a.KDim)
			} else if a.Gate == GatePerHead {
				gates = max(gates, a.Heads)
			} else if a.Gate == GateOwn {
				gates = max(gates, a.Heads*a.VDim)
			}
			acc = max(acc, a.accumulatorCols())
			heads = max(heads, a.Heads*a.VDim)
		}
		temperature = temperature || a.Temperature.Scale != 0
		if e := f.Experts; e.Count > 0 {
			slots = max(slots, e.Used)
			experts = max(experts, e.Count)
			gateUp = max(gateUp, e.Used*2*e.Hidden, e.Shared.width())
			if e.Shared.Hidden > 0 || f.Beside {
				shared = s.Width
			}
		}
		if f.Experts.Count == 0 || f.Beside {
			gateUp = max(gateUp, f.width())
		}
	}
	gateUp = max(gateUp, s.LayerInput)
	inputs := len(s.Layers) * s.LayerInput
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
		qkv: matrix(batch, qkv), mixed: matrix(batch, mixed), headGate: matrix(batch, gates), acc: matrix(batch, acc), heads: matrix(batch, heads),
		gateUp: matrix(batch, gateUp), inputs: matrix(batch, inputs), projected: matrix(batch, inputs),
		router: matrix(batch, experts), expertWeight: matrix(batch, slots), slots: matrix(batch*slots, s.Width),
		shared: matrix(batch, shared), sharedGate: matrix(batch, min(shared, 1)),
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
func (f Block) width() int {
	if f.Gated {
		return 2 * f.Hidden
	}
	return f.Hidden
}

// accumulatorCols is the columns of an accumulator.
func (a Attention) accumulatorCols() int {
	return compute.Attention{Heads: a.Heads, Layout: compute.KVLayout{VDim: a.VDim}}.AccumulatorCols()
}

// channels is the columns of query, key and value of a delta net.
func (d Delta) channels() int { return 2*d.KeyHeads*d.KeyDim + d.ValueHeads*d.ValueDim }

// newScratch allocates what layout describes.
func newScratch(dev compute.Device, s *Spec, batch int) (*scratch, error) {
	sc, size := layout(s, batch)
	buf, err := sc.allocate(dev, size)
	if err != nil {
		return nil, fmt.Errorf("activations: %w", err)
	}
	sc.buf = buf
	for _, m := range []*compute.Matrix{
		&sc.x, &sc.normed, &sc.branch, &sc.qkv, &sc.mixed, &sc.headGate, &sc.acc, &sc.heads, &sc.temperature, &sc.gateUp, &sc.inputs, &sc.projected,
		&sc.router, &sc.expertWeight, &sc.slots, &sc.shared, &sc.sharedGate, &sc.selected, &sc.logits,
	} {
		m.Buf = buf
	}
	for i := range sc.ropes {
		sc.ropes[i].Buf = buf
	}
	sc.expertIDs.Buf = buf
	return sc, nil
}

// allocate makes the buffer, in memory of the host if the device can use it, so that results are read in place.
func (sc *scratch) allocate(dev compute.Device, size int64) (compute.Buffer, error) {
	mapper, ok := dev.(compute.HostMapper)
	if !ok {
		return dev.NewBuffer(size)
	}
	host, err := arena.New(size)
	if err != nil {
		return nil, err
	}
	sc.host = host
	return mapper.MapHost(host.Bytes()), nil
}

// free gives the memory back.
func (sc *scratch) free() error {
	err := sc.buf.Free()
	if sc.host != nil {
		err = errors.Join(err, sc.host.Free())
	}
	return err
}

// view is rows by cols values packed at the beginning of m.
func view(m compute.Matrix, rows, cols int) compute.Matrix {
	if rows*cols > m.Rows*m.Stride {
		panic(fmt.Sprintf("model: %dx%d values in scratch of %dx%d", rows, cols, m.Rows, m.Stride))
	}
	return compute.Matrix{Buf: m.Buf, Off: m.Off, Rows: rows, Cols: cols, Stride: cols}
}

// flat views the memory of m as one row, to be cut by carve.
func flat(m compute.Matrix) compute.Matrix {
	return compute.Matrix{Buf: m.Buf, Off: m.Off, Rows: 1, Cols: m.Rows * m.Stride, Stride: m.Rows * m.Stride}
}

// carve takes packed rows by cols values from the beginning of a flat view.
func carve(m *compute.Matrix, rows, cols int) compute.Matrix {
	v := m.ColsAt(0, rows*cols)
	*m = m.ColsAt(rows*cols, m.Cols-rows*cols)
	return compute.Matrix{Buf: v.Buf, Off: v.Off, Rows: rows, Cols: cols, Stride: cols}
}

// byHead views packed rows of heads side by side as one row for each head.
func byHead(m compute.Matrix, heads int) compute.Matrix {
	if m.Stride != m.Cols {
		panic("model: heads of a view with gaps")
	}
	m.Rows, m.Cols = m.Rows*heads, m.Cols/heads
	m.Stride = m.Cols
	return m
}
