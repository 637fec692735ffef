package vec

import (
	"bytes"
	"fmt"
	"slices"

	"gorun/internal/kernelset"
)

// Check runs each kernel of the set once and compares the bits of the results
// with those of plain Go.
func (s *Set) Check() error {
	x, y := kernelset.Numbers(96), kernelset.Numbers(192)[:96]
	for i := range x {
		x[i] *= float32(i) // to where activations are flat
	}
	for f := range functions {
		got, want := make([]float32, len(x)), make([]float32, len(x))
		s.gated[f](got, x, y, 7, 6, 1.5, 1)
		generic.gated[f](want, x, y, 7, 6, 1.5, 1)
		if err := s.differ("gated unit", got, want); err != nil {
			return err
		}
		copy(got, x)
		copy(want, x)
		s.activate[f](got)
		generic.activate[f](want)
		if err := s.differ("activation", got, want); err != nil {
			return err
		}
	}
	got, want := make([]float32, len(x)), make([]float32, len(x))
	s.scale(got, x, y, 0.3)
	generic.scale(want, x, y, 0.3)
	if err := s.differ("norm", append(got, s.squares(x)), append(want, generic.squares(x))); err != nil {
		return err
	}
	s.accumulate(got[:96], y, 0.3)
	generic.accumulate(want[:96], y, 0.3)
	s.multiplyAdd(got[:96], x, y)
	generic.multiplyAdd(want[:96], x, y)
	if err := s.differ("accumulation", got, want); err != nil {
		return err
	}
	half, wantHalf := make([]byte, 2*len(x)), make([]byte, 2*len(x))
	s.halve(half, x)
	generic.halve(wantHalf, x)
	if !bytes.Equal(half, wantHalf) {
		return fmt.Errorf("vec: kernel set %s: rounding to f16: %x, not %x", s.name, half, wantHalf)
	}
	got = kernelset.Numbers(5 * 96)
	want = slices.Clone(got)
	s.delta(got, x, y[:5], y[5:10], y, 0.9, 0.4)
	other := make([]float32, len(x))
	generic.delta(want, other, y[:5], y[5:10], y, 0.9, 0.4)
	return s.differ("delta rule", append(got, x...), append(want, other...))
}

// differ is an error if not all bits are the same.
func (s *Set) differ(kernel string, got, want []float32) error {
	return kernelset.Differ("vec: kernel set "+s.name+": "+kernel, got, want)
}
