package rdna

import (
	"flag"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"

	"gorun/hipdyn/hipemu/rdna/isa"
)

// Vectors: single instructions with operands at the edges and random ones.
// What they give is computed by plain code here (Go's own arithmetic, which is
// IEEE's for float32 and float64; math/big; x448/float16), or written down.

// vectors counts the cases of all tests of this file.
var vectors int

const someLanes = 0x8badf00d // an EXEC mask

// lanesOf fills a register with values.
func (r *rig) set32(reg int, values func(lane int) uint32) {
	for i := range lanes {
		r.w.v[reg][i] = values(i)
	}
}

type ref32 func(a, b, c uint32) uint32

func sx(x uint32, bits uint) int64 { return int64(int32(x<<(32-bits))) >> (32 - bits) }

func clampTo(n, lo, hi int64) uint32 { return uint32(max(lo, min(hi, n))) }

func med3[T int64 | uint32](a, b, c T) T { return max(min(a, b), min(max(a, b), c)) }

func sumOfDifferences(a, b uint32, masked bool) (n uint32) {
	for i := range 4 {
		x, y := int(a>>(8*i)&255), int(b>>(8*i)&255)
		if !masked || y != 0 {
			n += uint32(max(x-y, y-x))
		}
	}
	return n
}

// integerVectors are instructions on 32 bits in each lane. The name ends in
// "!" where the clamp bit is set.
var integerVectors = map[string]ref32{
	"v_add_nc_u32": func(a, b, c uint32) uint32 { return a + b },
	"v_sub_nc_u32": func(a, b, c uint32) uint32 { return a - b }, "v_subrev_nc_u32": func(a, b, c uint32) uint32 { return b - a },
	"v_add_nc_u32!": func(a, b, c uint32) uint32 { return clampTo(int64(a)+int64(b), 0, math.MaxUint32) },
	"v_sub_nc_u32!": func(a, b, c uint32) uint32 { return clampTo(int64(a)-int64(b), 0, math.MaxUint32) },
	"v_add_nc_i32":  func(a, b, c uint32) uint32 { return a + b }, "v_sub_nc_i32": func(a, b, c uint32) uint32 { return a - b },
	"v_add_nc_i32!": func(a, b, c uint32) uint32 { return clampTo(sx(a, 32)+sx(b, 32), math.MinInt32, math.MaxInt32) },
	"v_sub_nc_i32!": func(a, b, c uint32) uint32 { return clampTo(sx(a, 32)-sx(b, 32), math.MinInt32, math.MaxInt32) },
	"v_and_b32":     func(a, b, c uint32) uint32 { return a & b }, "v_or_b32": func(a, b, c uint32) uint32 { return a | b },
	"v_xor_b32": func(a, b, c uint32) uint32 { return a ^ b }, "v_xnor_b32": func(a, b, c uint32) uint32 { return ^a ^ b },
	"v_not_b32": func(a, b, c uint32) uint32 { return ^a }, "v_mov_b32": func(a, b, c uint32) uint32 { return a },
	"v_lshlrev_b32": func(a, b, c uint32) uint32 { return b << (a % 32) }, "v_lshrrev_b32": func(a, b, c uint32) uint32 { return b >> (a % 32) },
	"v_ashrrev_i32":    func(a, b, c uint32) uint32 { return uint32(int32(b) >> (a % 32)) },
	"v_mul_lo_u32":     func(a, b, c uint32) uint32 { return a * b },
	"v_mul_hi_u32":     func(a, b, c uint32) uint32 { h, _ := bits.Mul32(a, b); return h },
	"v_mul_hi_i32":     func(a, b, c uint32) uint32 { return uint32(int64(int32(a)) * int64(int32(b)) >> 32) },
	"v_mul_i32_i24":    func(a, b, c uint32) uint32 { return uint32(sx(a, 24) * sx(b, 24)) },
	"v_mul_u32_u24":    func(a, b, c uint32) uint32 { return (a << 8 >> 8) * (b << 8 >> 8) },
	"v_mul_hi_i32_i24": func(a, b, c uint32) uint32 { return uint32(sx(a, 24) * sx(b, 24) >> 32) },
	"v_mul_hi_u32_u24": func(a, b, c uint32) uint32 { h, _ := bits.Mul32(a<<8>>8, b<<8>>8); return h },
	"v_mad_i32_i24":    func(a, b, c uint32) uint32 { return uint32(sx(a, 24)*sx(b, 24)) + c },
	"v_mad_u32_u24":    func(a, b, c uint32) uint32 { return (a<<8>>8)*(b<<8>>8) + c },
	"v_mad_i32_i16":    func(a, b, c uint32) uint32 { return uint32(sx(a, 16)*sx(b, 16)) + c },
	"v_mad_u32_u16":    func(a, b, c uint32) uint32 { return (a&0xffff)*(b&0xffff) + c },
	"v_add3_u32":       func(a, b, c uint32) uint32 { return a + b + c },
	"v_lshl_add_u32":   func(a, b, c uint32) uint32 { return a<<(b%32) + c }, "v_add_lshl_u32": func(a, b, c uint32) uint32 { return (a + b) << (c % 32) },
	"v_lshl_or_b32": func(a, b, c uint32) uint32 { return a<<(b%32) | c }, "v_and_or_b32": func(a, b, c uint32) uint32 { return a&b | c },
	"v_or3_b32": func(a, b, c uint32) uint32 { return a | b | c }, "v_xor3_b32": func(a, b, c uint32) uint32 { return a ^ b ^ c },
	"v_xad_u32": func(a, b, c uint32) uint32 { return (a ^ b) + c },
	"v_min_i32": func(a, b, c uint32) uint32 { return uint32(min(int32(a), int32(b))) }, "v_max_i32": func(a, b, c uint32) uint32 { return uint32(max(int32(a), int32(b))) },
	"v_min_u32": func(a, b, c uint32) uint32 { return min(a, b) }, "v_max_u32": func(a, b, c uint32) uint32 { return max(a, b) },
	"v_min3_i32": func(a, b, c uint32) uint32 { return uint32(min(int32(a), int32(b), int32(c))) }, "v_max3_i32": func(a, b, c uint32) uint32 { return uint32(max(int32(a), int32(b), int32(c))) },
	"v_min3_u32": func(a, b, c uint32) uint32 { return min(a, b, c) }, "v_max3_u32": func(a, b, c uint32) uint32 { return max(a, b, c) },
	"v_med3_i32":   func(a, b, c uint32) uint32 { return uint32(med3(sx(a, 32), sx(b, 32), sx(c, 32))) },
	"v_med3_u32":   func(a, b, c uint32) uint32 { return med3(a, b, c) },
	"v_maxmin_i32": func(a, b, c uint32) uint32 { return uint32(min(max(int32(a), int32(b)), int32(c))) },
	"v_minmax_u32": func(a, b, c uint32) uint32 { return max(min(a, b), c) },
	"v_bfe_u32":    func(a, b, c uint32) uint32 { return uint32(uint64(a)>>(b%32)) & (1<<(c%32) - 1) },
	"v_bfe_i32": func(a, b, c uint32) uint32 {
		if c%32 == 0 {
			return 0
		}
		return uint32(sx(a>>(b%32), uint(c%32)))
	},
	"v_bfi_b32": func(a, b, c uint32) uint32 { return c ^ a&(b^c) }, "v_bfm_b32": func(a, b, c uint32) uint32 { return (1<<(a%32) - 1) << (b % 32) },
	"v_bfrev_b32": func(a, b, c uint32) uint32 { return bits.Reverse32(a) }, "v_bcnt_u32_b32": func(a, b, c uint32) uint32 { return uint32(bits.OnesCount32(a)) + b },
	"v_clz_i32_u32": func(a, b, c uint32) uint32 {
		if a == 0 {
			return allOn
		}
		return uint32(32 - bits.Len32(a))
	},
	"v_ctz_i32_b32": func(a, b, c uint32) uint32 {
		if a == 0 {
			return allOn
		}
		return uint32(bits.Len32(a&-a) - 1)
	},
	"v_cls_i32": func(a, b, c uint32) uint32 {
		if a == 0 || a == allOn {
			return allOn
		}
		n := uint32(1)
		for a<<n>>31 == a>>31 {
			n++
		}
		return n
	},
	"v_alignbit_b32":  func(a, b, c uint32) uint32 { return uint32((uint64(a)<<32 | uint64(b)) >> (c % 32)) },
	"v_alignbyte_b32": func(a, b, c uint32) uint32 { return uint32((uint64(a)<<32 | uint64(b)) >> (c % 4 * 8)) },
	"v_sad_u8":        func(a, b, c uint32) uint32 { return sumOfDifferences(a, b, false) + c }, "v_msad_u8": func(a, b, c uint32) uint32 { return sumOfDifferences(a, b, true) + c },
	"v_sad_hi_u8": func(a, b, c uint32) uint32 { return sumOfDifferences(a, b, false)<<16 + c },
	"v_sad_u16": func(a, b, c uint32) uint32 {
		for i := range 2 {
			x, y := a>>(16*i)&0xffff, b>>(16*i)&0xffff
			c += max(x, y) - min(x, y)
		}
		return c
	},
	"v_sad_u32": func(a, b, c uint32) uint32 { return max(a, b) - min(a, b) + c },
	"v_lerp_u8": func(a, b, c uint32) (r uint32) {
		for i := range 4 {
			r |= (a>>(8*i)&255 + b>>(8*i)&255 + c>>(8*i)&1) / 2 << (8 * i)
		}
		return r
	},
	"v_perm_b32": func(a, b, c uint32) (r uint32) {
		data := [8]uint32{}
		for i := range 4 {
			data[i], data[4+i] = b>>(8*i)&255, a>>(8*i)&255
		}
		for i := range 4 {
			var x uint32
			switch s := c >> (8 * i) & 255; {
			case s < 8:
				x = data[s]
			case s < 12:
				x = data[2*(s-8)+1] >> 7 * 255
			case s > 12:
				x = 255
			}
			r |= x << (8 * i)
		}
		return r
	},
	"v_cvt_pk_i16_i32": func(a, b, c uint32) uint32 {
		return clampTo(sx(a, 32), -32768, 32767)&0xffff | clampTo(sx(b, 32), -32768, 32767)<<16
	},
	"v_cvt_pk_u16_u32": func(a, b, c uint32) uint32 { return min(a, 65535) | min(b, 65535)<<16 },
	"v_cvt_f32_i32":    func(a, b, c uint32) uint32 { return math.Float32bits(float32(int32(a))) },
	"v_cvt_f32_u32":    func(a, b, c uint32) uint32 { return math.Float32bits(float32(a)) },
	"v_cvt_f32_ubyte0": func(a, b, c uint32) uint32 { return math.Float32bits(float32(a & 255)) },
	"v_cvt_f32_ubyte3": func(a, b, c uint32) uint32 { return math.Float32bits(float32(a >> 24)) },
	"v_dot4_i32_i8": func(a, b, c uint32) uint32 {
		for i := range 4 {
			c += uint32(int32(int8(a>>(8*i))) * int32(int8(b>>(8*i))))
		}
		return c
	},
	"v_dot4_u32_u8": func(a, b, c uint32) uint32 {
		for i := range 4 {
			c += (a >> (8 * i) & 255) * (b >> (8 * i) & 255)
		}
		return c
	},
	"v_dot8_u32_u4": func(a, b, c uint32) uint32 {
		for i := range 8 {
			c += (a >> (4 * i) & 15) * (b >> (4 * i) & 15)
		}
		return c
	},
}

