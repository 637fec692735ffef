package tensor

// The first generation of block types: 32 elements share a scale d and, in
// the types whose name ends in _1, an offset m, both f16. An element is a
// small integer q:
//
//	q4_0, q5_0, q8_0   x = d*q, with q centred on zero
//	q4_1, q5_1         x = d*q + m, with q from zero up
//
// Four bits of q are a nibble: the low nibbles of the 16 bytes are elements 0
// to 15, the high nibbles elements 16 to 31. The fifth bit of element i is
// bit i of a 32-bit word of its own, h.

// dequantizeQ4_0: x = d*(nibble - 8)
//
//	 0    2                          18
//	+----+--------------------------+
//	| d  | 16 bytes of two nibbles  |
//	+----+--------------------------+
func dequantizeQ4_0(dst []float32, src []byte) {
	for len(dst) >= 32 {
		y, x := (*[32]float32)(dst), (*[18]byte)(src)
		d := F16ToF32(le.Uint16(x[:]))
		for i, b := range x[2:] {
			y[i] = d * float32(int32(b&15)-8)
			y[i+16] = d * float32(int32(b>>4)-8)
		}
		dst, src = dst[32:], src[18:]
	}
}

// dequantizeQ4_1: x = d*nibble + m
//
//	 0    2    4                          20
//	+----+----+--------------------------+
//	| d  | m  | 16 bytes of two nibbles  |
//	+----+----+--------------------------+
func dequantizeQ4_1(dst []float32, src []byte) {
	for len(dst) >= 32 {
		y, x := (*[32]float32)(dst), (*[20]byte)(src)
		d, m := F16ToF32(le.Uint16(x[:])), F16ToF32(le.Uint16(x[2:]))
		for i, b := range x[4:] {
			y[i] = float32(d*float32(b&15)) + m
			y[i+16] = float32(d*float32(b>>4)) + m
		}
		dst, src = dst[32:], src[20:]
	}
}

// dequantizeQ5_0: x = d*(nibble + 16*hbit - 16)
//
//	 0    2    6                          22
//	+----+----+--------------------------+
//	| d  | h  | 16 bytes of two nibbles  |
//	+----+----+--------------------------+
func dequantizeQ5_0(dst []float32, src []byte) {
	for len(dst) >= 32 {
		y, x := (*[32]float32)(dst), (*[22]byte)(src)
		d, h := F16ToF32(le.Uint16(x[:])), le.Uint32(x[2:])
		for i, b := range x[6:] {
			y[i] = d * float32(int32(b&15)|int32(h<<4&16)-16)
			y[i+16] = d * float32(int32(b>>4)|int32(h>>12&16)-16)
			h >>= 1
		}
		dst, src = dst[32:], src[22:]
	}
}

// dequantizeQ5_1: x = d*(nibble + 16*hbit) + m
//
//	 0    2    4    8                          24
//	+----+----+----+--------------------------+
//	| d  | m  | h  | 16 bytes of two nibbles  |
//	+----+----+----+--------------------------+
func dequantizeQ5_1(dst []float32, src []byte) {
	for len(dst) >= 32 {
		y, x := (*[32]float32)(dst), (*[24]byte)(src)
		d, m, h := F16ToF32(le.Uint16(x[:])), F16ToF32(le.Uint16(x[2:])), le.Uint32(x[4:])
		for i, b := range x[8:] {
			y[i] = float32(d*float32(int32(b&15)|int32(h<<4&16))) + m
			y[i+16] = float32(d*float32(int32(b>>4)|int32(h>>12&16))) + m
			h >>= 1
		}
		dst, src = dst[32:], src[24:]
	}
}

// dequantizeQ8_0: x = d*q
//
//	 0    2                          34
//	+----+--------------------------+
//	| d  | 32 bytes, q as int8      |
//	+----+--------------------------+
func dequantizeQ8_0(dst []float32, src []byte) {
	for len(dst) >= 32 {
		y, x := (*[32]float32)(dst), (*[34]byte)(src)
		d := F16ToF32(le.Uint16(x[:]))
		for i, q := range x[2:] {
			y[i] = d * float32(int8(q))
		}
		dst, src = dst[32:], src[34:]
	}
}
