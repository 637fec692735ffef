package rdna

import (
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/x448/float16"

	"gorun/hipdyn/hipemu/rdna/isa"
)

// TestPermuteVectors: every control of DPP16, with masks of rows and banks,
// lanes that are off, and both ways to treat what is out of range.
func TestPermuteVectors(t *testing.T) {
	controls := []uint32{0xe4, 0x1b, 0xb1, 0x4e, 0x00, 0xff, 0x39}
	for n := range uint32(16) {
		if n > 0 {
			controls = append(controls, 0x100|n, 0x110|n, 0x120|n)
		}
		controls = append(controls, 0x150|n, 0x160|n)
	}
	controls = append(controls, 0x140, 0x141)
	// from says where lane i of a row reads, written down from the manual.
	from := func(c uint32, i int) int {
		n := int(c & 15)
		switch {
		case c < 0x100:
			return i/4*4 + int(c>>(i%4*2)&3)
		case c>>4 == 0x10:
			return i + n // shl: lane i gets lane i+n
		case c>>4 == 0x11:
			return i - n
		case c>>4 == 0x12:
			return (i + 16 - n) % 16
		case c == 0x140:
			return 15 - i
		case c == 0x141:
			return []int{7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8}[i]
		case c>>4 == 0x15:
			return n
		}
		return i ^ n
	}
	rigs(t, func(r *rig) {
		o := r.need(isa.VOP1, "v_mov_b32")
		rnd := rand.New(rand.NewPCG(1, 2))
		for _, c := range controls {
			for round := range 4 {
				exec, rows, banks, bound, fi := uint32(allOn), uint32(15), uint32(15), uint32(round&1), uint32(0)
				if round > 1 {
					exec, rows, banks, fi = rnd.Uint32(), rnd.Uint32N(16), rnd.Uint32N(16), rnd.Uint32N(2)
				}
				r.w.s[regExec] = exec
				r.set32(0, func(i int) uint32 { return 1000 + uint32(i) })
				r.set32(1, func(i int) uint32 { return 1 + uint32(i) })
				r.run(vop1(o, 0, 250), 1|c<<8|fi<<18|bound<<19|banks<<24|rows<<28)
				for i := range lanes {
					want := 1000 + uint32(i)
					if exec>>i&1 != 0 && rows>>(i/16)&1 != 0 && banks>>(i%16/4)&1 != 0 {
						f := from(c, i%16)
						ok := f >= 0 && f < 16 && (fi != 0 || exec>>(i/16*16+f)&1 != 0)
						switch {
						case ok:
							want = 1 + uint32(i/16*16+f)
						case bound != 0:
							want = 0
						}
					}
					if got := r.w.v[0][i]; got != want {
						t.Fatalf("%s: %s with EXEC %08x, lane %d: got %d, want %d", r.set.Target, r.text(vop1(o, 0, 250), 1|c<<8|fi<<18|bound<<19|banks<<24|rows<<28), exec, i, got, want)
					}
				}
			}
		}
		// DPP8, with another operation.
		add := r.need(isa.VOP2, "v_add_f32")
		sel := []uint32{7, 1, 0, 3, 2, 2, 6, 4}
		word := uint32(1)
		for i, s := range sel {
			word |= s << (8 + 3*i)
		}
		r.w.s[regExec] = allOn
		r.set32(1, func(i int) uint32 { return math.Float32bits(float32(i)) })
		r.set32(2, func(i int) uint32 { return math.Float32bits(100) })
		r.run(vop2(add, 0, 233, 2), word)
		for i := range lanes {
			if got, want := math.Float32frombits(r.w.v[0][i]), 100+float32(i/8*8+int(sel[i%8])); got != want {
				t.Fatalf("%s: dpp8 lane %d: got %g, want %g", r.set.Target, i, got, want)
			}
		}
		// The long encodings with DPP, from gfx11 on.
		if r.set.Generation >= 11 {
			fma := r.need(isa.VOP3, "v_fma_f32")
			code := vop3(fma, 0, 250, v(2), v(2), mods{neg: 1})
			r.run(code[0], code[1], 1|0x141<<8|0xff<<24)
			for i := range lanes {
				if got, want := math.Float32frombits(r.w.v[0][i]), -100*float32(i^7)+100; got != want {
					t.Fatalf("%s: %s lane %d: got %g, want %g", r.set.Target, r.text(code[0], code[1], 1|0x141<<8|0xff<<24), i, got, want)
				}
			}
		}
	})
	vectors += len(controls)*4 + 3
}

