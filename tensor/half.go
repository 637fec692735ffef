package tensor

import "math"

// The three 16- and 32-bit floats differ only in how they split their bits:
//
//	f32   s eeeeeeee mmmmmmmmmmmmmmmmmmmmmmm   1 + 8 + 23, bias 127
//	f16   s eeeee mmmmmmmmmm                   1 + 5 + 10, bias 15
//	bf16  s eeeeeeee mmmmmmm                   1 + 8 + 7,  bias 127
//
// so bf16 is the upper half of an f32, and the fields of an f16 reach their
// place in an f32 by a shift of 13 and an exponent raised by 127-15 = 112.

const (
	f32Infinity = 0xff << 23 // bits of +Inf
	f32Quiet    = 1 << 22    // set in a NaN that does not trap
	rebias      = 112 << 23  // from an f16 exponent to an f32 exponent
)

// F16ToF32 widens an IEEE 754 half. Every value is exact; a signalling NaN
// comes out quiet, as hardware does it.
func F16ToF32(h uint16) float32 {
	sign, x := uint32(h&0x8000)<<16, uint32(h&0x7fff)<<13
	switch {
	case x < 1<<23: // zero or subnormal: a count of 2^-24
		x = math.Float32bits(float32(int32(x>>13)) * 0x1p-24)
	case x < 31<<23:
		x += rebias
	case x == 31<<23:
		x = f32Infinity
	default:
		x |= f32Infinity | f32Quiet
	}
	return math.Float32frombits(sign | x)
}

// F32ToF16 rounds to the nearest IEEE 754 half, ties to even. From 65520 on
// the result is infinite.
func F32ToF16(f float32) uint16 {
	x := math.Float32bits(f)
	sign := uint16(x>>16) & 0x8000
	x &= 0x7fffffff
	switch {
	case x > f32Infinity:
		return sign | 0x7e00 | uint16(x>>13)&0x1ff
	case x >= 0x477ff000: // 65520, half way from the largest half to the next power of two
		return sign | 0x7c00
	case x < 113<<23: // below 2^-14 the spacing of halves is 2^-24, as that of floats is from 0.5 to 1:
		sum := math.Float32frombits(x) + 0.5 // the addition rounds
		return sign | uint16(math.Float32bits(sum)-126<<23)
	}
	x += 0xfff + x>>13&1 // a carry into the exponent is as it should be
	return sign | uint16((x-rebias)>>13)
}

// BF16ToF32 widens a bfloat16; every value is exact, NaNs included.
func BF16ToF32(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// F32ToBF16 rounds to the nearest bfloat16, ties to even. A NaN stays one.
func F32ToBF16(f float32) uint16 {
	x := math.Float32bits(f)
	if x&0x7fffffff > f32Infinity {
		return uint16((x | f32Quiet) >> 16)
	}
	return uint16((x + 0x7fff + x>>16&1) >> 16)
}
