package tensor

// The k-quants: a super-block of 256 elements has one f16 scale d (and in
// some types a scale dmin for the minimums), and small integer scales for
// groups of 16 or 32 elements, so that most of the cost of fine scales is
// shared. Kawrakow, llama.cpp pull request 1684 (2023).
//
// The bits of q are spread so that SIMD code unpacks them in rows of 32: the
// 256 elements are taken as 8 rows of 32, and one byte holds the bits of the
// elements at the same place in several rows.

// dequantizeQ2_K: x = d*scale*q - dmin*min, with q of 2 bits
//
//	 0          16                    80   82     84
//	+----------+---------------------+----+------+
//	| scales   | 64 bytes, 4 q each  | d  | dmin |
//	+----------+---------------------+----+------+
//
// Byte g of scales belongs to elements 16g to 16g+15: the low nibble is
// scale, the high nibble min. Bits 2r and 2r+1 of byte i of the q hold row r,
// element i, of the first 128 elements (i < 32) or the second (i >= 32).
func dequantizeQ2_K(dst []float32, src []byte) {
	for len(dst) >= 256 {
		y, x := (*[256]float32)(dst), (*[84]byte)(src)
		d, dmin := F16ToF32(le.Uint16(x[80:])), F16ToF32(le.Uint16(x[82:]))
		var scale, min [16]float32
		for g, sm := range x[:16] {
			scale[g], min[g] = d*float32(sm&15), float32(dmin*float32(sm>>4))
		}
		for part := range 4 { // 16 elements of each of four rows
			g := 8*(part>>1) + part&1
			scale0, scale1, scale2, scale3 := scale[g], scale[g+2], scale[g+4], scale[g+6]
			min0, min1, min2, min3 := min[g], min[g+2], min[g+4], min[g+6]
			out := (*[112]float32)(y[16*g:])
			for i, b := range (*[16]byte)(x[16+16*part:]) {
				out[i] = float32(scale0*float32(b&3)) - min0
				out[i+32] = float32(scale1*float32(b>>2&3)) - min1
				out[i+64] = float32(scale2*float32(b>>4&3)) - min2
				out[i+96] = float32(scale3*float32(b>>6)) - min3
			}
		}
		dst, src = dst[256:], src[84:]
	}
}

// dequantizeQ3_K: x = d*(scale - 32)*(q - 4), with q of 3 bits, scale of 6
//
//	 0            32                   96       108  110
//	+------------+--------------------+--------+----+
//	| high bits  | 64 bytes, 4 q each | scales | d  |
//	+------------+--------------------+--------+----+
//
// The low two bits of q are where q2_K has them. The third bit of row r,
// element i, is bit r of byte i of the high bits; there are 8 rows of 32.
func dequantizeQ3_K(dst []float32, src []byte) {
	for len(dst) >= 256 {
		y, x := (*[256]float32)(dst), (*[110]byte)(src)
		d, scales := F16ToF32(le.Uint16(x[108:])), scalesQ3_K((*[12]byte)(x[96:]))
		var scale [16]float32
		for g, s := range scales {
			scale[g] = d * float32(int32(s)-32)
		}
		for part := range 4 { // 16 elements of each of four rows
			half := part >> 1
			g := 8*half + part&1
			scale0, scale1, scale2, scale3 := scale[g], scale[g+2], scale[g+4], scale[g+6]
			high := (*[16]byte)(x[16*(part&1):])
			out := (*[112]float32)(y[16*g:])
			for i, b := range (*[16]byte)(x[32+16*part:]) {
				h := uint32(high[i]) >> (4 * half)
				out[i] = scale0 * float32(int32(b&3)|int32(h<<2&4)-4)
				out[i+32] = scale1 * float32(int32(b>>2&3)|int32(h<<1&4)-4)
				out[i+64] = scale2 * float32(int32(b>>4&3)|int32(h&4)-4)
				out[i+96] = scale3 * float32(int32(b>>6)|int32(h>>1&4)-4)
			}
		}
		dst, src = dst[256:], src[110:]
	}
}

// scalesQ3_K unpacks 16 scales of 6 bits from 12 bytes. Bytes 0 to 7 hold the
// low four bits, those of scales 0 to 7 in the low nibbles and those of scales
// 8 to 15 in the high nibbles. Byte 8+i holds the high two bits of scales i,
// i+4, i+8, i+12, from the lowest bits up.
func scalesQ3_K(x *[12]byte) (scales [16]byte) {
	const nibbles, pairs = 0x0f0f0f0f0f0f0f0f, 0x0303030303030303
	low, high := le.Uint64(x[:]), uint64(le.Uint32(x[8:]))
	high |= high << 30 // bytes 4 to 7: the same, two bits further
	le.PutUint64(scales[:], low&nibbles|high&pairs<<4)
	le.PutUint64(scales[8:], low>>4&nibbles|high>>4&pairs<<4)
	return scales
}

