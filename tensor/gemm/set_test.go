package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gorun/tensor"
)

// same reports the first place where two results differ. All NaNs are equal.
func same(a, b []float32) error {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) && (a[i] == a[i] || b[i] == b[i]) {
			return fmt.Errorf("element %d: %v and %v", i, a[i], b[i])
		}
	}
	return nil
}

// forSets runs a test with every set but generic, which is the oracle.
func forSets(t *testing.T, test func(t *testing.T, s *Set)) {
	for _, s := range Sets.All() {
		if s != generic {
			t.Run(s.Name(), func(t *testing.T) { test(t, s) })
		}
	}
}

// with returns what f gives with a kernel set.
func with(s *Set, f func() []float32) []float32 {
	defer Sets.Use(Sets.Current())
	Sets.Use(s)
	return f()
}

// Every set unpacks tiles to the same bytes.
func TestTilesAreIdentical(t *testing.T) {
	loadCodebooks()
	rng := rand.New(rand.NewPCG(7, 8))
	forSets(t, func(t *testing.T, s *Set) {
		for typ, f := range formats {
			for _, blocks := range []int{1, 2, 3} {
				cols := blocks * typ.BlockSize()
				w := randomWeights(rng, typ, tileRows, cols)
				stride := len(w) / tileRows
				want, got := make([]byte, f.tileBytes(typ, cols)), make([]byte, f.tileBytes(typ, cols))
				generic.unpack[typ](want, w, stride, blocks)
				s.unpack[typ](got, w, stride, blocks)
				for i := range want {
					if want[i] != got[i] {
						t.Fatalf("%v: byte %d of group %d is %#x, want %#x", typ, i%f.form.groupBytes(), i/f.form.groupBytes(), got[i], want[i])
					}
				}
			}
		}
	})
}

// Every set gives the bits of the oracle, whatever the shape.
func TestProductsAreIdentical(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	forSets(t, func(t *testing.T, s *Set) {
		for _, typ := range testedTypes() {
			for _, n := range []int{1, 2, 3, 7, 8, 12, 13, 32, 33} {
				rows := 1 + rng.IntN(70)
				cols := typ.BlockSize() * (1 + rng.IntN(1+1300/typ.BlockSize()))
				compare(t, s, rng, typ, rows, cols, n)
			}
		}
		compare(t, s, rng, tensor.Q4_K, 33, 512, 512)
		compare(t, s, rng, tensor.Q8_0, 17, 1056, 512)
		compare(t, s, rng, tensor.F16, 33, 77, 512)
	})
}

func compare(t *testing.T, s *Set, rng *rand.Rand, typ tensor.Type, rows, cols, n int) {
	t.Helper()
	if cols%typ.BlockSize() != 0 || FormOf(typ).group != 0 && cols%activationBlock != 0 {
		t.Fatal("the shape does not fit the type")
	}
	w, x := randomWeights(rng, typ, rows, cols), randomActivations(rng, n*cols)
	product := func() []float32 { return mul(typ, w, rows, cols, prepare(typ, x, n, cols), n) }
	if err := same(with(generic, product), with(s, product)); err != nil {
		t.Fatalf("%v, %d rows of %d, %d columns: %v", typ, rows, cols, n, err)
	}
}
