package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A product of one column or two, as in decoding, on AVX-512 with VBMI, VBMI2 and GFNI.
//
// Vectors hold levels of one row, a quarter of 16 bytes for each of four
// groups. The products of a quarter are summed in its four 32-bit lanes, so
// four rows make 16 sums of four; a tree of additions turns four such vectors
// into one, and an exchange of quarters turns four of these into one vector
// for each group, with a lane for each row:
//
//	row 0       g0 g0 g0 g0 | g1 g1 g1 g1 | g2 g2 g2 g2 | g3 g3 g3 g3
//	rows 0-3    g0, rows 0-3 | g1, rows 0-3 | g2, rows 0-3 | g3, rows 0-3
//	group 0     rows 0-3     | rows 4-7     | rows 8-11    | rows 12-15
//
// A row is read in runs of 64 bytes, wherever its blocks begin.

type quadType struct {
	name string
	form
	bytes, visits int
	columns       int // that there are registers for
	body          func(*quads) func()
	scheduled     bool // it gains by it: see schedule
}

// quads generates the function of one type that multiplies 256 elements of
// each of 16 rows at a time.
type quads struct {
	u      *unpacker
	x      []GPVirtual  // of each column
	ahead  GPVirtual    // what is fetched
	acc    []VecVirtual // of each column
	zero   VecVirtual
	lanes  [4]OpmaskVirtual // of each quarter but the first
	visits int              // how many times a turn looks at each row
	looks  int              // of this turn, so far
}

// quadTypes lists the types. bytes are those of 256 elements; visits is how
// many times a row is looked at.
var quadTypes = []quadType{
	{"Q4_0", form{group: 32, top: 15}, 144, 2, 2, quadsQ4_0, false},
	{"Q4_1", form{group: 32, top: 15, min: true}, 160, 2, 2, quadsQ4_1, false},
	{"Q5_0", form{group: 32, top: 31}, 176, 2, 2, quadsQ5_0, false},
	{"Q5_1", form{group: 32, top: 31, min: true}, 192, 2, 1, quadsQ5_1, false},
	{"Q8_0", form{group: 32, top: 255, wide: true}, 272, 2, 2, quadsQ8_0, false},
	{"Q2_K", form{group: 16, top: 15, min: true}, 84, 4, 2, quadsQ2_K, true},
	{"Q3_K", form{group: 16, top: 15}, 110, 6, 2, quadsQ3_K, true},
	{"Q4_K", form{group: 32, top: 15, min: true}, 144, 2, 2, quadsQ4_K, false},
	{"Q5_K", form{group: 32, top: 31, min: true}, 176, 2, 2, quadsQ5_K, false},
	{"Q6_K", form{group: 16, top: 63}, 210, 4, 2, quadsQ6_K, true},
	{"IQ4_NL", form{group: 32, top: 255}, 144, 2, 2, quadsIQ4_NL, false},
	{"IQ4_XS", form{group: 32, top: 255}, 136, 2, 2, quadsIQ4_XS, true},
	{"IQ3_S", form{group: 32, top: 31}, 110, 8, 1, quadsIQ3_S, true},
	{"IQ2_XXS", form{group: 32, top: 127}, 66, 4, 1, quadsIQ2_XXS, true},
	{"IQ2_XS", form{group: 16, top: 127}, 74, 5, 1, quadsIQ2_XS, true},
	{"IQ2_S", form{group: 16, top: 127}, 82, 5, 1, quadsIQ2_S, true},
	{"MXFP4", form{group: 32, top: 31}, 136, 2, 2, quadsMXFP4, false},
	{"Q2_0_ROCMFPX", form{group: 16, top: 15}, 80, 5, 2, quadsROCmFP2, true},
	{"Q3_0_ROCMFPX", form{group: 16, top: 15}, 112, 8, 2, quadsROCmFP3, true},
	{"Q4_0_ROCMFP4", form{group: 16, top: 31}, 144, 9, 2, quadsROCmFP4, true},
	{"Q6_0_ROCMFPX", form{group: 16, top: 63}, 208, 16, 2, quadsROCmFP6, true},
	{"Q4_0_ROCMFP4_FAST", form{group: 32, top: 31}, 136, 2, 1, quadsROCmFP4Fast, false},
}

