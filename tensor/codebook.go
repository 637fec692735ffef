package tensor

import (
	"encoding/base64"
	"math/bits"
	"sync"
)

// The i-quants below four bits are vector quantizers: an index picks a point
// of a codebook, and the point gives eight elements (four in the iq3 types)
// at once. Iwan Kawrakow chose the codebooks for llama.cpp from lattices, as
// the points that occur most often in the weights of models; they are part of
// the file formats.

// A lattice is the set of all vectors of dim elements out of a few levels.
// A point is numbered by its level indices as digits, element 0 the lowest:
// of the levels {8, 25, 43}, the point (43, 8, 25, 8, ...) has the number
// 2 + 0*3 + 1*9. All codebooks list their points in this order, so one bit
// for each point of the lattice is enough to describe them.
type lattice struct {
	levels []int8
	dim    int
}

var (
	ternary = lattice{[]int8{-1, 0, 1}, 8}
	thirds  = lattice{[]int8{8, 25, 43}, 8}
	eighths = lattice{[]int8{4, 12, 20, 28, 36, 44, 52, 62}, 4}
	odds    = lattice{[]int8{1, 3, 5, 7, 9, 11, 13, 15}, 4}
)

// The codebooks, decoded when first used. The elements of a point are the
// bytes of the integer, element 0 the lowest.
var (
	iq1sGrid   = sync.OnceValue(func() *[2048]uint64 { return (*[2048]uint64)(ternary.points(iq1sBitmap)) })
	iq2xxsGrid = sync.OnceValue(func() *[256]uint64 { return (*[256]uint64)(thirds.points(iq2xxsBitmap)) })
	iq2xsGrid  = sync.OnceValue(func() *[512]uint64 { return (*[512]uint64)(thirds.points(iq2xsBitmap)) })
	iq2sGrid   = sync.OnceValue(func() *[1024]uint64 { return (*[1024]uint64)(thirds.points(iq2sBitmap)) })
	iq3xxsGrid = sync.OnceValue(func() *[256]uint64 { return (*[256]uint64)(eighths.points(iq3xxsBitmap)) })
	iq3sGrid   = sync.OnceValue(func() *[512]uint64 { return (*[512]uint64)(odds.points(iq3sBitmap)) })
)

// points lists the points whose bit is set in the base64 bitmap.
func (l lattice) points(bitmap string) []uint64 {
	set, err := base64.StdEncoding.DecodeString(bitmap)
	if err != nil {
		panic("tensor: damaged codebook: " + err.Error())
	}
	var points []uint64
	for i, b := range set {
		for ; b != 0; b &= b - 1 {
			points = append(points, l.point(8*i+bits.TrailingZeros8(b)))
		}
	}
	return points
}

// point returns the elements of the point with the given number.
func (l lattice) point(number int) (p uint64) {
	for i := range l.dim {
		p |= uint64(uint8(l.levels[number%len(l.levels)])) << (8 * i)
		number /= len(l.levels)
	}
	return p
}

// signs expands eight sign bits to a mask of bytes for negate: byte i is 0xff
// if bit i is set, else 0.
var signs = func() (masks [256]uint64) {
	for s := range masks {
		for i := range 8 {
			masks[s] |= uint64(s>>i&1) * 0xff << (8 * i)
		}
	}
	return masks
}()

// evenSigns expands seven sign bits. The quantizer makes the number of
// negative elements even, so that the eighth sign is the parity of the others.
var evenSigns = func() (masks [128]uint64) {
	for s := range masks {
		masks[s] = signs[s|bits.OnesCount(uint(s))&1<<7]
	}
	return masks
}()

// negate changes the sign of the bytes of v whose byte in mask is 0xff. They
// must not be zero: -b is ^b + 1, and only zero would carry into its neighbour.
func negate(v, mask uint64) uint64 { return (v ^ mask) + mask&0x0101010101010101 }

// scale8 sets y to d times the eight bytes of v taken as int8.
func scale8(y *[8]float32, d float32, v uint64) {
	for i := range y {
		y[i] = d * float32(int8(v))
		v >>= 8
	}
}
