package vec

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gorun/internal/guard"
)

func TestChecks(t *testing.T) {
	for _, s := range Sets.All() {
		if err := s.Check(); err != nil {
			t.Error(err)
		}
	}
	if Sets.Select("none") == nil {
		t.Error("selected a set that does not exist")
	}
}

func normal(r *rand.Rand, n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(r.NormFloat64())
	}
	return list
}

// special puts NaNs, infinities and other extremes into some.
func special(r *rand.Rand, values []float32) {
	for range len(values)/20 + 1 {
		values[r.IntN(len(values))] = []float32{
			float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0, float32(math.Copysign(0, -1)),
			1e-42, math.MaxFloat32, -200, 90, 65520, 3e-8,
		}[r.IntN(11)]
	}
}

// equal fails unless all bits are the same, or both are NaNs.
func equal(t *rapid.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) && (got[i] == got[i] || want[i] == want[i]) {
			t.Fatalf("%s: result %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// TestKernels holds every operation with every set against plain Go, at the
// end of memory.
func TestKernels(t *testing.T) {
	best := Sets.Current().Name()
	defer Sets.Select(best)
	for _, s := range Sets.All() {
		if err := Sets.Select(s.Name()); err != nil {
			t.Fatal(err)
		}
		t.Run(s.Name(), func(t *testing.T) { rapid.Check(t, checkRows) })
	}
}

func checkRows(t *rapid.T) {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	n := rapid.IntRange(0, 200).Draw(t, "values")
	x, y := normal(r, n), normal(r, n)
	scale := rapid.SampledFrom([]float32{1, 20, 1e-3}).Draw(t, "scale")
	for i := range x {
		x[i] *= scale
	}
	if n > 0 && rapid.Bool().Draw(t, "special") {
		special(r, x)
		special(r, y)
	}
	limits := Unlimited()
	if rapid.Bool().Draw(t, "limits") {
		limits = Limits{Gate: 7, Result: 3, Up: 1, UpBias: 1}
	}
	gx, gy := guard.Copy(t, x), guard.Copy(t, y)

	for f := range Function(functions) {
		got, want := guard.Memory[float32](t, n), make([]float32, n)
		Gated(f, got, gx, gy, limits)
		generic.gated[f](want, x, y, limits.Gate, limits.Result, limits.Up, limits.UpBias)
		equal(t, "gated unit", got, want)
		got, want = guard.Copy(t, x), slices.Clone(x)
		Activate(f, got)
		generic.activate[f](want)
		equal(t, "activation", got, want)
	}

	got, want := guard.Copy(t, y), slices.Clone(y)
	Accumulate(got, gx, 0.7)
	generic.accumulate(want, x, 0.7)
	equal(t, "accumulation", got, want)

	MultiplyAdd(got, gx, gy)
	generic.multiplyAdd(want, x, y)
	equal(t, "products", got, want)

	half, wantHalf := guard.Memory[byte](t, 2*n), make([]byte, 2*n)
	Halve(half, gx)
	generic.halve(wantHalf, x)
	if !bytes.Equal(half, wantHalf) {
		t.Fatalf("halves of %v: %x, want %x", x, half, wantHalf)
	}

	if n > 0 {
		got, want = guard.Memory[float32](t, n), make([]float32, n)
		Normalize(got, gx, gy, 1e-5)
		generic.scale(want, x, y, float32(1/math.Sqrt(float64(generic.squares(x))/float64(n)+float64(float32(1e-5)))))
		equal(t, "norm", got, want)
	}

	rows := rapid.IntRange(1, 20).Draw(t, "rows")
	state, q, k := normal(r, rows*n), normal(r, rows), normal(r, rows)
	other, out, wantOut := slices.Clone(state), guard.Memory[float32](t, n), make([]float32, n)
	gs := guard.Copy(t, state)
	DeltaRule(gs, out, guard.Copy(t, q), guard.Copy(t, k), gy, 0.9, 0.4)
	generic.delta(other, wantOut, q, k, y, 0.9, 0.4)
	equal(t, "state", gs, other)
	equal(t, "delta rule", out, wantOut)
}

// TestActivations compares with the formulas.
func TestActivations(t *testing.T) {
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	functions := []func(x float64) float64{
		SiLU: func(x float64) float64 { return x * sigmoid(x) },
		GELU: func(x float64) float64 {
			return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
		},
		QuickGELU: func(x float64) float64 { return x * sigmoid(1.702*x) },
		Sigmoid:   sigmoid,
	}
	for f, want := range functions {
		for x := float32(-60); x < 60; x += 0.00731 {
			y := []float32{x}
			Activate(Function(f), y)
			w := want(float64(x))
			if d := math.Abs(float64(y[0]) - w); d > 3e-6*math.Abs(w)+1e-9 {
				t.Fatalf("function %d of %v is %v, want %v", f, x, y[0], w)
			}
		}
	}
}
