package rdna

import (
	"math"
	"math/bits"
	"strings"

	"gorun/hipdyn/hipemu/rdna/isa"
)

// scalarOp is what an instruction of the scalar ALU does: types as those of
// vectorOp. What it says about SCC is
//
//	z  set if the result is not zero
//	s  set by the function
//	-  left alone
type scalarOp struct {
	sig string
	scc byte
	fn  func(w *wave, a, b uint64) uint64
}

var scalarOps map[string]*scalarOp

func init() {
	m := map[string]*scalarOp{}
	pure := func(f func(a, b uint64) uint64) func(w *wave, a, b uint64) uint64 {
		return func(_ *wave, a, b uint64) uint64 { return f(a, b) }
	}
	def := func(names, sig string, scc byte, f func(a, b uint64) uint64) {
		for _, n := range strings.Fields(names) {
			m[n] = &scalarOp{sig, scc, pure(f)}
		}
	}
	set := func(names, sig string, f func(w *wave, a, b uint64) uint64) {
		for _, n := range strings.Fields(names) {
			m[n] = &scalarOp{sig, 's', f}
		}
	}
	// Logic, for 32 and 64 bits.
	logic := map[string]func(a, b uint64) uint64{
		"and": func(a, b uint64) uint64 { return a & b }, "or": func(a, b uint64) uint64 { return a | b }, "xor": func(a, b uint64) uint64 { return a ^ b },
		"nand": func(a, b uint64) uint64 { return ^(a & b) }, "nor": func(a, b uint64) uint64 { return ^(a | b) }, "xnor": func(a, b uint64) uint64 { return ^(a ^ b) },
		"andn2": func(a, b uint64) uint64 { return a &^ b }, "orn2": func(a, b uint64) uint64 { return a | ^b },
		"and_not1": func(a, b uint64) uint64 { return a &^ b }, "or_not1": func(a, b uint64) uint64 { return a | ^b },
	}
	for n, f := range logic {
		def("s_"+n+"_b32", "u:uu", 'z', f)
		def("s_"+n+"_b64", "q:qq", 'z', f)
	}
	logic["andn1"], logic["orn1"] = func(a, b uint64) uint64 { return ^a & b }, func(a, b uint64) uint64 { return ^a | b }
	logic["and_not0"], logic["or_not0"] = logic["andn1"], logic["orn1"]
	for n, f := range logic {
		// Save EXEC and change it; or (wrexec) change it and copy it.
		for _, width := range []string{"32", "64"} {
			typ := "u"
			if width == "64" {
				typ = "q"
			}
			m["s_"+n+"_saveexec_b"+width] = &scalarOp{typ + ":" + typ, 's', func(w *wave, a, _ uint64) uint64 {
				old := uint64(w.s[regExec])
				if typ == "q" {
					old |= uint64(w.s[regExec+1]) << 32
				}
				w.setExec(f(a, old), typ == "q")
				return old
			}}
			m["s_"+n+"_wrexec_b"+width] = &scalarOp{typ + ":" + typ, 's', func(w *wave, a, _ uint64) uint64 {
				old := uint64(w.s[regExec])
				if typ == "q" {
					old |= uint64(w.s[regExec+1]) << 32
				}
				r := f(a, old)
				w.setExec(r, typ == "q")
				return r
			}}
		}
	}
	def("s_mov_b32", "u:u", '-', func(a, _ uint64) uint64 { return a })
	def("s_mov_b64", "q:q", '-', func(a, _ uint64) uint64 { return a })
	def("s_not_b32", "u:u", 'z', func(a, _ uint64) uint64 { return ^a })
	def("s_not_b64", "q:q", 'z', func(a, _ uint64) uint64 { return ^a })
	def("s_brev_b32", "u:u", '-', func(a, _ uint64) uint64 { return uint64(bits.Reverse32(uint32(a))) })
	def("s_brev_b64", "q:q", '-', func(a, _ uint64) uint64 { return bits.Reverse64(a) })
	def("s_wqm_b32", "u:u", 'z', func(a, _ uint64) uint64 { return wqm(u32(a)) })
	def("s_wqm_b64", "q:q", 'z', func(a, _ uint64) uint64 { return wqm(a) })
	def("s_quadmask_b32", "u:u", 'z', func(a, _ uint64) uint64 { return quadmask(u32(a)) })
	def("s_quadmask_b64", "q:q", 'z', func(a, _ uint64) uint64 { return quadmask(a) })
	def("s_bitreplicate_b64_b32", "q:u", '-', func(a, _ uint64) uint64 {
		var r uint64
		for i := range 32 {
			r |= a >> i & 1 * 3 << (2 * i)
		}
		return r
	})
	def("s_bcnt0_i32_b32", "u:u", 'z', func(a, _ uint64) uint64 { return uint64(32 - bits.OnesCount32(uint32(a))) })
	def("s_bcnt0_i32_b64", "u:q", 'z', func(a, _ uint64) uint64 { return uint64(64 - bits.OnesCount64(a)) })
	def("s_bcnt1_i32_b32", "u:u", 'z', func(a, _ uint64) uint64 { return uint64(bits.OnesCount32(uint32(a))) })
	def("s_bcnt1_i32_b64", "u:q", 'z', func(a, _ uint64) uint64 { return uint64(bits.OnesCount64(a)) })
	def("s_ff0_i32_b32", "u:u", '-', func(a, _ uint64) uint64 { return ffbl32(^a) })
	def("s_ff0_i32_b64", "u:q", '-', func(a, _ uint64) uint64 { return first64(^a, bits.TrailingZeros64) })
	def("s_ff1_i32_b32 s_ctz_i32_b32", "u:u", '-', func(a, _ uint64) uint64 { return ffbl32(a) })
	def("s_ff1_i32_b64 s_ctz_i32_b64", "u:q", '-', func(a, _ uint64) uint64 { return first64(a, bits.TrailingZeros64) })
	def("s_flbit_i32_b32 s_clz_i32_u32", "u:u", '-', func(a, _ uint64) uint64 { return ffbh32(a) })
	def("s_flbit_i32_b64 s_clz_i32_u64", "u:q", '-', func(a, _ uint64) uint64 { return first64(a, bits.LeadingZeros64) })
	def("s_flbit_i32 s_cls_i32", "u:u", '-', func(a, _ uint64) uint64 { return ffbhSigned32(a) })
	def("s_flbit_i32_i64 s_cls_i32_i64", "u:q", '-', func(a, _ uint64) uint64 {
		return first64(a^uint64(int64(a)>>63), bits.LeadingZeros64)
	})
	def("s_sext_i32_i8", "u:u", '-', func(a, _ uint64) uint64 { return low32(int64(int8(a))) })
	def("s_sext_i32_i16", "u:u", '-', func(a, _ uint64) uint64 { return low32(s16(a)) })
	def("s_abs_i32", "u:u", 'z', func(a, _ uint64) uint64 { return low32(abs64(s32(a))) })
	def("s_absdiff_i32", "u:uu", 'z', func(a, b uint64) uint64 { return low32(abs64(int64(int32(a - b)))) })
	// Sums.
	set("s_add_u32 s_add_co_u32", "u:uu", func(w *wave, a, b uint64) uint64 {
		r := u32(a) + u32(b)
		w.scc = uint32(r >> 32)
		return r
	})
	set("s_addc_u32 s_add_co_ci_u32", "u:uu", func(w *wave, a, b uint64) uint64 {
		r := u32(a) + u32(b) + uint64(w.scc)
		w.scc = uint32(r >> 32)
		return r
	})
	set("s_sub_u32 s_sub_co_u32", "u:uu", func(w *wave, a, b uint64) uint64 {
		w.scc = b2u(u32(b) > u32(a))
		return a - b
	})
	set("s_subb_u32 s_sub_co_ci_u32", "u:uu", func(w *wave, a, b uint64) uint64 {
		c := uint64(w.scc)
		w.scc = b2u(u32(b)+c > u32(a))
		return a - b - c
	})
	set("s_add_i32 s_add_co_i32", "u:uu", func(w *wave, a, b uint64) uint64 {
		r := s32(a) + s32(b)
		w.scc = b2u(r != int64(int32(r))) // signed overflow
		return low32(r)
	})
	set("s_sub_i32 s_sub_co_i32", "u:uu", func(w *wave, a, b uint64) uint64 {
		r := s32(a) - s32(b)
		w.scc = b2u(r != int64(int32(r)))
		return low32(r)
	})
	def("s_add_nc_u64", "q:qq", '-', func(a, b uint64) uint64 { return a + b })
	def("s_sub_nc_u64", "q:qq", '-', func(a, b uint64) uint64 { return a - b })
	def("s_mul_i32", "u:uu", '-', func(a, b uint64) uint64 { return a * b })
	def("s_mul_u64", "q:qq", '-', func(a, b uint64) uint64 { return a * b })
	def("s_mul_hi_u32", "u:uu", '-', mulHiU)
	def("s_mul_hi_i32", "u:uu", '-', mulHiS)
	for i := range uint64(4) {
		set("s_lshl"+string(rune('1'+i))+"_add_u32", "u:uu", func(w *wave, a, b uint64) uint64 {
			r := u32(a)<<(i+1) + u32(b)
			w.scc = b2u(r>>32 != 0)
			return r
		})
	}
	choose := func(lessIsFirst bool, key func(uint64) int64) func(w *wave, a, b uint64) uint64 {
		return func(w *wave, a, b uint64) uint64 {
			first := key(a) < key(b)
			if !lessIsFirst {
				first = key(a) > key(b)
			}
			// SCC says whether the first source is the result.
			w.scc = b2u(first)
			if first {
				return a
			}
			return b
		}
	}
	unsigned := func(a uint64) int64 { return int64(u32(a)) }
	set("s_min_i32", "u:uu", choose(true, s32))
	set("s_max_i32", "u:uu", choose(false, s32))
	set("s_min_u32", "u:uu", choose(true, unsigned))
	set("s_max_u32", "u:uu", choose(false, unsigned))
	// Shifts and fields.
	def("s_lshl_b32", "u:uu", 'z', func(a, b uint64) uint64 { return a << (b & 31) })
	def("s_lshr_b32", "u:uu", 'z', func(a, b uint64) uint64 { return u32(a) >> (b & 31) })
	def("s_ashr_i32", "u:uu", 'z', func(a, b uint64) uint64 { return low32(s32(a) >> (b & 31)) })
	def("s_lshl_b64", "q:qu", 'z', func(a, b uint64) uint64 { return a << (b & 63) })
	def("s_lshr_b64", "q:qu", 'z', func(a, b uint64) uint64 { return a >> (b & 63) })
	def("s_ashr_i64", "q:zu", 'z', func(a, b uint64) uint64 { return uint64(int64(a) >> (b & 63)) })
	def("s_bfm_b32", "u:uu", '-', func(a, b uint64) uint64 { return (1<<(a&31) - 1) << (b & 31) })
	def("s_bfm_b64", "q:uu", '-', func(a, b uint64) uint64 { return (1<<(a&63) - 1) << (b & 63) })
	def("s_bfe_u32", "u:uu", 'z', func(a, b uint64) uint64 { return u32(a) >> (b & 31) & (1<<min(b>>16&0x7f, 32) - 1) })
	def("s_bfe_i32", "u:uu", 'z', func(a, b uint64) uint64 {
		return low32(int64(field(uint64(s32(a)), b&31, min(b>>16&0x7f, 32))))
	})
	def("s_bfe_u64", "q:qu", 'z', func(a, b uint64) uint64 {
		n := b >> 16 & 0x7f
		if n == 0 {
			return 0
		}
		return a >> (b & 63) << (64 - min(n, 64)) >> (64 - min(n, 64))
	})
	def("s_bfe_i64", "q:zu", 'z', func(a, b uint64) uint64 { return field(a, b&63, min(b>>16&0x7f, 64)) })
	def("s_pack_ll_b32_b16", "u:uu", '-', func(a, b uint64) uint64 { return a&0xffff | b<<16 })
	def("s_pack_lh_b32_b16", "u:uu", '-', func(a, b uint64) uint64 { return a&0xffff | b&0xffff0000 })
	def("s_pack_hh_b32_b16", "u:uu", '-', func(a, b uint64) uint64 { return a>>16&0xffff | b&0xffff0000 })
	def("s_pack_hl_b32_b16", "u:uu", '-', func(a, b uint64) uint64 { return a>>16&0xffff | b<<16 })
	// Choices.
	for width, typ := range map[string]string{"32": "u", "64": "q"} {
		m["s_cselect_b"+width] = &scalarOp{typ + ":" + typ + typ, '-', func(w *wave, a, b uint64) uint64 {
			if w.scc != 0 {
				return a
			}
			return b
		}}
		m["s_bitset0_b"+width] = &scalarOp{typ + ":uD", '-', func(_ *wave, a, d uint64) uint64 { return d &^ (1 << (a & bitMask(width))) }}
		m["s_bitset1_b"+width] = &scalarOp{typ + ":uD", '-', func(_ *wave, a, d uint64) uint64 { return d | 1<<(a&bitMask(width)) }}
		m["s_cmov_b"+width] = &scalarOp{typ + ":" + typ + "D", '-', func(w *wave, a, d uint64) uint64 {
			if w.scc != 0 {
				return a
			}
			return d
		}}
		m["s_bitcmp0_b"+width] = &scalarOp{"c:" + typ + "u", 's', func(w *wave, a, b uint64) uint64 {
			w.scc = b2u(a>>(b&bitMask(width))&1 == 0)
			return 0
		}}
		m["s_bitcmp1_b"+width] = &scalarOp{"c:" + typ + "u", 's', func(w *wave, a, b uint64) uint64 {
			w.scc = b2u(a>>(b&bitMask(width))&1 == 1)
			return 0
		}}
	}
	// Floats of gfx11.5 and gfx12.
	half2 := func(f func(a, b uint64) uint64) func(a, b uint64) uint64 {
		return func(a, b uint64) uint64 { return f(a&0xffff, b&0xffff) }
	}
	lane2 := func(f laneFunc) func(a, b uint64) uint64 { return func(a, b uint64) uint64 { return f(a, b, 0) } }
	def("s_add_f32", "u:ff", '-', add32)
	def("s_sub_f32", "u:ff", '-', sub32)
	def("s_mul_f32", "u:ff", '-', mul32)
	def("s_add_f16", "u:hh", '-', half2(add16))
	def("s_sub_f16", "u:hh", '-', half2(sub16))
	def("s_mul_f16", "u:hh", '-', half2(mul16))
	def("s_min_f32", "u:ff", '-', lane2(format32.min(nanIEEE)))
	def("s_max_f32", "u:ff", '-', lane2(format32.max(nanIEEE)))
	def("s_min_num_f32", "u:ff", '-', lane2(format32.min(nanNumber)))
	def("s_max_num_f32", "u:ff", '-', lane2(format32.max(nanNumber)))
	def("s_minimum_f32", "u:ff", '-', lane2(format32.min(nanWins)))
	def("s_maximum_f32", "u:ff", '-', lane2(format32.max(nanWins)))
	def("s_min_f16", "u:hh", '-', half2(lane2(format16.min(nanIEEE))))
	def("s_max_f16", "u:hh", '-', half2(lane2(format16.max(nanIEEE))))
	def("s_min_num_f16", "u:hh", '-', half2(lane2(format16.min(nanNumber))))
	def("s_max_num_f16", "u:hh", '-', half2(lane2(format16.max(nanNumber))))
	def("s_minimum_f16", "u:hh", '-', half2(lane2(format16.min(nanWins))))
	def("s_maximum_f16", "u:hh", '-', half2(lane2(format16.max(nanWins))))
	for n, f := range map[string]func(float64) float64{"ceil": math.Ceil, "floor": math.Floor, "trunc": math.Trunc, "rndne": math.RoundToEven} {
		g, h := math32(f), math16(f)
		def("s_"+n+"_f32", "u:f", '-', func(a, _ uint64) uint64 { return g(a, 0, 0) })
		def("s_"+n+"_f16", "u:h", '-', func(a, _ uint64) uint64 { return h(a&0xffff, 0, 0) })
	}
	def("s_cvt_f32_i32", "u:u", '-', func(a, _ uint64) uint64 { return bitsF32(float32(int32(a))) })
	def("s_cvt_f32_u32", "u:u", '-', func(a, _ uint64) uint64 { return bitsF32(float32(uint32(a))) })
	def("s_cvt_i32_f32", "u:f", '-', func(a, _ uint64) uint64 { return toI32(math.Trunc(float64(f32of(a)))) })
	def("s_cvt_u32_f32", "u:f", '-', func(a, _ uint64) uint64 { return toU32(math.Trunc(float64(f32of(a)))) })
	def("s_cvt_f16_f32", "u:f", '-', func(a, _ uint64) uint64 { return bitsF16(f32of(a)) })
	def("s_cvt_f32_f16", "u:h", '-', func(a, _ uint64) uint64 { return bitsF32(f16of(a & 0xffff)) })
	def("s_cvt_hi_f32_f16", "u:u", '-', func(a, _ uint64) uint64 { return bitsF32(f16of(a >> 16 & 0xffff)) })
	def("s_cvt_pk_rtz_f16_f32", "u:ff", '-', func(a, b uint64) uint64 { return truncate16(f32of(a)) | truncate16(f32of(b))<<16 })
	scalarOps = m
}