// TestSubDwordVectors: SDWA, of gfx1030 only.
func TestSubDwordVectors(t *testing.T) {
	r := newRig(t, "gfx1030")
	o := r.need(isa.VOP2, "v_add_nc_u32")
	part := func(x uint32, sel uint32, sext bool) uint32 {
		n, at := uint(8), uint(sel)*8
		switch sel {
		case 4, 5:
			n, at = 16, uint(sel-4)*16
		case 6:
			return x
		}
		if p := x << (32 - n - at) >> (32 - n); !sext {
			return p
		}
		return uint32(int32(x<<(32-n-at)) >> (32 - n))
	}
	const a, b, old = 0x80f17f92, 0x12fe8301, 0xaabbccdd
	for s0 := range uint32(7) {
		for s1 := range uint32(7) {
			for d := range uint32(7) {
				for u := range uint32(3) {
					sext0, sext1 := (s0+d)&1 == 1, (s1+u)&1 == 1
					r.set32(0, func(int) uint32 { return old })
					r.set32(1, func(int) uint32 { return a })
					r.set32(2, func(int) uint32 { return b })
					r.run(vop2(o, 0, 249, 2), 1|d<<8|u<<11|s0<<16|b2u(sext0)<<19|s1<<24|b2u(sext1)<<27)
					sum := part(a, s0, sext0) + part(b, s1, sext1)
					want := sum
					if d < 6 {
						n, at := uint(8), uint(d)*8
						if d > 3 {
							n, at = 16, uint(d-4)*16
						}
						mask := uint32(1<<n-1) << at
						switch u {
						case 0:
							want = sum << at & mask
						case 1:
							want = uint32(int32(sum<<(32-n))>>(32-n)) << at
						case 2:
							want = old&^mask | sum<<at&mask
						}
					}
					if got := r.w.v[0][3]; got != want {
						t.Fatalf("src0_sel %d src1_sel %d dst_sel %d unused %d: got %08x, want %08x", s0, s1, d, u, got, want)
					}
				}
			}
		}
	}
	vectors += 7 * 7 * 7 * 3
	// Negation happens to the part that was selected, as a number of its kind.
	f := r.need(isa.VOP1, "v_cvt_f32_f16")
	r.set32(1, func(int) uint32 { return 0x3c004000 })
	r.run(vop1(f, 0, 249), 1|6<<8|5<<16|1<<20)
	if got := math.Float32frombits(r.w.v[0][0]); got != -1 {
		t.Errorf("minus the upper half: got %g, want -1", got)
	}
}

