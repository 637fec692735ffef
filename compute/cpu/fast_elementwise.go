package cpu

import (
	"gorun/compute"
	"gorun/tensor"
	"gorun/tensor/vec"
)

// functionOf is the activation in package vec, if it is there.
func functionOf(f compute.Activation) (vec.Function, bool) {
	switch f {
	case compute.SiLU:
		return vec.SiLU, true
	case compute.GELU:
		return vec.GELU, true
	case compute.QuickGELU:
		return vec.QuickGELU, true
	case compute.Sigmoid:
		return vec.Sigmoid, true
	}
	return 0, false
}

func (f *fast) GatedUnit(dst, gate, up compute.Matrix, g compute.Gated) {
	function, ok := functionOf(g.F)
	if !ok {
		f.stream.GatedUnit(dst, gate, up, g)
		return
	}
	require(dst.Rows == gate.Rows && dst.Cols == gate.Cols, "GatedUnit of %dx%d to %dx%d", gate.Rows, gate.Cols, dst.Rows, dst.Cols)
	limits := vec.Limits{
		Gate: float32(limitOr(g.GateLimit)), Result: float32(limitOr(g.Limit)), Up: float32(limitOr(g.UpLimit)), UpBias: g.UpBias,
	}
	f.parallel(dst.Rows, func(_, lo, hi int) {
		for r := lo; r < hi; r++ {
			vec.Gated(function, row(dst, r), row(gate, r), row(up, r), limits)
		}
	})
}

func (f *fast) Activate(x compute.Matrix, a compute.Activation) {
	function, ok := functionOf(a)
	if !ok {
		f.stream.Activate(x, a)
		return
	}
	f.rows1(x, func(_ int, x []float32) { vec.Activate(function, x) })
}

func (f *fast) Norm(dst, x compute.Matrix, p compute.Norm) {
	n := p.Weight.Cols
	if p.Center || !p.Bias.IsZero() || n == 0 {
		f.stream.Norm(dst, x, p)
		return
	}
	require(dst.Rows == x.Rows && dst.Cols == x.Cols && x.Cols%n == 0,
		"Norm of %dx%d in groups of %d to %dx%d", x.Rows, x.Cols, n, dst.Rows, dst.Cols)
	groups := x.Cols / n
	require(p.Weight.Rows == 1 || p.Weight.Rows == groups, "Norm of %d groups with %d weights", groups, p.Weight.Rows)
	f.parallel(x.Rows, func(_, lo, hi int) {
		for r := lo; r < hi; r++ {
			for g := range groups {
				vec.Normalize(row(dst, r)[g*n:][:n], row(x, r)[g*n:][:n], row(p.Weight, g%p.Weight.Rows), p.Eps)
			}
		}
	})
}

func (f *fast) AddScaled(dst, x compute.Matrix, scale float32) {
	f.rows2(dst, x, func(d, x []float32) { vec.Accumulate(d, x, scale) })
}

func (f *fast) Combine(dst, slots, weights compute.Matrix) {
	k := weights.Cols
	require(dst.Rows == weights.Rows && slots.Rows == dst.Rows*k && slots.Cols == dst.Cols,
		"Combine %dx%d by %dx%d to %dx%d", slots.Rows, slots.Cols, weights.Rows, k, dst.Rows, dst.Cols)
	f.rows1(dst, func(r int, d []float32) {
		clear(d)
		for i, w := range row(weights, r) {
			vec.Accumulate(d, row(slots, r*k+i), w)
		}
	})
}

// Rotate turns in float32: each product is rounded, and so is their sum.
func (f *fast) Rotate(x compute.Matrix, p compute.Rotation) {
	n := p.Table.Cols
	require(p.HeadDim > 0 && x.Cols%p.HeadDim == 0 && n <= p.HeadDim && n%2 == 0 && p.Table.Rows == x.Rows,
		"Rotate %d of each %d of %dx%d by %d rows", n, p.HeadDim, x.Rows, x.Cols, p.Table.Rows)
	turn := turnPairs
	if p.Halves {
		turn = turnHalves
	}
	f.rows1(x, func(r int, x []float32) {
		for table := row(p.Table, r); len(x) > 0; x = x[p.HeadDim:] {
			turn(x[:n], table)
		}
	})
}

// turnPairs turns values 2i and 2i+1 by the cosine and sine at the same place.
func turnPairs(x, table []float32) {
	for ; len(x) >= 2 && len(table) >= 2; x, table = x[2:], table[2:] {
		x[0], x[1] = turned(x[0], x[1], table[0], table[1])
	}
}

// turnHalves turns values i and i+n/2.
func turnHalves(x, table []float32) {
	a, b := x[:len(x)/2], x[len(x)/2:]
	b = b[:len(a)]
	for i := range a {
		if len(table) < 2 {
			return
		}
		a[i], b[i] = turned(a[i], b[i], table[0], table[1])
		table = table[2:]
	}
}

func turned(a, b, cos, sin float32) (float32, float32) {
	return float32(a*cos) - float32(b*sin), float32(a*sin) + float32(b*cos)
}

// StoreKV is the reference's, except that halves are rounded by vectors.
func (f *fast) StoreKV(l compute.KVLayout, k, v compute.Matrix, seqs []compute.KVRun) {
	if l.KType != tensor.F16 || l.VType != tensor.F16 {
		f.stream.StoreKV(l, k, v, seqs)
		return
	}
	require(k.Cols == l.Heads*l.KDim && (l.VInK || v.Cols == l.Heads*l.VDim && k.Rows == v.Rows),
		"StoreKV of %dx%d and %dx%d", k.Rows, k.Cols, v.Rows, v.Cols)
	for i := range seqs {
		run := seqs[i]
		f.parallel(run.Count, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				page, token := pageOf(&l, &run, run.Pos+i)
				vec.Halve(bytesOf(page.At(l.KAt(token, 0), l.KRow())), row(k, run.Row+i))
				if !l.VInK {
					vec.Halve(bytesOf(page.At(l.VAt(token, 0), l.VRow())), row(v, run.Row+i))
				}
			}
		})
	}
}