func bitMask(width string) uint64 {
	if width == "64" {
		return 63
	}
	return 31
}

// field is a signed field of bits.
func field(a, at, width uint64) uint64 {
	if width == 0 {
		return 0
	}
	width = min(width, 64-at)
	return uint64(int64(a<<(64-at-width)) >> (64 - width))
}

func first64(a uint64, count func(uint64) int) uint64 {
	if a == 0 {
		return 0xffffffff
	}
	return uint64(count(a))
}

func wqm(a uint64) uint64 {
	a |= a >> 1
	a = (a | a>>2) & 0x1111111111111111
	return a * 15
}

func quadmask(a uint64) uint64 {
	var r uint64
	for i := range 16 {
		if a>>(4*i)&15 != 0 {
			r |= 1 << i
		}
	}
	return r
}

// setExec changes EXEC and says in SCC whether any lane is on.
func (w *wave) setExec(v uint64, all bool) {
	w.s[regExec] = uint32(v)
	if all {
		w.s[regExec+1] = uint32(v >> 32)
		w.scc = b2u(v != 0)
		return
	}
	w.scc = b2u(uint32(v) != 0)
}

// prepareScalar prepares an instruction of the scalar ALU.
func prepareScalar(set *isa.Set, st *step) bool {
	in := st.in
	name := in.Op.Base
	st.class = classSALU
	if in.Op.Encoding == isa.SOPP {
		return prepareControl(st)
	}
	if run, ok := scalarSpecial[name]; ok {
		st.run = run
		switch {
		case strings.HasPrefix(name, "s_barrier"):
			st.class = classBarrier
		case strings.Contains(name, "pc_b64"), name == "s_call_b64":
			st.class = classBranch
		case strings.HasPrefix(name, "s_waitcnt"):
			st.class = classOther
		}
		return true
	}
	if in.Op.Encoding == isa.SOPC && strings.HasPrefix(name, "s_cmp_") {
		typ, fn := scalarCompare(name)
		if fn == nil {
			return false
		}
		a, b := scalarReader(st, 0, typ), scalarReader(st, 1, typ)
		st.run = func(w *wave, st *step) { w.scc = uint32(fn(a(w), b(w), 0)) }
		return true
	}
	o := scalarOps[name]
	if o == nil {
		return false
	}
	head, types, _ := strings.Cut(o.sig, ":")
	read := [2]func(w *wave) uint64{}
	for i := range types {
		typ := types[i]
		if typ == 'D' {
			read[i] = func(w *wave) uint64 {
				if wide(head[0]) {
					return w.scalar64(in.D, 'q')
				}
				return uint64(w.scalar(in.D))
			}
			continue
		}
		read[i] = scalarReader(st, i, typ)
	}
	zero := func(*wave) uint64 { return 0 }
	for i := range read {
		if read[i] == nil {
			read[i] = zero
		}
	}
	a, b, fn, scc, d := read[0], read[1], o.fn, o.scc, in.D
	switch head[0] {
	case 'c': // only SCC
		st.run = func(w *wave, st *step) { fn(w, a(w), b(w)) }
	case 'q':
		st.run = func(w *wave, st *step) {
			r := fn(w, a(w), b(w))
			if scc == 'z' {
				w.scc = b2u(r != 0)
			}
			w.setScalar64(d, r)
		}
	default:
		st.run = func(w *wave, st *step) {
			r := uint32(fn(w, a(w), b(w)))
			if scc == 'z' {
				w.scc = b2u(r != 0)
			}
			w.setScalar(d, r)
		}
	}
	return true
}

