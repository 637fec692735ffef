package gemm

import (
	"math"
	"math/bits"
	"sync"

	"gorun/tensor"
)

// The decoders of the i-quants and of 4-bit floats; package tensor describes
// the layouts.

// iq4Levels are the levels of iq4_nl and iq4_xs with a bias of 128.
var iq4Levels = [16]uint8{1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241}

func decodeIQ4_NL(u []uint8, s, _ []float32, src []byte) {
	s[0] = half(src)
	levels(u, src[2:], &iq4Levels)
}

func decodeIQ4_XS(u []uint8, s, _ []float32, src []byte) {
	d, top, low := half(src), le.Uint16(src[2:]), le.Uint32(src[4:])
	for g := range s {
		s[g] = d * float32(int32(low>>(4*g)&15|uint32(top>>(2*g)&3)<<4)-32)
		levels(u[32*g:][:32], src[8+16*g:], &iq4Levels)
	}
}

// mxfp4Levels are twice the values of E2M1 with a bias of 12.
var mxfp4Levels = [16]uint8{12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0}

func decodeMXFP4(u []uint8, s, _ []float32, src []byte) {
	s[0] = halfE8M0(src[0])
	levels(u, src[1:], &mxfp4Levels)
}

// levels replaces nibbles by entries of a table.
func levels(u []uint8, src []byte, table *[16]uint8) {
	nibbles(u, src)
	for k, v := range u {
		u[k] = table[v]
	}
}

func decodeIQ3_S(u []uint8, s, _ []float32, src []byte) {
	d := half(src)
	for g := range s {
		s[g] = d * float32(1+2*int32(src[106+g/2]>>(g&1*4)&15))
	}
	for i := range 64 {
		index := uint(src[2+i]) | uint(src[66+i/8]>>(i&7)&1)<<8
		le.PutUint32(u[4*i:], iq3sGrid[index])
		flip(u[4*i:][:4], src[74+i/2]>>(i&1*4), 30)
	}
}

func decodeIQ2_XXS(u []uint8, s, _ []float32, src []byte) {
	d := half(src)
	for g := range s {
		group := src[2+8*g:][:8]
		w := le.Uint32(group[4:])
		s[g] = d * (0.5 + float32(w>>28)) * 0.25
		for i, index := range group[:4] {
			point(u[32*g+8*i:], iq2xxsGrid[index], evenSigns(uint8(w>>(7*i))))
		}
	}
}

func decodeIQ2_XS(u []uint8, s, _ []float32, src []byte) {
	scalesIQ2(s, half(src), src[66:])
	for i := range 32 {
		w := le.Uint16(src[2+2*i:])
		point(u[8*i:], iq2xsGrid[w&511], evenSigns(uint8(w>>9)))
	}
}

func decodeIQ2_S(u []uint8, s, _ []float32, src []byte) {
	scalesIQ2(s, half(src), src[74:])
	for i := range 32 {
		index := uint(src[2+i]) | uint(src[66+i/4]>>(i&3*2)&3)<<8
		point(u[8*i:], iq2sGrid[index], src[34+i])
	}
}

func scalesIQ2(s []float32, d float32, src []byte) {
	for g := range s {
		s[g] = d * (0.5 + float32(src[g/2]>>(g&1*4)&15)) * 0.25
	}
}

// point sets eight u to a point of an iq2 codebook with signs.
func point(u []uint8, p uint64, signs uint8) {
	le.PutUint64(u, p)
	flip(u[:8], signs, 86)
}

// flip changes the sign of levels: with a bias, negation is a subtraction
// from twice the bias.
func flip(u []uint8, signs, twice uint8) {
	for i := range u {
		if signs>>i&1 != 0 {
			u[i] = twice - u[i]
		}
	}
}

// evenSigns completes seven signs by their parity.
func evenSigns(w uint8) uint8 {
	w &= 127
	return w | uint8(bits.OnesCount8(w)&1)<<7
}