// dequantizeQ4_K: x = d*scale*q - dmin*min, with q of 4 bits
//
//	 0    2      4        16                           144
//	+----+------+--------+----------------------------+
//	| d  | dmin | scales | 128 bytes of two nibbles   |
//	+----+------+--------+----------------------------+
//
// Each 32 elements have a scale and a min. 32 bytes hold 64 elements, the
// first 32 in the low nibbles.
func dequantizeQ4_K(dst []float32, src []byte) {
	for len(dst) >= 256 {
		y, x := (*[256]float32)(dst), (*[144]byte)(src)
		d, dmin := F16ToF32(le.Uint16(x[:])), F16ToF32(le.Uint16(x[2:]))
		scales, mins := scalesMins((*[12]byte)(x[4:]))
		for g := 0; g < 8; g += 2 {
			scale0, min0 := d*float32(scales[g]), float32(dmin*float32(mins[g]))
			scale1, min1 := d*float32(scales[g+1]), float32(dmin*float32(mins[g+1]))
			out := (*[64]float32)(y[32*g:])
			for i, b := range (*[32]byte)(x[16+16*g:]) {
				out[i] = float32(scale0*float32(b&15)) - min0
				out[i+32] = float32(scale1*float32(b>>4)) - min1
			}
		}
		dst, src = dst[256:], src[144:]
	}
}

// dequantizeQ5_K: x = d*scale*q - dmin*min, with q of 5 bits
//
//	 0    2      4        16          48                          176
//	+----+------+--------+-----------+---------------------------+
//	| d  | dmin | scales | high bits | 128 bytes of two nibbles  |
//	+----+------+--------+-----------+---------------------------+
//
// As q4_K; the fifth bit of row r, element i, is bit r of byte i of the high
// bits; there are 8 rows of 32.
func dequantizeQ5_K(dst []float32, src []byte) {
	for len(dst) >= 256 {
		y, x := (*[256]float32)(dst), (*[176]byte)(src)
		d, dmin := F16ToF32(le.Uint16(x[:])), F16ToF32(le.Uint16(x[2:]))
		scales, mins := scalesMins((*[12]byte)(x[4:]))
		high := (*[32]byte)(x[16:])
		for g := 0; g < 8; g += 2 {
			scale0, min0 := d*float32(scales[g]), float32(dmin*float32(mins[g]))
			scale1, min1 := d*float32(scales[g+1]), float32(dmin*float32(mins[g+1]))
			out := (*[64]float32)(y[32*g:])
			for i, b := range (*[32]byte)(x[48+16*g:]) {
				h := uint32(high[i]) >> g
				out[i] = float32(scale0*float32(int32(b&15)|int32(h<<4&16))) - min0
				out[i+32] = float32(scale1*float32(int32(b>>4)|int32(h<<3&16))) - min1
			}
		}
		dst, src = dst[256:], src[176:]
	}
}

// scalesMins unpacks the 8 scales and 8 mins of q4_K and q5_K, 6 bits each,
// from 12 bytes:
//
//	bytes 0-3    low 6 bits: scales 0-3   high 2 bits: top of scales 4-7
//	bytes 4-7    low 6 bits: mins 0-3     high 2 bits: top of mins 4-7
//	bytes 8-11   low nibble: scales 4-7   high nibble: mins 4-7
func scalesMins(x *[12]byte) (scales, mins [8]byte) {
	const six, nibbles, top = 0x3f3f3f3f, 0x0f0f0f0f, 0x30303030
	s, m, low := le.Uint32(x[:]), le.Uint32(x[4:]), le.Uint32(x[8:])
	le.PutUint32(scales[:], s&six)
	le.PutUint32(scales[4:], low&nibbles|s>>2&top)
	le.PutUint32(mins[:], m&six)
	le.PutUint32(mins[4:], low>>4&nibbles|m>>2&top)
	return scales, mins
}

// dequantizeQ6_K: x = d*scale*(q - 32), with q of 6 bits, scale int8
//
//	 0                          128                   192      208  210
//	+--------------------------+---------------------+--------+----+
//	| 128 bytes of two nibbles | 64 bytes, 4 tops    | scales | d  |
//	+--------------------------+---------------------+--------+----+
//
// Each half of 128 elements is four rows of 32 and takes 64 bytes of nibbles
// and 32 of tops. Rows 0 and 1 are the low nibbles, rows 2 and 3 the high
// ones. The top two bits of row r are where q2_K has its bits. There is a
// scale for each 16 elements.
func dequantizeQ6_K(dst []float32, src []byte) {
	for len(dst) >= 256 {
		y, x := (*[256]float32)(dst), (*[210]byte)(src)
		d := F16ToF32(le.Uint16(x[208:]))
		var scale [16]float32
		for g, s := range x[192:208] {
			scale[g] = d * float32(int8(s))
		}
		for part := range 4 { // 16 elements of each of four rows
			half := part >> 1
			g := 8*half + part&1
			scale0, scale1, scale2, scale3 := scale[g], scale[g+2], scale[g+4], scale[g+6]
			nibbles := (*[48]byte)(x[64*half+16*(part&1):])
			out := (*[112]float32)(y[16*g:])
			for i, top := range (*[16]byte)(x[128+16*part:]) {
				a, b := nibbles[i], nibbles[i+32]
				out[i] = scale0 * float32(int32(a&15|top<<4&48)-32)
				out[i+32] = scale1 * float32(int32(b&15|top<<2&48)-32)
				out[i+64] = scale2 * float32(int32(a>>4|top&48)-32)
				out[i+96] = scale3 * float32(int32(b>>4|top>>2&48)-32)
			}
		}
		dst, src = dst[256:], src[210:]
	}
}
