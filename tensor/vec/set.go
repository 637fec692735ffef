package vec

import "gorun/internal/kernelset"

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

// Sets are the kernel sets for this CPU.
var Sets = kernelset.New("vec", append(nativeSets(), generic)...)
