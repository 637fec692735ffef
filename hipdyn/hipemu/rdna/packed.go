package rdna

import (
	"math"

	"gorun/hipdyn/hipemu/rdna/isa"
)

// halves are what a source of a packed instruction is for the low and the high
// result: each can be either half, negated or not.
func packedHalf(in *isa.Inst, i int, v uint64, high, float bool) uint64 {
	sel, neg := in.OpSel, in.Neg
	if high {
		sel, neg = in.OpSelHi, in.NegHi
		if in.Op.Encoding != isa.VOP3P && in.Op.Encoding != isa.DPP3P {
			sel = 7 // the short forms have no choice
		}
	}
	if sel>>i&1 != 0 {
		v >>= 16
	}
	v &= 0xffff
	if float && neg>>i&1 != 0 {
		v ^= sign16
	}
	return v
}

func runPacked(w *wave, st *step) {
	w.fetchAll(st)
	in, fn := st.in, st.fn
	float := st.dst.typ == 'P'
	for i := range lanes {
		var r uint64
		for h := range 2 {
			var s [3]uint64
			for j := range s {
				if st.src[j].kind == noSource {
					break
				}
				s[j] = packedHalf(in, j, w.buf[j][i], h == 1, float)
			}
			r |= fn(s[0], s[1], s[2]) & 0xffff << (16 * h)
		}
		w.res[0][i] = r
	}
	w.store(&st.dst, &w.res[0], w.exec())
}

// runMix is a fused multiply-add whose sources are float32 or float16 each.
func runMix(w *wave, st *step) {
	w.fetchAll(st)
	in := st.in
	for i := range lanes {
		var s [3]uint64
		for j := range s {
			v := w.buf[j][i]
			if in.OpSelHi>>j&1 != 0 {
				if st.src[j].kind == fromConstant {
					v, _ = constant(st.src[j].reg, 'h', in.Literal)
				} else if in.OpSel>>j&1 != 0 {
					v >>= 16
				}
				h := v & 0xffff
				v = bitsF32(f16of(h))
			}
			if in.NegHi>>j&1 != 0 {
				v &^= sign32
			}
			if in.Neg>>j&1 != 0 {
				v ^= sign32
			}
			s[j] = v
		}
		r := fma32(s[0], s[1], s[2])
		if st.dst.typ == 'h' {
			r = bitsF16(f32of(r))
		}
		w.res[0][i] = r
	}
	w.store(&st.dst, &w.res[0], w.exec())
}

// runDot2 adds two products of halves to a number. The sum is exact and
// rounded once; hardware does not say how it rounds.
func runDot2(to func(uint64) float32, from func(f float64, s ...uint64) uint64, addend func(uint64) float64) func(w *wave, st *step) {
	return func(w *wave, st *step) {
		w.fetchAll(st)
		in := *st.in
		packed := in.Op.Encoding == isa.VOP3P || in.Op.Encoding == isa.DPP3P
		if !packed {
			in.NegHi, in.OpSel = in.Neg, 0
			if in.Dual != nil {
				in.Neg, in.NegHi = 0, 0
			}
		}
		for i := range lanes {
			sum := 0.0
			for h := range 2 {
				a, b := packedHalf(&in, 0, w.buf[0][i], h == 1, true), packedHalf(&in, 1, w.buf[1][i], h == 1, true)
				sum += float64(to(a)) * float64(to(b))
			}
			c := w.buf[2][i]
			if packed {
				if in.NegHi>>2&1 != 0 {
					c &^= sign32
				}
				if in.Neg>>2&1 != 0 {
					c ^= sign32
				}
			}
			w.res[0][i] = from(sum+addend(c), c)
		}
		w.store(&st.dst, &w.res[0], w.exec())
	}
}

// runDotInt adds n products of integers.
func runDotInt(n int, width uint, signed bool, choice bool) func(w *wave, st *step) {
	dots := [4]func(a, b uint64) int64{}
	for i := range dots {
		dots[i] = dot(n, width, i&1 != 0, i&2 != 0)
	}
	return func(w *wave, st *step) {
		w.fetchAll(st)
		in := st.in
		kind := 0
		switch {
		case choice:
			kind = int(in.Neg & 3) // a bit of neg_lo says that a source is signed
		case signed:
			kind = 3
		}
		f := dots[kind]
		for i := range lanes {
			sum := f(w.buf[0][i], w.buf[1][i])
			switch c := w.buf[2][i]; {
			case signed || choice:
				sum += s32(c)
				if in.Clamp {
					sum = sat(sum, math.MinInt32, math.MaxInt32)
				}
			default:
				sum += int64(u32(c))
				if in.Clamp {
					sum = sat(sum, 0, math.MaxUint32)
				}
			}
			w.res[0][i] = low32(sum)
		}
		d := st.dst
		d.clamp = false
		w.store(&d, &w.res[0], w.exec())
	}
}

