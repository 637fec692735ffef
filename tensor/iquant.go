package tensor

// iq2 and iq3: an element is a scale times a level from a codebook (see
// codebook.go) times a sign. A super-block has 256 elements and one f16
// scale d; each 32 or 16 elements have a 4-bit scale s.

// dequantizeIQ2_XXS: x = d*(0.5 + s)/4 * level * sign
//
//	 0    2                                                      66
//	+----+------------------------------------------------------+
//	| d  | 8 x (4 bytes: index of a point; 32 bits: see below)  |
//	+----+------------------------------------------------------+
//
//	bit 31   28 27     21 20     14 13      7 6       0
//	   +-------+---------+---------+---------+---------+
//	   |   s   | signs 3 | signs 2 | signs 1 | signs 0 |
//	   +-------+---------+---------+---------+---------+
func dequantizeIQ2_XXS(dst []float32, src []byte) {
	grid := iq2xxsGrid()
	for len(dst) >= 256 {
		y, x := (*[256]float32)(dst), (*[66]byte)(src)
		d := F16ToF32(le.Uint16(x[:]))
		for g := range 8 {
			group := (*[8]byte)(x[2+8*g:])
			w := le.Uint32(group[4:])
			scale := d * (0.5 + float32(w>>28)) * 0.25
			out := (*[32]float32)(y[32*g:])
			for i := range 4 {
				scale8((*[8]float32)(out[8*i:]), scale, negate(grid[group[i]], evenSigns[w&127]))
				w >>= 7
			}
		}
		dst, src = dst[256:], src[66:]
	}
}

// dequantizeIQ2_XS: x = d*(0.5 + s)/4 * level * sign
//
//	 0    2                                              66        74
//	+----+----------------------------------------------+---------+
//	| d  | 32 x 16 bits: 9 index of a point, 7 signs    | 16 x s  |
//	+----+----------------------------------------------+---------+
func dequantizeIQ2_XS(dst []float32, src []byte) {
	grid := iq2xsGrid()
	for len(dst) >= 256 {
		y, x := (*[256]float32)(dst), (*[74]byte)(src)
		d := F16ToF32(le.Uint16(x[:]))
		for g := range 32 {
			s := x[66+g/4] >> (4 * (g >> 1 & 1)) & 15
			w := le.Uint16(x[2+2*g:])
			scale := d * (0.5 + float32(s)) * 0.25
			scale8((*[8]float32)(y[8*g:]), scale, negate(grid[w&511], evenSigns[w>>9]))
		}
		dst, src = dst[256:], src[74:]
	}
}

// dequantizeIQ2_S: x = d*(0.5 + s)/4 * level * sign
//
//	 0    2                   34                  66        74        82
//	+----+-------------------+-------------------+---------+---------+
//	| d  | 32 x low 8 bits   | 32 x 8 signs      | 32 x    | 16 x s  |
//	|    | of the index      |                   | high 2  |         |
//	+----+-------------------+-------------------+---------+---------+
func dequantizeIQ2_S(dst []float32, src []byte) {
	grid := iq2sGrid()
	for len(dst) >= 256 {
		y, x := (*[256]float32)(dst), (*[82]byte)(src)
		d := F16ToF32(le.Uint16(x[:]))
		for g := range 32 {
			s := x[74+g/4] >> (4 * (g >> 1 & 1)) & 15
			index := uint(x[2+g]) | uint(x[66+g/4])>>(2*(g&3))&3<<8
			scale := d * (0.5 + float32(s)) * 0.25
			scale8((*[8]float32)(y[8*g:]), scale, negate(grid[index], signs[x[34+g]]))
		}
		dst, src = dst[256:], src[82:]
	}
}

// dequantizeIQ3_XXS: x = d*(0.5 + s)/2 * level * sign
//
//	 0    2                             66                           98
//	+----+-----------------------------+----------------------------+
//	| d  | 64 x index of a point of 4  | 8 x 32 bits as in iq2_xxs  |
//	+----+-----------------------------+----------------------------+
func dequantizeIQ3_XXS(dst []float32, src []byte) {
	grid := iq3xxsGrid()
	for len(dst) >= 256 {
		y, x := (*[256]float32)(dst), (*[98]byte)(src)
		d := F16ToF32(le.Uint16(x[:]))
		for g := range 8 {
			w := le.Uint32(x[66+4*g:])
			scale := d * (0.5 + float32(w>>28)) * 0.5
			index := (*[8]byte)(x[2+8*g:])
			out := (*[32]float32)(y[32*g:])
			for i := range 4 {
				points := grid[index[2*i]] | grid[index[2*i+1]]<<32
				scale8((*[8]float32)(out[8*i:]), scale, negate(points, evenSigns[w&127]))
				w >>= 7
			}
		}
		dst, src = dst[256:], src[98:]
	}
}

// dequantizeIQ3_S: x = d*(1 + 2*s) * level * sign
//
//	 0    2                      66        74             106      110
//	+----+----------------------+---------+--------------+--------+
//	| d  | 64 x low 8 bits of   | 64 x    | 32 x 8 signs | 8 x s  |
//	|    | the index of 4       | bit 8   |              |        |
//	+----+----------------------+---------+--------------+--------+
func dequantizeIQ3_S(dst []float32, src []byte) {
	grid := iq3sGrid()
	for len(dst) >= 256 {
		y, x := (*[256]float32)(dst), (*[110]byte)(src)
		d := F16ToF32(le.Uint16(x[:]))
		for g := range 32 {
			s := x[106+g/8] >> (4 * (g >> 2 & 1)) & 15
			high := uint(x[66+g/4]) >> (2 * (g & 3))
			index0 := uint(x[2+2*g]) | high&1<<8
			index1 := uint(x[3+2*g]) | high&2<<7
			points := grid[index0] | grid[index1]<<32
			scale := d * float32(1+2*int32(s))
			scale8((*[8]float32)(y[8*g:]), scale, negate(points, signs[x[74+g]]))
		}
		dst, src = dst[256:], src[110:]
	}
}