// TestPackedVectors: two halves at once, and which half each source gives.
func TestPackedVectors(t *testing.T) {
	to := func(h uint16) float64 { return float64(float16.Frombits(h).Float32()) }
	rnd := rand.New(rand.NewPCG(3, 4))
	for name, f := range map[string]func(a, b, c uint16) uint16{
		"v_pk_add_u16": func(a, b, _ uint16) uint16 { return a + b }, "v_pk_sub_i16": func(a, b, _ uint16) uint16 { return a - b }, "v_pk_mul_lo_u16": func(a, b, _ uint16) uint16 { return a * b },
		"v_pk_mad_u16": func(a, b, c uint16) uint16 { return a*b + c }, "v_pk_max_i16": func(a, b, _ uint16) uint16 { return uint16(max(int16(a), int16(b))) }, "v_pk_min_u16": func(a, b, _ uint16) uint16 { return min(a, b) },
		"v_pk_lshlrev_b16": func(a, b, _ uint16) uint16 { return b << (a % 16) }, "v_pk_ashrrev_i16": func(a, b, _ uint16) uint16 { return uint16(int16(b) >> (a % 16)) },
		"v_pk_add_f16": func(a, b, _ uint16) uint16 { return nearestHalf(to(a) + to(b)) }, "v_pk_mul_f16": func(a, b, _ uint16) uint16 { return nearestHalf(to(a) * to(b)) },
		"v_pk_fma_f16": func(a, b, c uint16) uint16 { return nearestHalf(to(a)*to(b) + to(c)) },
	} {
		rigs(t, func(r *rig) {
			o := r.need(isa.VOP3P, name)
			n := uint32(1)<<sources(o) - 1
			for range 8 {
				m := mods{opsel: rnd.Uint32() & n, opselHi: rnd.Uint32() & n}
				if n < 7 {
					m.opselHi |= 4
				}
				float := strings.HasSuffix(name, "f16")
				if float {
					m.neg, m.negHi = rnd.Uint32()&n, rnd.Uint32()&n
				}
				x := [3]uint32{rnd.Uint32() &^ 0x40004000, rnd.Uint32() &^ 0x40004000, rnd.Uint32() &^ 0x40004000}
				src := [3]uint32{v(1), v(2), v(3)}
				for i := range 3 {
					r.set32(1+i, func(int) uint32 { return x[i] })
					if n>>i&1 == 0 {
						src[i] = 0
					}
				}
				r.run(vop3p(o, 0, src[0], src[1], src[2], m)...)
				want := uint32(0)
				for h := range 2 {
					sel, neg := m.opsel, m.neg
					if h == 1 {
						sel, neg = m.opselHi, m.negHi
					}
					var p [3]uint16
					for i := range p {
						p[i] = uint16(x[i] >> (16 * (sel >> i & 1)))
						if float && neg>>i&1 != 0 {
							p[i] ^= 0x8000
						}
					}
					want |= uint32(f(p[0], p[1], p[2])) << (16 * h)
				}
				if got := r.w.v[0][0]; got != want {
					t.Fatalf("%s: %s of %08x: got %08x, want %08x", r.set.Target, r.text(vop3p(o, 0, src[0], src[1], src[2], m)...), x, got, want)
				}
			}
		})
		vectors += 8
	}
	rigs(t, func(r *rig) {
		mix := r.need(isa.VOP3P, "v_fma_mix_f32")
		lo, hi := r.need(isa.VOP3P, "v_fma_mixlo_f16"), r.need(isa.VOP3P, "v_fma_mixhi_f16")
		r.set32(1, func(int) uint32 { return 0xc0003c00 }) // -2 and 1 as halves
		r.set32(2, func(int) uint32 { return math.Float32bits(3) })
		r.set32(3, func(int) uint32 { return math.Float32bits(-0.5) })
		for _, c := range []struct {
			m    mods
			want float32
		}{
			{mods{opselHi: 1}, 2.5},                              // 1*3 - 0.5
			{mods{opselHi: 1, opsel: 1}, -6.5},                   // -2*3 - 0.5
			{mods{opselHi: 1, opsel: 1, negHi: 1}, 5.5},          // |-2|*3 - 0.5
			{mods{opselHi: 1, neg: 1}, -3.5},                     // -1*3 - 0.5
			{mods{opselHi: 1, opsel: 1, neg: 1, negHi: 1}, -6.5}, // -|-2|*3 - 0.5
			{mods{opselHi: 1, negHi: 4}, 3.5},                    // 1*3 + |-0.5|
			{mods{opselHi: 1, clamp: true}, 1},
		} {
			r.run(vop3p(mix, 0, v(1), v(2), v(3), c.m)...)
			if got := math.Float32frombits(r.w.v[0][0]); got != c.want {
				t.Errorf("%s: %s: got %g, want %g", r.set.Target, r.text(vop3p(mix, 0, v(1), v(2), v(3), c.m)...), got, c.want)
			}
		}
		r.set32(0, func(int) uint32 { return 0x11112222 })
		r.run(vop3p(lo, 0, v(1), v(2), v(3), mods{opselHi: 1})...)
		if got := r.w.v[0][0]; got != 0x11114100 {
			t.Errorf("%s: mixlo: got %08x", r.set.Target, got)
		}
		r.run(vop3p(hi, 0, v(1), v(2), v(3), mods{opselHi: 1})...)
		if got := r.w.v[0][0]; got != 0x41004100 {
			t.Errorf("%s: mixhi: got %08x", r.set.Target, got)
		}
		// Products of 8 bits, signed or not by neg_lo.
		if o := r.op(isa.VOP3P, "v_dot4_i32_iu8"); o != nil {
			r.set32(1, func(int) uint32 { return 0xff0280ff })
			r.set32(2, func(int) uint32 { return 0x80ff7f02 })
			r.set32(3, func(int) uint32 { return 10 })
			for neg, want := range []int32{255*2 + 128*127 + 2*255 + 255*128, -2 + -128*127 + 2*255 - 128, 255*2 + 128*127 - 2 + 255*-128, -2 + -128*127 - 2 + 128} {
				r.run(vop3p(o, 0, v(1), v(2), v(3), mods{neg: uint32(neg), opselHi: 7})...)
				if got := int32(r.w.v[0][0]); got != want+10 {
					t.Errorf("%s: dot4 with signs %d: got %d, want %d", r.set.Target, neg, got, want+10)
				}
			}
			r.set32(3, func(int) uint32 { return math.MaxInt32 })
			r.run(vop3p(o, 0, v(1), v(2), v(3), mods{clamp: true, opselHi: 7})...)
			if got := r.w.v[0][0]; got != math.MaxInt32 {
				t.Errorf("%s: clamped dot4: got %08x", r.set.Target, got)
			}
		}
		o := r.need(isa.VOP3P, "v_dot2_f32_f16")
		r.set32(1, func(int) uint32 { return 0x40003c00 }) // 1, 2
		r.set32(2, func(int) uint32 { return 0x44004200 }) // 3, 4
		r.set32(3, func(int) uint32 { return math.Float32bits(0.25) })
		r.run(vop3p(o, 0, v(1), v(2), v(3), mods{opselHi: 7})...)
		if got := math.Float32frombits(r.w.v[0][0]); got != 11.25 {
			t.Errorf("%s: dot2: got %g", r.set.Target, got)
		}
	})
	vectors += 15
}