func packedOps() map[string]*vectorOp {
	m := map[string]*vectorOp{}
	float := func(name, sig string, fn laneFunc) { m["v_pk_"+name] = &vectorOp{sig: sig, fn: fn, custom: runPacked} }
	integer := func(name, sig string, fn, sat laneFunc) {
		m["v_pk_"+name] = &vectorOp{sig: sig, fn: fn, sat: sat, custom: runPacked}
	}
	float("add_f16", "P:PP", func(a, b, _ uint64) uint64 { return add16(a, b) })
	float("mul_f16", "P:PP", func(a, b, _ uint64) uint64 { return mul16(a, b) })
	float("fma_f16", "P:PPP", fma16)
	float("fmac_f16", "P:PPD", fma16)
	float("max_f16", "P:PP", format16.max(nanIEEE))
	float("min_f16", "P:PP", format16.min(nanIEEE))
	float("max_num_f16", "P:PP", format16.max(nanNumber))
	float("min_num_f16", "P:PP", format16.min(nanNumber))
	float("maximum_f16", "P:PP", format16.max(nanWins))
	float("minimum_f16", "P:PP", format16.min(nanWins))
	integer("add_u16", "U:UU", func(a, b, _ uint64) uint64 { return a + b }, func(a, b, _ uint64) uint64 { return satU16(int64(a + b)) })
	integer("sub_u16", "U:UU", func(a, b, _ uint64) uint64 { return a - b }, func(a, b, _ uint64) uint64 { return satU16(int64(a) - int64(b)) })
	integer("add_i16", "U:UU", func(a, b, _ uint64) uint64 { return a + b }, func(a, b, _ uint64) uint64 { return satS16(s16(a) + s16(b)) })
	integer("sub_i16", "U:UU", func(a, b, _ uint64) uint64 { return a - b }, func(a, b, _ uint64) uint64 { return satS16(s16(a) - s16(b)) })
	integer("mul_lo_u16", "U:UU", func(a, b, _ uint64) uint64 { return a * b }, nil)
	integer("mad_u16", "U:UUU", func(a, b, c uint64) uint64 { return a*b + c }, func(a, b, c uint64) uint64 { return satU16(int64(a*b + c)) })
	integer("mad_i16", "U:UUU", func(a, b, c uint64) uint64 { return a*b + c }, func(a, b, c uint64) uint64 { return satS16(s16(a)*s16(b) + s16(c)) })
	integer("max_u16", "U:UU", func(a, b, _ uint64) uint64 { return max(a, b) }, nil)
	integer("min_u16", "U:UU", func(a, b, _ uint64) uint64 { return min(a, b) }, nil)
	integer("max_i16", "U:UU", func(a, b, _ uint64) uint64 { return low16(max(s16(a), s16(b))) }, nil)
	integer("min_i16", "U:UU", func(a, b, _ uint64) uint64 { return low16(min(s16(a), s16(b))) }, nil)
	integer("lshlrev_b16", "U:UU", func(a, b, _ uint64) uint64 { return b << (a & 15) }, nil)
	integer("lshrrev_b16", "U:UU", func(a, b, _ uint64) uint64 { return b >> (a & 15) }, nil)
	integer("ashrrev_i16", "U:UU", func(a, b, _ uint64) uint64 { return low16(s16(b) >> (a & 15)) }, nil)

	m["v_fma_mix_f32"] = &vectorOp{sig: "f:uuu", custom: runMix}
	m["v_fma_mixlo_f16"] = &vectorOp{sig: "h:uuu", custom: runMix}
	m["v_fma_mixhi_f16"] = &vectorOp{sig: "h:uuu", custom: runMix} // to the upper half

	to32 := func(f float64, s ...uint64) uint64 { return result32(float32(f), s...) }
	from32 := func(c uint64) float64 { return float64(f32of(c)) }
	dotF16 := runDot2(f16of, to32, from32)
	m["v_dot2_f32_f16"] = &vectorOp{sig: "f:PPu", custom: dotF16}
	m["v_dot2_f32_bf16"] = &vectorOp{sig: "f:QQu", custom: runDot2(b16of, to32, from32)}
	for _, n := range []string{"v_dot2acc_f32_f16", "v_dot2c_f32_f16"} {
		m[n] = &vectorOp{sig: "f:PPD", custom: dotF16}
	}
	m["v_dot2acc_f32_f16"].fn = dot2acc // also half of a dual instruction
	m["v_dot2_f16_f16"] = &vectorOp{sig: "h:PPh", custom: runDot2(f16of, result16, h64)}
	m["v_dot2_bf16_bf16"] = &vectorOp{sig: "B:QQB", custom: runDot2(b16of, func(f float64, s ...uint64) uint64 { return bitsB16(float32(f)) }, func(c uint64) float64 { return float64(b16of(c)) })}
	m["v_dot2_i32_i16"] = &vectorOp{sig: "u:UUu", custom: runDotInt(2, 16, true, false)}
	m["v_dot2_u32_u16"] = &vectorOp{sig: "u:UUu", custom: runDotInt(2, 16, false, false)}
	m["v_dot4_i32_i8"] = &vectorOp{sig: "u:uuu", custom: runDotInt(4, 8, true, false)}
	m["v_dot4_u32_u8"] = &vectorOp{sig: "u:uuu", custom: runDotInt(4, 8, false, false)}
	m["v_dot4c_i32_i8"] = &vectorOp{sig: "u:uuD", custom: runDotInt(4, 8, true, false)}
	m["v_dot4_i32_iu8"] = &vectorOp{sig: "u:uuu", custom: runDotInt(4, 8, false, true)}
	m["v_dot8_i32_i4"] = &vectorOp{sig: "u:uuu", custom: runDotInt(8, 4, true, false)}
	m["v_dot8_u32_u4"] = &vectorOp{sig: "u:uuu", custom: runDotInt(8, 4, false, false)}
	m["v_dot8_i32_iu4"] = &vectorOp{sig: "u:uuu", custom: runDotInt(8, 4, false, true)}
	return m
}