// inputs32 are operands of 32 lanes.
func inputs32(seed uint64) (a, b, c []uint32) {
	return words(seed, lanes), words(seed+1000, lanes), words(seed+2000, lanes)
}

// sources is how many sources an opcode has.
func sources(o *isa.Op) (n int) {
	for _, p := range o.Operands {
		if p.Field >= '0' && p.Field <= '2' {
			n++
		}
	}
	return n
}

// long encodes VOP3 or VOP3P with registers v1, v2, v3 into v0.
func (r *rig) long(name string, m mods) ([]uint32, *isa.Op) {
	e, enc := isa.VOP3, vop3
	o := r.find(isa.VOP3, name)
	if o == nil {
		e, enc = isa.VOP3P, vop3p
		if o = r.find(e, name); o == nil {
			return nil, nil
		}
		m.opselHi = 7 &^ m.opselHi
	}
	src := [3]uint32{v(1), v(2), v(3)}
	for i := sources(o); i < 3; i++ {
		src[i] = 0
	}
	if e == isa.VOP3P {
		m.opselHi &= 1<<sources(o) - 1
		if sources(o) < 3 {
			m.opselHi |= 4
		}
	}
	return enc(o, 0, src[0], src[1], src[2], m), o
}

func TestIntegerVectors(t *testing.T) {
	seen := map[string]bool{}
	rigs(t, func(r *rig) {
		seed := uint64(1)
		for name, ref := range integerVectors {
			seed++
			a, b, c := inputs32(seed)
			clamp := name[len(name)-1] == '!'
			base := name
			if clamp {
				base = name[:len(name)-1]
			}
			code, _ := r.long(base, mods{clamp: clamp})
			if code == nil {
				continue
			}
			if !seen[name] {
				vectors += lanes
			}
			seen[name] = true
			for _, exec := range []uint32{allOn, someLanes, 0} {
				r.w.s[regExec] = exec
				r.set32(0, func(i int) uint32 { return 0xdead0000 + uint32(i) })
				r.set32(1, func(i int) uint32 { return a[i] })
				r.set32(2, func(i int) uint32 { return b[i] })
				r.set32(3, func(i int) uint32 { return c[i] })
				r.run(code...)
				for i := range lanes {
					want := 0xdead0000 + uint32(i)
					if exec>>i&1 != 0 {
						want = ref(a[i], b[i], c[i])
					}
					if got := r.w.v[0][i]; got != want {
						t.Fatalf("%s: %s (%s) of %08x, %08x, %08x, EXEC %08x, lane %d: got %08x, want %08x", r.set.Target, name, r.text(code...), a[i], b[i], c[i], exec, i, got, want)
					}
				}
			}
		}
	})
	for name := range integerVectors {
		if !seen[name] {
			t.Errorf("no target has %s", name)
		}
	}
}

