package tensor

import "math"

// Quantizers of the first generation of block types; legacy.go has the
// layouts. Without weights they take the extreme elements to the extreme
// levels and round the others, in the order of operations of ggml's reference
// quantizer, so that the bytes are the same. With weights they search.

func quantizeQ4_0(dst []byte, src, weights []float32) {
	y := (*[18]byte)(dst)
	var codes [32]byte
	le.PutUint16(y[:], centred(&codes, (*[32]float32)(src), weights, &q4Centred))
	packNibbles((*[16]byte)(y[2:]), &codes)
}

func quantizeQ5_0(dst []byte, src, weights []float32) {
	y := (*[22]byte)(dst)
	var codes [32]byte
	le.PutUint16(y[:], centred(&codes, (*[32]float32)(src), weights, &q5Centred))
	le.PutUint32(y[2:], fifthBits(&codes))
	packNibbles((*[16]byte)(y[6:]), &codes)
}

func quantizeQ4_1(dst []byte, src, weights []float32) {
	y := (*[20]byte)(dst)
	var codes [32]byte
	d, m := shifted(&codes, (*[32]float32)(src), weights, &q4Shifted)
	le.PutUint16(y[:], d)
	le.PutUint16(y[2:], m)
	packNibbles((*[16]byte)(y[4:]), &codes)
}

func quantizeQ5_1(dst []byte, src, weights []float32) {
	y := (*[24]byte)(dst)
	var codes [32]byte
	d, m := shifted(&codes, (*[32]float32)(src), weights, &q5Shifted)
	le.PutUint16(y[:], d)
	le.PutUint16(y[2:], m)
	le.PutUint32(y[4:], fifthBits(&codes))
	packNibbles((*[16]byte)(y[8:]), &codes)
}

// quantizeQ8_0 has no use for weights: it loses next to nothing.
func quantizeQ8_0(dst []byte, src, _ []float32) {
	x, y := (*[32]float32)(src), (*[34]byte)(dst)
	d := abs32(extreme(x[:])) / 127
	le.PutUint16(y[:], scaleF16(d))
	inverse := invert(d)
	for i, f := range x {
		v := float64(float32(f * inverse)) // in which a half can be added exactly
		y[2+i] = byte(int32(v + math.Copysign(0.5, v)))
	}
}

// centredLevels are the whole numbers from -half to half-1.
type centredLevels struct {
	half    float32
	levels  *scalar
	reaches []float32
}

var (
	q4Centred = centredLevels{8, uniformScalar(-8, 7), []float32{-8.8, -8.4, -8, -7.6, -7.2, -6.8, 6.4, 6.8, 7.2, 7.6}}
	q5Centred = centredLevels{16, uniformScalar(-16, 15), []float32{-16.8, -16.4, -16, -15.6, -15.2, 14.4, 14.8, 15.2, 15.6}}
)

// centred quantizes to x = d*(code - half) and returns d.
func centred(codes *[32]byte, x *[32]float32, weights []float32, c *centredLevels) (d uint16) {
	if weights != nil {
		d = scaleF16(c.levels.scale(x[:], weights, c.reaches))
		c.levels.encode(codes[:], x[:], F16ToF32(d))
		return d
	}
	scale := extreme(x[:]) / -c.half
	inverse := invert(scale)
	for i, f := range x {
		codes[i] = byte(min(float32(f*inverse)+(c.half+0.5), c.half+c.half-1))
	}
	return scaleF16(scale)
}

var (
	q4Shifted = offsetBlock{group: 32, top: 15, reaches: reaches4}
	q5Shifted = offsetBlock{group: 32, top: 31, reaches: reaches5}
)

// shifted quantizes to x = d*code + m and returns d and m.
func shifted(codes *[32]byte, x *[32]float32, weights []float32, b *offsetBlock) (d, m uint16) {
	lo, hi := extent(x[:])
	if weights != nil {
		scale, base := b.line(x[:], weights, lo, hi, math.MaxFloat32)
		d, m = scaleF16(scale), scaleF16(base)
		scale, base = F16ToF32(d), F16ToF32(m)
		for i, f := range x {
			codes[i] = byte(nearestUpTo(float32((f-base)*invert(scale)), b.top))
		}
		return d, m
	}
	scale := (hi - lo) / float32(b.top)
	inverse := invert(scale)
	for i, f := range x {
		codes[i] = byte(min(float32((f-lo)*inverse)+0.5, float32(b.top)))
	}
	return scaleF16(scale), scaleF16(lo)
}

// extreme returns the element of the largest magnitude, of equal ones the
// first.
func extreme(x []float32) float32 {
	e := float32(0)
	for _, f := range x {
		if abs32(f) > abs32(e) {
			e = f
		}
	}
	return e
}

// packNibbles puts the low four bits of codes 0 to 15 into the low nibbles,
// those of codes 16 to 31 into the high ones.
func packNibbles(dst *[16]byte, codes *[32]byte) {
	for i := range dst {
		dst[i] = codes[i]&15 | codes[i+16]<<4
	}
}

// fifthBits collects bit 4 of each code.
func fifthBits(codes *[32]byte) (h uint32) {
	for i, c := range codes {
		h |= uint32(c>>4&1) << i
	}
	return h
}