// scalarVectors are instructions of the scalar ALU: sources, SCC before;
// result, SCC after.
func TestScalarVectors(t *testing.T) {
	type result struct {
		d   uint32
		scc uint32
	}
	z := func(d uint32) result { return result{d, b2u(d != 0)} }
	const keep = 2 // SCC stays
	k := func(d uint32) result { return result{d, keep} }
	for name, f := range map[string]func(a, b, scc uint32) result{
		"s_add_u32": func(a, b, _ uint32) result { s, c := bits.Add32(a, b, 0); return result{s, c} }, "s_sub_u32": func(a, b, _ uint32) result { s, c := bits.Sub32(a, b, 0); return result{s, c} },
		"s_addc_u32": func(a, b, x uint32) result { s, c := bits.Add32(a, b, x); return result{s, c} }, "s_subb_u32": func(a, b, x uint32) result { s, c := bits.Sub32(a, b, x); return result{s, c} },
		"s_add_i32": func(a, b, _ uint32) result { s := a + b; return result{s, (a ^ s) & (b ^ s) >> 31} }, "s_sub_i32": func(a, b, _ uint32) result { s := a - b; return result{s, (a ^ b) & (a ^ s) >> 31} },
		"s_min_i32": func(a, b, _ uint32) result { return result{uint32(min(int32(a), int32(b))), b2u(int32(a) < int32(b))} }, "s_max_u32": func(a, b, _ uint32) result { return result{max(a, b), b2u(a > b)} },
		"s_min_u32": func(a, b, _ uint32) result { return result{min(a, b), b2u(a < b)} }, "s_max_i32": func(a, b, _ uint32) result { return result{uint32(max(int32(a), int32(b))), b2u(int32(a) > int32(b))} },
		"s_and_b32": func(a, b, _ uint32) result { return z(a & b) }, "s_or_b32": func(a, b, _ uint32) result { return z(a | b) }, "s_xor_b32": func(a, b, _ uint32) result { return z(a ^ b) },
		"s_andn2_b32": func(a, b, _ uint32) result { return z(a &^ b) }, "s_orn2_b32": func(a, b, _ uint32) result { return z(a | ^b) }, "s_nand_b32": func(a, b, _ uint32) result { return z(^(a & b)) },
		"s_nor_b32": func(a, b, _ uint32) result { return z(^a & ^b) }, "s_xnor_b32": func(a, b, _ uint32) result { return z(^a ^ b) },
		"s_lshl_b32": func(a, b, _ uint32) result { return z(a << (b % 32)) }, "s_lshr_b32": func(a, b, _ uint32) result { return z(a >> (b % 32)) }, "s_ashr_i32": func(a, b, _ uint32) result { return z(uint32(int32(a) >> (b % 32))) },
		"s_bfm_b32": func(a, b, _ uint32) result { return k((1<<(a%32) - 1) << (b % 32)) }, "s_mul_i32": func(a, b, _ uint32) result { return k(a * b) },
		"s_mul_hi_u32": func(a, b, _ uint32) result { h, _ := bits.Mul32(a, b); return k(h) }, "s_mul_hi_i32": func(a, b, _ uint32) result { return k(uint32(int64(int32(a)) * int64(int32(b)) >> 32)) },
		"s_bfe_u32": func(a, b, _ uint32) result {
			n := b >> 16 & 127
			d := a >> (b % 32)
			if n < 32 {
				d &= 1<<n - 1
			}
			return z(d)
		},
		"s_bfe_i32": func(a, b, _ uint32) result {
			at, n := b%32, b>>16&127
			d := uint32(int32(a) >> at)
			if n == 0 {
				d = 0
			} else if at+n < 32 {
				d = uint32(sx(d, uint(n)))
			}
			return z(d)
		},
		"s_lshl2_add_u32":   func(a, b, _ uint32) result { s := uint64(a)<<2 + uint64(b); return result{uint32(s), b2u(s>>32 != 0)} },
		"s_pack_ll_b32_b16": func(a, b, _ uint32) result { return k(a&0xffff | b<<16) }, "s_pack_lh_b32_b16": func(a, b, _ uint32) result { return k(a&0xffff | b>>16<<16) },
		"s_pack_hh_b32_b16": func(a, b, _ uint32) result { return k(a>>16 | b>>16<<16) },
		"s_cselect_b32": func(a, b, x uint32) result {
			if x == 1 {
				return k(a)
			}
			return k(b)
		},
		"s_absdiff_i32": func(a, b, _ uint32) result {
			d := a - b
			if int32(d) < 0 {
				d = -d
			}
			return z(d)
		},
		// of one source
		"s_mov_b32": func(a, _, _ uint32) result { return k(a) }, "s_not_b32": func(a, _, _ uint32) result { return z(^a) }, "s_brev_b32": func(a, _, _ uint32) result { return k(bits.Reverse32(a)) },
		"s_bcnt1_i32_b32": func(a, _, _ uint32) result { return z(uint32(bits.OnesCount32(a))) }, "s_bcnt0_i32_b32": func(a, _, _ uint32) result { return z(uint32(bits.OnesCount32(^a))) },
		"s_sext_i32_i8": func(a, _, _ uint32) result { return k(uint32(sx(a, 8))) }, "s_sext_i32_i16": func(a, _, _ uint32) result { return k(uint32(sx(a, 16))) },
		"s_abs_i32": func(a, _, _ uint32) result { return z(uint32(max(int32(a), -int32(a)))) },
		"s_ff1_i32_b32": func(a, _, _ uint32) result {
			if a == 0 {
				return k(allOn)
			}
			return k(uint32(bits.TrailingZeros32(a)))
		},
		"s_flbit_i32_b32": func(a, _, _ uint32) result {
			if a == 0 {
				return k(allOn)
			}
			return k(uint32(bits.LeadingZeros32(a)))
		},
		"s_wqm_b32": func(a, _, _ uint32) (r result) {
			for i := 0; i < 32; i += 4 {
				if a>>i&15 != 0 {
					r.d |= 15 << i
				}
			}
			return z(r.d)
		},
		"s_cmp_eq_i32": func(a, b, _ uint32) result { return result{9, b2u(a == b)} }, "s_cmp_lg_u32": func(a, b, _ uint32) result { return result{9, b2u(a != b)} },
		"s_cmp_gt_i32": func(a, b, _ uint32) result { return result{9, b2u(int32(a) > int32(b))} }, "s_cmp_le_u32": func(a, b, _ uint32) result { return result{9, b2u(a <= b)} },
		"s_bitcmp1_b32": func(a, b, _ uint32) result { return result{9, a >> (b % 32) & 1} }, "s_bitcmp0_b32": func(a, b, _ uint32) result { return result{9, ^a >> (b % 32) & 1} },
	} {
		rigs(t, func(r *rig) {
			a, b, _ := inputs32(uint64(len(name)))
			for i := 0; i < lanes; i += 5 {
				b[i] = a[i]
			}
			var code uint32
			switch {
			case r.find(isa.SOP2, name) != nil:
				code = sop2(r.find(isa.SOP2, name), 10, 11, 12)
			case r.find(isa.SOP1, name) != nil:
				code = sop1(r.find(isa.SOP1, name), 10, 11)
			default:
				code = sopc(r.need(isa.SOPC, name), 11, 12)
			}
			for i := range lanes {
				for scc := range uint32(2) {
					r.w.s[10], r.w.s[11], r.w.s[12], r.w.scc = 9, a[i], b[i], scc
					r.run(code)
					want := f(a[i], b[i], scc)
					if want.scc == keep {
						want.scc = scc
					}
					if got := (result{r.w.s[10], r.w.scc}); got != want {
						t.Fatalf("%s: %s of %08x, %08x, SCC %d: got %08x and SCC %d, want %08x and %d", r.set.Target, name, a[i], b[i], scc, got.d, got.scc, want.d, want.scc)
					}
				}
			}
		})
		vectors += 2 * lanes
	}
	// 64 bits.
	for name, f := range map[string]func(a, b uint64) uint64{
		"s_and_b64": func(a, b uint64) uint64 { return a & b }, "s_or_b64": func(a, b uint64) uint64 { return a | b }, "s_xor_b64": func(a, b uint64) uint64 { return a ^ b },
		"s_lshl_b64": func(a, b uint64) uint64 { return a << (b % 64) }, "s_lshr_b64": func(a, b uint64) uint64 { return a >> (b % 64) }, "s_ashr_i64": func(a, b uint64) uint64 { return uint64(int64(a) >> (b % 64)) },
		"s_bfe_i64": func(a, b uint64) uint64 {
			at, n := b%64, b>>16&127
			if n == 0 {
				return 0
			}
			d := int64(a) >> at
			if at+n < 64 {
				d = d << (64 - n) >> (64 - n)
			}
			return uint64(d)
		},
		"s_bfe_u64": func(a, b uint64) uint64 {
			n := b >> 16 & 127
			d := a >> (b % 64)
			if n < 64 {
				d &= 1<<n - 1
			}
			return d
		},
	} {
		rigs(t, func(r *rig) {
			o := r.need(isa.SOP2, name)
			x, y, _ := inputs32(uint64(len(name)) * 3)
			for i := range lanes {
				a, b := uint64(x[i])<<32|uint64(y[i]), uint64(y[31-i])<<32|uint64(x[31-i])
				r.w.setScalar64(10, a)
				r.w.setScalar64(12, b)
				r.run(sop2(o, 14, 10, 12))
				want := f(a, b)
				if strings.HasPrefix(name, "s_bfe") || strings.Contains(name, "sh") {
					want = f(a, uint64(uint32(b)))
				}
				if got := r.w.scalar64(14, 'q'); got != want || r.w.scc != b2u(want != 0) {
					t.Fatalf("%s: %s of %016x and %016x: got %016x, want %016x", r.set.Target, name, a, b, got, want)
				}
			}
		})
		vectors += lanes
	}
}

