package cpu

import (
	"math"

	"gorun/compute"
)

func (s *stream) Conv(dst, x, kernel compute.Matrix, seqs []compute.StateRun) {
	require(dst.Rows == x.Rows && dst.Cols == x.Cols && kernel.Rows == x.Cols && kernel.Cols > 1,
		"Conv of %dx%d by %dx%d to %dx%d", x.Rows, x.Cols, kernel.Rows, kernel.Cols, dst.Rows, dst.Cols)
	for _, run := range seqs {
		input := newConvInput(x, kernel, run)
		s.parallel(run.Count, func(_, lo, hi int) {
			for t := lo; t < hi; t++ {
				out := row(dst, run.Row+t)
				for c := range out {
					sum := 0.0
					for i, w := range row(kernel, c) {
						if in := input.at(t - input.past + i); in != nil {
							sum += float64(w) * float64(in[c])
						}
					}
					out[c] = float32(sum)
				}
			}
		})
		input.keep()
	}
}

// convInput is what a run of a convolution reads: its rows, and those before.
type convInput struct {
	x, from, to compute.Matrix
	run         compute.StateRun
	past        int // rows of the state
}

func newConvInput(x, kernel compute.Matrix, run compute.StateRun) convInput {
	past := kernel.Cols - 1
	return convInput{x, compute.MatrixOf(run.From, past, x.Cols), compute.MatrixOf(run.To, past, x.Cols), run, past}
}

// at is row t of the run, or of the state if t is negative; nil before the
// beginning of the sequence.
func (c *convInput) at(t int) []float32 {
	switch {
	case t >= 0:
		return row(c.x, c.run.Row+t)
	case c.run.First:
		return nil
	}
	return row(c.from, c.past+t)
}

// keep writes the state after the run.
func (c *convInput) keep() {
	for i := range c.past {
		if in := c.at(c.run.Count - c.past + i); in != nil {
			copy(row(c.to, i), in)
		} else {
			clear(row(c.to, i))
		}
	}
}

func (s *stream) DeltaNet(dst compute.Matrix, p compute.DeltaNet, seqs []compute.StateRun) {
	require(p.Q.Cols == p.KeyHeads*p.KeyDim && p.K.Cols == p.Q.Cols && p.V.Cols == p.ValueHeads*p.ValueDim && dst.Cols == p.V.Cols &&
		p.Alpha.Cols == p.ValueHeads && p.Beta.Cols == p.ValueHeads && p.ValueHeads%p.KeyHeads == 0,
		"DeltaNet of %d key heads and %d value heads", p.KeyHeads, p.ValueHeads)
	s.parallel(len(seqs)*p.ValueHeads, func(_, lo, hi int) {
		w := deltaWorker{DeltaNet: p, q: make([]float32, p.KeyDim), k: make([]float32, p.KeyDim), sums: make([]float64, p.ValueDim)}
		for i := lo; i < hi; i++ {
			w.head(dst, seqs[i/p.ValueHeads], i%p.ValueHeads)
		}
	})
}

// deltaWorker runs heads of a gated delta rule. Everything that a later token
// sees is rounded to float32, so that a run may be cut anywhere.
type deltaWorker struct {
	compute.DeltaNet
	q, k []float32
	sums []float64
}

func (w *deltaWorker) head(dst compute.Matrix, run compute.StateRun, h int) {
	rows := w.ValueHeads * w.KeyDim
	state := compute.MatrixOf(run.To, rows, w.ValueDim).RowsAt(h*w.KeyDim, w.KeyDim)
	before := compute.MatrixOf(run.From, rows, w.ValueDim).RowsAt(h*w.KeyDim, w.KeyDim)
	for i := range w.KeyDim {
		if run.First {
			clear(row(state, i))
		} else {
			copy(row(state, i), row(before, i))
		}
	}
	kh := w.KeyHead(h) * w.KeyDim
	for r := run.Row; r < run.Row+run.Count; r++ {
		unit(w.q, row(w.Q, r)[kh:], w.Eps, 1/math.Sqrt(float64(w.KeyDim)))
		unit(w.k, row(w.K, r)[kh:], w.Eps, 1)
		alpha := float64(row(w.Alpha, r)[h]) + float64(row(w.DtBias, 0)[h])
		decay := float32(math.Exp(float64(row(w.A, 0)[h]) * softplus(alpha)))
		beta := sigmoid(float64(row(w.Beta, r)[h]))
		w.step(state, row(w.V, r)[h*w.ValueDim:][:w.ValueDim], row(dst, r)[h*w.ValueDim:][:w.ValueDim], decay, beta)
	}
}

// step applies one token to the state.
func (w *deltaWorker) step(state compute.Matrix, v, out []float32, decay float32, beta float64) {
	clear(w.sums)
	for i, k := range w.k {
		for j, s := range row(state, i) {
			s = float32(s * decay)
			row(state, i)[j] = s
			w.sums[j] += float64(k) * float64(s)
		}
	}
	// out holds the update r until the state has taken it.
	for j := range out {
		out[j] = float32(beta * (float64(v[j]) - w.sums[j]))
	}
	clear(w.sums)
	for i, k := range w.k {
		q, s := float64(w.q[i]), row(state, i)
		for j, r := range out {
			s[j] = float32(float64(s[j]) + float64(k)*float64(r))
			w.sums[j] += q * float64(s[j])
		}
	}
	for j := range out {
		out[j] = float32(w.sums[j])
	}
}

// unit writes x, brought to length one and scaled, to dst.
func unit(dst, x []float32, eps float32, scale float64) {
	x = x[:len(dst)]
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	scale /= math.Sqrt(sum + float64(eps))
	for i, v := range x {
		dst[i] = float32(float64(v) * scale)
	}
}

func softplus(v float64) float64 {
	if v > 30 {
		return v
	}
	return math.Log1p(math.Exp(v))
}
