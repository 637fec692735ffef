package synth

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"gorun/tensor"
)

// quantiles are 256 equally likely values of the normal distribution: a random
// byte picks one, which is much faster than drawing from it.
var quantiles = func() (values [256]float64) {
	var sum float64
	for i := range values {
		values[i] = math.Sqrt2 * math.Erfinv((2*float64(i)+1)/256-1)
		sum += values[i] * values[i]
	}
	for i := range values {
		values[i] /= math.Sqrt(sum / 256)
	}
	return values
}()

// fillFloats is fill for types without blocks.
func fillFloats(t tensor.Type, dst []byte, std float64, random *rand.PCG) {
	var table [256]uint32
	for i, z := range quantiles {
		switch f := float32(z * std); t {
		case tensor.F16:
			table[i] = uint32(tensor.F32ToF16(f))
		case tensor.BF16:
			table[i] = uint32(tensor.F32ToBF16(f))
		default:
			table[i] = math.Float32bits(f)
		}
	}
	size := t.BlockBytes()
	for len(dst) > 0 {
		for bits, i := random.Uint64(), 0; i < 8 && len(dst) > 0; i++ {
			if size == 2 {
				binary.LittleEndian.PutUint16(dst, uint16(table[byte(bits)]))
			} else {
				binary.LittleEndian.PutUint32(dst, table[byte(bits)])
			}
			bits >>= 8
			dst = dst[size:]
		}
	}
}