// TestMemoryVectors: loads and stores of all widths, LDS and global.
func TestMemoryVectors(t *testing.T) {
	rigs(t, func(r *rig) {
		l := &r.w.group.lds
		for i := range l.data {
			l.data[i], l.defined[i] = byte(i*37+11), 1
		}
		word := func(at int) uint32 { return binary.LittleEndian.Uint32(l.data[at:]) }
		r.set32(1, func(i int) uint32 { return uint32(8 * i) })
		for name, f := range map[string]func(at int, old uint32) uint32{
			"ds_read_u8":         func(at int, _ uint32) uint32 { return uint32(l.data[at]) },
			"ds_read_i8":         func(at int, _ uint32) uint32 { return uint32(int32(int8(l.data[at]))) },
			"ds_read_u16":        func(at int, _ uint32) uint32 { return word(at) & 0xffff },
			"ds_read_i16":        func(at int, _ uint32) uint32 { return uint32(int32(int16(word(at)))) },
			"ds_read_b32":        func(at int, _ uint32) uint32 { return word(at) },
			"ds_read_u16_d16":    func(at int, old uint32) uint32 { return old&0xffff0000 | word(at)&0xffff },
			"ds_read_u16_d16_hi": func(at int, old uint32) uint32 { return old&0xffff | word(at)<<16 },
			"ds_read_u8_d16":     func(at int, old uint32) uint32 { return old&0xffff0000 | uint32(l.data[at]) },
			"ds_read_u8_d16_hi":  func(at int, old uint32) uint32 { return old&0xffff | uint32(l.data[at])<<16 },
			"ds_read_i8_d16_hi":  func(at int, old uint32) uint32 { return old&0xffff | uint32(uint16(int8(l.data[at])))<<16 },
		} {
			const old = 0x55667788
			r.w.s[regExec] = someLanes
			r.set32(0, func(int) uint32 { return old })
			r.run(ds(r.need(isa.DS, name), 0, 1, 0, 0, 20)...)
			for i := range lanes {
				want := uint32(old)
				if someLanes>>i&1 != 0 {
					want = f(8*i+20, old)
				}
				if got := r.w.v[0][i]; got != want {
					t.Fatalf("%s: %s lane %d: got %08x, want %08x", r.set.Target, name, i, got, want)
				}
			}
		}
		r.w.s[regExec] = allOn
		for name, n := range map[string]int{"ds_read_b64": 2, "ds_read_b96": 3, "ds_read_b128": 4} {
			for k := range 6 {
				r.set32(10+k, func(int) uint32 { return 0xeeee })
			}
			r.run(ds(r.need(isa.DS, name), 10, 1, 0, 0, 0)...)
			for k := range 6 {
				want := uint32(0xeeee) // the registers behind stay
				if k < n {
					want = word(8*5 + 4*k)
				}
				if got := r.w.v[10+k][5]; got != want {
					t.Errorf("%s: %s register %d: got %08x, want %08x", r.set.Target, name, k, got, want)
				}
			}
		}
		// The address register is one of the results.
		r.run(ds(r.need(isa.DS, "ds_read_b128"), 1, 1, 0, 0, 0)...)
		if r.w.v[1][3] != word(24) || r.w.v[4][3] != word(36) {
			t.Errorf("%s: ds_read_b128 over its address: %08x %08x", r.set.Target, r.w.v[1][3], r.w.v[4][3])
		}
		r.set32(1, func(i int) uint32 { return uint32(4 * i) })
		r.run(ds(r.need(isa.DS, "ds_read2_b32"), 10, 1, 0, 0, 3|7<<8)...)
		if r.w.v[10][2] != word(8+12) || r.w.v[11][2] != word(8+28) {
			t.Errorf("%s: ds_read2_b32: %08x %08x", r.set.Target, r.w.v[10][2], r.w.v[11][2])
		}
		r.run(ds(r.need(isa.DS, "ds_read2st64_b32"), 10, 1, 0, 0, 0|1<<8)...)
		if r.w.v[11][2] != word(8+256) {
			t.Errorf("%s: ds_read2st64_b32: %08x", r.set.Target, r.w.v[11][2])
		}
		r.set32(5, func(i int) uint32 { return 0x1000 + uint32(i) })
		r.set32(6, func(i int) uint32 { return 0x2000 + uint32(i) })
		r.run(ds(r.need(isa.DS, "ds_write2_b32"), 0, 1, 5, 6, 0|40<<8)...)
		if word(4*9) != 0x1009 || word(4*9+160) != 0x2009 {
			t.Errorf("%s: ds_write2_b32: %08x %08x", r.set.Target, word(36), word(36+160))
		}
		// Atomics, with what was there.
		for name, f := range map[string]func(old, x uint32) uint32{
			"ds_add_rtn_u32": func(o, x uint32) uint32 { return o + x }, "ds_sub_rtn_u32": func(o, x uint32) uint32 { return o - x }, "ds_and_rtn_b32": func(o, x uint32) uint32 { return o & x },
			"ds_or_rtn_b32": func(o, x uint32) uint32 { return o | x }, "ds_xor_rtn_b32": func(o, x uint32) uint32 { return o ^ x }, "ds_wrxchg_rtn_b32": func(o, x uint32) uint32 { return x },
			"ds_min_rtn_i32": func(o, x uint32) uint32 { return uint32(min(int32(o), int32(x))) }, "ds_max_rtn_u32": func(o, x uint32) uint32 { return max(o, x) },
			"ds_min_rtn_u32": func(o, x uint32) uint32 { return min(o, x) }, "ds_max_rtn_i32": func(o, x uint32) uint32 { return uint32(max(int32(o), int32(x))) },
			"ds_inc_rtn_u32": func(o, x uint32) uint32 {
				if o >= x {
					return 0
				}
				return o + 1
			},
			"ds_dec_rtn_u32": func(o, x uint32) uint32 {
				if o == 0 || o > x {
					return x
				}
				return o - 1
			},
		} {
			x, y, _ := inputs32(uint64(len(name)))
			for i := range lanes {
				binary.LittleEndian.PutUint32(l.data[4*i:], y[i])
			}
			r.set32(1, func(i int) uint32 { return uint32(4 * i) })
			r.set32(5, func(i int) uint32 { return x[i] })
			r.run(ds(r.need(isa.DS, name), 0, 1, 5, 0, 0)...)
			for i := range lanes {
				if r.w.v[0][i] != y[i] || word(4*i) != f(y[i], x[i]) {
					t.Fatalf("%s: %s of %08x and %08x: got %08x and %08x", r.set.Target, name, y[i], x[i], r.w.v[0][i], word(4*i))
				}
			}
		}
		// Swizzle patterns.
		for _, p := range []uint32{0x041f, 0x401f, 0x7c1f, 0x00e0, 0x80b1, 0x801b, 0x03f3} {
			r.set32(1, func(i int) uint32 { return uint32(i) + 50 })
			r.run(ds(r.need(isa.DS, "ds_swizzle_b32"), 0, 1, 0, 0, p)...)
			for i := range uint32(lanes) {
				want := (i&(p&31) | p>>5&31) ^ p>>10&31
				if p&0x8000 != 0 {
					want = i/4*4 + p>>(i%4*2)&3
				}
				if got := r.w.v[0][i]; got != want+50 {
					t.Fatalf("%s: swizzle 0x%04x lane %d: got %d, want %d", r.set.Target, p, i, got-50, want)
				}
			}
		}
	})
	vectors += 10*lanes + 6 + 12*lanes + 7
}

