package gemm

// The decoders of the k-quants; package tensor describes the layouts.

func decodeQ2_K(u []uint8, s, m []float32, src []byte) {
	d, dmin := half(src[80:]), half(src[82:])
	for g, sm := range src[:16] {
		s[g], m[g] = d*float32(sm&15), -float32(dmin*float32(sm>>4))
	}
	crumbs(u, src[16:], 0)
}

func decodeQ3_K(u []uint8, s, _ []float32, src []byte) {
	d := half(src[108:])
	low, high := src[96:104], src[104:108]
	for g := range s {
		q := low[g&7]>>(g>>3*4)&15 | high[g&3]>>(g>>2*2)&3<<4
		s[g] = d * float32(int32(q)-32)
	}
	crumbs(u, src[32:], 0)
	for k := range u {
		u[k] |= src[k&31] >> (k >> 5) & 1 << 2
	}
}

func decodeQ4_K(u []uint8, s, m []float32, src []byte) {
	scalesMins(s, m, src)
	for part := range 4 {
		nibbles(u[64*part:][:64], src[16+32*part:])
	}
}

func decodeQ5_K(u []uint8, s, m []float32, src []byte) {
	scalesMins(s, m, src)
	for part := range 4 {
		nibbles(u[64*part:][:64], src[48+32*part:])
	}
	for k := range u {
		u[k] |= src[16+k&31] >> (k >> 5) & 1 << 4
	}
}

func decodeQ6_K(u []uint8, s, _ []float32, src []byte) {
	d := half(src[208:])
	for g, q := range src[192:208] {
		s[g] = d * float32(int8(q))
	}
	for part := range 2 {
		nibbles(u[128*part:][:128], src[64*part:])
	}
	crumbs(u, src[128:], 4)
}

// crumbs adds to u, at bit shift, the pairs of bits of 64 bytes: those of 32
// bytes are four rows of 32.
func crumbs(u []uint8, src []byte, shift int) {
	for k := range u {
		pair := src[k>>7<<5|k&31] >> (k >> 5 & 3 * 2) & 3 << shift
		if shift == 0 {
			u[k] = pair
		} else {
			u[k] |= pair
		}
	}
}

// scalesMins unpacks the head of q4_K and q5_K.
func scalesMins(s, m []float32, src []byte) {
	d, dmin, q := half(src), half(src[2:]), src[4:16]
	for g := range 4 {
		s[g], m[g] = d*float32(q[g]&63), -float32(dmin*float32(q[4+g]&63))
		s[4+g] = d * float32(q[8+g]&15|q[g]>>6<<4)
		m[4+g] = -float32(dmin * float32(q[8+g]>>4|q[4+g]>>6<<4))
	}
}
