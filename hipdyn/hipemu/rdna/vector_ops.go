package rdna

import (
	"math"
	"math/bits"

	"gorun/hipdyn/hipemu/rdna/isa"
)

func s32(a uint64) int64 { return int64(int32(a)) }
func u32(a uint64) uint64 {
	return uint64(uint32(a))
}
func s16(a uint64) int64        { return int64(int16(a)) }
func s24(a uint64) int64        { return int64(int32(a)<<8) >> 8 }
func u24(a uint64) uint64       { return a & 0xffffff }
func low32(n int64) uint64      { return uint64(uint32(n)) }
func low16(n int64) uint64      { return uint64(uint16(n)) }
func sat(n, lo, hi int64) int64 { return min(max(n, lo), hi) }

func satS32(n int64) uint64 { return low32(sat(n, math.MinInt32, math.MaxInt32)) }
func satU32(n int64) uint64 { return low32(sat(n, 0, math.MaxUint32)) }
func satS16(n int64) uint64 { return low16(sat(n, math.MinInt16, math.MaxInt16)) }
func satU16(n int64) uint64 { return low16(sat(n, 0, math.MaxUint16)) }

func abs64(n int64) int64 { return max(n, -n) }

func mulHiS(a, b uint64) uint64 { return uint64(s32(a)*s32(b)) >> 32 }
func mulHiU(a, b uint64) uint64 { return u32(a) * u32(b) >> 32 }

func bfeU32(a, b, c uint64) uint64 { return u32(a) >> (b & 31) & (1<<(c&31) - 1) }

func bfeI32(a, b, c uint64) uint64 {
	width := c & 31
	if width == 0 {
		return 0
	}
	v := u32(a) >> (b & 31)
	return low32(int64(v<<(64-width)) >> (64 - width))
}

// byteOf is byte n.
func byteOf(a uint64, n int) int64 { return int64(a >> (8 * n) & 0xff) }

func sad8(a, b, c uint64, masked bool) uint64 {
	for i := range 4 {
		if masked && byteOf(b, i) == 0 {
			continue
		}
		c += uint64(abs64(byteOf(a, i) - byteOf(b, i)))
	}
	return u32(c)
}

// permByte is a byte of v_perm_b32.
func permByte(data uint64, sel uint64) uint64 {
	switch {
	case sel < 8:
		return data >> (8 * sel) & 0xff
	case sel < 12: // the sign of bytes 1, 3, 5, 7
		return 0xff * (data >> (16*(sel-8) + 15) & 1)
	case sel == 12:
		return 0
	}
	return 0xff
}

func perm(a, b, c uint64) uint64 {
	data := u32(b) | a<<32
	var r uint64
	for i := range 4 {
		r |= permByte(data, c>>(8*i)&0xff) << (8 * i)
	}
	return r
}

func unary(f func(a uint64) uint64) laneFunc {
	return func(a, _, _ uint64) uint64 { return f(a) }
}

func math32(f func(x float64) float64) laneFunc {
	return func(a, _, _ uint64) uint64 { return result32(float32(f(float64(f32of(a)))), a) }
}
func math16(f func(x float64) float64) laneFunc {
	return func(a, _, _ uint64) uint64 { return result16(f(h64(a)), a) }
}
func math64(f func(x float64) float64) laneFunc {
	return func(a, _, _ uint64) uint64 { return result64(f(f64of(a)), a) }
}

func rcp(x float64) float64 { return 1 / x }
func rsq(x float64) float64 { return 1 / math.Sqrt(x) }

// dot is a sum of n products of parts of width bits.
func dot(n int, width uint, signedA, signedB bool) func(a, b uint64) int64 {
	top := 64 - width
	return func(a, b uint64) int64 {
		var sum int64
		for i := range uint(n) {
			x, y := a>>(i*width)<<top, b>>(i*width)<<top
			p, q := int64(x>>top), int64(y>>top)
			if signedA {
				p = int64(x) >> top
			}
			if signedB {
				q = int64(y) >> top
			}
			sum += p * q
		}
		return sum
	}
}

// vectorOps are the instructions of the vector ALU by name. Names of several
// generations may mean the same.
var vectorOps map[string]*vectorOp

func op(sig string, fn laneFunc) *vectorOp { return &vectorOp{sig: sig, fn: fn} }

func transOp(sig string, fn laneFunc) *vectorOp { return &vectorOp{sig: sig, fn: fn, trans: true} }

func satOp(sig string, fn, sat laneFunc) *vectorOp { return &vectorOp{sig: sig, fn: fn, sat: sat} }

