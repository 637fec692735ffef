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
	f.each(dst.Rows, operands{dst: dst, x: gate, y: up, function: function, limits: limits, do: func(o *operands, r int) {
		vec.Gated(o.function, row(o.dst, r), row(o.x, r), row(o.y, r), o.limits)
	}})
}

// operands are those of an operation that does something with each row. They
// live in the stream, as an attention does, and do captures nothing.
type operands struct {
	dst, x, y compute.Matrix
	scale     float32
	function  vec.Function
	limits    vec.Limits
	norm      compute.Norm
	rotation  compute.Rotation
	do        func(o *operands, r int)
}

// rows is the body of the loop over rows.
func (o *operands) rows(_, lo, hi int) {
	for r := lo; r < hi; r++ {
		o.do(o, r)
	}
}

func (f *fast) each(rows int, o operands) {
	f.operands = o
	f.parallel(rows, f.rowsBody)
	f.operands = operands{}
}

func (f *fast) Activate(x compute.Matrix, a compute.Activation) {
	function, ok := functionOf(a)
	if !ok {
		f.stream.Activate(x, a)
		return
	}
	f.each(x.Rows, operands{x: x, function: function, do: func(o *operands, r int) { vec.Activate(o.function, row(o.x, r)) }})
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
	f.each(x.Rows, operands{dst: dst, x: x, norm: p, do: func(o *operands, r int) {
		w, dst, x := o.norm.Weight, row(o.dst, r), row(o.x, r)
		for g := range o.x.Cols / w.Cols {
			vec.Normalize(dst[g*w.Cols:][:w.Cols], x[g*w.Cols:][:w.Cols], row(w, g%w.Rows), o.norm.Eps)
		}
	}})
}

func (f *fast) AddScaled(dst, x compute.Matrix, scale float32) {
	require(dst.Rows == x.Rows && dst.Cols == x.Cols, "operands of %dx%d and %dx%d", dst.Rows, dst.Cols, x.Rows, x.Cols)
	f.each(dst.Rows, operands{dst: dst, x: x, scale: scale, do: func(o *operands, r int) {
		vec.Accumulate(row(o.dst, r), row(o.x, r), o.scale)
	}})
}

func (f *fast) Combine(dst, slots, weights compute.Matrix) {
	k := weights.Cols
	require(dst.Rows == weights.Rows && slots.Rows == dst.Rows*k && slots.Cols == dst.Cols,
		"Combine %dx%d by %dx%d to %dx%d", slots.Rows, slots.Cols, weights.Rows, k, dst.Rows, dst.Cols)
	f.each(dst.Rows, operands{dst: dst, x: slots, y: weights, do: func(o *operands, r int) {
		d := row(o.dst, r)
		clear(d)
		for i, w := range row(o.y, r) {
			vec.Accumulate(d, row(o.x, r*o.y.Cols+i), w)
		}
	}})
}

// Rotate turns in float32: each product is rounded, and so is their sum.
func (f *fast) Rotate(x compute.Matrix, p compute.Rotation) {
	n := p.Table.Cols
	require(p.HeadDim > 0 && x.Cols%p.HeadDim == 0 && n <= p.HeadDim && n%2 == 0 && p.Table.Rows == x.Rows,
		"Rotate %d of each %d of %dx%d by %d rows", n, p.HeadDim, x.Rows, x.Cols, p.Table.Rows)
	f.each(x.Rows, operands{x: x, rotation: p, do: func(o *operands, r int) {
		turn, table := turnPairs, row(o.rotation.Table, r)
		if o.rotation.Halves {
			turn = turnHalves
		}
		for x := row(o.x, r); len(x) > 0; x = x[o.rotation.HeadDim:] {
			turn(x[:len(table)], table)
		}
	}})
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
		f.storing = storing{l: l, k: k, v: v, run: seqs[i]}
		f.parallel(seqs[i].Count, f.storeBody)
	}
	f.storing = storing{}
}

// storing is a run of a StoreKV. It lives in the stream, as an attention does.
type storing struct {
	l    compute.KVLayout
	k, v compute.Matrix
	run  compute.KVRun
}

// do is the body of the loop over rows.
func (c *storing) do(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		page, token := pageOf(&c.l, &c.run, c.run.Pos+i)
		vec.Halve(bytesOf(page.At(c.l.KAt(token, 0), c.l.KRow())), row(c.k, c.run.Row+i))
		if !c.l.VInK {
			vec.Halve(bytesOf(page.At(c.l.VAt(token, 0), c.l.VRow())), row(c.v, c.run.Row+i))
		}
	}
}