// shortVectors are instructions on 16 bits: the other half of the result stays.
var shortVectors = map[string]func(a, b, c uint16) uint16{
	"v_add_nc_u16": func(a, b, c uint16) uint16 { return a + b }, "v_sub_nc_u16": func(a, b, c uint16) uint16 { return a - b },
	"v_add_nc_u16!": func(a, b, c uint16) uint16 { return uint16(min(uint32(a)+uint32(b), 65535)) },
	"v_sub_nc_u16!": func(a, b, c uint16) uint16 { return max(a, b) - b },
	"v_add_nc_i16!": func(a, b, c uint16) uint16 { return uint16(clampTo(int64(int16(a))+int64(int16(b)), -32768, 32767)) },
	"v_sub_nc_i16!": func(a, b, c uint16) uint16 { return uint16(clampTo(int64(int16(a))-int64(int16(b)), -32768, 32767)) },
	"v_mul_lo_u16":  func(a, b, c uint16) uint16 { return a * b },
	"v_mad_u16":     func(a, b, c uint16) uint16 { return a*b + c }, "v_mad_i16": func(a, b, c uint16) uint16 { return a*b + c },
	"v_mad_i16!": func(a, b, c uint16) uint16 {
		return uint16(clampTo(int64(int16(a))*int64(int16(b))+int64(int16(c)), -32768, 32767))
	},
	"v_min_i16": func(a, b, c uint16) uint16 { return uint16(min(int16(a), int16(b))) }, "v_max_i16": func(a, b, c uint16) uint16 { return uint16(max(int16(a), int16(b))) },
	"v_min_u16": func(a, b, c uint16) uint16 { return min(a, b) }, "v_max_u16": func(a, b, c uint16) uint16 { return max(a, b) },
	"v_min3_i16": func(a, b, c uint16) uint16 { return uint16(min(int16(a), int16(b), int16(c))) }, "v_max3_u16": func(a, b, c uint16) uint16 { return max(a, b, c) },
	"v_med3_i16":    func(a, b, c uint16) uint16 { return uint16(med3(int64(int16(a)), int64(int16(b)), int64(int16(c)))) },
	"v_lshlrev_b16": func(a, b, c uint16) uint16 { return b << (a % 16) }, "v_lshrrev_b16": func(a, b, c uint16) uint16 { return b >> (a % 16) },
	"v_ashrrev_i16": func(a, b, c uint16) uint16 { return uint16(int16(b) >> (a % 16)) },
	"v_add_f16":     halfRef(func(a, b, c float64) float64 { return a + b }), "v_sub_f16": halfRef(func(a, b, c float64) float64 { return a - b }),
	"v_mul_f16": halfRef(func(a, b, c float64) float64 { return a * b }), "v_fma_f16": halfRef(func(a, b, c float64) float64 { return a*b + c }),
	"v_floor_f16": halfRef(func(a, b, c float64) float64 { return math.Floor(a) }), "v_ceil_f16": halfRef(func(a, b, c float64) float64 { return math.Ceil(a) }),
	"v_trunc_f16": halfRef(func(a, b, c float64) float64 { return math.Trunc(a) }), "v_rndne_f16": halfRef(func(a, b, c float64) float64 { return math.RoundToEven(a) }),
	"v_cvt_f16_u16": func(a, b, c uint16) uint16 { return nearestHalf(float64(a)) },
	"v_cvt_f16_i16": func(a, b, c uint16) uint16 { return nearestHalf(float64(int16(a))) },
}

// nearestHalf rounds a float64 whose float32 does not lie between two halves
// by accident.
func nearestHalf(f float64) uint16 {
	x := float32(f)
	if float64(x) != f && math.Float32bits(x)&0x1fff == 0x1000 || math.Float32bits(x)&0x1fff == 0 && float64(x) != f {
		// Step to the side on which the exact number lies.
		if (float64(x) < f) == (f > 0) {
			x = math.Float32frombits(math.Float32bits(x) + 1)
		} else {
			x = math.Float32frombits(math.Float32bits(x) - 1)
		}
	}
	return float16.Fromfloat32(x).Bits()
}

func halfRef(f func(a, b, c float64) float64) func(a, b, c uint16) uint16 {
	to := func(x uint16) float64 { return float64(float16.Frombits(x).Float32()) }
	return func(a, b, c uint16) uint16 { return nearestHalf(f(to(a), to(b), to(c))) }
}

