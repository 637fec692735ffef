package gemm

import (
	"math/rand/v2"
	"testing"

	"gorun/tensor"
)

// halfFields are the offsets of the f16 numbers of a block.
var halfFields = map[tensor.Type][]int{
	tensor.Q4_0: {0}, tensor.Q4_1: {0, 2}, tensor.Q5_0: {0}, tensor.Q5_1: {0, 2}, tensor.Q8_0: {0},
	tensor.Q2_K: {80, 82}, tensor.Q3_K: {108}, tensor.Q4_K: {0, 2}, tensor.Q5_K: {0, 2}, tensor.Q6_K: {208},
	tensor.IQ4_NL: {0}, tensor.IQ4_XS: {0}, tensor.IQ3_S: {0}, tensor.IQ3_XXS: {0}, tensor.IQ2_XXS: {0}, tensor.IQ2_XS: {0}, tensor.IQ2_S: {0},
	tensor.IQ1_S: {0}, tensor.TQ1_0: {52}, tensor.TQ2_0: {64}, tensor.Q1_0: {0}, tensor.F16: {0},
}

// randomWeights fills rows with blocks of random bits whose scales are of
// moderate size.
func randomWeights(rng *rand.Rand, t tensor.Type, rows, cols int) []byte {
	bytes, err := t.RowSize(int64(cols))
	if err != nil {
		panic(err)
	}
	w := make([]byte, rows*int(bytes))
	for i := range w {
		w[i] = byte(rng.Uint32())
	}
	size := t.BlockBytes()
	for b := 0; b < len(w); b += size {
		block := w[b:][:size]
		for _, at := range halfFields[t] {
			le.PutUint16(block[at:], tensor.F32ToF16(float32(rng.NormFloat64())*0.01))
		}
		switch t {
		case tensor.F32:
			_ = tensor.Quantize(tensor.F32, block, []float32{float32(rng.NormFloat64())})
		case tensor.BF16:
			le.PutUint16(block, tensor.F32ToBF16(float32(rng.NormFloat64())))
		case tensor.MXFP4:
			block[0] = byte(118 + rng.IntN(6))
		case tensor.NVFP4:
			for i := range 4 {
				block[i] = byte(8 + rng.IntN(80))
			}
		case tensor.IQ1_M: // a scale of about 0.01 in the top four bits of four words
			for i, b := range []byte{0x20, 0x10, 0x20, 0x20} {
				block[49+2*i] = block[49+2*i]&15 | b
			}
		case tensor.Q4_0_ROCMFP4, tensor.Q2_0_ROCMFPX, tensor.Q3_0_ROCMFPX, tensor.Q6_0_ROCMFPX:
			block[size-2], block[size-1] = byte(rng.IntN(0x7f)), byte(rng.IntN(0x7f))
		case tensor.Q4_0_ROCMFP4_FAST, tensor.Q8_0_ROCMFPX:
			block[size-1] = byte(rng.IntN(0x7f))
		}
	}
	return w
}

func randomActivations(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// prepare makes activation rows of x.
func prepare(t tensor.Type, x []float32, n, cols int) []byte {
	size := ActivationBytes(t, cols)
	dst := make([]byte, n*size)
	for c := range n {
		PrepareRow(t, dst[c*size:][:size], x[c*cols:][:cols])
	}
	return dst
}

// use selects a kernel set until the test ends.
func use(tb testing.TB, s *Set) {
	old := Sets.Current()
	Sets.Use(s)
	tb.Cleanup(func() { Sets.Use(old) })
}

// testedTypes are those that can be multiplied.
func testedTypes() (types []tensor.Type) {
	for _, t := range tensor.Types() {
		if t.CanDequantize() {
			types = append(types, t)
		}
	}
	return types
}

// mul is Mul with results column after column.
func mul(t tensor.Type, w []byte, rows, cols int, x []byte, n int) []float32 {
	dst := make([]float32, n*rows)
	Mul(t, dst, rows, nil, w, nil, rows, cols, x, nil, n, make([]byte, ScratchBytes(t, cols)))
	return dst
}
