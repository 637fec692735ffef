package tensor

// Quantizers of the k-quants; kquant.go has the layouts.

var (
	q3Block = scaledBlock{
		levels: uniformScalar(-4, 3), group: 16, lo: -32, hi: 31,
		reaches: []float32{-5, -4.7, -4.4, -4.1, -3.8, -3.5, -3.2, -2.9, -2.6, 2.3, 2.6, 2.9, 3.2, 3.5, 3.8, 4.1},
	}
	q6Block = scaledBlock{
		levels: uniformScalar(-32, 31), group: 16, lo: -128, hi: 127,
		reaches: []float32{-33, -32.5, -32, -31.5, -31, -30.5, 30, 30.5, 31, 31.5},
	}
	q2Block = offsetBlock{group: 16, top: 3, most: 15, reaches: []float32{2.4, 2.7, 3, 3.3, 3.6, 3.9, 4.2, 4.6, 5}}
	q4Block = offsetBlock{group: 32, top: 15, most: 63, reaches: reaches4}
	q5Block = offsetBlock{group: 32, top: 31, most: 63, reaches: reaches5}

	reaches4 = []float32{14.2, 14.6, 15, 15.4, 15.8, 16.2, 16.6, 17, 17.5, 18}
	reaches5 = []float32{30, 30.4, 30.8, 31.2, 31.6, 32, 32.5, 33, 33.5, 34}
)

func quantizeQ2_K(dst []byte, src, weights []float32) {
	x, y := (*[256]float32)(src), (*[84]byte)(dst)
	fit := q2Block.fit(x, orOnes(weights))
	var q [256]byte
	q2Block.encode(&q, x, &fit)
	for g := range 16 {
		y[g] = byte(fit.scales[g]) | byte(fit.mins[g])<<4
	}
	packPairs((*[64]byte)(y[16:]), &q)
	le.PutUint16(y[80:], fit.d)
	le.PutUint16(y[82:], fit.dmin)
}

func quantizeQ3_K(dst []byte, src, weights []float32) {
	x, y := (*[256]float32)(src), (*[110]byte)(dst)
	fit := q3Block.fit(x, orOnes(weights))
	var q [256]byte
	q3Block.encode(&q, x, &fit)
	for i := range 32 {
		y[i] = planeOf(&q, i, 2)
	}
	packPairs((*[64]byte)(y[32:]), &q)
	packQ3Scales((*[12]byte)(y[96:]), &fit.scales)
	le.PutUint16(y[108:], fit.d)
}

func quantizeQ4_K(dst []byte, src, weights []float32) {
	x, y := (*[256]float32)(src), (*[144]byte)(dst)
	fit := q4Block.fit(x, orOnes(weights))
	var q [256]byte
	q4Block.encode(&q, x, &fit)
	le.PutUint16(y[:], fit.d)
	le.PutUint16(y[2:], fit.dmin)
	packScalesMins((*[12]byte)(y[4:]), &fit.scales, &fit.mins)
	packRows((*[128]byte)(y[16:]), &q)
}

func quantizeQ5_K(dst []byte, src, weights []float32) {
	x, y := (*[256]float32)(src), (*[176]byte)(dst)
	fit := q5Block.fit(x, orOnes(weights))
	var q [256]byte
	q5Block.encode(&q, x, &fit)
	le.PutUint16(y[:], fit.d)
	le.PutUint16(y[2:], fit.dmin)
	packScalesMins((*[12]byte)(y[4:]), &fit.scales, &fit.mins)
	for i := range 32 {
		y[16+i] = planeOf(&q, i, 4)
	}
	packRows((*[128]byte)(y[48:]), &q)
}

func quantizeQ6_K(dst []byte, src, weights []float32) {
	x, y := (*[256]float32)(src), (*[210]byte)(dst)
	fit := q6Block.fit(x, orOnes(weights))
	var q, tops [256]byte
	q6Block.encode(&q, x, &fit)
	for i, c := range q {
		tops[i] = c >> 4
	}
	for half := range 2 {
		rows := (*[128]byte)(q[128*half:])
		nibbles := (*[64]byte)(y[64*half:])
		for i := range nibbles {
			nibbles[i] = rows[i]&15 | rows[i+64]<<4
		}
	}
	packPairs((*[64]byte)(y[128:]), &tops)
	for g := range 16 {
		y[192+g] = byte(fit.scales[g])
	}
	le.PutUint16(y[208:], fit.d)
}

// packPairs packs the low two bits of each q, those of four rows of 32 in a
// byte.
func packPairs(dst *[64]byte, q *[256]byte) {
	for half := range 2 {
		rows := (*[128]byte)(q[128*half:])
		out := (*[32]byte)(dst[32*half:])
		for i := range out {
			out[i] = rows[i]&3 | rows[i+32]&3<<2 | rows[i+64]&3<<4 | rows[i+96]&3<<6
		}
	}
}

// packRows packs the low four bits of each q, those of two rows of 32 in a
// byte.
func packRows(dst *[128]byte, q *[256]byte) {
	for pair := range 4 {
		rows := (*[64]byte)(q[64*pair:])
		out := (*[32]byte)(dst[32*pair:])
		for i := range out {
			out[i] = rows[i]&15 | rows[i+32]<<4
		}
	}
}

// planeOf returns one bit of each q at place i of the eight rows of 32.
func planeOf(q *[256]byte, i int, bit uint) (plane byte) {
	for r := range 8 {
		plane |= q[32*r+i] >> bit & 1 << r
	}
	return plane
}

// packQ3Scales is the inverse of scalesQ3_K.
func packQ3Scales(dst *[12]byte, scales *[16]int) {
	*dst = [12]byte{}
	for g, s := range scales {
		s := byte(s + 32)
		dst[g&7] |= s & 15 << (g >> 3 << 2)
		dst[8+g&3] |= s >> 4 << (g >> 2 << 1)
	}
}

// packScalesMins is the inverse of scalesMins.
func packScalesMins(dst *[12]byte, scales, mins *[16]int) {
	for g := range 4 {
		dst[g] = byte(scales[g] | scales[g+4]>>4<<6)
		dst[4+g] = byte(mins[g] | mins[g+4]>>4<<6)
		dst[8+g] = byte(scales[g+4]&15 | mins[g+4]&15<<4)
	}
}
