package synth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gorun/tensor"
)

// computable lists the types that a model can have its matrices in.
func computable() (types []tensor.Type) {
	for _, t := range tensor.Types() {
		if t.CanDequantize() {
			types = append(types, t)
		}
	}
	return types
}

func TestEveryComputableTypeCanBeMade(t *testing.T) {
	for _, typ := range tensor.Types() {
		if err := checkType(typ); (err == nil) != typ.CanDequantize() {
			t.Errorf("%v: %v", typ, err)
		}
	}
}

// TestFill dequantizes random blocks and looks at their mean and deviation.
func TestFill(t *testing.T) {
	const elements = 1 << 18
	values := make([]float32, elements)
	for _, typ := range computable() {
		for _, std := range []float64{0.01, 0.022, 0.125, 1} {
			data := make([]byte, elements/typ.BlockSize()*typ.BlockBytes())
			fill(typ, data, std, rand.NewPCG(7, 8))
			tensor.Dequantize(typ, values, data)
			var sum, squares float64
			for _, x := range values {
				sum += float64(x)
				squares += float64(x) * float64(x)
			}
			mean, deviation := sum/elements, math.Sqrt(squares/elements)
			if !(math.Abs(mean) < 0.015*std) || !(math.Abs(deviation-std) < 0.02*std) {
				t.Errorf("%v: mean %.4f and deviation %.4f of the wanted %g", typ, mean/std, deviation/std, std)
			}
		}
	}
}

// TestFillReaches checks that blocks use all codes that they should: a sign
// that never varies, or bits that stay zero, would show.
func TestFillReaches(t *testing.T) {
	for typ, want := range map[tensor.Type]int{
		tensor.F16: 256, tensor.Q4_0: 17, tensor.Q8_0: 255, tensor.Q1_0: 2, tensor.TQ1_0: 3, tensor.TQ2_0: 3, tensor.Q2_0_ROCMFPX: 4 * 2,
	} {
		data := make([]byte, 4096/typ.BlockSize()*typ.BlockBytes())
		fill(typ, data, 0.02, rand.NewPCG(7, 8))
		values := make([]float32, 4096)
		tensor.Dequantize(typ, values, data)
		seen := map[float32]bool{}
		for _, x := range values {
			seen[x] = true
		}
		if len(seen) != want {
			t.Errorf("%v: %d values, not %d", typ, len(seen), want)
		}
	}
}

func TestScaleBetween(t *testing.T) {
	for _, kind := range []scaleKind{e8m0, ue4m3} {
		for _, v := range []float64{0.001, 0.0123, 0.5, 1, 1.7, 100} {
			s := kind.between(v)
			low, high, p := kind.value(int(s.low)), kind.value(int(s.high)), float64(s.share)/256
			got := math.Sqrt((1-p)*low*low + p*high*high)
			if low > v || high < v || math.Abs(got-v) > 0.01*v {
				t.Errorf("%v: %g between %g and %g, %g on average", kind, v, low, high, got)
			}
		}
	}
	if s := ue4m3.between(1e9); s.high != 126 || s.share != 256 {
		t.Errorf("beyond the largest scale: %+v", s)
	}
}

func TestFallback(t *testing.T) {
	for _, c := range []struct {
		asked tensor.Type
		n     int
		want  tensor.Type
	}{
		{tensor.Q4_K, 4096, tensor.Q4_K},
		{tensor.Q4_K, 2880, tensor.Q5_0},
		{tensor.Q5_K, 1408, tensor.Q5_1},
		{tensor.Q6_K, 128, tensor.Q8_0},
		{tensor.IQ2_XXS, 2880, tensor.IQ4_NL},
		{tensor.TQ1_0, 128, tensor.IQ4_NL},
		{tensor.Q1_0, 2880, tensor.Q4_0},
		{tensor.NVFP4, 2880, tensor.NVFP4},
		{tensor.NVFP4, 32, tensor.MXFP4},
		{tensor.Q4_K, 100, tensor.F16},
		{tensor.F32, 100, tensor.F32},
	} {
		if got := fallback(c.asked, c.n); got != c.want {
			t.Errorf("%v with rows of %d became %v, not %v", c.asked, c.n, got, c.want)
		}
	}
}

func BenchmarkFill(b *testing.B) {
	data := make([]byte, partBytes)
	for _, typ := range computable() {
		b.Run(fmt.Sprint(typ), func(b *testing.B) {
			dst := data[:partBytes/typ.BlockBytes()*typ.BlockBytes()]
			random := rand.NewPCG(1, 2)
			b.SetBytes(int64(len(dst)))
			for b.Loop() {
				fill(typ, dst, 0.02, random)
			}
		})
	}
}