func isNaN16(x uint16) bool { return x&0x7fff > 0x7c00 }

func TestShortVectors(t *testing.T) {
	seen := map[string]bool{}
	r16 := rand.New(rand.NewPCG(16, 16))
	edge := []uint16{0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x3c00, 0xbc00, 0x3800, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xffff, 0x7fff, 0x4248, 15, 16}
	rigs(t, func(r *rig) {
		for name, ref := range shortVectors {
			clamp := name[len(name)-1] == '!'
			base := name
			if clamp {
				base = name[:len(name)-1]
			}
			var in [3][lanes]uint32
			for i := range lanes {
				for k := range in {
					lo := uint16(r16.Uint32())
					if r16.IntN(2) == 0 {
						lo = edge[r16.IntN(len(edge))]
					}
					in[k][i] = uint32(lo) | uint32(edge[r16.IntN(len(edge))])<<16
				}
			}
			// Each choice of halves; gfx11 and later have op_sel for all of them.
			for _, sel := range []uint32{0, 15, 9, 6} {
				code, o := r.long(base, mods{clamp: clamp})
				if code == nil {
					continue
				}
				n := sources(o)
				s := sel & (8 | 1<<n - 1)
				if sel != 0 && r.set.Generation == 10 && !o.Has('p') {
					continue
				}
				code[0] |= s << 11
				if !seen[name] {
					vectors += lanes
				}
				seen[name] = true
				r.w.s[regExec] = someLanes
				r.set32(0, func(i int) uint32 { return 0xabcd1234 })
				for k := range in {
					r.set32(1+k, func(i int) uint32 { return in[k][i] })
				}
				r.run(code...)
				for i := range lanes {
					want := uint32(0xabcd1234)
					var x [3]uint16
					for k := range x {
						x[k] = uint16(in[k][i] >> (16 * (s >> k & 1)))
					}
					if someLanes>>i&1 != 0 {
						shift := 16 * (s >> 3)
						want = want&^(0xffff<<shift) | uint32(ref(x[0], x[1], x[2]))<<shift
					}
					got := r.w.v[0][i]
					if shift := 16 * (s >> 3); isNaN16(uint16(got>>shift)) && isNaN16(uint16(want>>shift)) {
						continue
					}
					if got != want {
						t.Fatalf("%s: %s op_sel %x of %04x, lane %d: got %08x, want %08x", r.set.Target, name, s, x, i, got, want)
					}
				}
			}
		}
	})
	for name := range shortVectors {
		if !seen[name] {
			t.Errorf("no target has %s", name)
		}
	}
}

// floatVectors are instructions on float32. NaN results are compared as NaN.
var floatVectors = map[string]func(a, b, c float32) float32{
	"v_add_f32": func(a, b, c float32) float32 { return a + b }, "v_sub_f32": func(a, b, c float32) float32 { return a - b },
	"v_subrev_f32": func(a, b, c float32) float32 { return b - a }, "v_mul_f32": func(a, b, c float32) float32 { return a * b },
	"v_fma_f32":   exactFMA32,
	"v_floor_f32": func(a, b, c float32) float32 { return float32(math.Floor(float64(a))) }, "v_ceil_f32": func(a, b, c float32) float32 { return float32(math.Ceil(float64(a))) },
	"v_trunc_f32": func(a, b, c float32) float32 { return float32(math.Trunc(float64(a))) }, "v_rndne_f32": func(a, b, c float32) float32 { return float32(math.RoundToEven(float64(a))) },
	"v_fract_f32": func(a, b, c float32) float32 {
		if math.IsInf(float64(a), 0) {
			return float32(math.NaN())
		}
		return min(float32(float64(a)-math.Floor(float64(a))), 0x1.fffffep-1)
	},
	"v_mul_legacy_f32": func(a, b, c float32) float32 {
		if a == 0 || b == 0 {
			return 0
		}
		return a * b
	},
	"v_mul_dx9_zero_f32": func(a, b, c float32) float32 {
		if a == 0 || b == 0 {
			return 0
		}
		return a * b
	},
}

// exactFMA32 rounds the exact sum once.
func exactFMA32(a, b, c float32) float32 {
	for _, x := range []float32{a, b, c} {
		if x != x || math.IsInf(float64(x), 0) {
			return float32(float64(a)*float64(b) + float64(c))
		}
	}
	p := new(big.Float).SetPrec(600)
	p.Mul(big.NewFloat(float64(a)), p.SetFloat64(float64(b)))
	if p.Sign() == 0 || c == 0 && p.Sign() == 0 {
		return float32(float64(a)*float64(b) + float64(c))
	}
	p.Add(p, new(big.Float).SetFloat64(float64(c)))
	f, _ := p.Float32()
	return f
}

func TestFloatVectors(t *testing.T) {
	seen := map[string]bool{}
	r32 := rand.New(rand.NewPCG(32, 32))
	pick := func() float32 {
		switch r32.IntN(3) {
		case 0:
			return specials[r32.IntN(len(specials))]
		case 1:
			return math.Float32frombits(r32.Uint32())
		}
		return (r32.Float32() - 0.5) * 8
	}
	clamped := func(f float32) float32 {
		if !(f > 0) {
			return 0 // NaN, too
		}
		return min(f, 1)
	}
	rigs(t, func(r *rig) {
		for name, ref := range floatVectors {
			for round := range 8 {
				m := mods{}
				if round > 0 {
					m = mods{neg: r32.Uint32N(8), abs: r32.Uint32N(8), clamp: round&1 == 1}
				}
				var in [3][lanes]float32
				for k := range in {
					for i := range lanes {
						in[k][i] = pick()
					}
				}
				code, o := r.long(name, mods{})
				if code == nil {
					continue
				}
				n := uint32(1)<<sources(o) - 1
				m.neg &= n
				m.abs &= n
				code, _ = r.long(name, m)
				if !seen[name] {
					vectors += 8 * lanes
				}
				seen[name] = true
				r.w.s[regExec] = allOn
				for k := range in {
					r.set32(1+k, func(i int) uint32 { return math.Float32bits(in[k][i]) })
				}
				r.run(code...)
				for i := range lanes {
					var x [3]float32
					for k := range x {
						x[k] = in[k][i]
						b := math.Float32bits(x[k])
						if m.abs>>k&1 != 0 {
							b &^= 1 << 31
						}
						if m.neg>>k&1 != 0 {
							b ^= 1 << 31
						}
						x[k] = math.Float32frombits(b)
					}
					want := ref(x[0], x[1], x[2])
					if m.clamp {
						want = clamped(want)
					}
					if got := math.Float32frombits(r.w.v[0][i]); !same32(got, want) {
						t.Fatalf("%s: %s with %+v of %g, lane %d: got %g (%08x), want %g (%08x)", r.set.Target, name, m, x, i, got, math.Float32bits(got), want, math.Float32bits(want))
					}
				}
			}
		}
	})
	for name := range floatVectors {
		if !seen[name] {
			t.Errorf("no target has %s", name)
		}
	}
}

