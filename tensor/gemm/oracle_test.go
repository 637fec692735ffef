package gemm

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gorun/internal/f32"
	"gorun/tensor"
)

// The decoders give the levels and scales that tensor.Dequantize multiplies.
func TestDecodersAgreeWithDequantize(t *testing.T) {
	loadCodebooks()
	rng := rand.New(rand.NewPCG(1, 2))
	for typ, f := range formats {
		size := typ.BlockSize()
		want, u := make([]float32, size), make([]uint8, size)
		s, m := make([]float32, size/f.form.group), make([]float32, size/f.form.group)
		for range 200 {
			block := randomWeights(rng, typ, 1, size)
			tensor.Dequantize(typ, want, block)
			decode(typ, u, s, m, block)
			for k, v := range u {
				g := k / f.form.group
				got := s[g] * float32(int32(v)-f.form.bias)
				if f.form.min {
					got = float32(s[g]*float32(v)) + m[g]
				}
				if got != want[k] || int(v) > f.top {
					t.Fatalf("%v, element %d: level %d, %v, want %v", typ, k, v, got, want[k])
				}
			}
		}
	}
}

func TestFMA32RoundsOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	exact := func(x float32) *big.Float { return new(big.Float).SetPrec(1000).SetFloat64(float64(x)) }
	check := func(a, b, c float32) {
		want := new(big.Float).SetPrec(1000).Mul(exact(a), exact(b))
		rounded, _ := want.Add(want, exact(c)).Float32()
		if got := f32.FMA(a, b, c); got != rounded {
			t.Fatalf("f32.FMA(%g, %g, %g) = %g, want %g", a, b, c, got, rounded)
		}
	}
	float := func(exponent int) float32 {
		return float32(math.Ldexp(float64(rng.Int32N(1<<25)-1<<24), exponent-24))
	}
	for range 200_000 {
		check(float(0), float(0), float(rng.IntN(60)-30))
		check(float(rng.IntN(20)), float(-130), float(-110-rng.IntN(39)))
		// Few bits meet halfway cases often.
		check(float32(rng.IntN(64)-32), 1+float32(rng.IntN(8))*0x1p-23, float32(math.Ldexp(float64(rng.IntN(64)-32), rng.IntN(60)-30)))
	}
	check(0x1p-126, 0x1p-23, 0x1p-149)
	check(math.MaxFloat32, 1, 0x1p103)
	for _, x := range []float32{0, 1, float32(math.Inf(1)), float32(math.NaN())} {
		if got := f32.FMA(float32(math.NaN()), 1, x); got == got {
			t.Errorf("f32.FMA(NaN, 1, %v) = %v", x, got)
		}
	}
	if got := f32.FMA(float32(math.Inf(1)), 1, 1); !math.IsInf(float64(got), 1) {
		t.Errorf("f32.FMA(Inf, 1, 1) = %v", got)
	}
}

// A product differs from the exact one of the dequantized weights by the
// rounding of the activations, at most half a step each, and of float32.
func TestProductsAreNearTheExactOnes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const rows, cols, n = 19, 768, 3
	for _, typ := range testedTypes() {
		w, x := randomWeights(rng, typ, rows, cols), randomActivations(rng, n*cols)
		got := mul(typ, w, rows, cols, prepare(typ, x, n, cols), n)
		weights := make([]float32, rows*cols)
		tensor.Dequantize(typ, weights, w)
		for c := range n {
			for r := range rows {
				var exact, bound, size float64
				for k, v := range weights[r*cols:][:cols] {
					column := x[c*cols:][:cols]
					exact += float64(v) * float64(column[k])
					size += math.Abs(float64(v) * float64(column[k]))
					if FormOf(typ).group != 0 {
						var top float64
						for _, a := range column[k/32*32:][:32] {
							top = max(top, math.Abs(float64(a)))
						}
						step := top / 127
						if FormOf(typ).wide {
							step /= 256
						}
						bound += math.Abs(float64(v)) * step * 0.501
					}
				}
				// The sums of q that minimums are multiplied with are larger
				// than the sum of their differences.
				tolerance := bound + size*1e-5
				if formats[typ] != nil && formats[typ].form.min {
					tolerance += 0.01 * size
				}
				if diff := math.Abs(float64(got[c*rows+r]) - exact); !(diff <= tolerance) {
					t.Fatalf("%v, row %d, column %d: %v, exactly %v, tolerance %v", typ, r, c, got[c*rows+r], exact, tolerance)
				}
			}
		}
	}
}

func TestQuantizedActivations(t *testing.T) {
	x := make([]float32, 96)
	for i := range x {
		x[i] = float32(i%32) - 15.5
	}
	x[64] = float32(math.Inf(-1))
	row := prepare(tensor.Q6_K, x, 1, len(x))
	f := FormOf(tensor.Q6_K)
	for b := range 2 {
		block := row[b*f.blockBytes():]
		if sx := float(block[32:]); sx != 15.5/127 {
			t.Errorf("block %d: scale %v", b, sx)
		}
		var sums [2]int32
		for i, q := range block[:32] {
			sums[i/16] += int32(int8(q))
		}
		for g, sum := range sums {
			if got := int32(le.Uint32(block[36+4*g:])); got != -32*sum {
				t.Errorf("block %d: correction %d for the sum %d", b, got, sum)
			}
		}
		if int8(block[0]) != -127 || int8(block[31]) != 127 {
			t.Errorf("block %d: ends %d and %d", b, int8(block[0]), int8(block[31]))
		}
	}
	if sx := float(row[2*f.blockBytes()+32:]); sx == sx {
		t.Errorf("the scale of a block with an infinity is %v", sx)
	}
}

// Two bytes of an activation together are within half a step, or a whole one
// where the low byte would be -128.
func TestWideActivations(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 7))
	x := randomActivations(rng, 4096)
	f := FormOf(tensor.Q8_0)
	row := prepare(tensor.Q8_0, x, 1, len(x))
	halves := 0
	for b := range len(x) / activationBlock {
		block := row[b*f.blockBytes():][:f.blockBytes()]
		sx, sum := float64(float(block[32:])), int32(0)
		for k := range activationBlock {
			high, low := int32(int8(block[k])), int32(int8(block[f.lowBytes()+k]))
			sum += 256*high + low
			off := math.Abs(float64(x[b*activationBlock+k])/sx - float64(256*high+low))
			if off > 1.01 || off > 0.51 && low != 127 && low != -127 {
				t.Fatalf("%v is %d and %d steps of %v, %v off", x[b*activationBlock+k], high, low, sx, off)
			}
			if low == -128 {
				t.Fatal("a low byte of -128")
			}
			if low == 127 || low == -127 {
				halves++
			}
		}
		if got := int32(le.Uint32(block[36:])); got != -f.bias*sum {
			t.Errorf("block %d: correction %d for the sum %d", b, got, sum)
		}
	}
	if halves == 0 {
		t.Error("no low byte met its limit")
	}
}
