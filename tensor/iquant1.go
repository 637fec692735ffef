package tensor

// iq1: eight elements are a point of a codebook with levels -1, 0, 1, all
// moved by the same delta of +1/8 or -1/8. 256 elements share an f16 scale d.

const iq1Delta = 0.125

// dequantizeIQ1_S: x = d*(2*s + 1) * (level + delta)
//
//	 0    2                      34                               50
//	+----+----------------------+--------------------------------+
//	| d  | 32 x low 8 bits of   | 8 x 16 bits: see below         |
//	|    | the index            |                                |
//	+----+----------------------+--------------------------------+
//
//	bit 15     14 12 11  9 8   6 5   3 2   0
//	   +------+-----+-----+-----+-----+-----+
//	   | sign |  s  | top bits of 4 indices |
//	   +------+-----+-----+-----+-----+-----+
//
// The sign is that of delta, for 32 elements.
func dequantizeIQ1_S(dst []float32, src []byte) {
	grid := iq1sGrid()
	for len(dst) >= 256 {
		y, x := (*[256]float32)(dst), (*[50]byte)(src)
		d := F16ToF32(le.Uint16(x[:]))
		for g := range 8 {
			w := uint(le.Uint16(x[34+2*g:]))
			scale, delta := d*float32(2*(w>>12&7)+1), float32(iq1Delta)
			if w>>15 != 0 {
				delta = -iq1Delta
			}
			low := (*[4]byte)(x[2+4*g:])
			out := (*[32]float32)(y[32*g:])
			for i := range 4 {
				moved8((*[8]float32)(out[8*i:]), scale, delta, grid[uint(low[i])|w&7<<8])
				w >>= 3
			}
		}
		dst, src = dst[256:], src[50:]
	}
}

// dequantizeIQ1_M: x = d*(2*s + 1) * (level + delta)
//
//	 0                      32                       48               56
//	+----------------------+------------------------+----------------+
//	| 32 x low 8 bits of   | 32 nibbles: top 3 bits | 4 x 16 bits:   |
//	| the index            | of the index, sign of  | 4 s of 3 bits, |
//	|                      | delta                  | 4 bits of d    |
//	+----------------------+------------------------+----------------+
//
// The scale s is for 16 elements, delta for 8. The four bits at the top of
// the four words, the first word's lowest, are d.
func dequantizeIQ1_M(dst []float32, src []byte) {
	grid := iq1sGrid()
	for len(dst) >= 256 {
		y, x := (*[256]float32)(dst), (*[56]byte)(src)
		w := le.Uint64(x[48:])
		d := F16ToF32(uint16(w>>12&0xf | w>>24&0xf0 | w>>36&0xf00 | w>>48&0xf000))
		for g := range 32 {
			s := uint(w>>(16*(g>>3)+3*(g>>1&3))) & 7
			top := uint(x[32+g/2]) >> (4 * (g & 1))
			scale, delta := d*float32(2*s+1), float32(iq1Delta)
			if top&8 != 0 {
				delta = -iq1Delta
			}
			moved8((*[8]float32)(y[8*g:]), scale, delta, grid[uint(x[g])|top&7<<8])
		}
		dst, src = dst[256:], src[56:]
	}
}

// moved8 sets y to d times the sum of delta and each of the eight bytes of v,
// taken as int8.
func moved8(y *[8]float32, d, delta float32, v uint64) {
	for i := range y {
		y[i] = d * (float32(int8(v)) + delta)
		v >>= 8
	}
}
