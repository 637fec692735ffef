package attn

import (
	"encoding/binary"
	"math"

	"gorun/internal/f32"
	"gorun/tensor"
)

// le is the byte order of blocks.
var le = binary.LittleEndian

// A block of a query row, rounded for keys of q8_0, takes the place of its
// floats:
//
//	+------------------------------------+---------+-------+-----------+--------+
//	| high of values 4m and 4m+2,        | low     | scale | -128 *    | (rest) |
//	| of 4m+1 and 4m+3, m = 0, 1, ...    |         |       | sum of low|        |
//	| 32 x int16                         | 32 x i8 | f32   | int32     |        |
//	+------------------------------------+---------+-------+-----------+--------+
const (
	roundedValues = 32
	roundedLow    = 2 * roundedValues // where low is
	roundedScale  = 3 * roundedValues
	roundedSum    = roundedScale + 4

	highSteps = math.MaxInt16
	lowSteps  = 128
)

// roundGeneric rounds the blocks of a query row in place. The scale of one with
// a NaN or an infinity in it is NaN; values below 2^-110 are taken as zero.
func roundGeneric(row []float32) {
	for ; len(row) > 0; row = row[roundedValues:] {
		roundBlock((*[roundedValues]float32)(row))
	}
}

func roundBlock(x *[roundedValues]float32) {
	scale, inverse := f32.BlockScale(x[:], highSteps)
	values, block, sum := *x, bytesOf(x[:]), int32(0)
	for i, v := range values {
		var high, low float32
		if inverse != 0 {
			t := float32(v * inverse)
			high = nearest(t)
			low = nearest(lowSteps * (t - high))
		}
		le.PutUint16(block[highAt(i):], uint16(int16(high)))
		block[roundedLow+i] = byte(int8(low))
		sum += int32(low)
	}
	le.PutUint32(block[roundedScale:], math.Float32bits(scale))
	le.PutUint32(block[roundedSum:], uint32(-128*sum))
}

// nearest is the nearest integer, the even one of two.
func nearest(x float32) float32 { return float32(math.RoundToEven(float64(x))) }

// highAt is where a block has high of a value.
func highAt(i int) int { return i/4*8 + i%2*4 + i/2%2*2 }

// roundedDotsGeneric multiplies rounded rows with keys of q8_0.
func roundedDotsGeneric(rows int) dotsFunc {
	size := tensor.Q8_0.BlockBytes()
	return func(dst []float32, stride int, q []float32, k []byte, kStride, _, vectors, keys int, scale float32) {
		n := vectors * lanes
		for j := range keys {
			for r := range rows {
				var x float32
				for b := range n / roundedValues {
					x = roundedBlockDot(bytesOf(q[r*n+b*roundedValues:][:roundedValues]), k[j*kStride+b*size:][:size], x)
				}
				dst[r*stride+j] = x * scale
			}
		}
	}
}

// roundedBlockDot adds the product of a block to x.
func roundedBlockDot(q, k []byte, x float32) float32 {
	var high, low int32
	for i, v := range k[2:] {
		high += int32(int16(le.Uint16(q[highAt(i):]))) * int32(int8(v))
		low += int32(int8(q[roundedLow+i])) * int32(int8(v))
	}
	scale := tensor.F16ToF32(le.Uint16(k)) * math.Float32frombits(le.Uint32(q[roundedScale:]))
	return f32.FMA(f32.FMA(float32(low), 1./lowSteps, float32(high)), scale, x)
}
