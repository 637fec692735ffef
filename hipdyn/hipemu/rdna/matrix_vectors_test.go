package rdna

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/x448/float16"

	"gorun/hipdyn/hipemu/rdna/isa"
)

// element is a kind of number in a matrix: its bits, and a random one that is
// a multiple of a power of two, so that sums are exact.
type element struct {
	bits   int
	random func(r *rand.Rand) (code uint32, value float64)
}

func small(r *rand.Rand) float64 { return float64(r.IntN(17)-8) / 4 }

var elements = map[string]element{
	"f16": {16, func(r *rand.Rand) (uint32, float64) {
		x := small(r)
		return uint32(float16.Fromfloat32(float32(x)).Bits()), x
	}},
	"bf16": {16, func(r *rand.Rand) (uint32, float64) {
		x := small(r)
		return math.Float32bits(float32(x)) >> 16, x
	}},
	// Sign, 4 bits of exponent from 2^-7, 3 bits behind the point.
	"fp8": {8, func(r *rand.Rand) (uint32, float64) {
		c := uint32(r.IntN(2)<<7 | (5+r.IntN(4))<<3 | r.IntN(8))
		x := math.Ldexp(1+float64(c&7)/8, int(c>>3&15)-7)
		if c>>7 != 0 {
			x = -x
		}
		return c, x
	}},
	// Sign, 5 bits of exponent from 2^-15, 2 bits behind the point.
	"bf8": {8, func(r *rand.Rand) (uint32, float64) {
		c := uint32(r.IntN(2)<<7 | (13+r.IntN(4))<<2 | r.IntN(4))
		x := math.Ldexp(1+float64(c&3)/4, int(c>>2&31)-15)
		if c>>7 != 0 {
			x = -x
		}
		return c, x
	}},
	"i8": {8, func(r *rand.Rand) (uint32, float64) { c := r.Uint32N(256); return c, float64(int8(c)) }},
	"u8": {8, func(r *rand.Rand) (uint32, float64) { c := r.Uint32N(256); return c, float64(c) }},
	"i4": {4, func(r *rand.Rand) (uint32, float64) { c := r.Uint32N(16); return c, float64(int8(c<<4) >> 4) }},
	"u4": {4, func(r *rand.Rand) (uint32, float64) { c := r.Uint32N(16); return c, float64(c) }},
}