// hasQuads reports whether the instruction set has that function for a type.
func hasQuads(name string) bool {
	return v.rows() == tileRows && slices.ContainsFunc(quadTypes, func(t quadType) bool { return t.name == name })
}

// quadDots generates them all.
func quadDots() {
	for _, t := range quadTypes {
		fmt.Fprintf(&tables.quads, "\ttensor.%s: {", t.name)
		for n := 1; n <= t.columns; n++ {
			name := fmt.Sprintf("DotQuads%sx%d", t.name, n)
			quadDot(name, n, t)
			fmt.Fprintf(&tables.quads, "%s%s, ", v.name(), name)
		}
		fmt.Fprintf(&tables.quads, "},\n")
	}
}

func quadDot(name string, n int, t quadType) {
	dotFunction(name)
	if t.scheduled {
		scheduled[v.name()+name] = true
	}
	u := newUnpacker(t.form, 256, t.bytes)
	q := &quads{u: u, zero: v.reg(), visits: t.visits}
	v.zero(q.zero)
	for range n {
		q.acc = append(q.acc, v.reg())
	}
	for l := 1; l < 4; l++ {
		q.lanes[l] = K()
		bits := GP32()
		MOVL(U32(15<<(4*l)), bits)
		KMOVW(bits, q.lanes[l])
	}
	body := t.body(q)
	u.eachTile(func() {
		for _, acc := range q.acc {
			v.zero(acc)
		}
		q.ahead = GP64()
		Load(Param("ahead"), q.ahead)
		ADDQ(parameter(Param("w").Base()), q.ahead)
		q.x = columnPointers("x", 0, n)
		u.loop(func() {
			q.looks = 0
			body()
			if q.looks != tileRows*q.visits { // else not all that is ahead is fetched
				panic(fmt.Sprintf("%s: %d looks at %d rows", name, q.looks, tileRows))
			}
			for _, x := range q.x {
				ADDQ(U32(256/32*u.blockBytes()), x)
			}
			ADDQ(U32(tileRows*t.bytes), q.ahead)
		}, func() {})
		store(q.acc)
	})
	VZEROUPPER()
	RET()
}

// row loads 64 bytes of a row, and fetches what is due.
func (q *quads) row(r, offset int) VecVirtual {
	q.fetch()
	z := v.reg()
	v.load(q.u.at(r, offset), z)
	return z
}

// fetch fetches what a look at a row stands for: some lines of what is ahead, in the order of their addresses.
func (q *quads) fetch() {
	turn, looks := tileRows*q.u.bytes, tileRows*q.visits
	from, end := turn*q.looks/looks, turn*(q.looks+1)/looks
	for at := (from + 63) &^ 63; at < end; at += 64 {
		PREFETCHT0(Mem{Base: q.ahead, Disp: at})
	}
	q.looks++
}

// activations returns, for each column, the activations that multiply levels:
// in each quarter 16 from the elements that are listed. Their bytes are from on in
// a block.
func (q *quads) activations(k [4]int, from int) (columns []VecVirtual) {
	for _, x := range q.x {
		z := v.reg()
		for l, k := range k {
			m := Mem{Base: x, Disp: k/32*q.u.blockBytes() + from + k%32}
			if l == 0 {
				VBROADCASTI32X4(m, z)
			} else {
				VBROADCASTI32X4(m, q.lanes[l], z)
			}
		}
		columns = append(columns, z)
	}
	return columns
}

// multiply returns, for each column, the sums of products of four groups, a
// lane for each row. row generates the levels of one row: a vector for each
// list of elements, as those for activations.
func (q *quads) multiply(elements [][4]int, row func(r int) []VecVirtual) (columns [][4]VecVirtual) {
	return q.multiplyAll([][][4]int{elements}, func(r int) [][]VecVirtual { return [][]VecVirtual{row(r)} })[0]
}

