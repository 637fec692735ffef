package cpu

import (
	"math"

	"gorun/compute"
	"gorun/tensor/vec"
)

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
