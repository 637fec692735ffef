package tensor

// iq4: a nibble picks one of 16 levels, closer together near zero, where most
// weights are. "nl" stands for non-linear.
var iq4Levels = [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// dequantizeIQ4_NL: x = d * level
//
//	 0    2                          18
//	+----+--------------------------+
//	| d  | 16 bytes of two nibbles  |
//	+----+--------------------------+
//
// The low nibbles are elements 0 to 15, the high nibbles elements 16 to 31.
func dequantizeIQ4_NL(dst []float32, src []byte) {
	for len(dst) >= 32 {
		y, x := (*[32]float32)(dst), (*[18]byte)(src)
		d := F16ToF32(le.Uint16(x[:]))
		for i, b := range x[2:] {
			y[i] = d * iq4Levels[b&15]
			y[i+16] = d * iq4Levels[b>>4]
		}
		dst, src = dst[32:], src[18:]
	}
}

// dequantizeIQ4_XS: x = d*(s - 32) * level
//
//	 0    2         4          8                              136
//	+----+---------+----------+------------------------------+
//	| d  | 8 x top | 8 x low  | 8 x 16 bytes of two nibbles, |
//	|    | 2 of s  | 4 of s   | each as in iq4_nl            |
//	+----+---------+----------+------------------------------+
func dequantizeIQ4_XS(dst []float32, src []byte) {
	for len(dst) >= 256 {
		y, x := (*[256]float32)(dst), (*[136]byte)(src)
		d := F16ToF32(le.Uint16(x[:]))
		top, low := uint32(le.Uint16(x[2:])), le.Uint32(x[4:])
		for g := range 8 {
			s := low&15 | top&3<<4
			low, top = low>>4, top>>2
			scale := d * float32(int32(s)-32)
			out := (*[32]float32)(y[32*g:])
			for i, b := range (*[16]byte)(x[8+16*g:]) {
				out[i] = scale * iq4Levels[b&15]
				out[i+16] = scale * iq4Levels[b>>4]
			}
		}
		dst, src = dst[256:], src[136:]
	}
}