func init() {
	i2 := func(f func(a, b int64) int64) laneFunc {
		return func(a, b, _ uint64) uint64 { return low32(f(s32(a), s32(b))) }
	}
	w2 := func(f func(a, b int64) int64) laneFunc {
		return func(a, b, _ uint64) uint64 { return low16(f(s16(a), s16(b))) }
	}
	b2 := func(f func(a, b uint64) uint64) laneFunc {
		return func(a, b, _ uint64) uint64 { return f(a, b) }
	}
	smin := func(a, b int64) int64 { return min(a, b) }
	smax := func(a, b int64) int64 { return max(a, b) }
	minI, maxI := i2(smin), i2(smax)
	minU := func(a, b, _ uint64) uint64 { return min(u32(a), u32(b)) }
	maxU := func(a, b, _ uint64) uint64 { return max(u32(a), u32(b)) }
	minI16, maxI16 := w2(smin), w2(smax)
	minU16 := func(a, b, _ uint64) uint64 { return min(a&0xffff, b&0xffff) }
	maxU16 := func(a, b, _ uint64) uint64 { return max(a&0xffff, b&0xffff) }
	med := func(lo, hi laneFunc) laneFunc {
		return func(a, b, c uint64) uint64 { return lo(hi(a, b, 0), hi(lo(a, b, 0), c, 0), 0) }
	}
	carry := func(a, b, c uint64) uint64 { return u32(a) + u32(b) + c }
	borrow := func(a, b, c uint64) uint64 { return (u32(a) - u32(b) - c) & 0x1ffffffff }
	fma := func(a, b, c uint64) uint64 { return fma32(a, b, c) }
	fmah := func(a, b, c uint64) uint64 { return fma16(a, b, c) }

	m := map[string]*vectorOp{
		"v_mov_b32": {sig: "u:u", fn: func(a, _, _ uint64) uint64 { return a }, fast: func(d, a, _, _ *[lanes]uint32) { *d = *a }},
		"v_mov_b16": op("w:w", func(a, _, _ uint64) uint64 { return a }),
		"v_not_b32": op("u:u", func(a, _, _ uint64) uint64 { return ^a }),
		"v_not_b16": op("w:w", func(a, _, _ uint64) uint64 { return ^a }),

		// float32
		"v_add_f32":            {sig: "f:ff", fn: b2(add32), fast: fastAdd},
		"v_sub_f32":            {sig: "f:ff", fn: b2(sub32), fast: fastSub},
		"v_subrev_f32":         op("f:ff", func(a, b, _ uint64) uint64 { return sub32(b, a) }),
		"v_mul_f32":            {sig: "f:ff", fn: b2(mul32), fast: fastMul},
		"v_mul_legacy_f32":     op("f:ff", b2(mulLegacy32)),
		"v_mul_dx9_zero_f32":   op("f:ff", b2(mulLegacy32)),
		"v_fma_f32":            {sig: "f:fff", fn: fma, fast: fastFMA},
		"v_fma_legacy_f32":     op("f:fff", fmaLegacy32),
		"v_fma_dx9_zero_f32":   op("f:fff", fmaLegacy32),
		"v_fmac_f32":           {sig: "f:ffD", fn: fma, fast: fastFMA},
		"v_fmac_legacy_f32":    op("f:ffD", fmaLegacy32),
		"v_fmac_dx9_zero_f32":  op("f:ffD", fmaLegacy32),
		"v_fmaak_f32":          op("f:fff", fma),
		"v_fmamk_f32":          op("f:fff", fma), // the literal is the second source
		"v_mullit_f32":         op("f:fff", mullit),
		"v_max3_f32":           op("f:fff", chain(format32.max(nanIEEE), format32.max(nanIEEE))),
		"v_min3_f32":           op("f:fff", chain(format32.min(nanIEEE), format32.min(nanIEEE))),
		"v_med3_f32":           op("f:fff", format32.med3(nanIEEE)),
		"v_maxmin_f32":         op("f:fff", chain(format32.max(nanIEEE), format32.min(nanIEEE))),
		"v_minmax_f32":         op("f:fff", chain(format32.min(nanIEEE), format32.max(nanIEEE))),
		"v_max_f32":            {sig: "f:ff", fn: format32.max(nanIEEE)},
		"v_min_f32":            {sig: "f:ff", fn: format32.min(nanIEEE)},
		"v_max_num_f32":        op("f:ff", format32.max(nanNumber)),
		"v_min_num_f32":        op("f:ff", format32.min(nanNumber)),
		"v_max3_num_f32":       op("f:fff", chain(format32.max(nanNumber), format32.max(nanNumber))),
		"v_min3_num_f32":       op("f:fff", chain(format32.min(nanNumber), format32.min(nanNumber))),
		"v_med3_num_f32":       op("f:fff", format32.med3(nanNumber)),
		"v_maxmin_num_f32":     op("f:fff", chain(format32.max(nanNumber), format32.min(nanNumber))),
		"v_minmax_num_f32":     op("f:fff", chain(format32.min(nanNumber), format32.max(nanNumber))),
		"v_maximum_f32":        op("f:ff", format32.max(nanWins)),
		"v_minimum_f32":        op("f:ff", format32.min(nanWins)),
		"v_maximum3_f32":       op("f:fff", chain(format32.max(nanWins), format32.max(nanWins))),
		"v_minimum3_f32":       op("f:fff", chain(format32.min(nanWins), format32.min(nanWins))),
		"v_maximumminimum_f32": op("f:fff", chain(format32.max(nanWins), format32.min(nanWins))),
		"v_minimummaximum_f32": op("f:fff", chain(format32.min(nanWins), format32.max(nanWins))),
		"v_floor_f32":          op("f:f", math32(math.Floor)),
		"v_ceil_f32":           op("f:f", math32(math.Ceil)),
		"v_trunc_f32":          op("f:f", math32(math.Trunc)),
		"v_rndne_f32":          op("f:f", math32(math.RoundToEven)),
		"v_fract_f32":          op("f:f", math32(func(x float64) float64 { return fract(x, float64(math.Float32frombits(0x3f7fffff))) })),
		"v_exp_f32":            transOp("f:f", unary(exp2f32)),
		"v_log_f32":            transOp("f:f", unary(log2f32)),
		"v_rcp_f32":            transOp("f:f", unary(rcp32)),
		"v_rcp_iflag_f32":      transOp("f:f", unary(rcp32)),
		"v_rsq_f32":            transOp("f:f", unary(rsq32)),
		"v_sqrt_f32":           transOp("f:f", unary(sqrt32)),
		"v_sin_f32":            transOp("f:f", math32(sine)),
		"v_cos_f32":            transOp("f:f", math32(cosine)),
		"v_s_exp_f32":          transOp("f:f", unary(exp2f32)),
		"v_s_log_f32":          transOp("f:f", unary(log2f32)),
		"v_s_rcp_f32":          transOp("f:f", unary(rcp32)),
		"v_s_rsq_f32":          transOp("f:f", unary(rsq32)),
		"v_s_sqrt_f32":         transOp("f:f", unary(sqrt32)),
		"v_ldexp_f32":          op("f:fu", func(a, b, _ uint64) uint64 { return result32(ldexp32(f32of(a), int32(b)), a) }),
		"v_frexp_mant_f32":     op("f:f", math32(func(x float64) float64 { f, _ := frexp(x); return f })),
		"v_frexp_exp_i32_f32":  op("u:f", func(a, _, _ uint64) uint64 { _, e := frexp(float64(f32of(a))); return low32(int64(e)) }),
		"v_div_fixup_f32":      op("f:fff", format32.divFixup),
		"v_cubeid_f32":         op("f:fff", cube(0)), "v_cubesc_f32": op("f:fff", cube(1)),
		"v_cubetc_f32": op("f:fff", cube(2)), "v_cubema_f32": op("f:fff", cube(3)),

		// float16
		"v_add_f16":            op("h:hh", b2(add16)),
		"v_sub_f16":            op("h:hh", b2(sub16)),
		"v_subrev_f16":         op("h:hh", func(a, b, _ uint64) uint64 { return sub16(b, a) }),
		"v_mul_f16":            op("h:hh", b2(mul16)),
		"v_fma_f16":            op("h:hhh", fmah),
		"v_fmac_f16":           op("h:hhD", fmah),
		"v_fmaak_f16":          op("h:hhh", fmah),
		"v_fmamk_f16":          op("h:hhh", fmah),
		"v_max_f16":            op("h:hh", format16.max(nanIEEE)),
		"v_min_f16":            op("h:hh", format16.min(nanIEEE)),
		"v_max3_f16":           op("h:hhh", chain(format16.max(nanIEEE), format16.max(nanIEEE))),
		"v_min3_f16":           op("h:hhh", chain(format16.min(nanIEEE), format16.min(nanIEEE))),
		"v_med3_f16":           op("h:hhh", format16.med3(nanIEEE)),
		"v_maxmin_f16":         op("h:hhh", chain(format16.max(nanIEEE), format16.min(nanIEEE))),
		"v_minmax_f16":         op("h:hhh", chain(format16.min(nanIEEE), format16.max(nanIEEE))),
		"v_max_num_f16":        op("h:hh", format16.max(nanNumber)),
		"v_min_num_f16":        op("h:hh", format16.min(nanNumber)),
		"v_max3_num_f16":       op("h:hhh", chain(format16.max(nanNumber), format16.max(nanNumber))),
		"v_min3_num_f16":       op("h:hhh", chain(format16.min(nanNumber), format16.min(nanNumber))),
		"v_med3_num_f16":       op("h:hhh", format16.med3(nanNumber)),
		"v_maxmin_num_f16":     op("h:hhh", chain(format16.max(nanNumber), format16.min(nanNumber))),
		"v_minmax_num_f16":     op("h:hhh", chain(format16.min(nanNumber), format16.max(nanNumber))),
		"v_maximum_f16":        op("h:hh", format16.max(nanWins)),
		"v_minimum_f16":        op("h:hh", format16.min(nanWins)),
		"v_maximum3_f16":       op("h:hhh", chain(format16.max(nanWins), format16.max(nanWins))),
		"v_minimum3_f16":       op("h:hhh", chain(format16.min(nanWins), format16.min(nanWins))),
		"v_maximumminimum_f16": op("h:hhh", chain(format16.max(nanWins), format16.min(nanWins))),
		"v_minimummaximum_f16": op("h:hhh", chain(format16.min(nanWins), format16.max(nanWins))),
		"v_floor_f16":          op("h:h", math16(math.Floor)),
		"v_ceil_f16":           op("h:h", math16(math.Ceil)),
		"v_trunc_f16":          op("h:h", math16(math.Trunc)),
		"v_rndne_f16":          op("h:h", math16(math.RoundToEven)),
		"v_fract_f16":          op("h:h", math16(func(x float64) float64 { return fract(x, 1-0x1p-11) })),
		"v_exp_f16":            transOp("h:h", math16(math.Exp2)),
		"v_log_f16":            transOp("h:h", math16(math.Log2)),
		"v_rcp_f16":            transOp("h:h", math16(rcp)),
		"v_rsq_f16":            transOp("h:h", math16(rsq)),
		"v_sqrt_f16":           transOp("h:h", math16(math.Sqrt)),
		"v_sin_f16":            transOp("h:h", math16(sine)),
		"v_cos_f16":            transOp("h:h", math16(cosine)),
		"v_s_exp_f16":          transOp("h:h", math16(math.Exp2)),
		"v_s_log_f16":          transOp("h:h", math16(math.Log2)),
		"v_s_rcp_f16":          transOp("h:h", math16(rcp)),
		"v_s_rsq_f16":          transOp("h:h", math16(rsq)),
		"v_s_sqrt_f16":         transOp("h:h", math16(math.Sqrt)),
		"v_ldexp_f16":          op("h:hw", func(a, b, _ uint64) uint64 { return result16(ldexp64(h64(a), int32(int16(b))), a) }),
		"v_frexp_mant_f16":     op("h:h", math16(func(x float64) float64 { f, _ := frexp(x); return f })),
		"v_frexp_exp_i16_f16":  op("w:h", func(a, _, _ uint64) uint64 { _, e := frexp(h64(a)); return low16(int64(e)) }),
		"v_div_fixup_f16":      op("h:hhh", format16.divFixup),
		"v_pack_b32_f16":       op("u:hh", func(a, b, _ uint64) uint64 { return a | b<<16 }),

		// float64
		"v_add_f64":           op("d:dd", b2(add64)),
		"v_mul_f64":           op("d:dd", b2(mul64)),
		"v_fma_f64":           op("d:ddd", fma64),
		"v_max_f64":           op("d:dd", format64.max(nanIEEE)),
		"v_min_f64":           op("d:dd", format64.min(nanIEEE)),
		"v_max_num_f64":       op("d:dd", format64.max(nanNumber)),
		"v_min_num_f64":       op("d:dd", format64.min(nanNumber)),
		"v_maximum_f64":       op("d:dd", format64.max(nanWins)),
		"v_minimum_f64":       op("d:dd", format64.min(nanWins)),
		"v_floor_f64":         op("d:d", math64(math.Floor)),
		"v_ceil_f64":          op("d:d", math64(math.Ceil)),
		"v_trunc_f64":         op("d:d", math64(math.Trunc)),
		"v_rndne_f64":         op("d:d", math64(math.RoundToEven)),
		"v_fract_f64":         op("d:d", math64(func(x float64) float64 { return fract(x, 1-0x1p-53) })),
		"v_rcp_f64":           transOp("d:d", math64(rcp)),
		"v_rsq_f64":           transOp("d:d", math64(rsq)),
		"v_sqrt_f64":          transOp("d:d", math64(math.Sqrt)),
		"v_ldexp_f64":         op("d:du", func(a, b, _ uint64) uint64 { return result64(ldexp64(f64of(a), int32(b)), a) }),
		"v_frexp_mant_f64":    op("d:d", math64(func(x float64) float64 { f, _ := frexp(x); return f })),
		"v_frexp_exp_i32_f64": op("u:d", func(a, _, _ uint64) uint64 { _, e := frexp(f64of(a)); return low32(int64(e)) }),
		"v_div_fixup_f64":     op("d:ddd", format64.divFixup),
		"v_trig_preop_f64":    nil,

		// conversions
		"v_cvt_f32_i32": op("f:u", func(a, _, _ uint64) uint64 { return bitsF32(float32(int32(a))) }),
		"v_cvt_f32_u32": op("f:u", func(a, _, _ uint64) uint64 { return bitsF32(float32(uint32(a))) }),
		"v_cvt_i32_f32": op("u:f", func(a, _, _ uint64) uint64 { return toI32(math.Trunc(float64(f32of(a)))) }),
		"v_cvt_u32_f32": op("u:f", func(a, _, _ uint64) uint64 { return toU32(math.Trunc(float64(f32of(a)))) }),
		"v_cvt_f16_f32": op("h:f", func(a, _, _ uint64) uint64 { return bitsF16(f32of(a)) }),
		"v_cvt_f32_f16": op("f:h", func(a, _, _ uint64) uint64 { return result32(f16of(a), bitsF32(f16of(a))) }),
		"v_cvt_f64_f32": op("d:f", func(a, _, _ uint64) uint64 {
			if nan32(a) {
				return a&sign32<<32 | exp64 | quiet64 | a&0x7fffff<<29
			}
			return bitsF64(float64(f32of(a)))
		}),
		"v_cvt_f32_f64": op("f:d", func(a, _, _ uint64) uint64 {
			if nan64(a) {
				return a>>32&sign32 | exp32 | quiet32 | a>>29&0x7fffff
			}
			return bitsF32(float32(f64of(a)))
		}),
		"v_cvt_f64_i32": op("d:u", func(a, _, _ uint64) uint64 { return bitsF64(float64(int32(a))) }),
		"v_cvt_f64_u32": op("d:u", func(a, _, _ uint64) uint64 { return bitsF64(float64(uint32(a))) }),
		"v_cvt_i32_f64": op("u:d", func(a, _, _ uint64) uint64 { return toI32(math.Trunc(f64of(a))) }),
		"v_cvt_u32_f64": op("u:d", func(a, _, _ uint64) uint64 { return toU32(math.Trunc(f64of(a))) }),
		"v_cvt_f16_i16": op("h:w", func(a, _, _ uint64) uint64 { return bitsF16(float32(int16(a))) }),
		"v_cvt_f16_u16": op("h:w", func(a, _, _ uint64) uint64 { return bitsF16(float32(uint16(a))) }),
		"v_cvt_i16_f16": op("w:h", func(a, _, _ uint64) uint64 {
			return low16(int64(toInt(math.Trunc(h64(a)), math.MinInt16, math.MaxInt16)))
		}),
		"v_cvt_u16_f16":      op("w:h", func(a, _, _ uint64) uint64 { return toInt(math.Trunc(h64(a)), 0, math.MaxUint16) }),
		"v_cvt_i32_i16":      op("u:w", func(a, _, _ uint64) uint64 { return low32(s16(a)) }),
		"v_cvt_u32_u16":      op("u:w", func(a, _, _ uint64) uint64 { return a & 0xffff }),
		"v_cvt_off_f32_i4":   op("f:u", func(a, _, _ uint64) uint64 { return bitsF32(float32(int64(a<<60)>>60) / 16) }),
		"v_cvt_norm_i16_f16": op("w:h", func(a, _, _ uint64) uint64 { return norm(h64(a), -1, 32767) }),
		"v_cvt_norm_u16_f16": op("w:h", func(a, _, _ uint64) uint64 { return norm(h64(a), 0, 65535) }),
		"v_cvt_pk_i16_f32": op("u:ff", func(a, b, _ uint64) uint64 {
			return low16(int64(toInt(math.Trunc(float64(f32of(a))), math.MinInt16, math.MaxInt16))) | low16(int64(toInt(math.Trunc(float64(f32of(b))), math.MinInt16, math.MaxInt16)))<<16
		}),
		"v_cvt_pk_u16_f32": op("u:ff", func(a, b, _ uint64) uint64 {
			return toInt(math.Trunc(float64(f32of(a))), 0, math.MaxUint16) | toInt(math.Trunc(float64(f32of(b))), 0, math.MaxUint16)<<16
		}),
		"v_cvt_pk_i16_i32": op("u:uu", func(a, b, _ uint64) uint64 { return satS16(s32(a)) | satS16(s32(b))<<16 }),
		"v_cvt_pk_u16_u32": op("u:uu", func(a, b, _ uint64) uint64 { return satU16(int64(u32(a))) | satU16(int64(u32(b)))<<16 }),
		"v_cvt_pk_u8_f32": op("u:fuu", func(a, b, c uint64) uint64 {
			shift := b & 3 * 8
			return u32(c)&^(0xff<<shift) | toInt(math.RoundToEven(float64(f32of(a))), 0, 255)<<shift
		}),
		"v_sat_pk_u8_i16": op("w:u", func(a, _, _ uint64) uint64 {
			return uint64(sat(s16(a), 0, 255)) | uint64(sat(s16(a>>16), 0, 255))<<8
		}),

		// integers
		"v_add_nc_u32":       {sig: "u:uu", fn: func(a, b, _ uint64) uint64 { return a + b }, sat: func(a, b, _ uint64) uint64 { return satU32(int64(u32(a) + u32(b))) }, fast: fastAddU},
		"v_sub_nc_u32":       satOp("u:uu", func(a, b, _ uint64) uint64 { return a - b }, func(a, b, _ uint64) uint64 { return satU32(int64(u32(a)) - int64(u32(b))) }),
		"v_subrev_nc_u32":    satOp("u:uu", func(a, b, _ uint64) uint64 { return b - a }, func(a, b, _ uint64) uint64 { return satU32(int64(u32(b)) - int64(u32(a))) }),
		"v_add_nc_i32":       satOp("u:uu", func(a, b, _ uint64) uint64 { return a + b }, func(a, b, _ uint64) uint64 { return satS32(s32(a) + s32(b)) }),
		"v_sub_nc_i32":       satOp("u:uu", func(a, b, _ uint64) uint64 { return a - b }, func(a, b, _ uint64) uint64 { return satS32(s32(a) - s32(b)) }),
		"v_add_co_u32":       satOp("um:uu", func(a, b, _ uint64) uint64 { return carry(a, b, 0) }, satCarry),
		"v_sub_co_u32":       op("um:uu", func(a, b, _ uint64) uint64 { return borrow(a, b, 0) }),
		"v_subrev_co_u32":    op("um:uu", func(a, b, _ uint64) uint64 { return borrow(b, a, 0) }),
		"v_add_co_ci_u32":    op("um:uum", carry),
		"v_sub_co_ci_u32":    op("um:uum", borrow),
		"v_subrev_co_ci_u32": op("um:uum", func(a, b, c uint64) uint64 { return borrow(b, a, c) }),
		"v_add3_u32":         op("u:uuu", func(a, b, c uint64) uint64 { return a + b + c }),
		"v_lshl_add_u32":     op("u:uuu", func(a, b, c uint64) uint64 { return u32(a)<<(b&31) + c }),
		"v_add_lshl_u32":     op("u:uuu", func(a, b, c uint64) uint64 { return (a + b) << (c & 31) }),
		"v_lshl_or_b32":      op("u:uuu", func(a, b, c uint64) uint64 { return a<<(b&31) | c }),
		"v_and_or_b32":       op("u:uuu", func(a, b, c uint64) uint64 { return a&b | c }),
		"v_or3_b32":          op("u:uuu", func(a, b, c uint64) uint64 { return a | b | c }),
		"v_xor3_b32":         op("u:uuu", func(a, b, c uint64) uint64 { return a ^ b ^ c }),
		"v_xad_u32":          op("u:uuu", func(a, b, c uint64) uint64 { return a ^ b + c }),
		"v_and_b32":          {sig: "u:uu", fn: func(a, b, _ uint64) uint64 { return a & b }, fast: fastAnd},
		"v_or_b32":           op("u:uu", func(a, b, _ uint64) uint64 { return a | b }),
		"v_xor_b32":          op("u:uu", func(a, b, _ uint64) uint64 { return a ^ b }),
		"v_xnor_b32":         op("u:uu", func(a, b, _ uint64) uint64 { return ^(a ^ b) }),
		"v_and_b16":          op("w:ww", func(a, b, _ uint64) uint64 { return a & b }),
		"v_or_b16":           op("w:ww", func(a, b, _ uint64) uint64 { return a | b }),
		"v_xor_b16":          op("w:ww", func(a, b, _ uint64) uint64 { return a ^ b }),
		"v_lshlrev_b32":      {sig: "u:uu", fn: func(a, b, _ uint64) uint64 { return b << (a & 31) }, fast: fastShl},
		"v_lshrrev_b32":      {sig: "u:uu", fn: func(a, b, _ uint64) uint64 { return u32(b) >> (a & 31) }, fast: fastShr},
		"v_ashrrev_i32":      op("u:uu", func(a, b, _ uint64) uint64 { return low32(s32(b) >> (a & 31)) }),
		"v_lshlrev_b16":      op("w:ww", func(a, b, _ uint64) uint64 { return b << (a & 15) }),
		"v_lshrrev_b16":      op("w:ww", func(a, b, _ uint64) uint64 { return b & 0xffff >> (a & 15) }),
		"v_ashrrev_i16":      op("w:ww", func(a, b, _ uint64) uint64 { return low16(s16(b) >> (a & 15)) }),
		"v_lshlrev_b64":      op("q:uq", func(a, b, _ uint64) uint64 { return b << (a & 63) }),
		"v_lshrrev_b64":      op("q:uq", func(a, b, _ uint64) uint64 { return b >> (a & 63) }),
		"v_ashrrev_i64":      op("q:uz", func(a, b, _ uint64) uint64 { return uint64(int64(b) >> (a & 63)) }),
		"v_mul_lo_u32":       op("u:uu", func(a, b, _ uint64) uint64 { return a * b }),
		"v_mul_hi_u32":       op("u:uu", b2(mulHiU)),
		"v_mul_hi_i32":       op("u:uu", b2(mulHiS)),
		"v_mul_i32_i24":      op("u:uu", func(a, b, _ uint64) uint64 { return low32(s24(a) * s24(b)) }),
		"v_mul_u32_u24":      op("u:uu", func(a, b, _ uint64) uint64 { return u24(a) * u24(b) }),
		"v_mul_hi_i32_i24":   op("u:uu", func(a, b, _ uint64) uint64 { return low32(s24(a) * s24(b) >> 32) }),
		"v_mul_hi_u32_u24":   op("u:uu", func(a, b, _ uint64) uint64 { return u24(a) * u24(b) >> 32 }),
		"v_mad_i32_i24":      satOp("u:uuu", func(a, b, c uint64) uint64 { return low32(s24(a)*s24(b) + s32(c)) }, func(a, b, c uint64) uint64 { return satS32(s24(a)*s24(b) + s32(c)) }),
		"v_mad_u32_u24":      satOp("u:uuu", func(a, b, c uint64) uint64 { return u24(a)*u24(b) + u32(c) }, func(a, b, c uint64) uint64 { return satU32(int64(u24(a)*u24(b) + u32(c))) }),
		"v_mad_i32_i16":      satOp("u:wwu", func(a, b, c uint64) uint64 { return low32(s16(a)*s16(b) + s32(c)) }, func(a, b, c uint64) uint64 { return satS32(s16(a)*s16(b) + s32(c)) }),
		"v_mad_u32_u16":      satOp("u:wwu", func(a, b, c uint64) uint64 { return a*b + u32(c) }, func(a, b, c uint64) uint64 { return satU32(int64(a*b + u32(c))) }),
		"v_mul_lo_u16":       op("w:ww", func(a, b, _ uint64) uint64 { return a * b }),
		"v_add_nc_u16":       satOp("w:ww", func(a, b, _ uint64) uint64 { return a + b }, func(a, b, _ uint64) uint64 { return satU16(int64(a + b)) }),
		"v_sub_nc_u16":       satOp("w:ww", func(a, b, _ uint64) uint64 { return a - b }, func(a, b, _ uint64) uint64 { return satU16(int64(a) - int64(b)) }),
		"v_add_nc_i16":       satOp("w:ww", func(a, b, _ uint64) uint64 { return a + b }, func(a, b, _ uint64) uint64 { return satS16(s16(a) + s16(b)) }),
		"v_sub_nc_i16":       satOp("w:ww", func(a, b, _ uint64) uint64 { return a - b }, func(a, b, _ uint64) uint64 { return satS16(s16(a) - s16(b)) }),
		"v_mad_u16":          satOp("w:www", func(a, b, c uint64) uint64 { return a*b + c }, func(a, b, c uint64) uint64 { return satU16(int64(a*b + c)) }),
		"v_mad_i16":          satOp("w:www", func(a, b, c uint64) uint64 { return a*b + c }, func(a, b, c uint64) uint64 { return satS16(s16(a)*s16(b) + s16(c)) }),
		"v_min_i32":          op("u:uu", minI), "v_max_i32": op("u:uu", maxI),
		"v_min_u32": op("u:uu", minU), "v_max_u32": op("u:uu", maxU),
		"v_min_i16": op("w:ww", minI16), "v_max_i16": op("w:ww", maxI16),
		"v_min_u16": op("w:ww", minU16), "v_max_u16": op("w:ww", maxU16),
		"v_min3_i32": op("u:uuu", chain(minI, minI)), "v_max3_i32": op("u:uuu", chain(maxI, maxI)), "v_med3_i32": op("u:uuu", med(minI, maxI)),
		"v_min3_u32": op("u:uuu", chain(minU, minU)), "v_max3_u32": op("u:uuu", chain(maxU, maxU)), "v_med3_u32": op("u:uuu", med(minU, maxU)),
		"v_min3_i16": op("w:www", chain(minI16, minI16)), "v_max3_i16": op("w:www", chain(maxI16, maxI16)), "v_med3_i16": op("w:www", med(minI16, maxI16)),
		"v_min3_u16": op("w:www", chain(minU16, minU16)), "v_max3_u16": op("w:www", chain(maxU16, maxU16)), "v_med3_u16": op("w:www", med(minU16, maxU16)),
		"v_maxmin_i32": op("u:uuu", chain(maxI, minI)), "v_minmax_i32": op("u:uuu", chain(minI, maxI)),
		"v_maxmin_u32": op("u:uuu", chain(maxU, minU)), "v_minmax_u32": op("u:uuu", chain(minU, maxU)),
		"v_bfe_u32":      op("u:uuu", bfeU32),
		"v_bfe_i32":      op("u:uuu", bfeI32),
		"v_bfi_b32":      op("u:uuu", func(a, b, c uint64) uint64 { return a&b | ^a&c }),
		"v_bfm_b32":      op("u:uu", func(a, b, _ uint64) uint64 { return (1<<(a&31) - 1) << (b & 31) }),
		"v_bfrev_b32":    op("u:u", func(a, _, _ uint64) uint64 { return uint64(bits.Reverse32(uint32(a))) }),
		"v_bcnt_u32_b32": op("u:uu", func(a, b, _ uint64) uint64 { return uint64(bits.OnesCount32(uint32(a))) + b }),
		"v_ffbh_u32":     op("u:u", unary(ffbh32)), "v_clz_i32_u32": op("u:u", unary(ffbh32)),
		"v_ffbl_b32": op("u:u", unary(ffbl32)), "v_ctz_i32_b32": op("u:u", unary(ffbl32)),
		"v_ffbh_i32": op("u:u", unary(ffbhSigned32)), "v_cls_i32": op("u:u", unary(ffbhSigned32)),
		"v_alignbit_b32":  op("u:uuu", func(a, b, c uint64) uint64 { return (a<<32 | u32(b)) >> (c & 31) }),
		"v_alignbyte_b32": op("u:uuu", func(a, b, c uint64) uint64 { return (a<<32 | u32(b)) >> (8 * (c & 3)) }),
		"v_perm_b32":      op("u:uuu", perm),
		"v_sad_u8":        op("u:uuu", func(a, b, c uint64) uint64 { return sad8(a, b, c, false) }),
		"v_msad_u8":       op("u:uuu", func(a, b, c uint64) uint64 { return sad8(a, b, c, true) }),
		"v_sad_hi_u8":     op("u:uuu", func(a, b, c uint64) uint64 { return sad8(a, b, 0, false)<<16 + c }),
		"v_sad_u16": op("u:uuu", func(a, b, c uint64) uint64 {
			return uint64(abs64(int64(a&0xffff)-int64(b&0xffff))+abs64(int64(a>>16&0xffff)-int64(b>>16&0xffff))) + c
		}),
		"v_sad_u32": op("u:uuu", func(a, b, c uint64) uint64 { return uint64(abs64(int64(u32(a))-int64(u32(b)))) + c }),
		"v_lerp_u8": op("u:uuu", func(a, b, c uint64) uint64 {
			var r uint64
			for i := range 4 {
				r |= uint64(byteOf(a, i)+byteOf(b, i)+byteOf(c, i)&1) >> 1 & 0xff << (8 * i)
			}
			return r
		}),
		"v_cndmask_b32": op("u:uum", func(a, b, c uint64) uint64 {
			if c != 0 {
				return b
			}
			return a
		}),
		"v_cndmask_b16": op("w:hhm", func(a, b, c uint64) uint64 {
			if c != 0 {
				return b
			}
			return a
		}),
		"v_qsad_pk_u16_u8":  op("q:quq", qsad(false)),
		"v_mqsad_pk_u16_u8": op("q:quq", qsad(true)),
	}
	for i := range 4 {
		m["v_cvt_f32_ubyte"+string(rune('0'+i))] = op("f:u", func(a, _, _ uint64) uint64 { return bitsF32(float32(byteOf(a, i))) })
	}
	alias := func(name string, o *vectorOp, names ...string) {
		m[name] = o
		for _, n := range names {
			m[n] = o
		}
	}
	alias("v_cvt_floor_i32_f32", op("u:f", func(a, _, _ uint64) uint64 { return toI32(math.Floor(float64(f32of(a)))) }), "v_cvt_flr_i32_f32")
	alias("v_cvt_nearest_i32_f32", op("u:f", func(a, _, _ uint64) uint64 { return toI32(math.Floor(float64(f32of(a)) + 0.5)) }), "v_cvt_rpi_i32_f32")
	alias("v_cvt_pk_rtz_f16_f32", op("u:ff", func(a, b, _ uint64) uint64 { return truncate16(f32of(a)) | truncate16(f32of(b))<<16 }), "v_cvt_pkrtz_f16_f32")
	alias("v_cvt_pk_norm_i16_f32", op("u:ff", func(a, b, _ uint64) uint64 {
		return norm(float64(f32of(a)), -1, 32767) | norm(float64(f32of(b)), -1, 32767)<<16
	}), "v_cvt_pknorm_i16_f32")
	alias("v_cvt_pk_norm_u16_f32", op("u:ff", func(a, b, _ uint64) uint64 {
		return norm(float64(f32of(a)), 0, 65535) | norm(float64(f32of(b)), 0, 65535)<<16
	}), "v_cvt_pknorm_u16_f32")
	alias("v_cvt_pk_norm_i16_f16", op("u:hh", func(a, b, _ uint64) uint64 { return norm(h64(a), -1, 32767) | norm(h64(b), -1, 32767)<<16 }), "v_cvt_pknorm_i16_f16")
	alias("v_cvt_pk_norm_u16_f16", op("u:hh", func(a, b, _ uint64) uint64 { return norm(h64(a), 0, 65535) | norm(h64(b), 0, 65535)<<16 }), "v_cvt_pknorm_u16_f16")
	// These take numbers whose sign modifiers integers do not have.
	for _, n := range []string{"v_cndmask_b32"} {
		m[n].sig = "u:ffm"
	}
	delete(m, "v_trig_preop_f64")
	m["v_div_scale_f32"] = &vectorOp{sig: "f:fff", custom: runDivScale}
	m["v_div_scale_f64"] = &vectorOp{sig: "d:ddd", custom: runDivScale}
	m["v_div_fmas_f32"] = op("f:fffV", nil)
	m["v_div_fmas_f32"].custom = runDivFmas
	m["v_div_fmas_f64"] = op("d:dddV", nil)
	m["v_div_fmas_f64"].custom = runDivFmas
	for _, n := range []string{"v_mad_u64_u32", "v_mad_co_u64_u32"} {
		m[n] = &vectorOp{sig: "q:uuq", custom: runMad64}
	}
	for _, n := range []string{"v_mad_i64_i32", "v_mad_co_i64_i32"} {
		m[n] = &vectorOp{sig: "q:uuz", custom: runMad64}
	}
	m["v_mbcnt_lo_u32_b32"] = &vectorOp{sig: "u:uu", custom: runMbcnt}
	m["v_mbcnt_hi_u32_b32"] = &vectorOp{sig: "u:uu", custom: runMbcnt}
	m["v_readfirstlane_b32"] = &vectorOp{sig: "u:u", custom: runReadFirst}
	m["v_readlane_b32"] = &vectorOp{sig: "u:uu", custom: runReadLane}
	m["v_writelane_b32"] = &vectorOp{sig: "u:uuD", custom: runWriteLane}
	m["v_permlane16_b32"] = &vectorOp{sig: "u:uuuD", custom: runPermlane}
	m["v_permlanex16_b32"] = &vectorOp{sig: "u:uuuD", custom: runPermlane}
	m["v_permlane16_var_b32"] = &vectorOp{sig: "u:uuD", custom: runPermlane}
	m["v_permlanex16_var_b32"] = &vectorOp{sig: "u:uuD", custom: runPermlane}
	m["v_permlane64_b32"] = &vectorOp{sig: "u:u", custom: func(w *wave, st *step) { runVectorMove(w, st) }}
	m["v_swap_b32"] = &vectorOp{sig: "u:u", custom: runSwap}
	m["v_mqsad_u32_u8"] = nil
	delete(m, "v_mqsad_u32_u8")
	m["v_nop"] = &vectorOp{sig: "u:", custom: func(*wave, *step) {}}
	m["v_pipeflush"] = m["v_nop"]
	for n, o := range fp8Ops() {
		m[n] = o
	}
	for n, o := range packedOps() {
		m[n] = o
	}
	for n, o := range matrixOps() {
		m[n] = o
	}
	vectorOps = m
	compareOps = compares()
}

