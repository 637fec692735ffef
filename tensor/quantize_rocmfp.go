package tensor

import "sort"

// Quantizers of the ROCmFP types; rocmfp.go has the layouts. The scale of a
// group is the one of all 127 with the least weighted squared error, the
// smaller where two are equally good.

var (
	rocm2 = rocmGroup{newScalar(rocmFP2[:]), 4}
	rocm3 = rocmGroup{newScalar(rocmFP3[:]), 4}
	rocm4 = rocmGroup{newScalar(rocmFP4[:]), 10}
	rocm6 = rocmGroup{newScalar(rocmFP6[:]), 32}
	rocm8 = rocmGroup{newScalar(rocmFP8()), 127}
)

// rocmFP8 returns the levels of the int8 codes, of which -128 is not used: its
// place holds a level that an earlier code has.
func rocmFP8() []float32 {
	levels := make([]float32, 256)
	for code := range levels {
		levels[code] = float32(int8(code))
	}
	levels[0x80] = 127
	return levels
}

func quantizeROCmFP4(dst []byte, src, weights []float32) {
	x, y := (*[32]float32)(src), (*[18]byte)(dst)
	var codes [32]byte
	rocm4.pair(&codes, (*[2]byte)(y[16:]), x, orOnes(weights))
	packNibbles((*[16]byte)(y[:]), &codes)
}

func quantizeROCmFP4Fast(dst []byte, src, weights []float32) {
	y := (*[17]byte)(dst)
	var codes [32]byte
	y[16] = rocm4.encode(codes[:], src, orOnes(weights))
	packNibbles((*[16]byte)(y[:]), &codes)
}

func quantizeROCmFP2(dst []byte, src, weights []float32) {
	x, y := (*[32]float32)(src), (*[10]byte)(dst)
	var codes [32]byte
	rocm2.pair(&codes, (*[2]byte)(y[8:]), x, orOnes(weights))
	for i := range 8 {
		c := (*[4]byte)(codes[4*i:])
		y[i] = c[0] | c[1]<<2 | c[2]<<4 | c[3]<<6
	}
}

func quantizeROCmFP3(dst []byte, src, weights []float32) {
	x, y := (*[32]float32)(src), (*[14]byte)(dst)
	var codes [32]byte
	rocm3.pair(&codes, (*[2]byte)(y[12:]), x, orOnes(weights))
	packBits(y[:12], &codes, 3)
}

func quantizeROCmFP6(dst []byte, src, weights []float32) {
	x, y := (*[32]float32)(src), (*[26]byte)(dst)
	var codes [32]byte
	rocm6.pair(&codes, (*[2]byte)(y[24:]), x, orOnes(weights))
	packBits(y[:24], &codes, 6)
}

func quantizeROCmFP8(dst []byte, src, weights []float32) {
	y := (*[33]byte)(dst)
	y[32] = rocm8.encode(y[:32], src, orOnes(weights))
}

// packBits packs codes of so many bits without gaps, the lowest bits first, in
// units of three bytes.
func packBits(dst []byte, codes *[32]byte, bits int) {
	perUnit := 24 / bits
	for i := 0; i < len(dst); i += 3 {
		var unit uint32
		for j := range perUnit {
			unit |= uint32(codes[i/3*perUnit+j]) << (bits * j)
		}
		dst[i], dst[i+1], dst[i+2] = byte(unit), byte(unit>>8), byte(unit>>16)
	}
}

// rocmGroup quantizes elements that share a scale.
type rocmGroup struct {
	levels *scalar
	most   float32 // the largest magnitude of a level
}

// pair quantizes the two halves of a block.
func (r *rocmGroup) pair(codes *[32]byte, scales *[2]byte, x *[32]float32, weights []float32) {
	scales[0] = r.encode(codes[:16], x[:16], weights)
	scales[1] = r.encode(codes[16:], x[16:], weights[16:])
}

// encode quantizes a group and returns the scale.
func (r *rocmGroup) encode(codes []byte, x, weights []float32) (scale byte) {
	scale = r.search(x, weights)
	r.levels.encode(codes, x, rocmScales[scale])
	return scale
}

// search finds the best scale. It starts where the largest element comes to
// the largest level, which is near the best, and goes outwards: most other
// scales are then given up after a few elements, when their error is already
// larger.
func (r *rocmGroup) search(x, weights []float32) byte {
	most := abs32(extreme(x))
	start := sort.Search(maxROCmScale, func(b int) bool { return rocmScales[b]*r.most >= most })
	best, scale := r.errorOf(x, weights, rocmScales[start], -1), start
	try := func(b int) {
		err := r.errorOf(x, weights, rocmScales[b], best)
		if err < best || err == best && b < scale {
			best, scale = err, b
		}
	}
	for b := start + 1; b <= maxROCmScale; b++ {
		try(b)
	}
	for b := start - 1; b >= 0; b-- {
		try(b)
	}
	return byte(scale)
}

// maxROCmScale is the largest valid scale byte.
const maxROCmScale = 0x7e

// errorOf returns the error for a scale; if that is more than enough, which is
// not negative, it may be any sum above it.
func (r *rocmGroup) errorOf(x, weights []float32, scale, enough float32) (err float32) {
	weights = weights[:len(x)]
	inverse := invert(scale)
	for i, f := range x {
		e := f - float32(scale*r.levels.level[cell(float32(f*inverse))&(cells-1)])
		err += float32(weights[i] * float32(e*e))
		if err > enough && enough >= 0 {
			break
		}
	}
	return err
}
