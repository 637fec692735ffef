package attn

import (
	"fmt"
	"math"
	"slices"
)

// Check runs each kernel of the set once and compares the bits of the results
// with those of plain Go.
func (s *Set) Check() error {
	const vectors, keys, rows = 5, 32, 4
	const width = vectors * lanes
	q, k, v := numbers(rows*width), numbers(keys*width), numbers(keys*width)
	for i, height := range heights {
		got, want := make([]float32, height*keys), make([]float32, height*keys)
		s.dots[i](got, keys, q, k, vectors, keys, 0.25)
		generic.dots[i](want, keys, q, k, vectors, keys, 0.25)
		if err := s.differ("dots", got, want); err != nil {
			return err
		}
		weights := numbers(height * keys)
		got, want = make([]float32, height*width), make([]float32, height*width)
		s.add[i](got, weights, keys, v, vectors, keys)
		generic.add[i](want, weights, keys, v, vectors, keys)
		if err := s.differ("add", got, want); err != nil {
			return err
		}
	}
	got := numbers(16 * keys)
	for i := range got {
		got[i] *= float32(i) // far enough down for weights of zero
	}
	want := slices.Clone(got)
	s.softcap(got, 30)
	generic.softcap(want, 30)
	if err := s.differ("softcap", got, want); err != nil {
		return err
	}
	top, sum := s.softmax(got)
	wantTop, wantSum := generic.softmax(want)
	if err := s.differ("softmax", append(got, top, sum), append(want, wantTop, wantSum)); err != nil {
		return err
	}
	return s.checkLoads()
}

func (s *Set) checkLoads() error {
	for t, load := range s.load {
		const n, rows = 64, 3
		size := n / t.BlockSize() * t.BlockBytes()
		src := finite(rows * size)
		got, want := make([]float32, rows*n), make([]float32, rows*n)
		load(got, n, src, size, rows, n)
		generic.load[t](want, n, src, size, rows, n)
		if err := s.differ("load of "+t.String(), got, want); err != nil {
			return err
		}
	}
	return nil
}

// differ is an error if not all bits are the same.
func (s *Set) differ(kernel string, got, want []float32) error {
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			return fmt.Errorf("attn: kernel set %s: %s: result %d is %v, not %v", s.name, kernel, i, got[i], want[i])
		}
	}
	return nil
}

// numbers are between -2 and 2, and no pattern.
func numbers(n int) []float32 {
	list, x := make([]float32, n), uint32(n)
	for i := range list {
		x = x*1664525 + 1013904223
		list[i] = float32(int32(x)) * 0x1p-30
	}
	return list
}

// finite is bytes that are no infinity in any type.
func finite(n int) []byte {
	list := make([]byte, n)
	for i, v := range numbers(n) {
		list[i] = byte(math.Float32bits(v)) &^ 0x40
	}
	return list
}