func satCarry(a, b, _ uint64) uint64 {
	sum := u32(a) + u32(b)
	if sum>>32 != 0 {
		return 1<<32 | 0xffffffff
	}
	return sum
}

// special finds instructions whose meaning depends on more than the name.
func special(set *isa.Set, op *isa.Op, name string) *vectorOp {
	switch {
	case name == "v_dot2acc_f32_f16" || name == "v_dot2c_f32_f16" || name == "v_dot4c_i32_i8":
		return vectorOps[name]
	case set.Generation == 12 && name == "v_mul_legacy_f32":
		return vectorOps["v_mul_dx9_zero_f32"]
	}
	return nil
}

// mullit is a product for lighting: zero unless the others are positive.
func mullit(a, b, c uint64) uint64 {
	const least = 0xff7fffff // -MaxFloat32
	if uint32(b) == least || uint32(b) == 0xff800000 || nan32(b) || !(f32of(c) > 0) {
		return least
	}
	return mulLegacy32(a, b)
}

// cube gives the face of a cube map, and the coordinates there.
func cube(what int) laneFunc {
	return func(a, b, c uint64) uint64 {
		x, y, z := f32of(a), f32of(b), f32of(c)
		ax, ay, az := abs32(x), abs32(y), abs32(z)
		var face, sc, tc, ma float32
		switch {
		case az >= ax && az >= ay:
			face, sc, tc, ma = 4, x, -y, 2*z
			if z < 0 {
				face, sc = 5, -x
			}
		case ay >= ax:
			face, sc, tc, ma = 2, x, z, 2*y
			if y < 0 {
				face, tc = 3, -z
			}
		default:
			face, sc, tc, ma = 0, -z, -y, 2*x
			if x < 0 {
				face, sc = 1, z
			}
		}
		return bitsF32([]float32{face, sc, tc, ma}[what])
	}
}

