package f32

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func big32(x float32) *big.Float { return new(big.Float).SetPrec(1000).SetFloat64(float64(x)) }

func TestFMARoundsOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	check := func(a, b, c float32) {
		t.Helper()
		product := new(big.Float).SetPrec(1000).Mul(big32(a), big32(b))
		want, _ := product.Add(product, big32(c)).Float32()
		if got := FMA(a, b, c); got != want {
			t.Fatalf("FMA(%g, %g, %g) = %g, want %g", a, b, c, got, want)
		}
	}
	// few has few bits set, so that sums are often half way.
	few := func(exponents int) float32 {
		return float32(math.Ldexp(float64(rng.Int32N(1<<9)-1<<8), rng.IntN(exponents)-exponents/2))
	}
	for range 300_000 {
		check(few(60), few(60), few(60))
		check(few(30), 1+float32(rng.IntN(1<<10))*0x1p-23, few(30))
		check(few(40), few(40)*0x1p-120, few(30)*0x1p-130)
		check(float32(rng.NormFloat64()), float32(rng.NormFloat64()), float32(rng.NormFloat64()))
	}
	check(0x1p-126, 0x1p-23, 0x1p-149)
	check(math.MaxFloat32, 1, 0x1p103)
	check(math.MaxFloat32, 1, math.MaxFloat32)
}

func TestFMAOfInfinities(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct{ a, b, c, want float32 }{
		{inf, 1, 1, inf}, {inf, -1, 1, -inf}, {1, 1, inf, inf},
		{inf, 0, 1, nan}, {inf, 1, -inf, nan}, {nan, 1, 1, nan}, {1, 1, nan, nan},
	} {
		if got := FMA(c.a, c.b, c.c); got != c.want && (got == got || c.want == c.want) {
			t.Errorf("FMA(%v, %v, %v) = %v, want %v", c.a, c.b, c.c, got, c.want)
		}
	}
}

func TestFunctions(t *testing.T) {
	near := func(what string, x float32, got float32, want float64) {
		if d := math.Abs(float64(got)-want) / want; d > 2e-7 && want > 1e-37 {
			t.Fatalf("%s(%v) = %v, want %v: %g off", what, x, got, want, d)
		}
	}
	for x := float32(0); x > -90; x -= 0.00137 {
		near("exp", x, Exp(x), math.Exp(float64(x)))
	}
	for x := float32(1e-9); x < 20; x *= 1.0003 {
		near("tanh", x, Tanh(x), math.Tanh(float64(x)))
		if Tanh(-x) != -Tanh(x) {
			t.Fatalf("tanh(%v) is not odd", x)
		}
	}
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct{ got, want float64 }{
		{float64(Exp(0)), 1}, {float64(Exp(float32(-inf))), 0}, {float64(Exp(float32(nan))), nan},
		{float64(Tanh(0)), 0}, {float64(Tanh(float32(inf))), 1}, {float64(Tanh(float32(-inf))), -1}, {float64(Tanh(float32(nan))), nan},
	} {
		if c.got != c.want && (c.got == c.got || c.want == c.want) {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
}
