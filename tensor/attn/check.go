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
	for t, k := range s.types {
		if err := s.checkType(t, k); err != nil {
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

func (s *Set) checkType(t tensor.Type, k *kernels) error {
	const vectors, keys = 8, 32
	const width = vectors * lanes
	size := width / t.BlockSize() * t.BlockBytes()
	rows, plain := finite(keys*size), generic.types[t]
	// A query row's results do not depend on how many there are.
	q, weights := kernelset.Numbers(heights[0]*width), kernelset.Numbers(heights[0]*keys)
	var dots, sums []float32
	for i, height := range heights {
		if k.dots[i] == nil {
			continue
		}
		if dots == nil {
			dots, sums = make([]float32, heights[0]*keys), make([]float32, heights[0]*width)
			plain.dots[0](dots, keys, q, rows, size, 0, vectors, keys, 0.25)
			plain.add[0](sums, weights, keys, rows, size, 0, vectors, keys)
		}
		got := make([]float32, height*keys)
		k.dots[i](got, keys, q[:height*width], rows, size, 0, vectors, keys, 0.25)
		if err := s.differ("dots of "+t.String(), got, dots[:len(got)]); err != nil {
			return err
		}
		got = make([]float32, height*width)
		k.add[i](got, weights[:height*keys], keys, rows, size, 0, vectors, keys)
		if err := s.differ("add of "+t.String(), got, sums[:len(got)]); err != nil {
			return err
		}
	}
	got, want := make([]float32, keys*width), make([]float32, keys*width)
	k.load(got, width, rows, size, 0, keys, width)
	plain.load(want, width, rows, size, 0, keys, width)
	return s.differ("load of "+t.String(), got, want)
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