// multiplyAll is multiply for several fours of groups, whose levels come of one look at a row.
func (q *quads) multiplyAll(fours [][][4]int, row func(r int) [][]VecVirtual) (sums [][][4]VecVirtual) {
	parts := q.u.form.bytes()
	x := make([][][][]VecVirtual, len(fours))
	for f, elements := range fours {
		x[f] = make([][][]VecVirtual, len(parts))
		for p, from := range parts {
			for _, k := range elements {
				x[f][p] = append(x[f][p], q.activations(k, from))
			}
		}
		sums = append(sums, make([][4]VecVirtual, len(q.x)))
	}
	for j := range 4 {
		lanes := make([][][4]VecVirtual, len(fours))
		for i := range 4 {
			for f, levels := range row(4*j + i) {
				if i == 0 {
					lanes[f] = make([][4]VecVirtual, len(q.x))
				}
				for c := range q.x {
					z := v.reg()
					VMOVDQA32(q.zero, z)
					for p := range parts {
						if p > 0 { // high bytes come first
							VPSLLD(Imm(8), z, z)
						}
						for h, u := range levels {
							VPDPBUSD(x[f][p][h][c], u, z)
						}
					}
					lanes[f][c][i] = z
				}
			}
		}
		for f := range fours {
			for c := range q.x {
				sums[f][c][j] = tree(lanes[f][c])
			}
		}
	}
	for f := range fours {
		for c := range q.x {
			sums[f][c] = exchange(sums[f][c])
		}
	}
	return sums
}

// tree adds up the four lanes of each quarter: lane i of a quarter of the
// result is that of vector i.
func tree(sums [4]VecVirtual) VecVirtual {
	var t [2]VecVirtual
	for i := range t {
		t[i] = v.reg()
		high := v.reg()
		VPUNPCKLDQ(sums[2*i+1], sums[2*i], t[i])
		VPUNPCKHDQ(sums[2*i+1], sums[2*i], high)
		VPADDD(high, t[i], t[i])
	}
	high := v.reg()
	VPUNPCKHQDQ(t[1], t[0], high)
	VPUNPCKLQDQ(t[1], t[0], t[0])
	VPADDD(high, t[0], t[0])
	return t[0]
}

// exchange makes quarter i of vector j quarter j of vector i.
func exchange(a [4]VecVirtual) (b [4]VecVirtual) {
	var halves [4]VecVirtual
	for i := range halves {
		halves[i], b[i] = v.reg(), v.reg()
		VSHUFI32X4(Imm([]uint64{0x44, 0xee}[i/2]), a[2*(i%2)+1], a[2*(i%2)], halves[i])
	}
	for i := range b {
		VSHUFI32X4(Imm([]uint64{0x88, 0xdd}[i%2]), halves[i/2*2+1], halves[i/2*2], b[i])
	}
	return b
}

// divide moves the sums of a quarter right, which loses nothing as their levels were that much to the left.
func (q *quads) divide(columns [][4]VecVirtual, quarter, right int) {
	for c := range columns {
		if right > 0 {
			VPSRAD(Imm(uint64(right)), columns[c][quarter], columns[c][quarter])
		}
	}
}

// accumulate adds the sums of group g, times its scales, to the results, and
// its minimums. They are memory of the tile or registers.
func (q *quads) accumulate(g int, columns [][4]VecVirtual, quarter int, scale, min Op) {
	for c, x := range q.x {
		at := g * q.u.group / 32 * q.u.blockBytes()
		correction := Mem{Base: x, Disp: at + 36 + 4*(g%(32/q.u.group))}
		sums, t := columns[c][quarter], v.reg()
		if !q.u.min {
			VPADDD_BCST(correction, sums, sums)
		}
		VCVTDQ2PS(sums, sums)
		VBROADCASTSS(Mem{Base: x, Disp: at + 32}, t)
		VMULPS(scale, t, t)
		VFMADD231PS(t, sums, q.acc[c])
		if q.u.min {
			VBROADCASTSS(correction, t)
			VFMADD231PS(min, t, q.acc[c])
		}
	}
}

// stored is accumulate with the scale and the minimum that the unpacker has stored.
func (q *quads) stored(g int, columns [][4]VecVirtual, quarter int) {
	m := Mem{Base: q.u.tile, Disp: g*q.u.groupBytes() + 16*q.u.group}
	q.accumulate(g, columns, quarter, m, Mem{Base: m.Base, Disp: m.Disp + 64})
}

// keep stores four vectors, as number n of those that a turn keeps in the tile.
func (q *quads) keep(n int, all [4]VecVirtual) (kept [4]Mem) {
	for i, z := range all {
		kept[i] = Mem{Base: q.u.tile, Disp: 256*n + 64*i}
		v.store(z, kept[i])
	}
	return kept
}

// halves are two bytes of four blocks of each row: a word for each row and, in
// each quarter, a block, for rows 0 to 7 and 8 to 15.
type halves [2]VecVirtual