// scalarReader reads source n.
func scalarReader(st *step, n int, typ byte) func(w *wave) uint64 {
	r := st.in.Src[n]
	if v, ok := constant(r, typ, st.in.Literal); ok {
		return func(*wave) uint64 { return v }
	}
	if wide(typ) {
		return func(w *wave) uint64 { return w.scalar64(r, typ) }
	}
	return func(w *wave) uint64 { return uint64(w.scalar(r)) }
}

// scalarSpecial are instructions of SOP1, SOP2, SOPK with effects of their own.
var scalarSpecial map[string]func(w *wave, st *step)

func init() {
	imm := func(st *step) uint64 { return uint64(int64(int16(st.in.Imm))) }
	m := map[string]func(w *wave, st *step){
		"s_movk_i32": func(w *wave, st *step) { w.setScalar(st.in.D, uint32(imm(st))) },
		"s_cmovk_i32": func(w *wave, st *step) {
			if w.scc != 0 {
				w.setScalar(st.in.D, uint32(imm(st)))
			}
		},
		"s_addk_i32": func(w *wave, st *step) {
			r := s32(uint64(w.scalar(st.in.D))) + int64(imm(st))
			w.scc = b2u(r != int64(int32(r)))
			w.setScalar(st.in.D, uint32(r))
		},
		"s_mulk_i32":  func(w *wave, st *step) { w.setScalar(st.in.D, w.scalar(st.in.D)*uint32(imm(st))) },
		"s_getpc_b64": func(w *wave, st *step) { w.setScalar64(st.in.D, w.group.launch.base+st.next) },
		"s_setpc_b64": func(w *wave, st *step) { w.jump(w.scalar64(st.in.Src[0], 'q')) },
		"s_swappc_b64": func(w *wave, st *step) {
			to := w.scalar64(st.in.Src[0], 'q')
			w.setScalar64(st.in.D, w.group.launch.base+st.next)
			w.jump(to)
		},
		"s_call_b64": func(w *wave, st *step) {
			w.setScalar64(st.in.D, w.group.launch.base+st.next)
			w.pc = st.next + 4*imm(st)
		},
		"s_fmac_f32": func(w *wave, st *step) {
			w.setScalar(st.in.D, uint32(fma32(uint64(w.scalar(st.in.Src[0])), uint64(w.scalar(st.in.Src[1])), uint64(w.scalar(st.in.D)))))
		},
		"s_fmaak_f32": func(w *wave, st *step) {
			w.setScalar(st.in.D, uint32(fma32(uint64(w.scalar(st.in.Src[0])), uint64(w.scalar(st.in.Src[1])), uint64(st.in.Literal))))
		},
		"s_fmamk_f32": func(w *wave, st *step) {
			w.setScalar(st.in.D, uint32(fma32(uint64(w.scalar(st.in.Src[0])), uint64(st.in.Literal), uint64(w.scalar(st.in.Src[1])))))
		},
		"s_fmac_f16": func(w *wave, st *step) {
			a, b := scalarReader(st, 0, 'h'), scalarReader(st, 1, 'h')
			w.setScalar(st.in.D, uint32(fma16(a(w)&0xffff, b(w)&0xffff, uint64(w.scalar(st.in.D)&0xffff))))
		},
		"s_getreg_b32": func(w *wave, st *step) {
			at, size := st.in.Imm>>6&31, st.in.Imm>>11+1
			w.setScalar(st.in.D, uint32(uint64(w.hardware(st.in.Imm&63))>>at&(1<<size-1)))
		},
		"s_setreg_b32":       func(w *wave, st *step) { w.setHardware(st.in.Imm, w.scalar(st.in.D)) },
		"s_setreg_imm32_b32": func(w *wave, st *step) { w.setHardware(st.in.Imm, st.in.Literal) },
		"s_barrier_signal": func(w *wave, st *step) {
			w.namedBarrier(int32(w.scalar(st.in.Src[0])))
			w.signal()
		},
		"s_barrier_signal_isfirst": func(w *wave, st *step) {
			w.namedBarrier(int32(w.scalar(st.in.Src[0])))
			w.scc = b2u(w.group.came == 0)
			w.signal()
		},
		"s_sendmsg_rtn_b64": func(w *wave, st *step) {
			if st.in.Src[0] != 131 {
				w.failf("message %d is not implemented", st.in.Src[0])
			}
			w.setScalar64(st.in.D, 0) // time: does not pass here
		},
	}
	m["s_addk_co_i32"] = m["s_addk_i32"]
	for _, rel := range []string{"eq", "lg", "gt", "ge", "lt", "le"} {
		f := relations[rel]
		m["s_cmpk_"+rel+"_i32"] = func(w *wave, st *step) {
			a, b := s32(uint64(w.scalar(st.in.D))), int64(imm(st))
			w.scc = b2u(f(a < b, a == b, a > b))
		}
		m["s_cmpk_"+rel+"_u32"] = func(w *wave, st *step) {
			a, b := w.scalar(st.in.D), uint32(st.in.Imm)
			w.scc = b2u(f(a < b, a == b, a > b))
		}
	}
	for _, n := range []string{"s_waitcnt_vscnt", "s_waitcnt_vmcnt", "s_waitcnt_expcnt", "s_waitcnt_lgkmcnt"} {
		m[n] = nothing
	}
	scalarSpecial = m
}

