package gemm

import (
	"encoding/binary"
	"fmt"
	"math"

	"gorun/internal/f32"
	"gorun/tensor"
)

// le is the byte order of prepared rows and of tiles.
var le = binary.LittleEndian

// activationBlock is the number of activations that share a scale.
const activationBlock = 32

// ActivationBytes is the size of one prepared row of cols activations for
// weights of type t.
func ActivationBytes(t tensor.Type, cols int) int { return FormOf(t).activationBytes(cols) }

func (f Form) activationBytes(cols int) int {
	if f.group == 0 {
		return 4 * roundUp(cols, lanes)
	}
	return cols / activationBlock * f.blockBytes()
}

// PrepareRow makes dst, ActivationBytes long, of one row of activations that
// is to be multiplied with weights of type t. A block with a NaN or an
// infinity in it makes every product NaN. A block of values below 2^-110 is
// taken as zero.
func PrepareRow(t tensor.Type, dst []byte, x []float32) { Sets.Current().prepare(t, dst, x) }

func (s *Set) prepare(t tensor.Type, dst []byte, x []float32) {
	f := FormOf(t)
	if len(dst) != f.activationBytes(len(x)) {
		fail("PrepareRow of %d values to %d bytes", len(x), len(dst))
	}
	if f.group == 0 {
		prepareFloats(dst, x)
		return
	}
	if len(x)%activationBlock != 0 {
		fail("PrepareRow of %d values", len(x))
	}
	if len(x) > 0 {
		s.quantize[f](dst, x)
	}
}

func prepareFloats(dst []byte, x []float32) {
	for i, v := range x {
		le.PutUint32(dst[4*i:], math.Float32bits(v))
	}
	clear(dst[4*len(x):])
}

// quantizeGeneric returns the quantizer of a form in plain Go.
func quantizeGeneric(f Form) quantizeFunc {
	return func(dst []byte, x []float32) {
		for len(x) > 0 {
			quantizeBlock(f, dst[:f.blockBytes()], (*[activationBlock]float32)(x))
			dst, x = dst[f.blockBytes():], x[activationBlock:]
		}
	}
}

func quantizeBlock(f Form, dst []byte, x *[activationBlock]float32) {
	scale, inverse := f32.BlockScale(x[:], 127)
	if f.wide {
		scale /= 256
	}
	var sums [2]int32
	for i, v := range x {
		t := float32(v * inverse)
		if inverse == 0 {
			t = 0
		}
		q := round(t)
		dst[i] = byte(q)
		if f.wide {
			low := min(max(round(float32(256*(t-float32(q)))), -127), 127)
			dst[f.lowBytes()+i] = byte(low)
			q = 256*q + low
		}
		sums[i/f.group] += q
	}
	le.PutUint32(dst[32:], math.Float32bits(scale))
	for g, sum := range sums[:activationBlock/f.group] {
		v := uint32(-f.bias * sum)
		if f.min {
			v = math.Float32bits(scale * float32(sum))
		}
		le.PutUint32(dst[36+4*g:], v)
	}
}

// round rounds a small number to the nearest integer, to the even one of two.
func round(x float32) int32 {
	const magic = float32(3 << 22) // its ulp is 1
	return int32(math.Float32bits(x+magic) - math.Float32bits(magic))
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// fail panics: the caller made a mistake.
func fail(format string, args ...any) { panic("gemm: " + fmt.Sprintf(format, args...)) }
