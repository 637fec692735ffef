package attn

import (
	"math"
	"slices"

	"gorun/internal/kernelset"
	"gorun/tensor"
)

// Check runs each kernel of the set once and compares the bits of the results
// with those of plain Go.
func (s *Set) Check() error {
	w := newChecking()
	for t, k := range s.types {
		if err := s.checkType(t, k, w); err != nil {
			return err
		}
	}
	got := kernelset.Numbers(512)
	for i := range got {
		got[i] *= float32(i) // far enough down for weights of zero
	}
	want := slices.Clone(got)
	s.softcap(got, 30)
	generic.softcap(want, 30)
	if err := s.differ("softcap", got, want); err != nil {
		return err
	}
	s.blend(got, kernelset.Numbers(512), 0.3, 0.7)
	generic.blend(want, kernelset.Numbers(512), 0.3, 0.7)
	if err := s.differ("blend", got, want); err != nil {
		return err
	}
	top, sum := s.softmax(got)
	wantTop, wantSum := generic.softmax(want)
	return s.differ("softmax", append(got, top, sum), append(want, wantTop, wantSum))
}

// Each type is checked with some vectors of each of some keys.
const (
	checkedKeys    = 32
	checkedVectors = 8
	checkedWidth   = checkedVectors * lanes
)

// checking is what types are checked with, one after the other in the same memory: every
// process begins with this.
type checking struct {
	q, weights []float32
	rows       []byte
	dots, sums []float32 // as plain Go has them
	got, want  []float32
}

func newChecking() *checking {
	const keys, width = checkedKeys, checkedWidth
	return &checking{
		// A query row's results do not depend on how many there are.
		q: kernelset.Numbers(heights[0] * width), weights: kernelset.Numbers(heights[0] * keys),
		rows: finite(4 * keys * width),
		dots: make([]float32, heights[0]*keys), sums: make([]float32, heights[0]*width),
		got: make([]float32, max(heights[0], keys)*max(width, keys)), want: make([]float32, keys*width),
	}
}

func (s *Set) checkType(t tensor.Type, k *kernels, w *checking) error {
	const vectors, keys, width = checkedVectors, checkedKeys, checkedWidth
	size := width / t.BlockSize() * t.BlockBytes()
	rows, plain := w.rows[:keys*size], generic.types[t]
	q := w.q
	if k.round != nil {
		q = slices.Clone(q)
		plain.round(q)
		got := slices.Clone(w.q)
		k.round(got)
		if err := s.differ("rounding for "+t.String(), got, q); err != nil {
			return err
		}
	}
	known := false
	for i, height := range heights {
		if k.dots[i] == nil {
			continue
		}
		if !known {
			known = true
			clear(w.sums)
			plain.dots[0](w.dots, keys, q, rows, size, 0, vectors, keys, 0.25)
			plain.add[0](w.sums, w.weights, keys, rows, size, 0, vectors, keys)
		}
		got := w.got[:height*keys]
		clear(got)
		k.dots[i](got, keys, q[:height*width], rows, size, 0, vectors, keys, 0.25)
		if err := s.differ("dots of "+t.String(), got, w.dots[:len(got)]); err != nil {
			return err
		}
		got = w.got[:height*width]
		clear(got)
		k.add[i](got, w.weights[:height*keys], keys, rows, size, 0, vectors, keys)
		if err := s.differ("add of "+t.String(), got, w.sums[:len(got)]); err != nil {
			return err
		}
	}
	got := w.got[:keys*width]
	clear(got)
	k.load(got, width, rows, size, 0, keys, width)
	plain.load(w.want, width, rows, size, 0, keys, width)
	return s.differ("load of "+t.String(), got, w.want)
}

// differ is an error if not all bits are the same.
func (s *Set) differ(kernel string, got, want []float32) error {
	return kernelset.Differ("attn: kernel set "+s.name+": "+kernel, got, want)
}

// finite is bytes that are no infinity in any type.
func finite(n int) []byte {
	list := make([]byte, n)
	for i, v := range kernelset.Numbers(n) {
		list[i] = byte(math.Float32bits(v)) &^ 0x40
	}
	return list
}