// TestMinMaxVectors: what a smaller or larger number is, by bits.
func TestMinMaxVectors(t *testing.T) {
	const (
		pz, nz, one, two, qnan, snan, inf = 0, 0x80000000, 0x3f800000, 0x40000000, 0x7fc00001, 0x7f800001, 0x7f800000
	)
	quiet := uint32(0x7fc00001)
	for _, c := range []struct {
		a, b             uint32
		min, max         uint32 // IEEE mode of gfx10 and gfx11
		minNum, maxNum   uint32 // gfx12
		minimum, maximum uint32 // gfx12
	}{
		{one, two, one, two, one, two, one, two}, {two, one, one, two, one, two, one, two},
		{pz, nz, nz, pz, nz, pz, nz, pz}, {nz, pz, nz, pz, nz, pz, nz, pz},
		{one, qnan, one, one, one, one, qnan, qnan}, {qnan, one, one, one, one, one, qnan, qnan},
		{one, snan, quiet, quiet, one, one, quiet, quiet}, {snan, one, quiet, quiet, one, one, quiet, quiet},
		{inf, one, one, inf, one, inf, one, inf}, {qnan, qnan, qnan, qnan, qnan, qnan, qnan, qnan},
	} {
		rigs(t, func(r *rig) {
			check := func(name string, want uint32) {
				o := r.op(isa.VOP3, name)
				if o == nil {
					return
				}
				vectors++
				r.set32(1, func(int) uint32 { return c.a })
				r.set32(2, func(int) uint32 { return c.b })
				r.run(vop3(o, 0, v(1), v(2), 0, mods{})...)
				if got := r.w.v[0][7]; got != want {
					t.Errorf("%s: %s of %08x and %08x: got %08x, want %08x", r.set.Target, name, c.a, c.b, got, want)
				}
			}
			check("v_min_f32", c.min)
			check("v_max_f32", c.max)
			check("v_min_num_f32", c.minNum)
			check("v_max_num_f32", c.maxNum)
			check("v_minimum_f32", c.minimum)
			check("v_maximum_f32", c.maximum)
		})
	}
}

func TestDoubleVectors(t *testing.T) {
	r64 := rand.New(rand.NewPCG(64, 64))
	fma := func(a, b, c float64) float64 { return math.FMA(a, b, c) }
	for name, ref := range map[string]func(a, b, c float64) float64{
		"v_add_f64": func(a, b, c float64) float64 { return a + b }, "v_mul_f64": func(a, b, c float64) float64 { return a * b }, "v_fma_f64": fma,
		"v_floor_f64": func(a, b, c float64) float64 { return math.Floor(a) }, "v_ceil_f64": func(a, b, c float64) float64 { return math.Ceil(a) },
		"v_trunc_f64": func(a, b, c float64) float64 { return math.Trunc(a) }, "v_rndne_f64": func(a, b, c float64) float64 { return math.RoundToEven(a) },
	} {
		vectors += lanes
		rigs(t, func(r *rig) {
			o := r.need(isa.VOP3, name)
			var in [3][lanes]float64
			for k := range in {
				for i := range lanes {
					switch r64.IntN(3) {
					case 0:
						in[k][i] = float64(specials[r64.IntN(len(specials))])
					case 1:
						in[k][i] = math.Float64frombits(r64.Uint64())
					default:
						in[k][i] = r64.NormFloat64() * 100
					}
					r.w.v[2+2*k][i], r.w.v[3+2*k][i] = uint32(math.Float64bits(in[k][i])), uint32(math.Float64bits(in[k][i])>>32)
				}
			}
			src := [3]uint32{v(2), v(4), v(6)}
			for i := sources(o); i < 3; i++ {
				src[i] = 0
			}
			r.run(vop3(o, 0, src[0], src[1], src[2], mods{})...)
			for i := range lanes {
				got := math.Float64frombits(uint64(r.w.v[0][i]) | uint64(r.w.v[1][i])<<32)
				want := ref(in[0][i], in[1][i], in[2][i])
				if math.Float64bits(got) != math.Float64bits(want) && (got == got || want == want) {
					t.Fatalf("%s: %s of %g, %g, %g: got %g, want %g", r.set.Target, name, in[0][i], in[1][i], in[2][i], got, want)
				}
			}
		})
	}
	for name, ref := range map[string]func(a uint32, b uint64) uint64{
		"v_lshlrev_b64": func(a uint32, b uint64) uint64 { return b << (a % 64) }, "v_lshrrev_b64": func(a uint32, b uint64) uint64 { return b >> (a % 64) },
		"v_ashrrev_i64": func(a uint32, b uint64) uint64 { return uint64(int64(b) >> (a % 64)) },
	} {
		vectors += lanes
		rigs(t, func(r *rig) {
			o := r.need(isa.VOP3, name)
			a, b, c := inputs32(77)
			r.set32(2, func(i int) uint32 { return a[i] })
			r.set32(4, func(i int) uint32 { return b[i] })
			r.set32(5, func(i int) uint32 { return c[i] })
			r.run(vop3(o, 0, v(2), v(4), 0, mods{})...)
			for i := range lanes {
				if got, want := uint64(r.w.v[0][i])|uint64(r.w.v[1][i])<<32, ref(a[i], uint64(b[i])|uint64(c[i])<<32); got != want {
					t.Fatalf("%s: %s: got %016x, want %016x", r.set.Target, name, got, want)
				}
			}
		})
	}
}

