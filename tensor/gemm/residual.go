package gemm

import (
	"math"

	"gorun/tensor"
)

// Residual writes what PrepareRow has rounded away from x to dst. Prepared and
// multiplied in its turn, and added to the first product, it gives one with
// activations of about 16 bits.
func Residual(t tensor.Type, dst, x []float32, prepared []byte) {
	f := FormOf(t)
	if f.group == 0 || len(dst) != len(x) || len(prepared) != f.activationBytes(len(x)) {
		fail("Residual of %d values of %v in %d bytes to %d", len(x), t, len(prepared), len(dst))
	}
	for size := f.blockBytes(); len(x) > 0; prepared = prepared[size:] {
		q := (*[activationBlock]byte)(prepared)
		scale := float64(math.Float32frombits(le.Uint32(prepared[activationBlock:])))
		in, out := (*[activationBlock]float32)(x), (*[activationBlock]float32)(dst)
		for i, v := range in {
			// The product is exact, so fusing it changes nothing.
			out[i] = float32(float64(v) - scale*float64(int8(q[i])))
		}
		x, dst = x[activationBlock:], dst[activationBlock:]
	}
}