func nothing(*wave, *step) {}

// jump continues at an address in memory.
func (w *wave) jump(va uint64) { w.pc = va - w.group.launch.base }

func (w *wave) namedBarrier(n int32) {
	if n != -1 {
		w.failf("barrier %d is not implemented: only -1, that of the work-group, is", n)
	}
}

// Hardware registers that can be read.
const (
	hwMode       = 1
	hwFlatScrLo  = 20
	hwFlatScrHi  = 21
	hwShaderTime = 29
)

func (w *wave) hardware(id uint16) uint32 {
	switch id {
	case hwMode:
		return w.mode
	case hwShaderTime, hwShaderTime + 1:
		return 0
	}
	w.failf("hardware register %d is not implemented", id)
	return 0
}

// setHardware changes bits of a hardware register: of MODE, if it stays what
// the emulator computes with.
func (w *wave) setHardware(imm uint16, v uint32) {
	id, at, size := imm&63, imm>>6&31, imm>>11+1
	if id == hwFlatScrLo || id == hwFlatScrHi {
		return // scratch is where it is
	}
	if id != hwMode {
		w.failf("hardware register %d is not implemented", id)
	}
	mask := uint32(1<<size-1) << at
	w.setMode(w.mode&^mask | v<<at&mask)
}

func (w *wave) setMode(mode uint32) {
	if mode&0xff != 0xf0 {
		w.failf("float mode 0x%02x is not implemented: only 0xf0 is (round to nearest, denormals kept)", mode&0xff)
	}
	w.mode = mode
}