// TestConversionVectors: numbers whose conversion is written down.
func TestConversionVectors(t *testing.T) {
	f := math.Float32bits
	nan, inf := uint32(0x7fc00000), uint32(0x7f800000)
	for _, c := range []struct {
		name string
		a, b uint32
		want uint32
	}{
		{"v_cvt_i32_f32", f(-1.9), 0, allOn}, {"v_cvt_i32_f32", f(3e9), 0, 0x7fffffff}, {"v_cvt_i32_f32", f(-3e9), 0, 0x80000000}, {"v_cvt_i32_f32", nan, 0, 0}, {"v_cvt_i32_f32", inf, 0, 0x7fffffff},
		{"v_cvt_u32_f32", f(-1.9), 0, 0}, {"v_cvt_u32_f32", f(3e9), 0, 3000000000}, {"v_cvt_u32_f32", f(5e9), 0, allOn}, {"v_cvt_u32_f32", nan, 0, 0}, {"v_cvt_u32_f32", f(0.99), 0, 0},
		{"v_cvt_floor_i32_f32", f(-1.5), 0, 0xfffffffe}, {"v_cvt_floor_i32_f32", f(1.5), 0, 1}, {"v_cvt_nearest_i32_f32", f(-1.5), 0, allOn}, {"v_cvt_nearest_i32_f32", f(2.5), 0, 3},
		{"v_cvt_f32_f16", 0x3c00, 0, f(1)}, {"v_cvt_f32_f16", 0x0001, 0, f(0x1p-24)}, {"v_cvt_f32_f16", 0xfc00, 0, 0xff800000}, {"v_cvt_f32_f16", 0x83ff, 0, f(-0x3ffp-24)}, {"v_cvt_f32_f16", 0x7bff, 0, f(65504)},
		// Two halves: toward zero, and never from finite to infinite.
		{"v_cvt_pk_rtz_f16_f32", f(1.0009), f(-1.0009), 0xbc003c00}, {"v_cvt_pk_rtz_f16_f32", f(1e6), f(-1e6), 0xfbff7bff}, {"v_cvt_pk_rtz_f16_f32", inf, f(6e-8), 0x00017c00},
		// Normalized numbers: symmetric, -1 is -32767.
		{"v_cvt_pk_norm_i16_f32", f(-1), f(1), 0x7fff8001}, {"v_cvt_pk_norm_i16_f32", f(-2), f(2), 0x7fff8001}, {"v_cvt_pk_norm_i16_f32", f(0.5), nan, 0x00004000},
		{"v_cvt_pk_norm_u16_f32", f(1), f(-1), 0x0000ffff}, {"v_cvt_pk_norm_u16_f32", f(0.5), f(3), 0xffff8000},
		{"v_cvt_pk_norm_i16_f16", 0xbc00, 0x3c00, 0x7fff8001},
		{"v_cvt_off_f32_i4", 8, 0, f(-0.5)}, {"v_cvt_off_f32_i4", 7, 0, f(0.4375)}, {"v_cvt_off_f32_i4", 0, 0, 0},
		{"v_frexp_exp_i32_f32", f(8), 0, 4}, {"v_frexp_exp_i32_f32", f(0), 0, 0}, {"v_frexp_exp_i32_f32", inf, 0, 0}, {"v_frexp_exp_i32_f32", f(0x1p-149), 0, 0xffffff6c},
		{"v_frexp_mant_f32", f(8), 0, f(0.5)}, {"v_frexp_mant_f32", f(-3), 0, f(-0.75)}, {"v_frexp_mant_f32", inf, 0, inf},
		{"v_ldexp_f32", f(1.5), 3, f(12)}, {"v_ldexp_f32", f(1), 0xffffff6b, f(0x1p-149)}, {"v_ldexp_f32", f(1), 200, inf}, {"v_ldexp_f32", f(0x1p-149), 149, f(1)}, {"v_ldexp_f32", f(3), 0xffffff6a, f(0x1p-148)},
		{"v_cmp_class", 0, 0, 0},
		{"v_rcp_f32", f(4), 0, f(0.25)}, {"v_rcp_f32", f(0), 0, inf}, {"v_rcp_f32", 0x80000000, 0, 0xff800000}, {"v_rcp_f32", inf, 0, 0},
		{"v_rsq_f32", f(16), 0, f(0.25)}, {"v_rsq_f32", f(0), 0, inf}, {"v_sqrt_f32", f(16), 0, f(4)}, {"v_sqrt_f32", 0x80000000, 0, 0x80000000},
		{"v_exp_f32", f(3), 0, f(8)}, {"v_exp_f32", 0xff800000, 0, 0}, {"v_exp_f32", f(200), 0, inf}, {"v_log_f32", f(8), 0, f(3)}, {"v_log_f32", f(0), 0, 0xff800000}, {"v_log_f32", f(1), 0, 0},
		{"v_sin_f32", f(0.25), 0, f(1)}, {"v_sin_f32", f(0), 0, 0}, {"v_cos_f32", f(0.5), 0, f(-1)}, {"v_cos_f32", f(0), 0, f(1)},
		{"v_pack_b32_f16", 0x1234, 0xabcd, 0xabcd1234},
	} {
		if c.name == "v_cmp_class" {
			continue
		}
		vectors++
		rigs(t, func(r *rig) {
			o := r.need(isa.VOP3, c.name)
			second := uint32(0)
			if sources(o) > 1 {
				second = v(2)
			}
			r.set32(0, func(int) uint32 { return 0 })
			r.set32(1, func(int) uint32 { return c.a })
			r.set32(2, func(int) uint32 { return c.b })
			r.run(vop3(o, 0, v(1), second, 0, mods{})...)
			if got := r.w.v[0][31]; got != c.want {
				t.Errorf("%s: %s of %08x and %08x: got %08x, want %08x", r.set.Target, c.name, c.a, c.b, got, c.want)
			}
		})
	}
	// Every float16 and many float32 against x448/float16.
	for _, target := range isa.Targets {
		r := newRig(t, target)
		down, up := r.need(isa.VOP1, "v_cvt_f16_f32"), r.need(isa.VOP1, "v_cvt_f32_f16")
		for h := 0; h < 1<<16; h += lanes {
			r.set32(1, func(i int) uint32 { return uint32(h + i) })
			r.run(vop1(up, 2, v(1)))
			// A little beside the middle, too.
			r.set32(4, func(i int) uint32 { return r.w.v[2][i] + 0x1000 })
			r.run(vop1(down, 3, v(2)))
			r.run(vop1(down, 5, v(4)))
			for i := range lanes {
				f := float16.Frombits(uint16(h + i)).Float32()
				if got := math.Float32frombits(r.w.v[2][i]); !same32(got, f) {
					t.Fatalf("%s: %04x becomes %g, want %g", target, h+i, got, f)
				}
				if got := uint16(r.w.v[3][i]); got != uint16(h+i) && !isNaN16(got) {
					t.Fatalf("%s: %04x comes back as %04x", target, h+i, got)
				}
				if got, want := uint16(r.w.v[5][i]), float16.Fromfloat32(math.Float32frombits(r.w.v[4][i])).Bits(); got != want && !(isNaN16(got) && isNaN16(want)) {
					t.Fatalf("%s: %08x becomes %04x, want %04x", target, r.w.v[4][i], got, want)
				}
			}
		}
	}
}