// halfE8M0 returns 2^(e-128), the scale of doubled levels.
func halfE8M0(e byte) float32 {
	if e < 2 { // subnormal
		return math.Float32frombits(1 << (21 + e))
	}
	return math.Float32frombits(uint32(e-1) << 23)
}

// The codebooks with the bias added, one point an entry, first element lowest.
// They are empty until loadCodebooks. Assembly reads them.
var (
	iq3sGrid   [512]uint32
	iq2xxsGrid [256]uint64
	iq2xsGrid  [512]uint64
	iq2sGrid   [1024]uint64
)

// The same as two planes: a byte has one bit of each element of a point. Those of iq2 are
// whether the level is 25 or more, and 43. The first one of iq3_s has bits 0 of the number of a level in
// its lower half and bits 1 in the upper, the second bits 2 in both.
var (
	iq3sPlanes   = planes(len(iq3sGrid))
	iq2xxsPlanes = planes(len(iq2xxsGrid))
	iq2xsPlanes  = planes(len(iq2xsGrid))
	iq2sPlanes   = planes(len(iq2sGrid))
)

// planes returns memory for two planes of points. It begins with a cache line, since kernels load 64 bytes at a time, often.
func planes(points int) []byte {
	both, _ := take(make([]byte, 2*points+alignment), 2*points)
	return both
}

// loadCodebooks reads the codebooks by dequantizing blocks that scale by one.
var loadCodebooks = sync.OnceFunc(func() {
	const one, eight = 0x3c00, 0x4800 // f16; the scale of iq2 is half a quarter of d
	loadCodebook(iq3sGrid[:], tensor.IQ3_S, one, 15, func(block []byte, i, index int) {
		block[2+i], block[66+i/8] = byte(index), block[66+i/8]|byte(index>>8)<<(i%8)
	})
	loadCodebook(iq2sGrid[:], tensor.IQ2_S, eight, 43, func(block []byte, i, index int) {
		block[2+i], block[66+i/4] = byte(index), block[66+i/4]|byte(index>>8)<<(i%4*2)
	})
	loadCodebook(iq2xsGrid[:], tensor.IQ2_XS, eight, 43, func(block []byte, i, index int) {
		le.PutUint16(block[2+2*i:], uint16(index))
	})
	loadCodebook(iq2xxsGrid[:], tensor.IQ2_XXS, eight, 43, func(block []byte, i, index int) {
		block[2+i/4*8+i%4] = byte(index)
	})
	planesIQ2(iq2xxsPlanes, iq2xxsGrid[:])
	planesIQ2(iq2xsPlanes, iq2xsGrid[:])
	planesIQ2(iq2sPlanes, iq2sGrid[:])
	for n, p := range iq3sGrid {
		for i := range 4 {
			number := (uint8(p>>(8*i)) - 15) / 2
			iq3sPlanes[n] |= (number&1 | number>>1&1<<4) << i
			iq3sPlanes[len(iq3sGrid)+n] |= number >> 2 * 0x11 << i
		}
	}
})

func planesIQ2(planes []byte, grid []uint64) {
	middle, top := planes[:len(grid)], planes[len(grid):]
	for n, p := range grid {
		for i := range 8 {
			switch uint8(p>>(8*i)) - 43 {
			case 43:
				top[n] |= 1 << i
				fallthrough
			case 25:
				middle[n] |= 1 << i
			}
		}
	}
}

// loadCodebook packs the points of a codebook with a bias. put writes an index
// into a block of type t as its point i, of as many elements as P has bytes.
func loadCodebook[P uint32 | uint64](grid []P, t tensor.Type, scale uint16, bias float32, put func(block []byte, i, index int)) {
	var x [256]float32
	n := bits.Len64(uint64(^P(0))) / 8
	for first := 0; first < len(grid); first += len(x) / n {
		block := make([]byte, t.BlockBytes())
		le.PutUint16(block, scale)
		for i := range len(x) / n {
			put(block, i, first+i)
		}
		tensor.Dequantize(t, x[:], block)
		for i, v := range x {
			grid[first+i/n] |= P(v+bias) << (8 * (i % n))
		}
	}
}