// TestLaneVectors: instructions that name a lane.
func TestLaneVectors(t *testing.T) {
	rigs(t, func(r *rig) {
		r.w.s[regExec] = 0xfffffff0
		r.set32(1, func(i int) uint32 { return 100 + uint32(i) })
		r.run(vop1(r.need(isa.VOP1, "v_readfirstlane_b32"), 10, v(1)))
		if r.w.s[10] != 104 {
			t.Errorf("%s: first lane: %d", r.set.Target, r.w.s[10])
		}
		r.w.s[11] = 37 // modulo 32
		r.run(vop3(r.need(isa.VOP3, "v_readlane_b32"), 10, v(1), 11, 0, mods{})...)
		if r.w.s[10] != 105 {
			t.Errorf("%s: lane 37: %d", r.set.Target, r.w.s[10])
		}
		// Into another register than v0, into a lane that is off.
		r.set32(0, func(i int) uint32 { return 1 })
		r.set32(7, func(i int) uint32 { return 2 })
		r.run(vop3(r.need(isa.VOP3, "v_writelane_b32"), 7, 11, 128+2, 0, mods{})...)
		if r.w.v[7][2] != 37 || r.w.v[7][3] != 2 || r.w.v[0][2] != 1 {
			t.Errorf("%s: v_writelane_b32: %d %d %d", r.set.Target, r.w.v[7][2], r.w.v[7][3], r.w.v[0][2])
		}
		r.w.s[regExec] = allOn
		r.run(vop3(r.need(isa.VOP3, "v_mbcnt_lo_u32_b32"), 0, 193, 128, 0, mods{})...)
		if r.w.v[0][31] != 31 || r.w.v[0][0] != 0 {
			t.Errorf("%s: v_mbcnt_lo of all: %d", r.set.Target, r.w.v[0][31])
		}
		for _, fi := range []uint32{0, 1} {
			for _, bc := range []uint32{0, 1} {
				for _, name := range []string{"v_permlane16_b32", "v_permlanex16_b32"} {
					const exec = 0x0f0ff00f
					r.w.s[20], r.w.s[21] = 0x13579bdf, 0x02468ace
					r.w.s[regExec] = exec
					r.set32(0, func(i int) uint32 { return 7 })
					r.run(vop3(r.need(isa.VOP3, name), 0, v(1), 20, 21, mods{opsel: fi | bc<<1})...)
					for i := range lanes {
						sel := r.w.s[20] >> (4 * (i % 8)) & 15
						if i%16 >= 8 {
							sel = r.w.s[21] >> (4 * (i % 8)) & 15
						}
						from := i/16*16 + int(sel)
						if strings.Contains(name, "x16") {
							from ^= 16
						}
						want := uint32(7)
						if exec>>i&1 != 0 {
							switch {
							case fi == 1 || exec>>from&1 != 0:
								want = 100 + uint32(from)
							case bc == 1:
								want = 0
							}
						}
						if got := r.w.v[0][i]; got != want {
							t.Fatalf("%s: %s fi %d bc %d lane %d: got %d, want %d", r.set.Target, name, fi, bc, i, got, want)
						}
					}
				}
			}
		}
		r.w.s[regExec] = 0x0000ffff
		r.set32(0, func(i int) uint32 { return uint32(i) })
		r.run(vop1(r.need(isa.VOP1, "v_swap_b32"), 0, v(1)))
		if r.w.v[0][3] != 103 || r.w.v[1][3] != 3 || r.w.v[0][20] != 20 {
			t.Errorf("%s: v_swap_b32: %d %d %d", r.set.Target, r.w.v[0][3], r.w.v[1][3], r.w.v[0][20])
		}
	})
	vectors += 5 + 8*lanes
}