// TestDivisionVectors: the chain of instructions gives the quotient rounded to
// nearest.
func TestDivisionVectors(t *testing.T) {
	x, y := pairs()
	rigs(t, func(r *rig) {
		scale, fmas, fixup := r.need(isa.VOP3, "v_div_scale_f32"), r.need(isa.VOP3, "v_div_fmas_f32"), r.need(isa.VOP3, "v_div_fixup_f32")
		rcp, fma := r.need(isa.VOP3, "v_rcp_f32"), r.need(isa.VOP3, "v_fma_f32")
		for at := 0; at+lanes <= len(x); at += lanes {
			r.set32(1, func(i int) uint32 { return math.Float32bits(x[at+i]) }) // numerator
			r.set32(2, func(i int) uint32 { return math.Float32bits(y[at+i]) }) // denominator
			one := uint32(242)
			r.run(vop3(scale, 3, v(2), v(2), v(1), mods{sdst: 10})...)     // scaled denominator
			r.run(vop3(scale, 4, v(1), v(2), v(1), mods{sdst: regVCC})...) // scaled numerator
			r.run(vop3(rcp, 5, v(3), 0, 0, mods{})...)
			r.run(vop3(fma, 6, v(3), v(5), one, mods{neg: 1})...)
			r.run(vop3(fma, 5, v(6), v(5), v(5), mods{})...)
			mul := r.need(isa.VOP3, "v_mul_f32")
			r.run(vop3(mul, 7, v(4), v(5), 0, mods{})...)
			r.run(vop3(fma, 6, v(3), v(7), v(4), mods{neg: 1})...)
			r.run(vop3(fma, 7, v(6), v(5), v(7), mods{})...)
			r.run(vop3(fma, 6, v(3), v(7), v(4), mods{neg: 1})...)
			r.run(vop3(fmas, 6, v(6), v(5), v(7), mods{})...)
			r.run(vop3(fixup, 0, v(6), v(2), v(1), mods{})...)
			for i := range lanes {
				if got, want := math.Float32frombits(r.w.v[0][i]), x[at+i]/y[at+i]; !same32(got, want) {
					t.Fatalf("%s: %g / %g: got %g (%08x), want %g (%08x)", r.set.Target, x[at+i], y[at+i], got, r.w.v[0][i], want, math.Float32bits(want))
				}
			}
		}
	})
	vectors += len(x)
}

// TestCompareVectors: all relations, all types.
func TestCompareVectors(t *testing.T) {
	order := map[string]func(lt, eq, gt bool) bool{ // written down apart from the emulator's
		"lt": func(l, e, g bool) bool { return l }, "eq": func(l, e, g bool) bool { return e }, "le": func(l, e, g bool) bool { return l || e }, "gt": func(l, e, g bool) bool { return g },
		"ge": func(l, e, g bool) bool { return g || e }, "ne": func(l, e, g bool) bool { return !e }, "lg": func(l, e, g bool) bool { return l || g }, "neq": func(l, e, g bool) bool { return !e },
		"o": func(l, e, g bool) bool { return l || e || g }, "u": func(l, e, g bool) bool { return !l && !e && !g }, "nlt": func(l, e, g bool) bool { return !l }, "nge": func(l, e, g bool) bool { return !g && !e },
		"ngt": func(l, e, g bool) bool { return !g }, "nle": func(l, e, g bool) bool { return !l && !e }, "nlg": func(l, e, g bool) bool { return !l && !g },
	}
	counted := map[string]bool{}
	rigs(t, func(r *rig) {
		for rel, f := range order {
			for typ, kind := range map[string]func(lo, hi uint32, lo2, hi2 uint32) (bool, bool, bool){
				"i32": func(a, _, b, _ uint32) (bool, bool, bool) { return int32(a) < int32(b), a == b, int32(a) > int32(b) },
				"u32": func(a, _, b, _ uint32) (bool, bool, bool) { return a < b, a == b, a > b },
				"i16": func(a, _, b, _ uint32) (bool, bool, bool) {
					return int16(a) < int16(b), int16(a) == int16(b), int16(a) > int16(b)
				},
				"u16": func(a, _, b, _ uint32) (bool, bool, bool) {
					return uint16(a) < uint16(b), uint16(a) == uint16(b), uint16(a) > uint16(b)
				},
				"f32": func(a, _, b, _ uint32) (bool, bool, bool) {
					x, y := math.Float32frombits(a), math.Float32frombits(b)
					return x < y, x == y, x > y
				},
				"f16": func(a, _, b, _ uint32) (bool, bool, bool) {
					x, y := float16.Frombits(uint16(a)).Float32(), float16.Frombits(uint16(b)).Float32()
					return x < y, x == y, x > y
				},
				"i64": func(a, c, b, d uint32) (bool, bool, bool) {
					x, y := int64(c)<<32|int64(a), int64(d)<<32|int64(b)
					return x < y, x == y, x > y
				},
				"u64": func(a, c, b, d uint32) (bool, bool, bool) {
					x, y := uint64(c)<<32|uint64(a), uint64(d)<<32|uint64(b)
					return x < y, x == y, x > y
				},
				"f64": func(a, c, b, d uint32) (bool, bool, bool) {
					x, y := math.Float64frombits(uint64(c)<<32|uint64(a)), math.Float64frombits(uint64(d)<<32|uint64(b))
					return x < y, x == y, x > y
				},
			} {
				for _, x := range []string{"v_cmp_", "v_cmpx_"} {
					name := x + rel + "_" + typ
					o := r.op(isa.VOP3, name)
					if o == nil {
						continue
					}
					if !counted[name] {
						counted[name] = true
						vectors += lanes
					}
					a, b, c := inputs32(uint64(len(name)) * 31)
					_, d, _ := inputs32(uint64(len(name)) * 57)
					for i := range lanes { // some that are equal
						if i%5 == 0 {
							b[i], d[i] = a[i], c[i]
						}
						if i%7 == 0 {
							b[i], d[i] = a[i]^1<<31, c[i]
						}
					}
					r.w.s[regExec] = someLanes
					r.set32(2, func(i int) uint32 { return a[i] })
					r.set32(3, func(i int) uint32 { return c[i] })
					r.set32(4, func(i int) uint32 { return b[i] })
					r.set32(5, func(i int) uint32 { return d[i] })
					r.w.s[20], r.w.s[regVCC] = 0x55555555, 0x12345678
					dst, at := uint32(20), 20
					if x == "v_cmpx_" {
						dst, at = 126, regExec
					}
					r.run(vop3(o, dst, v(2), v(4), 0, mods{})...)
					want := uint32(0)
					for i := range lanes {
						if l, e, g := kind(a[i], c[i], b[i], d[i]); someLanes>>i&1 != 0 && f(l, e, g) {
							want |= 1 << i
						}
					}
					if got := r.w.s[at]; got != want {
						t.Fatalf("%s: %s: got %08x, want %08x", r.set.Target, name, got, want)
					}
					if r.w.s[regVCC] != 0x12345678 {
						t.Fatalf("%s: %s changes VCC", r.set.Target, name)
					}
				}
			}
		}
		// Classes of numbers.
		o := r.need(isa.VOP3, "v_cmp_class_f32")
		for bit, n := range []uint32{0x7f800001, 0x7fc00000, 0xff800000, 0xbf800000, 0x80000001, 0x80000000, 0, 1, 0x3f800000, 0x7f800000} {
			for mask := range uint32(10) {
				r.w.s[regExec] = 1
				r.w.v[1][0], r.w.v[2][0] = n, 1<<mask
				r.run(vop3(o, 20, v(1), v(2), 0, mods{})...)
				if got := r.w.s[20]; got != b2u(uint32(bit) == mask) {
					t.Errorf("%s: class %d of %08x: %d", r.set.Target, mask, n, got)
				}
			}
		}
	})
	vectors += 100
}

