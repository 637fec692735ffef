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

// piece says which bytes of a block 16 bytes are made of. It may differ for each of four blocks.
type piece func(l, p int) (offset int)

// run is 16 bytes that follow each other.
func run(offset int) piece { return func(_, p int) int { return offset + p } }

// halfOf is 16 of 32 bytes that follow each other: the second ones of the second block, the first
// of the others, or the opposite. All of the first such pieces are in two runs of 64
// bytes that begin at 0 and 64, all of the opposite ones in two that begin at 0 and 72.
func halfOf(offset int, opposite bool) piece {
	return func(l, p int) int {
		if (l == 1) != opposite {
			return offset + 16 + p
		}
		return offset + p
	}
}

// second returns where a run begins that has, with the first 64 bytes, what a
// permutation takes of four blocks. It is no longer than need be: see width.
func (b blocks32) second(take piece) int {
	within := func(second int) bool {
		for i := range 64 {
			at := i/16*b.size + take(i/16, i%16)
			if at >= 64 && (at < second || at >= second+b.width(second)) {
				return false
			}
		}
		return true
	}
	end := 4 * b.size
	for _, second := range []int{64, end - 4, end - 8, end - 16, end - 32, end - 64} {
		if b.width(second) > 0 && within(second) {
			return second
		}
	}
	panic(fmt.Sprintf("blocks of %d bytes need a third run", b.size))
}

// width is the size of the second run of four blocks: the rest of them, but at most 64
// bytes. It is 0 if no load has it.
func (b blocks32) width(second int) int {
	n := min(64, 4*b.size-second)
	if n < 4 || n&(n-1) != 0 {
		return 0
	}
	return n
}

// permutation returns the index that takes bytes for each quarter of the first 64 bytes and of
// those from second on.
func (b blocks32) permutation(name string, second int, take piece) VecVirtual {
	var index [64]uint8
	for i := range index {
		at := i/16*b.size + take(i/16, i%16)
		if at >= 64 {
			at += 64 - second
		}
		index[i] = uint8(at)
	}
	z := v.reg()
	v.load(dataBytes(name, index), z)
	return z
}

// A quadRow is a row's part of a step: four blocks, in runs of 64 bytes that are loaded when they
// are first asked for. Loads that straddle cache lines are what a product waits for, so each is done once.
type quadRow struct {
	blocks32
	q     *quads
	r, at int
	first VecVirtual
	other map[int]VecVirtual
}

func (b blocks32) row(q *quads, r, at int) *quadRow {
	return &quadRow{b, q, r, at, q.row(r, at), map[int]VecVirtual{}}
}

// run returns the second run that begins at an offset.
func (w *quadRow) run(offset int) VecVirtual {
	if w.other[offset] == nil {
		z, m := v.reg(), w.q.u.at(w.r, w.at+offset)
		switch w.width(offset) {
		case 4:
			VPBROADCASTD(m, z)
		case 8:
			VPBROADCASTQ(m, z)
		case 16:
			VBROADCASTI32X4(m, z)
		case 32:
			VBROADCASTI64X4(m, z)
		default:
			v.load(m, z)
		}
		w.other[offset] = z
	}
	return w.other[offset]
}

// permute takes bytes of the first run and of another.
func (w *quadRow) permute(index VecVirtual, second int) VecVirtual {
	z := v.reg()
	VMOVDQA64(w.first, z)
	VPERMT2B(w.run(second), index, z)
	return z
}

// halves returns what collects two bytes of each block at an offset.
func (b blocks32) halves(q *quads, offset int) func(h *halves, row *quadRow) {
	name := fmt.Sprintf("halves%d_%d", b.size, offset)
	var index [64]uint8
	near := true // in the quarters of the first run
	for p := range index {
		at := p/16*b.size + offset - p/16*16
		near = near && at >= 0 && at < 15
		index[p] = uint8(at + p%2)
	}
	if !near {
		take := func(_, p int) int { return offset + p%2 }
		second := b.second(take)
		far := b.permutation(name, second, take)
		return func(h *halves, row *quadRow) { h.merge(q, row.r, row.permute(far, second)) }
	}
	i := v.reg()
	v.load(dataBytes(name, index), i)
	return func(h *halves, row *quadRow) { h.add(q, row.r, row.first, i) }
}