// TestDualVectors: both halves read before either writes.
func TestDualVectors(t *testing.T) {
	for _, target := range isa.Targets[1:] {
		r := newRig(t, target)
		mov, add := r.need(isa.VOPDX, "v_dual_mov_b32"), r.need(isa.VOPDY, "v_dual_mov_b32")
		// v_dual_mov_b32 v2, v3 :: v_dual_mov_b32 v3, v2
		r.set32(2, func(i int) uint32 { return 200 + uint32(i) })
		r.set32(3, func(i int) uint32 { return 300 + uint32(i) })
		w := []uint32{0xc8000000 | uint32(mov.Code)<<22 | uint32(add.Code)<<17 | v(3), 2<<24 | 1<<17 | v(2)}
		r.run(w...)
		if r.w.v[2][4] != 304 || r.w.v[3][4] != 204 {
			t.Errorf("%s: %s: %d %d", target, r.text(w...), r.w.v[2][4], r.w.v[3][4])
		}
		// A literal for both: v_dual_fmaak and v_dual_add.
		x, y := r.need(isa.VOPDX, "v_dual_fmaak_f32"), r.need(isa.VOPDY, "v_dual_mul_f32")
		r.set32(2, func(i int) uint32 { return math.Float32bits(float32(i)) })
		r.set32(3, func(i int) uint32 { return math.Float32bits(3) })
		w = []uint32{0xc8000000 | uint32(x.Code)<<22 | uint32(y.Code)<<17 | 3<<9 | v(2), 4<<24 | 2<<17 | 2<<9 | 255, math.Float32bits(0.5)}
		r.run(w...)
		if got, got2 := math.Float32frombits(r.w.v[4][6]), math.Float32frombits(r.w.v[5][6]); got != 18.5 || got2 != 3 {
			t.Errorf("%s: %s: %g %g", target, r.text(w...), got, got2)
		}
	}
	vectors += 2
}
