package cpu

import (
	"math"

	"gorun/compute"
	"gorun/tensor/vec"
)

// convColumns is the number of columns that a thread convolves at a time.
const convColumns = 256

// Conv adds up in float32, the oldest value first, with an fma each.
func (f *fast) Conv(dst, x, kernel compute.Matrix, seqs []compute.StateRun) {
	require(dst.Rows == x.Rows && dst.Cols == x.Cols && kernel.Rows == x.Cols && kernel.Cols > 1,
		"Conv of %dx%d by %dx%d to %dx%d", x.Rows, x.Cols, kernel.Rows, kernel.Cols, dst.Rows, dst.Cols)
	for _, run := range seqs {
		input := newConvInput(x, kernel, run)
		f.parallel((x.Cols+convColumns-1)/convColumns, func(worker, lo, hi int) {
			taps := f.worker(worker, kernel.Cols*convColumns)
			for block := lo; block < hi; block++ {
				first := block * convColumns
				convBlock(dst, &input, kernel, taps, first, min(x.Cols-first, convColumns))
			}
		})
		input.keep()
	}
}

// convBlock convolves n columns. taps is scratch for their weights, turned so
// that those of one distance are side by side.
func convBlock(dst compute.Matrix, input *convInput, kernel compute.Matrix, taps []float32, first, n int) {
	for c := range n {
		for i, w := range row(kernel, first+c) {
			taps[i*n+c] = w
		}
	}
	for t := range input.run.Count {
		out := row(dst, input.run.Row+t)[first:][:n]
		clear(out)
		for i := range kernel.Cols {
			if in := input.at(t - input.past + i); in != nil {
				vec.MultiplyAdd(out, in[first:][:n], taps[i*n:][:n])
			}
		}
	}
}

func (f *fast) DeltaNet(dst compute.Matrix, p compute.DeltaNet, seqs []compute.StateRun) {
	require(p.Q.Cols == p.KeyHeads*p.KeyDim && p.K.Cols == p.Q.Cols && p.V.Cols == p.ValueHeads*p.ValueDim && dst.Cols == p.V.Cols &&
		p.Alpha.Cols == p.ValueHeads && p.Beta.Cols == p.ValueHeads && p.ValueHeads%p.KeyHeads == 0,
		"DeltaNet of %d key heads and %d value heads", p.KeyHeads, p.ValueHeads)
	f.parallel(len(seqs)*p.ValueHeads, func(worker, lo, hi int) {
		units := f.worker(worker, 2*p.KeyDim)
		for i := lo; i < hi; i++ {
			deltaHead(dst, p, seqs[i/p.ValueHeads], i%p.ValueHeads, units[:p.KeyDim], units[p.KeyDim:])
		}
	})
}

// deltaHead runs one value head over a run. q and k are scratch for the query
// and the key of a token, brought to length one.
func deltaHead(dst compute.Matrix, p compute.DeltaNet, run compute.StateRun, h int, q, k []float32) {
	size := 4 * int64(p.KeyDim) * int64(p.ValueDim)
	state := row(compute.MatrixOf(run.To.At(int64(h)*size, size), 1, p.KeyDim*p.ValueDim), 0)
	if run.First {
		clear(state)
	} else {
		copy(state, row(compute.MatrixOf(run.From.At(int64(h)*size, size), 1, p.KeyDim*p.ValueDim), 0))
	}
	key, value := p.KeyHead(h)*p.KeyDim, h*p.ValueDim
	for r := run.Row; r < run.Row+run.Count; r++ {
		vec.Unit(q, row(p.Q, r)[key:][:p.KeyDim], p.Eps, float32(1/math.Sqrt(float64(p.KeyDim))))
		vec.Unit(k, row(p.K, r)[key:][:p.KeyDim], p.Eps, 1)
		alpha := float64(row(p.Alpha, r)[h]) + float64(row(p.DtBias, 0)[h])
		decay := float32(math.Exp(float64(row(p.A, 0)[h]) * softplus(alpha)))
		beta := float32(sigmoid(float64(row(p.Beta, r)[h])))
		vec.DeltaRule(state, row(dst, r)[value:][:p.ValueDim], q, k, row(p.V, r)[value:][:p.ValueDim], decay, beta)
	}
}
