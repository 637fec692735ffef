package rdna

import (
	"fmt"
	"math"

	"gorun/hipdyn/hipemu/rdna/isa"
)

// Matrix products of 16 by 16, one for a whole wave: D = A*B + C.
//
// Layout on gfx11: lane l holds row l%16 of A and column l%16 of B, all of k,
// the same in both halves of the wave; register v of C and D holds row
// 2v + l/16, column l%16. On gfx12 the halves of the wave share k: lane l
// holds k from K/2*(l/16) on, and register v of C and D row 8*(l/16) + v.
//
// Sums are exact and rounded once (products are exact as float64, and so are
// the sums of numbers of similar size); hardware does not say how it rounds.

// matrixForm is a kind of product.
type matrixForm struct {
	k      int                     // the length of the products
	width  uint                    // bits of an element of A and B
	to     [2]func(uint64) float64 // of A and of B
	result byte                    // f, h, B, or u for integers
}

func runMatrix(f matrixForm) func(w *wave, st *step) {
	return func(w *wave, st *step) {
		in := st.in
		if w.exec() != allOn {
			w.failf("a matrix product with lanes off (EXEC is 0x%08x)", w.exec())
		}
		gen12 := in.Set.Generation == 12
		var a, b [16][32]float64
		w.matrixSource(&f, 0, gen12, &a)
		w.matrixSource(&f, 1, gen12, &b)
		regs := 8
		if gen12 && (f.result == 'h' || f.result == 'B') {
			regs = 4
		}
		var res [8][lanes]uint32
		for v := range regs {
			for lane := range lanes {
				old := w.matrixAddend(&f, v, lane)
				if regs == 8 {
					row, high := 2*v+lane/16, false
					if gen12 {
						row = 8*(lane/16) + v
					} else {
						high = (f.result == 'h' || f.result == 'B') && in.OpSel&4 != 0
					}
					res[v][lane] = w.matrixElement(&f, &a[row], &b[lane%16], old, high, v, lane)
					continue
				}
				row := 8*(lane/16) + 2*v
				lo := w.matrixElement(&f, &a[row], &b[lane%16], old&0xffff, false, v, lane)
				hi := w.matrixElement(&f, &a[row+1], &b[lane%16], old>>16, false, v, lane)
				res[v][lane] = lo&0xffff | hi<<16
			}
		}
		copy(w.v[in.D-isa.VGPR:], res[:regs])
	}
}

// matrixSource reads A or B.
func (w *wave) matrixSource(f *matrixForm, n int, gen12 bool, m *[16][32]float64) {
	in := w.step.in
	if in.Src[n] < isa.VGPR {
		w.failf("a matrix that is not in vector registers is not implemented")
	}
	first := int(in.Src[n] - isa.VGPR)
	signed := in.Neg>>n&1 != 0
	perReg := int(32 / f.width)
	part := func(lane, i int) float64 {
		v := uint64(w.v[first+i/perReg][lane]) >> (uint(i%perReg) * f.width) & (1<<f.width - 1)
		if f.result == 'u' {
			if signed {
				return float64(int64(v<<(64-f.width)) >> (64 - f.width))
			}
			return float64(v)
		}
		x := f.to[n](v)
		// Of floats, neg negates: the low bit elements 0, 2, ..., the high one the rest.
		if f.width == 16 && (i&1 == 0 && in.Neg>>n&1 != 0 || i&1 == 1 && in.NegHi>>n&1 != 0) {
			x = -x
		}
		return x
	}
	for lane := range lanes {
		if gen12 {
			for i := range f.k / 2 {
				m[lane%16][f.k/2*(lane/16)+i] = part(lane, i)
			}
			continue
		}
		for i := range f.k {
			x := part(lane, i)
			if old := m[lane%16][i]; lane >= 16 && math.Float64bits(old) != math.Float64bits(x) {
				w.fail(lane, fmt.Errorf("source %d of a matrix product differs between the halves of the wave (lanes %d and %d)", n, lane-16, lane))
			}
			m[lane%16][i] = x
		}
	}
}