// TestMatrixVectors: all matrix products, with elements laid out as the
// manuals of RDNA3 and RDNA4 say.
func TestMatrixVectors(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	for _, c := range []struct {
		name, a, b, d string
		k             int
	}{
		{"v_wmma_f32_16x16x16_f16", "f16", "f16", "f32", 16}, {"v_wmma_f32_16x16x16_bf16", "bf16", "bf16", "f32", 16},
		{"v_wmma_f16_16x16x16_f16", "f16", "f16", "f16", 16}, {"v_wmma_bf16_16x16x16_bf16", "bf16", "bf16", "bf16", 16},
		{"v_wmma_i32_16x16x16_iu8", "i8", "i8", "i32", 16}, {"v_wmma_i32_16x16x16_iu8", "i8", "u8", "i32", 16}, {"v_wmma_i32_16x16x16_iu8", "u8", "i8", "i32", 16}, {"v_wmma_i32_16x16x16_iu8", "u8", "u8", "i32", 16},
		{"v_wmma_i32_16x16x16_iu4", "i4", "u4", "i32", 16}, {"v_wmma_i32_16x16x16_iu4", "u4", "i4", "i32", 16}, {"v_wmma_i32_16x16x32_iu4", "i4", "i4", "i32", 32},
		{"v_wmma_f32_16x16x16_fp8_fp8", "fp8", "fp8", "f32", 16}, {"v_wmma_f32_16x16x16_fp8_bf8", "fp8", "bf8", "f32", 16},
		{"v_wmma_f32_16x16x16_bf8_fp8", "bf8", "fp8", "f32", 16}, {"v_wmma_f32_16x16x16_bf8_bf8", "bf8", "bf8", "f32", 16},
	} {
		ran := false
		for _, target := range isa.Targets[1:] {
			r := newRig(t, target)
			o := r.op(isa.VOP3P, c.name)
			if o == nil {
				continue
			}
			ran = true
			vectors += 256
			gen12 := target == "gfx1201"
			var value [2][16][32]float64
			for n, kind := range []string{c.a, c.b} {
				e := elements[kind]
				first := 16 + 16*n
				for k := range 16 {
					r.set32(first+k, func(int) uint32 { return 0 })
				}
				for row := range 16 {
					for k := range c.k {
						code, x := e.random(rnd)
						value[n][row][k] = x
						place := func(lane, i int) {
							r.w.v[first+i*e.bits/32][lane] |= code << (i * e.bits % 32)
						}
						if gen12 { // the halves of the wave share k
							place(row+16*(k/(c.k/2)), k%(c.k/2))
						} else {
							place(row, k)
							place(row+16, k)
						}
					}
				}
			}
			// C, and where D goes.
			at := func(row, col int) (reg, lane, half int) {
				switch {
				case !gen12:
					return row / 2, col + row%2*16, 0
				case c.d == "f16" || c.d == "bf16":
					return row % 8 / 2, col + row/8*16, row % 2
				}
				return row % 8, col + row/8*16, 0
			}
			encode := func(x float64) uint32 {
				switch c.d {
				case "f32":
					return math.Float32bits(float32(x))
				case "i32":
					return uint32(int32(x))
				case "f16":
					return uint32(float16.Fromfloat32(float32(x)).Bits())
				}
				b := math.Float32bits(float32(x))
				return (b + 0x7fff + b>>16&1) >> 16
			}
			for k := range 8 {
				r.set32(48+k, func(int) uint32 { return 0 })
				r.set32(64+k, func(int) uint32 { return 0x5a5a5a5a })
			}
			for row := range 16 {
				for col := range 16 {
					reg, lane, half := at(row, col)
					r.w.v[48+reg][lane] |= encode(float64(row-col)) << (16 * half)
				}
			}
			m := mods{opselHi: 7}
			if strings.HasPrefix(c.a, "i") {
				m.neg |= 1
			}
			if strings.HasPrefix(c.b, "i") {
				m.neg |= 2
			}
			code := vop3p(o, 64, v(16), v(32), v(48), m)
			r.run(code...)
			for row := range 16 {
				for col := range 16 {
					sum := float64(row - col)
					for k := range c.k {
						sum += value[0][row][k] * value[1][col][k]
					}
					want := encode(sum)
					reg, lane, half := at(row, col)
					got := r.w.v[64+reg][lane]
					if c.d == "f16" || c.d == "bf16" {
						if !gen12 && got>>16 != 0x5a5a {
							t.Fatalf("%s: %s changes the upper half: %08x", target, c.name, got)
						}
						got = got >> (16 * half) & 0xffff
					}
					if got != want {
						t.Fatalf("%s: %s (%s times %s): element %d,%d is %08x, want %08x (%g)", target, r.text(code...), c.a, c.b, row, col, got, want, sum)
					}
				}
			}
		}
		if !ran {
			t.Errorf("no target has %s", c.name)
		}
	}
	// Sources that differ between the halves of a wave are a mistake on gfx11,
	// and so are lanes that are off.
	r := newRig(t, "gfx1100")
	for k := range 100 {
		r.set32(k, func(int) uint32 { return 0 })
	}
	o := r.need(isa.VOP3P, "v_wmma_f32_16x16x16_f16")
	r.w.v[16][20] = 0x3c00
	if err := r.try(vop3p(o, 64, v(16), v(32), v(48), mods{opselHi: 7})...); err == nil || !strings.Contains(err.Error(), "differs") {
		t.Errorf("different halves: %v", err)
	}
	r.w.v[16][20], r.w.s[regExec] = 0, 0xffff
	if err := r.try(vop3p(o, 64, v(16), v(32), v(48), mods{opselHi: 7})...); err == nil || !strings.Contains(err.Error(), "lanes off") {
		t.Errorf("lanes off: %v", err)
	}
}
