package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Codes of a few bits are brought into the lanes of their rows before they
// become levels: 16 rows of four words are exchanged at little cost, each word has the
// codes of four elements or more, and no sum crosses lanes.

// words returns four 32-bit words at an offset of the blocks of each row, a
// vector for each, with a lane for each row. order, if any, are the bytes of 16
// that they are made of.
func (q *quads) words(offset int, order Op) [4]VecVirtual {
	var rows [4]VecVirtual
	for i := range rows {
		rows[i] = v.reg()
		for l := range 4 {
			q.fetch()
			v.insert(l, q.u.at(4*l+i, offset), rows[i])
		}
		if order != nil {
			VPSHUFB(order, rows[i], rows[i])
		}
	}
	return transpose(rows)
}

// sums returns zeros for each column and groups groups, a lane for each row.
func (q *quads) sums(groups int) [][4]VecVirtual {
	columns := make([][4]VecVirtual, len(q.x))
	for c := range columns {
		for l := range groups {
			columns[c][l] = v.reg()
			VMOVDQA32(q.zero, columns[c][l])
		}
	}
	return columns
}

// add adds the products of the levels of elements k to k+3 to sums of a quarter.
func (q *quads) add(columns [][4]VecVirtual, quarter, k int, levels VecVirtual) {
	for c, x := range q.x {
		VPDPBUSD_BCST(Mem{Base: x, Disp: k/32*q.u.blockBytes() + k%32}, levels, columns[c][quarter])
	}
}

// fields describes blocks of 32 elements whose codes have a few bits each.
type fields struct {
	size  int      // of a block, in bytes
	loads []load   // of a block
	bits  [][4]int // where a word has the codes of four elements, the first of them and what follows
	// The first list of the next word begins next elements further, the next
	// list of the same word nextList.
	next, nextList int
	levels         [64]uint8 // of the six bits from where a code begins
	scales         [2]place  // of both groups
	apart          int       // where a block has the two scales if they are in no word
}

// load is 16 bytes at an offset of a block, in an order; nil: as they are. The
// first words have codes.
type load struct {
	offset int
	order  []int
	codes  int
}

// place is where a word has a byte.
type place struct{ word, bit int }

// periodic repeats the levels of codes of less than six bits.
func periodic(levels []uint8) (all [64]uint8) {
	for i := range all {
		all[i] = levels[i%len(levels)]
	}
	return all
}

// words loads those of block b of a turn, never beyond the end of the turn.
func (f fields) words(q *quads, b int) (words []VecVirtual, codes []VecVirtual) {
	for _, l := range f.loads {
		at := f.size*b + l.offset
		skip := max(0, at+16-8*f.size)
		order := l.order
		if order == nil && skip > 0 {
			order = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}[:16-skip]
		}
		var index Op
		if order != nil {
			var bytes [16]uint8
			name := "order"
			for i := range bytes {
				bytes[i] = 0x80
				if i < len(order) && order[i] >= 0 {
					bytes[i] = uint8(order[i] + skip)
				}
				name += fmt.Sprintf("_%d", bytes[i])
			}
			low, high := bytes16(bytes)
			index = dataVector(name, low, high)
		}
		w := q.words(at-skip, index)
		words, codes = append(words, w[:]...), append(codes, w[:l.codes]...)
	}
	return words, codes
}

// scalesApart returns words that have the scales of two blocks of each row each.
func (f fields) scalesApart(q *quads) (words []VecVirtual) {
	var index [64]uint8
	for p := range index {
		index[p] = uint8(p%16/2*f.size + p%2)
	}
	find := v.reg()
	v.load(dataBytes(fmt.Sprintf("scales%d", f.size), index), find)
	var rows [4]VecVirtual
	for i := range rows {
		for l := range 4 {
			z := q.row(4*l+i, f.apart)
			VPERMT2B(q.u.at(4*l+i, f.apart+64), find, z)
			if l == 0 {
				rows[i] = z
			} else {
				VMOVDQA32(z, q.lanes[l], rows[i])
			}
		}
	}
	all := transpose(rows)
	return all[:]
}

// each generates a turn.
func (f fields) each(q *quads) func() {
	table := v.reg()
	valid, scale := rocmScale()
	v.load(dataBytes(fmt.Sprintf("levels%d", f.size), f.levels), table)
	shifts := make([]VecVirtual, len(f.bits))
	for i, bits := range f.bits {
		if bits != [4]int{0, 8, 16, 24} {
			shifts[i] = multishift(bits)
		}
	}
	return func() {
		var apart []VecVirtual
		if f.apart > 0 {
			for _, w := range f.scalesApart(q) {
				apart = append(apart, valid(w))
			}
		}
		for b := range 8 {
			words, codes := f.words(q, b)
			columns := q.sums(2)
			for n, w := range codes {
				for j, shift := range shifts {
					levels := v.reg()
					if shift == nil {
						VPERMB(table, w, levels)
					} else {
						VPMULTISHIFTQB(w, shift, levels)
						VPERMB(table, levels, levels)
					}
					k := f.next*n + f.nextList*j
					q.add(columns, k/16, 32*b+k, levels)
				}
			}
			scales := map[int]VecVirtual{}
			for g, p := range f.scales {
				if apart != nil {
					p = place{b / 2, b%2*16 + 8*g}
					scales[p.word] = apart[p.word]
				}
				if scales[p.word] == nil {
					scales[p.word] = valid(words[p.word])
				}
				q.accumulate(2*b+g, columns, g, scale(scales[p.word], p.bit), nil)
			}
		}
	}
}

