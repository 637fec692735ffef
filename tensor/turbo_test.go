package tensor

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

var turboTypes = []Type{Turbo4, Turbo3, Turbo2, turbo4Short, turbo3Short, turbo2Short}

// TestTurboQuality holds the error on normally distributed data to the optimum
// of Lloyd and Max.
func TestTurboQuality(t *testing.T) {
	optimum := map[Type]float64{Turbo4: 0.0095, Turbo3: 0.0345, Turbo2: 0.1175}
	for typ, want := range optimum {
		for _, typ := range []Type{typ, typ + turbo4Short - Turbo4} {
			r := rand.New(rand.NewPCG(1, uint64(typ)))
			n := typ.BlockSize()
			x, y, coded := make([]float32, n), make([]float32, n), make([]byte, typ.BlockBytes())
			var diff, dot, xx, yy float64
			const blocks = 20000
			for range blocks {
				for i := range x {
					x[i] = float32(r.NormFloat64())
				}
				if err := Quantize(typ, coded, x); err != nil {
					t.Fatal(err)
				}
				Dequantize(typ, y, coded)
				for i := range x {
					a, b := float64(x[i]), float64(y[i])
					diff, dot, xx, yy = diff+(a-b)*(a-b), dot+a*b, xx+a*a, yy+b*b
				}
			}
			mse, cosine := diff/xx, dot/math.Sqrt(xx*yy)
			t.Logf("%v: error %.5f of the square, cosine %.5f", typ, mse, cosine)
			if mse > 1.03*want {
				t.Errorf("%v: error %.5f; the optimum is %.5f", typ, mse, want)
			}
			if typ == Turbo4 && cosine < 0.995 {
				t.Errorf("%v: cosine %.5f", typ, cosine)
			}
			if ratio := math.Sqrt(yy / xx); math.Abs(ratio-1) > 1e-3 {
				t.Errorf("%v: lengths change by %.5f", typ, ratio)
			}
		}
	}
}

// TestTurboOutliers wants the quality of normal data for blocks that are far
// from normal.
func TestTurboOutliers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x, y, coded := make([]float32, 128), make([]float32, 128), make([]byte, Turbo4.BlockBytes())
	worst := 0.0
	for range 500 {
		for i := range x {
			x[i] = float32(r.NormFloat64()) * 0.1
		}
		x[r.IntN(128)] = 50
		if err := Quantize(Turbo4, coded, x); err != nil {
			t.Fatal(err)
		}
		Dequantize(Turbo4, y, coded)
		worst = max(worst, turboError(x, y))
	}
	if worst > 0.05 {
		t.Errorf("relative error %.3f", worst)
	}
}

func turboError(x, y []float32) float64 {
	diff, sum := 0.0, 0.0
	for i := range x {
		d := float64(x[i]) - float64(y[i])
		diff, sum = diff+d*d, sum+float64(x[i])*float64(x[i])
	}
	return diff / sum
}

func TestTurboRotation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom(turboTypes).Draw(t, "type")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n := 3 * typ.BlockSize()
		x, y := make([]float32, n), make([]float32, n)
		for i := range x {
			x[i], y[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
		}
		dot := func(a, b []float32) (sum float64) {
			for i := range a {
				sum += float64(a[i]) * float64(b[i])
			}
			return sum
		}
		before := dot(x, y)
		back := append([]float32(nil), x...)
		Rotate(typ, x)
		Rotate(typ, y)
		if after := dot(x, y); math.Abs(after-before) > 1e-4*float64(n) {
			t.Fatalf("a product of %v becomes %v", before, after)
		}
		RotateBack(typ, x)
		if turboError(back, x) > 1e-12 {
			t.Fatal("turning there and back is not the identity")
		}
	})
}

// TestTurboExtremes has blocks of zeros, of one value, and of the largest and
// smallest that there are.
func TestTurboExtremes(t *testing.T) {
	for _, typ := range turboTypes {
		n := typ.BlockSize()
		coded, y := make([]byte, typ.BlockBytes()), make([]float32, n)
		for name, fill := range map[string]func(i int) float32{
			"zero":    func(int) float32 { return 0 },
			"largest": func(int) float32 { return 65504 },
			"mixed":   func(i int) float32 { return []float32{65504, -65504}[i%2] },
			"one":     func(i int) float32 { return []float32{1, 0}[min(i, 1)] },
			"small":   func(int) float32 { return 1e-6 },
		} {
			x := make([]float32, n)
			for i := range x {
				x[i] = fill(i)
			}
			if err := Quantize(typ, coded, x); err != nil {
				t.Errorf("%v, %s: %v", typ, name, err)
				continue
			}
			Dequantize(typ, y, coded)
			if name == "zero" {
				if norm(y) != 0 {
					t.Errorf("%v: zeros become %v", typ, y)
				}
			} else if e := turboError(x, y); !(e < 0.35) {
				t.Errorf("%v, %s: relative error %.3g", typ, name, e)
			}
		}
		for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), 1e6} {
			x := make([]float32, n)
			x[3] = bad
			if err := Quantize(typ, coded, x); err == nil {
				t.Errorf("%v holds %v", typ, bad)
			}
		}
	}
}

func TestKVTypes(t *testing.T) {
	for _, typ := range KVTypes() {
		if got, err := ParseKVType(typ.String()); got != typ || err != nil {
			t.Errorf("ParseKVType(%v) = %v, %v", typ, got, err)
		}
		if !typ.CanDequantize() || !typ.CanQuantize() {
			t.Errorf("%v cannot be converted", typ)
		}
	}
	for _, name := range []string{"turbo4/64", "q2_K", "", "i32"} {
		if typ, err := ParseKVType(name); err == nil {
			t.Errorf("ParseKVType(%q) = %v", name, typ)
		}
	}
	for _, typ := range turboTypes { // no file may name them
		if _, err := ParseType(typ.String()); err == nil || typ.Known() {
			t.Errorf("%v is a type of files", typ)
		}
	}
	for dim, want := range map[int]int{8: 64, 16: 64, 32: 64, 64: 64, 72: 128, 80: 128, 96: 128, 112: 128, 128: 128, 192: 192, 256: 256, 512: 512, 576: 576} {
		typ := Turbo4.HeadType(dim)
		if got := paddedTo(dim, typ.BlockSize()); got != want {
			t.Errorf("heads of %d are padded to %d, want %d", dim, got, want)
		}
	}
}