// TestCarryVectors: sums with carries in and out.
func TestCarryVectors(t *testing.T) {
	a, b, _ := inputs32(99)
	const carryIn = 0xa5a5a5a5
	rigs(t, func(r *rig) {
		for name, f := range map[string]func(a, b, c uint64) uint64{
			"v_add_co_u32": func(a, b, _ uint64) uint64 { return a + b }, "v_sub_co_u32": func(a, b, _ uint64) uint64 { return a - b }, "v_subrev_co_u32": func(a, b, _ uint64) uint64 { return b - a },
			"v_add_co_ci_u32": func(a, b, c uint64) uint64 { return a + b + c }, "v_sub_co_ci_u32": func(a, b, c uint64) uint64 { return a - b - c }, "v_subrev_co_ci_u32": func(a, b, c uint64) uint64 { return b - a - c },
		} {
			o := r.need(isa.VOP3, name)
			third := uint32(0)
			if sources(o) == 3 {
				third = 30
			}
			for _, dst := range []uint32{0, 40, regVCC, uint32(r.set.Null())} {
				r.w.s[regExec] = someLanes
				r.w.s[30], r.w.s[0], r.w.s[40], r.w.s[regVCC] = carryIn, 7, 7, 7
				r.set32(0, func(i int) uint32 { return 99 })
				r.set32(1, func(i int) uint32 { return a[i] })
				r.set32(2, func(i int) uint32 { return b[i] })
				r.run(vop3(o, 0, v(1), v(2), third, mods{sdst: dst})...)
				mask := uint32(0)
				for i := range lanes {
					want := uint32(99)
					if someLanes>>i&1 != 0 {
						sum := f(uint64(a[i]), uint64(b[i]), carryIn>>i&1)
						want = uint32(sum)
						mask |= uint32(sum>>32&1) << i
					}
					if got := r.w.v[0][i]; got != want {
						t.Fatalf("%s: %s of %08x and %08x: got %08x, want %08x", r.set.Target, name, a[i], b[i], got, want)
					}
				}
				for _, s := range []uint32{0, 40, regVCC} {
					want := uint32(7)
					if s == dst {
						want = mask
					}
					if got := r.w.s[s]; got != want {
						t.Fatalf("%s: %s with the carry to %d: register %d is %08x, want %08x", r.set.Target, name, dst, s, got, want)
					}
				}
			}
		}
		o := r.need(isa.VOP3, "v_mad_u64_u32")
		r.w.s[regExec] = allOn
		for i := range lanes {
			r.w.v[2][i], r.w.v[3][i], r.w.v[4][i], r.w.v[5][i] = a[i], b[i], a[31-i], b[31-i]
		}
		r.run(vop3(o, 0, v(2), v(3), v(4), mods{sdst: 20})...)
		for i := range lanes {
			hi, lo := bits.Mul64(uint64(a[i]), uint64(b[i]))
			lo, c := bits.Add64(lo, uint64(a[31-i])|uint64(b[31-i])<<32, 0)
			if got := uint64(r.w.v[0][i]) | uint64(r.w.v[1][i])<<32; got != lo || hi != 0 || uint64(r.w.s[20]>>i&1) != c {
				t.Fatalf("%s: v_mad_u64_u32 lane %d: got %016x and %d, want %016x and %d", r.set.Target, i, got, r.w.s[20]>>i&1, lo, c)
			}
		}
	})
	vectors += 7 * lanes
}

// TestVectorCount is last: it says how many cases there were.
func TestVectorCount(t *testing.T) {
	if flag.Lookup("test.run").Value.String() != "" {
		t.Skip("not all tests were run")
	}
	t.Logf("%d cases of single instructions, most of them on four targets", vectors)
	if vectors < 1500 {
		t.Errorf("%d cases: should be 1500 at least", vectors)
	}
}