// prepareControl prepares branches, barriers, the end, and what has no effect
// here.
func prepareControl(st *step) bool {
	in := st.in
	target := st.next + uint64(int64(int16(in.Imm)))*4
	branch := func(taken func(w *wave) bool) bool {
		st.class = classBranch
		st.run = func(w *wave, st *step) {
			if taken(w) {
				w.pc = target
			}
		}
		return true
	}
	st.class = classOther
	switch in.Op.Base {
	case "s_branch":
		return branch(func(*wave) bool { return true })
	case "s_cbranch_scc0":
		return branch(func(w *wave) bool { return w.scc == 0 })
	case "s_cbranch_scc1":
		return branch(func(w *wave) bool { return w.scc != 0 })
	case "s_cbranch_vccz":
		return branch(func(w *wave) bool { return w.s[regVCC] == 0 })
	case "s_cbranch_vccnz":
		return branch(func(w *wave) bool { return w.s[regVCC] != 0 })
	case "s_cbranch_execz":
		return branch(func(w *wave) bool { return w.s[regExec] == 0 })
	case "s_cbranch_execnz":
		return branch(func(w *wave) bool { return w.s[regExec] != 0 })
	case "s_endpgm":
		st.run = func(w *wave, st *step) { w.end() }
	case "s_barrier":
		st.class = classBarrier
		st.run = func(w *wave, st *step) {
			w.signal()
			w.wait()
		}
	case "s_barrier_wait":
		st.class = classBarrier
		st.run = func(w *wave, st *step) {
			w.namedBarrier(int32(int16(in.Imm)))
			w.wait()
		}
	case "s_round_mode":
		st.run = func(w *wave, st *step) { w.setMode(w.mode&^15 | uint32(in.Imm&15)) }
	case "s_denorm_mode":
		st.run = func(w *wave, st *step) { w.setMode(w.mode&^0xf0 | uint32(in.Imm&15)<<4) }
	case "s_trap":
		st.run = func(w *wave, st *step) { w.failf("trap %d", in.Imm) }
	case "s_nop", "s_sleep", "s_setprio", "s_clause", "s_delay_alu", "s_inst_prefetch", "s_set_inst_prefetch_distance", "s_icache_inv", "s_code_end",
		"s_wait_event", "s_wait_idle", "s_ttracedata", "s_ttracedata_imm", "s_incperflevel", "s_decperflevel", "s_singleuse_vdst":
		st.run = nothing
	case "s_sendmsg":
		if in.Set.Generation < 11 || in.Imm != 3 {
			return false
		}
		st.run = nothing // the vector registers may be given back
	default:
		if !strings.HasPrefix(in.Op.Base, "s_wait") {
			return false
		}
		st.run = nothing // the emulator finishes everything at once
	}
	return true
}
