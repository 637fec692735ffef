package tensor

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// drawBlocks draws blocks like weights and unlike them.
func drawBlocks(t *rapid.T, n int) []float32 {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	scale := math.Exp2(rapid.Float64Range(-6, 3).Draw(t, "log scale"))
	shift := rapid.SampledFrom([]float64{0, 0, 0.5, -2, 20}).Draw(t, "shift")
	element := rapid.SampledFrom([]func() float64{
		r.NormFloat64,
		func() float64 { return r.NormFloat64() * r.ExpFloat64() },
		r.Float64,
		func() float64 { return float64(r.IntN(7) - 3) },
		func() float64 { return float64(r.IntN(2)) },
		func() float64 { return math.Pow(r.NormFloat64(), 5) },
		func() float64 { return math.Ldexp(r.NormFloat64(), -r.IntN(20)) },
	}).Draw(t, "distribution")
	x := make([]float32, n)
	for i := range x {
		x[i] = float32((element() + shift) * scale)
	}
	return x
}

func squaredError(got, want []float32) (sum float64) {
	for i := range want {
		e := float64(got[i]) - float64(want[i])
		sum += e * e
	}
	return sum
}

// naive quantizes by the extreme elements alone: to the nearest of the levels
// that the type has between them, in each group of elements with a scale of
// its own. The scales are not rounded; it is what a quantizer without search
// reaches at best in a format without limits.
func naive(typ Type, x []float32) []float32 {
	groups := map[Type]struct {
		size, lo, hi int
		offset       bool
	}{
		Q2_K: {16, 0, 3, true}, Q4_K: {32, 0, 15, true}, Q5_K: {32, 0, 31, true},
		Q3_K: {16, -4, 3, false}, Q6_K: {16, -32, 31, false},
	}
	g := groups[typ]
	out := make([]float32, len(x))
	for at := 0; at < len(x); at += g.size {
		group := x[at:][:g.size]
		lo, hi := extent(group)
		lo = min(lo, 0)
		d, base := float64(extreme(group))/float64(g.lo), 0.0
		if g.offset {
			d, base = float64(hi-lo)/float64(g.hi), float64(lo)
		}
		for i, f := range group {
			if d != 0 {
				q := math.Round((float64(f) - base) / d)
				out[at+i] = float32(base + d*min(max(q, float64(g.lo)), float64(g.hi)))
			} else {
				out[at+i] = float32(base)
			}
		}
	}
	return out
}

// The searches do better than rounding by the extremes, in spite of the
// rounded scales. What those cost is at most the last term: half a step of a
// scale times the largest level, for all elements.
func TestSearchBeatsNaive(t *testing.T) {
	for typ, scaleSteps := range map[Type]float64{Q2_K: 15, Q4_K: 63, Q5_K: 63, Q3_K: 32, Q6_K: 128} {
		t.Run(typ.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				x := drawBlocks(t, 256)
				got, reference := squaredError(requantized(t, typ, x, nil), x), squaredError(naive(typ, x), x)
				lo, hi := extent(x)
				slack := 256 * math.Pow(float64(max(hi, 0)-min(lo, 0))/scaleSteps/2, 2)
				if got > reference+slack {
					t.Fatalf("squared error %g, without a search %g, and %g for the scales", got, reference, slack)
				}
			})
		})
	}
}

// No element is off by more than a step of the levels, of which the scale of
// the whole block is the worst case.
func TestQuantizationErrorIsBounded(t *testing.T) {
	// For each type, the largest error as a part of the extent of the block,
	// zero included.
	for typ, bound := range map[Type]float64{
		Q8_0: 1.0 / 200, Q4_0: 1.0 / 7, Q5_0: 1.0 / 15, Q4_1: 1.0 / 28, Q5_1: 1.0 / 58, MXFP4: 0.3,
		IQ4_NL: 0.2, IQ4_XS: 0.2, Q2_K: 0.45, Q3_K: 0.35, Q4_K: 0.15, Q5_K: 0.1, Q6_K: 0.1,
	} {
		t.Run(typ.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				x := drawBlocks(t, typ.BlockSize())
				lo, hi := extent(x)
				most := bound*float64(max(hi, 0)-min(lo, 0)) + 1e-6
				if typ == Q4_1 || typ == Q5_1 {
					most += float64(abs32(lo)) / 2000 // the offset is an f16
				}
				for i, f := range requantized(t, typ, x, nil) {
					if e := math.Abs(float64(f) - float64(x[i])); !(e <= most) {
						t.Fatalf("element %d: %g comes back as %g, off by %g of %g allowed", i, x[i], f, e, most)
					}
				}
			})
		})
	}
}

// A scale search finds what trying all scale bytes finds.
func TestROCmFPSearchIsExhaustive(t *testing.T) {
	for _, r := range []*rocmGroup{&rocm2, &rocm3, &rocm4, &rocm6, &rocm8} {
		rapid.Check(t, func(t *rapid.T) {
			x := drawBlocks(t, rapid.SampledFrom([]int{16, 32}).Draw(t, "elements"))
			weights := make([]float32, len(x))
			for i := range weights {
				weights[i] = rapid.SampledFrom([]float32{0, 0.25, 1}).Draw(t, "weight")
			}
			best, want := r.errorOf(x, weights, 0, -1), 0
			for b := 1; b <= maxROCmScale; b++ {
				if err := r.errorOf(x, weights, rocmScales[b], -1); err < best {
					best, want = err, b
				}
			}
			if got := r.search(x, weights); int(got) != want {
				t.Fatalf("scale %#02x, want %#02x with error %g", got, want, best)
			}
		})
	}
}

// Rounding by cells is rounding to the nearest level.
func TestScalars(t *testing.T) {
	for name, levels := range map[string][]float32{
		"iq4": iq4Levels[:], "fp2": rocmFP2[:], "fp3": rocmFP3[:], "fp4": rocmFP4[:], "fp6": rocmFP6[:], "fp8": rocmFP8(),
	} {
		s := newScalar(levels)
		rapid.Check(t, func(t *rapid.T) {
			v := rapid.Float32Range(-200, 200).Draw(t, "value")
			c := cell(v)
			if levels[s.code[c]] != s.level[c] {
				t.Fatalf("%s: code %d is not of level %g", name, s.code[c], s.level[c])
			}
			for _, l := range levels {
				if abs32(v-l) < abs32(v-s.level[c])-1e-4 {
					t.Fatalf("%s: %g becomes %g, but %g is nearer", name, v, s.level[c], l)
				}
			}
		})
		for _, v := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32} {
			if c := cell(v); c >= cells {
				t.Errorf("%s: cell %d for %g", name, c, v)
			}
		}
	}
}

// What a quantizer gives is a fixed point, or nearly: quantizing it again does
// not add more than a little to the error.
func TestQuantizingTwice(t *testing.T) {
	source := readFloats(t, "source.f32")[:6*1024]
	for _, typ := range quantizable() {
		once := requantized(t, typ, source, nil)
		if e := relativeError(requantized(t, typ, once, nil), once, nil); e > 0.06 {
			t.Errorf("%v: quantizing the result again changes it by %.4f", typ, e)
		}
	}
}
