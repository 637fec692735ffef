package tensor

import "math"

// Types with two or three values, for models trained that way (BitNet and its
// kin). All have one f16 scale d a block.

// dequantizeTQ1_0: x = d*(trit - 1)
//
//	 0                                     48           52   54
//	+-------------------------------------+------------+----+
//	| 32 bytes, then 16, of 5 trits each  | 4 bytes of | d  |
//	|                                     | 4 trits    |    |
//	+-------------------------------------+------------+----+
//
// A byte is a fixed-point fraction in base 3: trit n is the integer part of
// three times the fraction that is left when the byte has been multiplied by
// 3^n, in units of 1/256, and its integer part dropped. Trit n of the bytes of
// a run (32, 16 or 4 bytes) makes a row, and the rows follow each other.
func dequantizeTQ1_0(dst []float32, src []byte) {
	for len(dst) >= 256 {
		y, x := (*[256]float32)(dst), (*[54]byte)(src)
		d := F16ToF32(le.Uint16(x[52:]))
		trits(y[:160], x[:32], d)
		trits(y[160:240], x[32:48], d)
		trits(y[240:], x[48:52], d)
		dst, src = dst[256:], src[54:]
	}
}

// trits fills rows of len(x) elements until y is full.
func trits(y []float32, x []byte, d float32) {
	for power := byte(1); len(y) >= len(x); power *= 3 {
		row := y[:len(x)]
		for i, b := range x {
			trit := uint32(b*power) * 3 >> 8
			row[i] = d * float32(int32(trit)-1)
		}
		y = y[len(x):]
	}
}

// dequantizeTQ2_0: x = d*(q - 1), with q of 2 bits
//
//	 0                     64   66
//	+---------------------+----+
//	| 64 bytes, 4 q each  | d  |
//	+---------------------+----+
//
// The bits of q are where q2_K has them.
func dequantizeTQ2_0(dst []float32, src []byte) {
	for len(dst) >= 256 {
		y, x := (*[256]float32)(dst), (*[66]byte)(src)
		d := F16ToF32(le.Uint16(x[64:]))
		for r := range 8 {
			out := (*[32]float32)(y[32*r:])
			for i, b := range (*[32]byte)(x[32*(r>>2):]) {
				out[i] = d * float32(int32(b>>(2*(r&3))&3)-1)
			}
		}
		dst, src = dst[256:], src[66:]
	}
}

// dequantizeQ1_0: x = d if the bit is set, else -d
//
//	 0    2                                18
//	+----+--------------------------------+
//	| d  | 128 bits, lowest of byte first |
//	+----+--------------------------------+
func dequantizeQ1_0(dst []float32, src []byte) {
	for len(dst) >= 128 {
		y, x := (*[128]float32)(dst), (*[18]byte)(src)
		minus := math.Float32bits(-F16ToF32(le.Uint16(x[:])))
		for i, b := range x[2:] {
			w := uint32(b) << 24
			out := (*[8]float32)(y[8*i:])
			for j := range out {
				out[j] = math.Float32frombits(minus ^ w<<(7-j)&(1<<31))
			}
		}
		dst, src = dst[128:], src[18:]
	}
}
