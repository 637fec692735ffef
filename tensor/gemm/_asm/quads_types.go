package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// blocks32 describes blocks of 32 elements, of which a turn takes eight: their
// size, and where in them 16 bytes of codes and the scale (and the minimum) are.
type blocks32 struct {
	size, codes, scale, min int

	convert func(words VecVirtual) VecVirtual // the two bytes of scales, as 32 bits, to float32; nil: a half
}

// piece says which bytes of a block 16 bytes are made of.
type piece func(p int) (offset int)

// run is 16 bytes that follow each other.
func run(offset int) piece { return func(p int) int { return offset + p } }

// until is the end of the bytes that a piece takes.
func (take piece) until() (end int) {
	for p := range 16 {
		end = max(end, take(p)+1)
	}
	return end
}

// window is two runs of 64 bytes of a row, which have all that a permutation takes.
type window struct{ first, second int }

// window returns the runs for bytes [from, until) of four blocks.
func (b blocks32) window(until int) window {
	if second := 4*b.size - 64; second <= 64 {
		return window{0, second}
	}
	first := max(0, until-128)
	return window{first, first + 64}
}

// permutation returns the index that takes bytes for each quarter: byte p of it at an
// offset of the blocks.
func (b blocks32) permutation(name string, w window, offset func(p int) int) VecVirtual {
	var index [64]uint8
	for p := range index {
		at := p/16*b.size + offset(p%16) - w.first
		if at >= 64 {
			at += 64 - (w.second - w.first)
		}
		if at < 0 || at > 127 {
			panic(fmt.Sprintf("%s: byte %d", name, at))
		}
		index[p] = uint8(at)
	}
	z := v.reg()
	v.load(dataBytes(name, index), z)
	return z
}

// halves returns what collects two bytes of each block at an offset. z is the
// run of row r at byte at.
func (b blocks32) halves(q *quads, offset int) func(h *halves, r, at int, z VecVirtual) {
	name := fmt.Sprintf("halves%d_%d", b.size, offset)
	var index [64]uint8
	near := true // in the quarters of the first run
	for p := range index {
		at := p/16*b.size + offset - p/16*16
		near = near && at >= 0 && at < 15
		index[p] = uint8(at + p%2)
	}
	if !near {
		w := b.window(3*b.size + offset + 2)
		far := b.permutation(name, w, func(p int) int { return offset + p%2 })
		return func(h *halves, r, at int, z VecVirtual) { h.addFar(q, r, z, q.u.at(r, at+w.second), far) }
	}
	i := v.reg()
	v.load(dataBytes(name, index), i)
	return func(h *halves, r, _ int, z VecVirtual) { h.add(q, r, z, i) }
}

// each generates the two steps of a turn, of four blocks each. row generates
// the levels of elements 0 to 15 and 16 to 31 of each block from pieces of it.
func (b blocks32) each(q *quads, pieces []piece, row func(codes []VecVirtual) []VecVirtual) func() {
	var index []VecVirtual
	var windows []window
	for i, take := range pieces {
		w := b.window(3*b.size + take.until())
		windows = append(windows, w)
		index = append(index, b.permutation(fmt.Sprintf("codes%d_%d_%d", b.size, b.codes, i), w, take))
	}
	addScale := b.halves(q, b.scale)
	addMin := addScale
	if q.u.min {
		addMin = b.halves(q, b.min)
	}
	return func() {
		for step := range 2 {
			at := 4 * b.size * step
			var scales, mins halves
			k := [4]int{128 * step, 128*step + 32, 128*step + 64, 128*step + 96}
			sums := q.multiply([][4]int{k, {k[0] + 16, k[1] + 16, k[2] + 16, k[3] + 16}}, func(r int) []VecVirtual {
				z := q.row(r, at)
				addScale(&scales, r, at, z)
				if q.u.min {
					addMin(&mins, r, at, z)
				}
				codes := make([]VecVirtual, len(pieces))
				for p, w := range windows {
					switch codes[p] = v.reg(); {
					case w.first > 0:
						v.load(q.u.at(r, at+w.first), codes[p])
					case p == len(pieces)-1:
						codes[p] = z
					default:
						VMOVDQA64(z, codes[p])
					}
					VPERMT2B(q.u.at(r, at+w.second), index[p], codes[p])
				}
				return row(codes)
			})
			for l := range 4 {
				var min Op
				if q.u.min {
					min = mins.floats(l, b.convert)
				}
				q.accumulate(4*step+l, sums, l, scales.floats(l, b.convert), min)
			}
		}
	}
}