func dot2acc(a, b, c uint64) uint64 {
	sum := h64(a&0xffff)*h64(b&0xffff) + h64(a>>16&0xffff)*h64(b>>16&0xffff)
	return result32(float32(sum+float64(f32of(c))), c)
}

// fp8Ops are the conversions of 8-bit numbers of gfx12.
func fp8Ops() map[string]*vectorOp {
	m := map[string]*vectorOp{}
	for name, f := range map[string]struct {
		to   func(uint64) float32
		from func(float32) uint64
	}{"fp8": {fp8of, bitsFP8}, "bf8": {bf8of, bitsBF8}} {
		m["v_cvt_f32_"+name] = &vectorOp{sig: "f:u", custom: func(w *wave, st *step) {
			w.fetchAll(st)
			shift := 8 * uint(st.in.OpSel>>1&1|st.in.OpSel&1<<1)
			for i := range lanes {
				w.res[0][i] = bitsF32(f.to(w.buf[0][i] >> shift & 0xff))
			}
			w.store(&st.dst, &w.res[0], w.exec())
		}}
		m["v_cvt_pk_f32_"+name] = &vectorOp{sig: "q:w", custom: func(w *wave, st *step) {
			w.fetchAll(st)
			for i := range lanes {
				v := w.buf[0][i]
				w.res[0][i] = bitsF32(f.to(v&0xff)) | bitsF32(f.to(v>>8&0xff))<<32
			}
			w.store(&st.dst, &w.res[0], w.exec())
		}}
		m["v_cvt_pk_"+name+"_f32"] = op("w:ff", func(a, b, _ uint64) uint64 { return f.from(f32of(a)) | f.from(f32of(b))<<8 })
	}
	return m
}

// bitsFP8 rounds to E4M3, to nearest even; beyond its range is NaN.
func bitsFP8(f float32) uint64 {
	sign := uint64(math.Float32bits(f)>>24) & 0x80
	abs := math.Abs(float64(f))
	switch {
	case f != f || abs >= 464:
		return sign | 0x7f
	case abs < 0x1p-6:
		return sign | uint64(math.RoundToEven(abs*0x1p9))
	}
	_, e := math.Frexp(abs) // abs = m * 2^e, m in 0.5..1
	man := uint64(math.RoundToEven(math.Ldexp(abs, 4-e)))
	return sign | (uint64(e+6)<<3 + man - 8)
}

// bitsBF8 rounds to E5M2, to nearest even.
func bitsBF8(f float32) uint64 {
	sign := uint64(math.Float32bits(f)>>24) & 0x80
	abs := math.Abs(float64(f))
	switch {
	case f != f:
		return sign | 0x7f
	case abs >= 61440:
		return sign | 0x7c
	case abs < 0x1p-14:
		return sign | uint64(math.RoundToEven(abs*0x1p16))
	}
	_, e := math.Frexp(abs)
	man := uint64(math.RoundToEven(math.Ldexp(abs, 3-e)))
	return sign | (uint64(e+14)<<2 + man - 4)
}