// matrixAddend is register v of C.
func (w *wave) matrixAddend(f *matrixForm, v, lane int) uint32 {
	in := w.step.in
	r := in.Src[2]
	if r >= isa.VGPR {
		return w.v[int(r-isa.VGPR)+v][lane]
	}
	typ := f.result
	c, ok := constant(r, typ, in.Literal)
	if !ok {
		w.failf("an addend of a matrix product in scalar registers is not implemented")
	}
	if half(typ) {
		c = c&0xffff | c<<16
	}
	return uint32(c)
}

func (w *wave) matrixElement(f *matrixForm, a, b *[32]float64, c uint32, high bool, v, lane int) uint32 {
	in := w.step.in
	sum := 0.0
	for i := range f.k {
		sum += a[i] * b[i]
	}
	sign := func(c uint64, bit uint64) uint64 {
		if in.NegHi>>2&1 != 0 {
			c &^= bit
		}
		if in.Neg>>2&1 != 0 {
			c ^= bit
		}
		return c
	}
	switch f.result {
	case 'u':
		n := int64(sum) + int64(int32(c))
		if in.Clamp {
			n = sat(n, math.MinInt32, math.MaxInt32)
		}
		return uint32(n)
	case 'f':
		x := sign(uint64(c), sign32)
		return uint32(result32(float32(sum+float64(f32of(x))), x))
	}
	// 16 bits in the half that op_sel chooses (gfx11); the other half stays.
	keep := c
	if !(in.Set.Generation == 12) {
		keep = w.v[int(in.D-isa.VGPR)+v][lane]
	}
	if high {
		c >>= 16
	}
	x := sign(uint64(c&0xffff), sign16)
	var r uint64
	if f.result == 'h' {
		r = result16(sum+h64(x), x)
	} else {
		r = bitsB16(float32(sum + float64(b16of(x))))
	}
	if high {
		return keep&0xffff | uint32(r)<<16
	}
	return keep&^0xffff | uint32(r)
}

func matrixOps() map[string]*vectorOp {
	m := map[string]*vectorOp{}
	h := func(v uint64) float64 { return float64(f16of(v)) }
	b := func(v uint64) float64 { return float64(b16of(v)) }
	both := func(f func(uint64) float64) [2]func(uint64) float64 { return [2]func(uint64) float64{f, f} }
	for name, f := range map[string]matrixForm{
		"f32_16x16x16_f16":   {16, 16, both(h), 'f'},
		"f32_16x16x16_bf16":  {16, 16, both(b), 'f'},
		"f16_16x16x16_f16":   {16, 16, both(h), 'h'},
		"bf16_16x16x16_bf16": {16, 16, both(b), 'B'},
		"i32_16x16x16_iu8":   {k: 16, width: 8, result: 'u'},
		"i32_16x16x16_iu4":   {k: 16, width: 4, result: 'u'},
		"i32_16x16x32_iu4":   {k: 32, width: 4, result: 'u'},
	} {
		m["v_wmma_"+name] = &vectorOp{sig: "f:uuu", custom: runMatrix(f)}
	}
	eight := map[string]func(uint64) float64{
		"fp8": func(v uint64) float64 { return float64(fp8of(v)) },
		"bf8": func(v uint64) float64 { return float64(bf8of(v)) },
	}
	// A and B may differ: the one format is told by the upper bits below.
	for an, af := range eight {
		for bn, bf := range eight {
			m["v_wmma_f32_16x16x16_"+an+"_"+bn] = &vectorOp{sig: "f:uuu", custom: runMatrix(matrixForm{16, 8, [2]func(uint64) float64{af, bf}, 'f'})}
			m["v_dot4_f32_"+an+"_"+bn] = &vectorOp{sig: "f:uuu", custom: func(w *wave, st *step) {
				w.fetchAll(st)
				for i := range lanes {
					sum := 0.0
					for j := range 4 {
						sum += af(w.buf[0][i]>>(8*j)&0xff) * bf(w.buf[1][i]>>(8*j)&0xff)
					}
					w.res[0][i] = result32(float32(sum+float64(f32of(w.buf[2][i]))), w.buf[2][i])
				}
				w.store(&st.dst, &w.res[0], w.exec())
			}}
		}
	}
	return m
}
