package attn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gorun/internal/guard"
	"gorun/tensor"
)

func TestChecks(t *testing.T) {
	for _, s := range Sets.All() {
		if err := s.Check(); err != nil {
			t.Error(err)
		}
	}
	if names := []string{"avx512", "avx2", "generic"}; !slices.Contains(names, Sets.Current().Name()) {
		t.Errorf("the set in use is %q", Sets.Current().Name())
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

// special puts NaNs and infinities into some.
func special(r *rand.Rand, values []float32) {
	for range len(values)/50 + 1 {
		values[r.IntN(len(values))] = []float32{
			float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0, float32(math.Copysign(0, -1)), 1e-42, math.MaxFloat32,
		}[r.IntN(7)]
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

// TestKernels holds every kernel against plain Go, at the end of memory.
func TestKernels(t *testing.T) {
	for _, s := range Sets.All()[:len(Sets.All())-1] {
		for typ, k := range s.types {
			t.Run(fmt.Sprintf("%s/%v", s.name, typ), func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) { checkKernels(t, k, typ) })
			})
		}
		t.Run(s.name, func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { checkScores(t, s) }) })
	}
}

func checkKernels(t *rapid.T, k *kernels, typ tensor.Type) {
	plain := generic.types[typ]
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	per := max(typ.BlockSize()/lanes, 1)
	vectors := per * rapid.IntRange(1, 36/per).Draw(t, "vectors")
	n, width := rapid.IntRange(1, 70).Draw(t, "rows"), vectors*lanes
	size := width / typ.BlockSize() * typ.BlockBytes()
	stride := size + rapid.IntRange(0, 3).Draw(t, "gap")
	at := rapid.IntRange(0, len(heights)-1).Draw(t, "height")
	height := heights[at]

	bytes := make([]byte, (n-1)*stride+size)
	for i := range bytes {
		bytes[i] = byte(r.Uint32())
		if r.IntN(200) > 0 {
			bytes[i] &^= 0x40
		}
	}
	src := guard.Copy(t, bytes)
	q, w := normal(r, height*width), normal(r, height*(n+3))
	if rapid.Bool().Draw(t, "special") {
		special(r, q)
		special(r, w)
	}

	if k.dots[at] == nil {
		checkLoad(t, k, typ, src, stride, n, width)
		return
	}
	query := q
	if k.round != nil {
		query = slices.Clone(q)
		plain.round(query)
		rounded := guard.Copy(t, q)
		k.round(rounded)
		checkRounded(t, q, rounded, query)
	}
	if keys := n / lanes * lanes; keys > 0 {
		got, want := guard.Memory[float32](t, (height-1)*(n+3)+keys), make([]float32, height*(n+3))
		k.dots[at](got, n+3, guard.Copy(t, query), src, stride, 0, vectors, keys, 0.37)
		plain.dots[at](want, n+3, query, src, stride, 0, vectors, keys, 0.37)
		equal(t, "dots", got, want[:len(got)])
	}

	got, want := guard.Copy(t, q), slices.Clone(q) // whatever was there before
	k.add[at](got, guard.Copy(t, w[:(height-1)*(n+3)+n]), n+3, src, stride, 0, vectors, n)
	plain.add[at](want, w, n+3, src, stride, 0, vectors, n)
	equal(t, "add", got, want)
	checkLoad(t, k, typ, src, stride, n, width)
}

// checkRounded wants the same bytes of a rounded row, up to what no block has.
func checkRounded(t *rapid.T, q, got, want []float32) {
	for b := 0; b < len(q); b += roundedValues {
		got, want := bytesOf(got[b:][:roundedValues]), bytesOf(want[b:][:roundedValues])
		if !slices.Equal(got[:roundedSum+4], want[:roundedSum+4]) {
			t.Fatalf("%v is rounded to %x, want %x", q[b:][:roundedValues], got, want)
		}
	}
}

func checkLoad(t *rapid.T, k *kernels, typ tensor.Type, src []byte, stride, n, width int) {
	got, want := guard.Memory[float32](t, (n-1)*(width+16)+width), make([]float32, n*(width+16))
	k.load(got, width+16, src, stride, 0, n, width)
	generic.types[typ].load(want, width+16, src, stride, 0, n, width)
	equal(t, "load", got, want[:len(got)])
}

func checkScores(t *rapid.T, s *Set) {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	x := normal(r, lanes*rapid.IntRange(1, 64).Draw(t, "vectors"))
	scale := rapid.SampledFrom([]float32{0, 1e-6, 0.5, 1, 30, 1e30}).Draw(t, "scale")
	for i := range x {
		x[i] *= scale
	}
	if rapid.Bool().Draw(t, "special") {
		special(r, x)
	}
	got, want := guard.Copy(t, x), slices.Clone(x)
	s.softcap(got, 20)
	generic.softcap(want, 20)
	equal(t, "softcap", got, want)
	y := guard.Copy(t, normal(r, len(x)))
	s.blend(got, y, scale, -0.3)
	generic.blend(want, y, scale, -0.3)
	equal(t, "blend", got, want)
	got, want = guard.Copy(t, x), x
	top, sum := s.softmax(got)
	wantTop, wantSum := generic.softmax(want)
	equal(t, "softmax", append(slices.Clone(got), top, sum), append(slices.Clone(want), wantTop, wantSum))
}

// TestTypes holds every set to having kernels for all types.
func TestTypes(t *testing.T) {
	for _, s := range Sets.All() {
		for _, typ := range tensor.KVTypes() {
			for _, form := range []tensor.Type{typ, typ.HeadType(64)} {
				if k := s.types[form]; k == nil || k.load == nil {
					t.Errorf("%s has no kernels for %v", s.name, form)
				}
			}
		}
	}
}

func TestFold(t *testing.T) {
	ninf := float32(math.Inf(-1))
	acc := []float32{ninf, 0, 7, 7}
	Fold(acc, 3, 2, []float32{1, -1})
	if !slices.Equal(acc, []float32{3, 2, 1, -1}) {
		t.Errorf("the first partial makes %v", acc)
	}
	Fold(acc, 9, 0, []float32{5, 5})
	if !slices.Equal(acc, []float32{3, 2, 1, -1}) {
		t.Errorf("an empty partial makes %v", acc)
	}
	Fold(acc, 3, 1, []float32{1, 1})
	if !slices.Equal(acc, []float32{3, 3, 2, 0}) {
		t.Errorf("a partial makes %v", acc)
	}
	Fold(acc, 200, 1, []float32{1, 1})
	if !slices.Equal(acc, []float32{200, 1, 1, 1}) {
		t.Errorf("a partial far above makes %v", acc)
	}
}
