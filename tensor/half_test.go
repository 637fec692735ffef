package tensor

import (
	"math"
	"testing"

	"github.com/x448/float16"
	"pgregory.net/rapid"
)

func TestF16ToF32(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		got, want := math.Float32bits(F16ToF32(h)), math.Float32bits(float16.Frombits(h).Float32())
		if got != want {
			t.Errorf("F16ToF32(%#04x) has bits %#08x, want %#08x", h, got, want)
		}
		if back := F32ToF16(F16ToF32(h)); back != h && !float16.Frombits(h).IsNaN() {
			t.Errorf("%#04x comes back as %#04x", h, back)
		}
	}
}

// Every rounding happens at a half or midway between two: try those and their
// neighbours.
func TestF32ToF16Boundaries(t *testing.T) {
	for i := range 1 << 15 {
		low, high := F16ToF32(uint16(i)), F16ToF32(uint16(i+1))
		for _, f := range []float32{low, low/2 + high/2} {
			for _, f := range []float32{f, math.Nextafter32(f, 0), math.Nextafter32(f, float32(math.Inf(1)))} {
				checkF32ToF16(t, f)
				checkF32ToF16(t, -f)
			}
		}
	}
	for _, f := range []float32{65519.996, 65520, 65536, math.MaxFloat32, math.SmallestNonzeroFloat32, 0x1p-25, 0x1.000002p-25} {
		checkF32ToF16(t, f)
		checkF32ToF16(t, -f)
	}
}

func TestF32ToF16(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkF32ToF16(t, math.Float32frombits(rapid.Uint32().Draw(t, "bits")))
	})
}

func checkF32ToF16(t rapid.TB, f float32) {
	t.Helper()
	got, want := F32ToF16(f), float16.Fromfloat32(f).Bits()
	if got != want {
		t.Errorf("F32ToF16(%g, bits %#08x) = %#04x, want %#04x", f, math.Float32bits(f), got, want)
	}
}

func TestBF16ToF32(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		f := BF16ToF32(h)
		if got := math.Float32bits(f); got != uint32(h)<<16 {
			t.Errorf("BF16ToF32(%#04x) has bits %#08x", h, got)
		}
		if back := F32ToBF16(f); back != h && f == f {
			t.Errorf("%#04x comes back as %#04x", h, back)
		}
	}
}

// A bfloat16 has 8 significant bits, so rounding in the sense of math is to the
// nearest multiple of the exponent's unit.
func TestF32ToBF16(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := math.Float32frombits(rapid.Uint32().Draw(t, "bits"))
		got := BF16ToF32(F32ToBF16(f))
		if f != f {
			if got == got {
				t.Fatalf("NaN became %g", got)
			}
			return
		}
		_, exp := math.Frexp(float64(f))
		unit := max(exp, -125) - 8 // subnormals have the unit of the smallest normal
		want := float32(math.Ldexp(math.RoundToEven(math.Ldexp(float64(f), -unit)), unit))
		if math.IsInf(float64(f), 0) {
			want = f
		}
		if math.Float32bits(got) != math.Float32bits(want) {
			t.Fatalf("F32ToBF16(%g) is %g, want %g", f, got, want)
		}
	})
}