// nibbles returns what makes levels of codes of four bits.
func nibbles() func(codes VecVirtual) (low, high VecVirtual) {
	nibble, down := constant(nibbleMask), matrix(all(field(4, 4, 0)))
	return func(codes VecVirtual) (low, high VecVirtual) {
		low = v.reg()
		v.and(nibble, codes, low)
		return low, affine(codes, down)
	}
}

func quadsQ4_0(q *quads) func() { return blocks32{size: 18, codes: 2}.eachNibble(q) }
func quadsQ4_1(q *quads) func() { return blocks32{size: 20, codes: 4, min: 2}.eachNibble(q) }

// eachNibble is each for nibbles that are levels.
func (b blocks32) eachNibble(q *quads) func() {
	split := nibbles()
	return b.each(q, []piece{run(b.codes)}, func(codes []VecVirtual) []VecVirtual {
		low, high := split(codes[0])
		return []VecVirtual{low, high}
	})
}

func quadsIQ4_NL(q *quads) func() {
	return blocks32{size: 18, codes: 2}.eachEntry(q, levels("iq4Levels", iq4Levels))
}

// eachEntry is each for nibbles that are numbers of the entries of a table.
func (b blocks32) eachEntry(q *quads, table Op) func() {
	split := nibbles()
	return b.each(q, []piece{run(b.codes)}, func(codes []VecVirtual) []VecVirtual {
		low, high := split(codes[0])
		return []VecVirtual{lookup(low, table), lookup(high, table)}
	})
}

func quadsMXFP4(q *quads) func() {
	return blocks32{size: 17, codes: 1, convert: mxfp4Scale()}.eachEntry(q, levels("mxfp4Levels", mxfp4Levels))
}

func quadsROCmFP4Fast(q *quads) func() {
	scale := rocmScale()
	convert := func(words VecVirtual) VecVirtual { return scale(words, 8) }
	return blocks32{size: 17, scale: 15, convert: convert}.eachEntry(q, levels("rocmFP4", rocmFP4))
}

func quadsQ5_0(q *quads) func() { return blocks32{size: 22, codes: 6}.eachFifthBit(q, 2) }
func quadsQ5_1(q *quads) func() { return blocks32{size: 24, codes: 8, min: 2}.eachFifthBit(q, 4) }

// eachFifthBit is each for nibbles whose fifth bits are at an offset.
func (b blocks32) eachFifthBit(q *quads, offset int) func() {
	split, fifth := nibbles(), dataVector("fifthBits", 0x1010101010101010, 0x1010101010101010)
	// A matrix with those of eight elements in a row, times a byte that has bit i
	// set only, has the one of element i: in bit 4 where they are those of 0 to 15, in
	// bit 5 for 16 to 31. The other rows do not matter.
	bits := func(p int) int {
		if p%8 == 7-5 {
			return offset + 2 + p/8
		}
		return offset + p/8
	}
	columns := inRegister(table("bits", 0x8040201008040201, 0x8040201008040201))
	const aOrBAndC = 0xf8
	return b.each(q, []piece{run(b.codes), bits}, func(codes []VecVirtual) []VecVirtual {
		low, high := split(codes[0])
		l, h := affine(columns, codes[1]), v.reg()
		VPSRLW(Imm(1), l, h)
		VPTERNLOGD(Imm(aOrBAndC), fifth, l, low)
		VPTERNLOGD(Imm(aOrBAndC), fifth, h, high)
		return []VecVirtual{low, high}
	})
}

func quadsQ8_0(q *quads) func() {
	bias := constant(0x80808080)
	return blocks32{size: 34, codes: 2}.each(q, []piece{run(2), run(18)}, func(codes []VecVirtual) []VecVirtual {
		for _, c := range codes {
			v.xor(bias, c, c)
		}
		return codes
	})
}

// quarters makes two vectors of a and b, the even quarters and the odd ones:
// those of a come first.
func quarters(a, b VecVirtual) []VecVirtual {
	even, odd := v.reg(), v.reg()
	VSHUFI32X4(Imm(0x88), b, a, even)
	VSHUFI32X4(Imm(0xdd), b, a, odd)
	return []VecVirtual{even, odd}
}

// quadsNibblesK generates q4_K and q5_K: 32 bytes have the levels of a group in
// their low nibbles and those of the next group in their high ones. split returns, for a step,
// what makes levels of 64 bytes of codes.
func quadsNibblesK(q *quads, codes int, split func(step int) func(r int, z VecVirtual) (low, high VecVirtual)) func() {
	return func() {
		q.u.storeScalesMins()
		for step := range 2 {
			k, levels := 128*step, split(step)
			sums := q.multiply([][4]int{{k, k + 64, k + 32, k + 96}, {k + 16, k + 80, k + 48, k + 112}}, func(r int) []VecVirtual {
				return quarters(levels(r, q.row(r, codes+64*step)))
			})
			for i, quarter := range []int{0, 2, 1, 3} {
				q.stored(4*step+i, sums, quarter)
			}
		}
	}
}

