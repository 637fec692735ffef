package tensor

// The weight types of the ROCmFP fork of llama.cpp: blocks of 32 small floats
// with one or two scale bytes at the end of the block. Of two scales, the
// first is for elements 0 to 15, the second for 16 to 31. An element is
// scale*level, with a whole number as level:
//
//	fp2   -4, -1, 1, 4
//	fp3   0, 1, 2, 4; bit 2 is the sign
//	fp4   0, 1, 2, 3, 4, 6, 8, 10; bit 3 is the sign
//	fp6   0 to 31; bit 5 is the sign, and minus zero means -32
//	fp8   int8
//
// fp2, fp3 and fp6 codes are packed without gaps, lowest bits first.

var (
	rocmFP2 = [4]float32{-4, -1, 1, 4}
	rocmFP3 = [8]float32{0, 1, 2, 4, 0, -1, -2, -4}
	rocmFP4 = [16]float32{0, 1, 2, 3, 4, 6, 8, 10, 0, -1, -2, -3, -4, -6, -8, -10}
	rocmFP6 = func() (levels [64]float32) {
		for i := range 32 {
			levels[i], levels[32+i] = float32(i), -float32(i)
		}
		levels[32] = -32
		return levels
	}()
)

// rocmScales holds the value of each scale byte: half an unsigned e4m3, zero
// for the bytes from 0x7f on, which are not valid.
var rocmScales = func() (scales [256]float32) {
	for b := range 0x7f {
		scales[b] = halfUE4M3(byte(b))
	}
	return scales
}()

// dequantizeROCmFP4:
//
//	 0                         16         18
//	+-------------------------+----------+
//	| 16 bytes of two nibbles | 2 scales |
//	+-------------------------+----------+
//
// The low nibbles are elements 0 to 15, the high nibbles elements 16 to 31.
func dequantizeROCmFP4(dst []float32, src []byte) {
	for len(dst) >= 32 {
		x := (*[18]byte)(src)
		nibblesROCmFP4((*[32]float32)(dst), (*[16]byte)(x[:]), rocmScales[x[16]], rocmScales[x[17]])
		dst, src = dst[32:], src[18:]
	}
}

// dequantizeROCmFP4Fast: the same with one scale for the block.
//
//	 0                         16      17
//	+-------------------------+-------+
//	| 16 bytes of two nibbles | scale |
//	+-------------------------+-------+
func dequantizeROCmFP4Fast(dst []float32, src []byte) {
	for len(dst) >= 32 {
		x := (*[17]byte)(src)
		scale := rocmScales[x[16]]
		nibblesROCmFP4((*[32]float32)(dst), (*[16]byte)(x[:]), scale, scale)
		dst, src = dst[32:], src[17:]
	}
}

func nibblesROCmFP4(y *[32]float32, x *[16]byte, scale0, scale1 float32) {
	for i, b := range x {
		y[i] = scale0 * rocmFP4[b&15]
		y[i+16] = scale1 * rocmFP4[b>>4]
	}
}

// dequantizeROCmFP2:
//
//	 0                    8          10
//	+--------------------+----------+
//	| 8 bytes, 4 codes   | 2 scales |
//	+--------------------+----------+
func dequantizeROCmFP2(dst []float32, src []byte) {
	for len(dst) >= 32 {
		y, x := (*[32]float32)(dst), (*[10]byte)(src)
		for i, b := range x[:8] {
			scale := rocmScales[x[8+i/4]]
			out := (*[4]float32)(y[4*i:])
			for j := range out {
				out[j] = scale * rocmFP2[b&3]
				b >>= 2
			}
		}
		dst, src = dst[32:], src[10:]
	}
}

// dequantizeROCmFP3:
//
//	 0                           12         14
//	+---------------------------+----------+
//	| 4 x 3 bytes of 8 codes    | 2 scales |
//	+---------------------------+----------+
func dequantizeROCmFP3(dst []float32, src []byte) {
	for len(dst) >= 32 {
		y, x := (*[32]float32)(dst), (*[14]byte)(src)
		for i := range 4 {
			scale := rocmScales[x[12+i/2]]
			codes := uint32(x[3*i]) | uint32(x[3*i+1])<<8 | uint32(x[3*i+2])<<16
			out := (*[8]float32)(y[8*i:])
			for j := range out {
				out[j] = scale * rocmFP3[codes&7]
				codes >>= 3
			}
		}
		dst, src = dst[32:], src[14:]
	}
}

// dequantizeROCmFP6:
//
//	 0                           24         26
//	+---------------------------+----------+
//	| 8 x 3 bytes of 4 codes    | 2 scales |
//	+---------------------------+----------+
func dequantizeROCmFP6(dst []float32, src []byte) {
	for len(dst) >= 32 {
		y, x := (*[32]float32)(dst), (*[26]byte)(src)
		for i := range 8 {
			scale := rocmScales[x[24+i/4]]
			codes := uint32(x[3*i]) | uint32(x[3*i+1])<<8 | uint32(x[3*i+2])<<16
			out := (*[4]float32)(y[4*i:])
			for j := range out {
				out[j] = scale * rocmFP6[codes&63]
				codes >>= 6
			}
		}
		dst, src = dst[32:], src[26:]
	}
}

// dequantizeROCmFP8:
//
//	 0                32      33
//	+----------------+-------+
//	| 32 x int8      | scale |
//	+----------------+-------+
func dequantizeROCmFP8(dst []float32, src []byte) {
	for len(dst) >= 32 {
		y, x := (*[32]float32)(dst), (*[33]byte)(src)
		scale := rocmScales[x[32]]
		for i, b := range x[:32] {
			y[i] = scale * float32(int8(b))
		}
		dst, src = dst[32:], src[33:]
	}
}