// multishift is the control of a VPMULTISHIFTQB that takes the eight bits of each word
// from four places on.
func multishift(bits [4]int) VecVirtual {
	var both [8]int
	for i := range both {
		both[i] = i/4*32 + bits[i%4]
	}
	return multishift8(both)
}

// multishift8 is the same for eight places of 64 bits.
func multishift8(bits [8]int) VecVirtual {
	var control uint64
	for i, bit := range bits {
		control |= uint64(bit) << (8 * i)
	}
	r := v.reg()
	v.load(dataVector(fmt.Sprintf("multishift%x", control), control, control), r)
	return r
}

// quadsROCmFP2: a byte has four elements in a row, so the bytes of a word meet activations that lie four apart. A block has
// ten bytes: words are read across two blocks, and those of the second one are shifted together.
func quadsROCmFP2(q *quads) func() {
	const size, next = 10, 5 // bytes of a block, words of two
	var tables [3]VecVirtual // by the place of a code in six bits
	for i := range tables {
		var levels [64]uint8
		for code := range levels {
			levels[code] = rocmFP2[code>>(2*i)&3]
		}
		tables[i] = v.reg()
		v.load(dataBytes(fmt.Sprintf("levels%d_%d", size, i), levels), tables[i])
	}
	valid, scale := rocmScale()
	return func() {
		x := q.apart()
		var words []VecVirtual
		for pair := range 4 {
			for len(words) < next*(pair+1) {
				w := q.words(4*len(words), nil)
				words = append(words, w[:]...)
			}
			w := words[next*pair:]
			low, high := v.reg(), v.reg()
			VPSHRDD(Imm(16), w[3], w[2], low)
			VPSHRDD(Imm(16), w[4], w[3], high)
			for b, codes := range [2][2]VecVirtual{{w[0], w[1]}, {low, high}} {
				sums, block, scales := q.sums(2), 2*pair+b, valid(w[2+2*b])
				for g, c := range codes {
					for i := range 4 {
						levels := v.reg()
						if i == len(tables) {
							VPSRLW(Imm(2), c, c)
						}
						VPERMB(tables[min(i, len(tables)-1)], c, levels)
						for column := range q.x {
							VPDPBUSD_BCST(x[column].Offset(32*block+16*g+4*i), levels, sums[column][g])
						}
					}
					q.accumulate(2*block+g, sums, g, scale(scales, 16*b+8*g), nil)
				}
			}
		}
	}
}

// apart keeps, for each column, the activations of a turn, so that in each 16 those follow each other that lie four apart.
func (q *quads) apart() (columns []Mem) {
	order := dataVector("fourApart", 0x0d0905010c080400, 0x0f0b07030e0a0602)
	for c, x := range q.x {
		var all [4]VecVirtual
		for i := range all {
			all[i] = v.reg()
			VBROADCASTI64X4(Mem{Base: x, Disp: 2 * i * q.u.blockBytes()}, all[i])
			VINSERTI64X4(Imm(1), Mem{Base: x, Disp: (2*i + 1) * q.u.blockBytes()}, all[i], all[i])
			v.shuffle(all[i], order, all[i])
		}
		columns = append(columns, q.keep(c, all)[0])
	}
	return columns
}

func quadsROCmFP3(q *quads) func() {
	return fields{
		size: 14, loads: []load{{order: []int{0, 1, 2, 12, 3, 4, 5, 13, 6, 7, 8, -1, 9, 10, 11}, codes: 4}},
		bits: [][4]int{{0, 3, 6, 9}, {12, 15, 18, 21}}, next: 8, nextList: 4,
		levels: periodic(rocmFP3[:8]), scales: [2]place{{0, 24}, {1, 24}},
	}.each(q)
}

func quadsROCmFP4(q *quads) func() {
	return fields{
		size: 18, loads: []load{{codes: 4}}, apart: 16,
		bits: [][4]int{{0, 8, 16, 24}, {4, 12, 20, 28}}, next: 4, nextList: 16,
		levels: periodic(rocmFP4[:]),
	}.each(q)
}

func quadsROCmFP6(q *quads) func() {
	order := []int{0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11}
	second := []int{2, 3, 4, 14, 5, 6, 7, 15, 8, 9, 10, -1, 11, 12, 13}
	return fields{
		size: 26, loads: []load{{order: order, codes: 4}, {offset: 10, order: second, codes: 4}},
		bits: [][4]int{{0, 6, 12, 18}}, next: 4,
		levels: rocmFP6(), scales: [2]place{{4, 24}, {5, 24}},
	}.each(q)
}

// rocmFP6 are the levels, with a bias of 32: five bits of magnitude and a sign, minus
// zero being -32.
func rocmFP6() (levels [64]uint8) {
	for code := range levels {
		switch {
		case code < 32:
			levels[code] = uint8(32 + code)
		case code > 32:
			levels[code] = uint8(64 - code)
		}
	}
	return levels
}