func abs32(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ sign32) }

// qsad makes four sums of absolute differences at neighbouring bytes.
func qsad(masked bool) laneFunc {
	return func(a, b, c uint64) uint64 {
		var r uint64
		for i := range 4 {
			r |= (sad8(a>>(8*i), b, 0, masked) + c>>(16*i)) & 0xffff << (16 * i)
		}
		return r
	}
}

func fastAdd(d, a, b, _ *[lanes]uint32) {
	for i := range d {
		d[i] = uint32(add32(uint64(a[i]), uint64(b[i])))
	}
}

func fastSub(d, a, b, _ *[lanes]uint32) {
	for i := range d {
		d[i] = uint32(sub32(uint64(a[i]), uint64(b[i])))
	}
}

func fastMul(d, a, b, _ *[lanes]uint32) {
	for i := range d {
		d[i] = uint32(mul32(uint64(a[i]), uint64(b[i])))
	}
}

func fastFMA(d, a, b, c *[lanes]uint32) {
	for i := range d {
		d[i] = uint32(fma32(uint64(a[i]), uint64(b[i]), uint64(c[i])))
	}
}

func fastAddU(d, a, b, _ *[lanes]uint32) {
	for i := range d {
		d[i] = a[i] + b[i]
	}
}

func fastAnd(d, a, b, _ *[lanes]uint32) {
	for i := range d {
		d[i] = a[i] & b[i]
	}
}

func fastShl(d, a, b, _ *[lanes]uint32) {
	for i := range d {
		d[i] = b[i] << (a[i] & 31)
	}
}

func fastShr(d, a, b, _ *[lanes]uint32) {
	for i := range d {
		d[i] = b[i] >> (a[i] & 31)
	}
}