func quadsQ4_K(q *quads) func() {
	split := nibbles()
	return quadsNibblesK(q, 16, func(int) func(int, VecVirtual) (VecVirtual, VecVirtual) {
		return func(_ int, z VecVirtual) (VecVirtual, VecVirtual) { return split(z) }
	})
}

func quadsQ5_K(q *quads) func() {
	split := nibbles()
	return quadsNibblesK(q, 48, func(step int) func(int, VecVirtual) (VecVirtual, VecVirtual) {
		// A byte has a bit of each of eight groups.
		even, odd := twoRows(1, 4*step, 4*step+2, 4), twoRows(1, 4*step+1, 4*step+3, 4)
		return func(r int, z VecVirtual) (VecVirtual, VecVirtual) {
			bits := v.reg()
			VBROADCASTI64X4(q.u.at(r, 16), bits)
			low, high := split(z)
			v.or(affine(bits, even), low, low)
			v.or(affine(bits, odd), high, high)
			return low, high
		}
	})
}

// twoRows is a matrix for 32 bytes, repeated, that have a row of 32 levels in each field of n
// bits: it moves the fields from first and second to to.
func twoRows(n, first, second, to int) VecVirtual {
	a, b := field(n, first, to), field(n, second, to)
	return matrix([4]bitMoves{a, a, b, b})
}

// each16 generates groups of 16, in four steps of four groups. levels returns, for a
// step, what makes levels of row r, of elements 64*step to 64*step+63.
func each16(q *quads, levels func(step int) func(r int) VecVirtual) {
	for step := range 4 {
		k, row := 64*step, levels(step)
		sums := q.multiply([][4]int{{k, k + 16, k + 32, k + 48}}, func(r int) []VecVirtual { return []VecVirtual{row(r)} })
		for l := range 4 {
			q.stored(4*step+l, sums, l)
		}
	}
}

// twice loads 32 bytes of a row into both halves of a vector.
func (q *quads) twice(r, offset int) VecVirtual {
	z := v.reg()
	VBROADCASTI64X4(q.u.at(r, offset), z)
	return z
}

func quadsQ2_K(q *quads) func() {
	return func() {
		q.u.storeScalesQ2_K()
		each16(q, func(step int) func(int) VecVirtual {
			pair := twoRows(2, step%2*4, step%2*4+2, 0)
			return func(r int) VecVirtual {
				q.fetch(r)
				return affine(q.twice(r, 16+step/2*32), pair)
			}
		})
	}
}

func quadsQ3_K(q *quads) func() {
	return func() {
		q.u.storeScalesQ3_K()
		each16(q, func(step int) func(int) VecVirtual {
			pair, third := twoRows(2, step%2*4, step%2*4+2, 0), twoRows(1, 2*step, 2*step+1, 2)
			return func(r int) VecVirtual {
				q.fetch(r)
				z := affine(q.twice(r, 32+step/2*32), pair)
				v.or(affine(q.twice(r, 0), third), z, z)
				return z
			}
		})
	}
}

func quadsQ6_K(q *quads) func() {
	return func() {
		q.u.storeScalesQ6_K()
		each16(q, func(step int) func(int) VecVirtual {
			half, high := step/2, step%2
			top := twoRows(2, 4*high, 4*high+2, 4)
			nibble := matrix(all(field(4, 4*high, 0)))
			return func(r int) VecVirtual {
				z := affine(q.row(r, 64*half), nibble)
				v.or(affine(q.twice(r, 128+32*half), top), z, z)
				return z
			}
		})
	}
}

func quadsIQ4_XS(q *quads) func() {
	split, levels := nibbles(), levels("iq4Levels", iq4Levels)
	return func() {
		q.u.storeScalesIQ4_XS()
		for step := range 2 {
			k := 128 * step
			sums := q.multiply([][4]int{{k, k + 32, k + 64, k + 96}, {k + 16, k + 48, k + 80, k + 112}}, func(r int) []VecVirtual {
				low, high := split(q.row(r, 8+64*step))
				return []VecVirtual{lookup(low, levels), lookup(high, levels)}
			})
			for l := range 4 {
				q.stored(4*step+l, sums, l)
			}
		}
	}
}