// add takes those of one row, which index finds in z: they fill each quarter.
func (h *halves) add(q *quads, r int, z, index VecVirtual) {
	VPSHUFB(index, z, h.word(q, r), h[r/8])
}

// merge is add for a row whose two bytes are in place.
func (h *halves) merge(q *quads, r int, z VecVirtual) {
	VMOVDQU8(z, h.word(q, r), h[r/8])
}

// word returns the mask of bytes of row r.
func (h *halves) word(q *quads, r int) OpmaskVirtual {
	if r%8 == 0 {
		h[r/8] = v.reg()
		VMOVDQA64(q.zero, h[r/8])
	}
	k := K()
	KMOVQ(wordMasks().Offset(8*(r%8)), k)
	return k
}

// wordMasks select, as bytes, word r of each quarter.
func wordMasks() Mem {
	const name = "wordMasks"
	if m, ok := data[name]; ok {
		return m
	}
	m := GLOBL(name, attr.RODATA|attr.NOPTR)
	for r := range 8 {
		DATA(8*r, U64(0x0003000300030003<<(2*r)))
	}
	data[name] = m
	return m
}

// floats returns those of block l, as float32, a lane for each row. convert is that
// of blocks32.
func (h *halves) floats(l int, convert func(words VecVirtual) VecVirtual) VecVirtual {
	var words [64]uint8
	for i := range 4 {
		quad := []int{2 * l, 2*l + 1, 8 + 2*l, 8 + 2*l + 1}[i]
		words[8*i] = uint8(quad)
	}
	z := v.reg()
	v.load(dataBytes(fmt.Sprintf("quarter%d", l), words), z)
	VPERMI2Q(h[1], h[0], z)
	f := v.reg()
	if convert != nil {
		VPMOVZXWD(z.AsY(), f)
		return convert(f)
	}
	VCVTPH2PS(z.AsY(), f)
	return f
}

// dataBytes returns 64 bytes of read-only memory.
func dataBytes(name string, b [64]uint8) Mem {
	if m, ok := data[name]; ok {
		return m
	}
	m := GLOBL(name, attr.RODATA|attr.NOPTR)
	for i, b := range b {
		DATA(i, U8(b))
	}
	data[name] = m
	return m
}

// floatTable returns 16 values of float32 for entry.
func floatTable(name string, value func(i int) float32) Mem {
	var table [64]uint8
	for i := range 16 {
		binary.LittleEndian.PutUint32(table[4*i:], math.Float32bits(value(i)))
	}
	return dataBytes(name, table)
}

// entry returns d times the entry of a table that the four bits from right on of a word name.
func entry(table Mem, word VecVirtual, right int, d VecVirtual) VecVirtual {
	s := v.reg()
	if right > 0 {
		VPSRLD(Imm(uint64(right)), word, s)
		word = s
	}
	VPERMPS(table, word, s)
	VMULPS(d, s, s)
	return s
}

// matrix returns one for affine, which moves bits of each byte; the others
// become zero. The four quarters may differ.
func matrix(quarters [4]bitMoves) VecVirtual {
	name := "affine"
	var matrices [64]uint8
	for l, moves := range quarters {
		for _, m := range moves {
			name += fmt.Sprintf("_%d%d%d", l, m.from, m.to)
			matrices[16*l+7-m.to] = 1 << m.from
			matrices[16*l+15-m.to] = 1 << m.from
		}
	}
	m := v.reg()
	v.load(dataBytes(name, matrices), m)
	return m
}

// affine multiplies each byte of src with a matrix.
func affine(src, matrix VecVirtual) VecVirtual {
	r := v.reg()
	VGF2P8AFFINEQB(Imm(0), matrix, src, r)
	return r
}

// selected overwrites a with the bits of b that mask has not.
func selected(mask Op, a, b VecVirtual) VecVirtual {
	const cThenAElseB = 0xe4
	VPTERNLOGD(Imm(cThenAElseB), mask, b, a)
	return a
}

type bitMoves []struct{ from, to int }

// field moves n bits.
func field(n, from, to int) (moves bitMoves) {
	for i := range n {
		moves = append(moves, struct{ from, to int }{from + i, to + i})
	}
	return moves
}

// all are the same for each quarter.
func all(m bitMoves) [4]bitMoves { return [4]bitMoves{m, m, m, m} }
