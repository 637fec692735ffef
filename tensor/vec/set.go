package vec

import (
	"fmt"
	"slices"
	"sync/atomic"
)

// lanes is the floats of a vector.
const lanes = 16

type (
	// gatedFunc computes dst = min(f(min(gate, limitGate)), limitResult) *
	// (up between plus and minus limitUp, plus upBias) of a multiple of 16
	// values.
	gatedFunc func(dst, gate, up []float32, limitGate, limitResult, limitUp, upBias float32)

	// activateFunc computes x = f(x) of a multiple of 16 values.
	activateFunc func(x []float32)

	// squaresFunc sums up the squares of a multiple of 16 values.
	squaresFunc func(x []float32) float32

	// scaleFunc computes dst = x*scale*weight of a multiple of 16 values.
	scaleFunc func(dst, x, weight []float32, scale float32)

	// accumulateFunc computes dst += x*scale of a multiple of 16 values.
	accumulateFunc func(dst, x []float32, scale float32)

	// multiplyAddFunc computes dst += a*b of a multiple of 16 values.
	multiplyAddFunc func(dst, a, b []float32)

	// halveFunc rounds a multiple of 16 values to float16.
	halveFunc func(dst []byte, x []float32)

	// deltaFunc is DeltaRule for a multiple of 16 values.
	deltaFunc func(state, out, q, k, v []float32, decay, beta float32)
)

// A Set is a complete set of kernels for one kind of CPU.
type Set struct {
	name        string
	gated       [functions]gatedFunc
	activate    [functions]activateFunc
	squares     squaresFunc
	scale       scaleFunc
	accumulate  accumulateFunc
	multiplyAdd multiplyAddFunc
	halve       halveFunc
	delta       deltaFunc
}

// Name is "generic", "avx2" or "avx512".
func (s *Set) Name() string { return s.name }

// sets lists what this CPU can execute, the best first.
var sets = append(nativeSets(), generic)

var current atomic.Pointer[Set]

func init() { current.Store(sets[0]) }

// Sets lists the kernel sets that this CPU can execute, the best first. The
// last is generic.
func Sets() []*Set { return slices.Clone(sets) }

// Current is the set in use: the best one unless Select chose another.
func Current() *Set { return current.Load() }

// Select makes all operations use the named set. All sets give the same bits,
// so it may be called at any time.
func Select(name string) error {
	for _, s := range sets {
		if s.name == name {
			current.Store(s)
			return nil
		}
	}
	names := make([]string, len(sets))
	for i, s := range sets {
		names[i] = s.name
	}
	return fmt.Errorf("vec: no kernel set %q on this CPU; there are %v", name, names)
}