// bothHalves are the elements of each piece that are levels 0 to 15 and 16 to 31 of each block.
var bothHalves = [][4]int{{0, 32, 64, 96}, {16, 48, 80, 112}}

// each generates the two steps of a turn, of four blocks each. row generates
// levels of each block from pieces of it: 16 elements from each of those in a list of elements.
func (b blocks32) each(q *quads, pieces []piece, elements [][4]int, row func(codes []VecVirtual) []VecVirtual) func() {
	var index []VecVirtual
	var seconds []int
	for i, take := range pieces {
		second := b.second(take)
		seconds = append(seconds, second)
		index = append(index, b.permutation(fmt.Sprintf("codes%d_%d_%d", b.size, b.codes, i), second, take))
	}
	addScale := b.halves(q, b.scale)
	addMin := addScale
	if q.u.min {
		addMin = b.halves(q, b.min)
	}
	return func() {
		for step := range 2 {
			var scales, mins halves
			sums := q.multiply(from(128*step, elements), func(r int) []VecVirtual {
				w := b.row(q, r, 4*b.size*step)
				addScale(&scales, w)
				if q.u.min {
					addMin(&mins, w)
				}
				codes := make([]VecVirtual, len(pieces))
				for p, second := range seconds {
					codes[p] = w.permute(index[p], second)
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

// from is elements, counted from k on.
func from(k int, elements [][4]int) (list [][4]int) {
	for _, e := range elements {
		list = append(list, [4]int{k + e[0], k + e[1], k + e[2], k + e[3]})
	}
	return list
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
	return b.each(q, []piece{run(b.codes)}, bothHalves, func(codes []VecVirtual) []VecVirtual {
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
	return b.each(q, []piece{run(b.codes)}, bothHalves, func(codes []VecVirtual) []VecVirtual {
		low, high := split(codes[0])
		return []VecVirtual{lookup(low, table), lookup(high, table)}
	})
}

func quadsMXFP4(q *quads) func() {
	return blocks32{size: 17, codes: 1, convert: mxfp4Scale()}.eachEntry(q, levels("mxfp4Levels", mxfp4Levels))
}

func quadsROCmFP4Fast(q *quads) func() {
	valid, scale := rocmScale()
	convert := func(words VecVirtual) VecVirtual { return scale(valid(words), 8) }
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
	bits := func(_, p int) int {
		if p%8 == 7-5 {
			return offset + 2 + p/8
		}
		return offset + p/8
	}
	columns := inRegister(table("bits", 0x8040201008040201, 0x8040201008040201))
	const aOrBAndC = 0xf8
	return b.each(q, []piece{run(b.codes), bits}, bothHalves, func(codes []VecVirtual) []VecVirtual {
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
	pieces := []piece{halfOf(2, false), halfOf(2, true)}
	elements := [][4]int{{0, 48, 64, 96}, {16, 32, 80, 112}}
	return blocks32{size: 34, codes: 2}.each(q, pieces, elements, func(codes []VecVirtual) []VecVirtual {
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

// twice loads 32 bytes of a row into both halves of a vector.
func (q *quads) twice(r, offset int) VecVirtual {
	z := v.reg()
	VBROADCASTI64X4(q.u.at(r, offset), z)
	return z
}

// quadsQ2_K: codes are in the lanes of their rows. 16 bytes have four groups, of which each second one is in the next 16
// bytes, so sums of eight groups wait for their turn. Codes stay where they are in their byte, which makes their sums four
// times as large for each code below them.
func quadsQ2_K(q *quads) func() {
	factors := floatTable("factorsQ2_K", func(s int) float32 { return float32(s) })
	var masks [4]Op
	for i := range masks {
		masks[i] = constant(0x03030303 << (2 * i))
	}
	return func() {
		d, dmin := q.u.headQ2_K()
		scales := q.keep(0, q.u.columns(0))
		for half := range 2 {
			var sums [2][][4]VecVirtual
			for odd := range sums {
				sums[odd] = q.sums(4)
				for j, w := range q.words(16+32*half+16*odd, nil) {
					for i, mask := range masks {
						q.add(sums[odd], i, 128*half+32*i+16*odd+4*j, masked(w, 0, mask))
					}
				}
			}
			for g := range 8 {
				q.divide(sums[g%2], g/2, 2*(g/2))
				word, bit := inRegister(scales[2*half+g/4]), g%4*8
				q.accumulate(8*half+g, sums[g%2], g/2, entry(factors, word, bit, d), entry(factors, word, bit+4, dmin))
			}
		}
	}
}

// quadsQ3_K: codes are in the lanes of their rows, as those of q2_K. A vector gets the two low bits and the third one
// of two codes each, of which the upper ones count sixteenfold.
func quadsQ3_K(q *quads) func() {
	crumbs, low, high := constant(0x33333333), constant(0x07070707), constant(0x70707070)
	return func() {
		d, words := q.u.headQ3_K()
		scales := q.keep(0, words)
		thirds := [2][4]Mem{q.keep(1, q.words(0, nil)), q.keep(2, q.words(16, nil))} // eight bits of each of 16 elements
		for half := range 2 {
			place := matrix(all(bitMoves{{4 * half, 2}, {4*half + 1, 3}, {4*half + 2, 6}, {4*half + 3, 7}}))
			var sums [2][][4]VecVirtual
			for odd := range sums {
				sums[odd] = q.sums(4)
				for j, codes := range q.words(32+32*half+16*odd, nil) {
					third := affine(inRegister(thirds[odd][j]), place)
					for i := range 2 {
						if i > 0 {
							VPSRLW(Imm(2), codes, codes)
							VPSRLW(Imm(1), third, third)
						}
						both, k := v.reg(), 128*half+16*odd+4*j+32*i
						VMOVDQA64(codes, both)
						q.add(sums[odd], i, k, masked(selected(crumbs, both, third), 0, low))
						q.add(sums[odd], i+2, k+64, masked(both, 0, high))
					}
				}
			}
			for g := range 8 {
				q.divide(sums[g%2], g/2, g/4*4)
				q.accumulate(8*half+g, sums[g%2], g/2, scaledSigned(inRegister(scales[2*half+g/4]), g%4*8, d), nil)
			}
		}
	}
}

// quadsQ6_K: what is loaded of half a row has two fours of groups of 16. With one column there are registers for both at a
// time, else each row is looked at once for either.
func quadsQ6_K(q *quads) func() {
	return func() {
		q.u.storeScalesQ6_K()
		for half := range 2 {
			load := func(r int) (nibbles, tops VecVirtual) {
				q.fetch()
				nibbles = v.reg()
				v.load(q.u.at(r, 64*half), nibbles)
				return nibbles, q.twice(r, 128+32*half)
			}
			var fours [2][][4]int
			var levels [2]func(nibbles, tops VecVirtual) []VecVirtual
			for f := range fours {
				k := 128*half + 64*f
				fours[f] = [][4]int{{k, k + 16, k + 32, k + 48}}
				nibble, top := matrix(all(field(4, 4*f, 0))), twoRows(2, 4*f, 4*f+2, 4)
				levels[f] = func(nibbles, tops VecVirtual) []VecVirtual {
					z := affine(nibbles, nibble)
					v.or(affine(tops, top), z, z)
					return []VecVirtual{z}
				}
			}
			var sums [2][][4]VecVirtual
			if len(q.x) == 1 {
				copy(sums[:], q.multiplyAll(fours[:], func(r int) [][]VecVirtual {
					q.fetch()
					nibbles, tops := load(r)
					return [][]VecVirtual{levels[0](nibbles, tops), levels[1](nibbles, tops)}
				}))
			}
			for f := range sums {
				if sums[f] == nil {
					sums[f] = q.multiply(fours[f], func(r int) []VecVirtual { return levels[f](load(r)) })
				}
				for l := range 4 {
					q.stored(8*half+4*f+l, sums[f], l)
				}
			}
		}
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
