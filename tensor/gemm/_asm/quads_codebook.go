package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The types with codebooks. A vector has the numbers of four points of eight elements for each
// of 16 rows. A byte of a plane has one bit of eight elements, so that the codebook is
// small enough to be looked up by permutations, 64 points at a time, and the signs, which
// the file has in such bytes, are one more plane. Up to four planes become levels:
//
//	planes 3, 2, 1, 0 of a point    32 bits
//	two points of a row             a matrix of eight by eight bits
//	times a byte with each bit      eight bytes: codes of four bits of both points
//	the entries of a table          levels of eight elements of eight rows

// points generates a type with a codebook.
type points struct {
	q      *quads
	planes GPVirtual // of the package
	size   int       // points in the codebook
	bits   VecVirtual
	levels VecVirtual // of codes
	scales Mem        // factors of four bits
}

// newPoints makes the constants. levels are those of codes, periodic; scale is that of four bits.
func newPoints(q *quads, planes string, size int, levels [64]uint8, scale func(s int) float32) *points {
	p := &points{q: q, planes: GP64(), size: size, levels: v.reg()}
	MOVQ(NewDataAddr(Symbol{Name: "\u00b7" + planes}, 0), p.planes)
	p.bits = inRegister(bitOrder())
	v.load(dataBytes("levels"+planes, levels), p.levels)
	p.scales = floatTable("scales"+planes, scale)
	return p
}

// lookup returns a plane of the points that vectors of numbers name. The numbers are
// bytes and, for each, masks of their bits from bit 7 on.
func (p *points) lookup(plane int, numbers []VecVirtual, bits [][]OpmaskVirtual) []VecVirtual {
	return p.lookupFrom(plane*p.size, p.size, numbers, bits)
}

func (p *points) lookupFrom(first, n int, numbers []VecVirtual, bits [][]OpmaskVirtual) []VecVirtual {
	if n == 128 {
		low := v.reg()
		v.load(Mem{Base: p.planes, Disp: first}, low)
		var high Op = Mem{Base: p.planes, Disp: first + 64}
		if len(numbers) > 1 {
			high = inRegister(high)
		}
		found := make([]VecVirtual, len(numbers))
		for i, number := range numbers {
			found[i] = low
			if i < len(numbers)-1 {
				found[i] = v.reg()
				VMOVDQA64(low, found[i])
			}
			VPERMT2B(high, number, found[i])
		}
		return found
	}
	low, high := p.lookupFrom(first, n/2, numbers, bits), p.lookupFrom(first+n/2, n/2, numbers, bits)
	for i := range numbers {
		bit := 0
		for 256<<bit < n {
			bit++
		}
		VMOVDQU8(high[i], bits[i][bit], low[i])
	}
	return low
}

// pointOrder is the order of 16 bytes of four rows that have four points each: the first two
// of two rows, their last two, then those of the other rows.
var pointOrder = [16]int{0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15}

// ordered brings bytes of four points of each row into that order.
func ordered(src VecVirtual) VecVirtual {
	return shuffled(src, orderOf("points", func(at int) int { return at }))
}

// orderOf is the table of a shuffle that takes byte from(i) where pointOrder has i.
func orderOf(name string, from func(at int) int) Mem {
	var b [16]uint8
	for i, at := range pointOrder {
		b[i] = uint8(from(at))
	}
	low, high := bytes16(b)
	return dataVector(name, low, high)
}

// alternate returns the even and the odd bytes of a and b, which have eight bytes of
// each row, in the order of points.
func alternate(a, b VecVirtual) (even, odd VecVirtual) {
	of := func(odd int) VecVirtual {
		var index [64]uint8
		for i := range index {
			row, point := pointOrder[i%16]/4, pointOrder[i%16]%4
			index[i] = uint8(point/2*64 + i/16*16 + 4*row + point%2*2 + odd)
		}
		x, r := v.reg(), v.reg()
		v.load(dataBytes(fmt.Sprintf("alternate%d", odd), index), x)
		VMOVDQA64(a, r)
		VPERMT2B(b, x, r)
		return r
	}
	return of(0), of(1)
}

// pairs returns masks of the even and the odd bits of a byte of each row, two for
// each of four points. word has the byte.
func pairs(word VecVirtual, byte int) (even, odd OpmaskVirtual) {
	all := shuffled(word, orderOf(fmt.Sprintf("byte%dOfRow", byte), func(at int) int { return at/4*4 + byte }))
	even, odd = K(), K()
	for i, k := range []OpmaskVirtual{even, odd} {
		VPTESTMB(orderOf(fmt.Sprintf("pairs%d", i), func(at int) int { return 1 << (at%4*2 + i) }), all, k)
	}
	return even, odd
}

// top returns the mask of the top bits of bytes.
func top(bytes VecVirtual) OpmaskVirtual {
	k := K()
	VPMOVB2M(bytes, k)
	return k
}

// multiply multiplies elements k to k+31 and accumulates their one or two groups. planes are those of
// four points of each row in their order.
func (p *points) multiply(k int, planes [4]VecVirtual, scale func(g int) VecVirtual) {
	q := p.q
	var two [2][2]VecVirtual // for even and odd pairs of rows: planes 3 and 2, planes 1 and 0
	for i := range two {
		two[0][i], two[1][i] = v.reg(), v.reg()
		VPUNPCKLBW(planes[2-2*i], planes[3-2*i], two[0][i])
		VPUNPCKHBW(planes[2-2*i], planes[3-2*i], two[1][i])
	}
	groups := 32 / q.u.group
	sums := make([][][2]VecVirtual, len(q.x)) // for each column, group and pair of rows
	for c := range sums {
		sums[c] = make([][2]VecVirtual, groups)
		for g := range groups {
			for rows := range 2 {
				sums[c][g][rows] = v.reg()
				VMOVDQA32(q.zero, sums[c][g][rows])
			}
		}
	}
	for half := range 2 {
		var x [2][]VecVirtual // of each point and column
		for odd := range x {
			for _, column := range q.x {
				z, at := v.reg(), k+8*(2*half+odd)
				VPBROADCASTQ(Mem{Base: column, Disp: at/32*q.u.blockBytes() + at%32}, z)
				x[odd] = append(x[odd], z)
			}
		}
		for rows := range 2 {
			m, codes := v.reg(), [2]VecVirtual{v.reg(), nil}
			if half == 0 {
				VPUNPCKLWD(two[rows][1], two[rows][0], m)
			} else {
				VPUNPCKHWD(two[rows][1], two[rows][0], m)
			}
			codes[1] = affine(p.bits, m)
			VPSRLW(Imm(4), codes[1], codes[0])
			for odd, c := range codes {
				VPERMB(p.levels, c, c)
				for column := range q.x {
					VPDPBUSD(x[odd][column], c, sums[column][half*groups/2][rows])
				}
			}
		}
	}
	for g := range groups {
		columns := make([][4]VecVirtual, len(q.x))
		for c := range columns {
			even, odd := sums[c][g][0], v.reg()
			VSHUFPS(Imm(0xdd), sums[c][g][1], even, odd)
			VSHUFPS(Imm(0x88), sums[c][g][1], even, even)
			VPADDD(odd, even, even)
			columns[c][0] = even
		}
		q.accumulate(k/q.u.group+g, columns, 0, scale(g), nil)
	}
}

// iq2Levels are those of codes with a bit each for 25 or more, for 43, and the sign.
func iq2Levels() [64]uint8 {
	return periodic([]uint8{43 + 8, 43 + 25, 0, 43 + 43, 43 - 8, 43 - 25, 0, 43 - 43, 0, 0, 0, 0, 0, 0, 0, 0})
}

// iq3Levels are those of codes of three bits, and the sign.
func iq3Levels() (levels [64]uint8) {
	for i := range levels {
		level := 2*(i%8) + 1
		if i&8 != 0 {
			level = -level
		}
		levels[i] = uint8(15 + level)
	}
	return levels
}

func iq2Scale(s int) float32 { return (0.5 + float32(s)) / 4 }
func iq3Scale(s int) float32 { return float32(1 + 2*s) }

// signs completes seven signs, moved right, by their parity.
func signs(src VecVirtual, right int) VecVirtual {
	var rows uint64
	for bit := range 7 {
		rows |= 1 << (bit + right) << (8 * (7 - bit))
	}
	rows |= 0x7f << right
	return affine(src, inRegister(dataVector(fmt.Sprintf("parity%d", right), rows, rows)))
}

// each generates a turn: eight times 32 elements, whose planes and scales find generates.
func (p *points) each(find func(n int) (planes [4]VecVirtual, scale func(g int) VecVirtual)) {
	for n := range 8 {
		planes, scale := find(n)
		p.multiply(32*n, planes, scale)
	}
}

func quadsIQ2_XXS(q *quads) func() {
	p := newPoints(q, "iq2xxsPlanes", 256, iq2Levels(), iq2Scale)
	numbers := multishift8([8]int{0, 8, 32, 40, 16, 24, 48, 56})
	sevens := multishift8([8]int{0, 7, 32, 39, 14, 21, 46, 53})
	return func() {
		d := v.reg()
		v.halves(q.u.offset(0), d)
		var words [4]VecVirtual
		p.each(func(n int) (planes [4]VecVirtual, scale func(g int) VecVirtual) {
			if n%2 == 0 {
				words = q.words(2+8*n, nil)
			}
			number, sign, flags := v.reg(), v.reg(), words[n%2*2+1]
			VPMULTISHIFTQB(words[n%2*2], numbers, number)
			VPMULTISHIFTQB(flags, sevens, sign)
			points, bits := []VecVirtual{number}, [][]OpmaskVirtual{{top(number)}}
			planes = [4]VecVirtual{p.lookup(0, points, bits)[0], p.lookup(1, points, bits)[0], signs(sign, 0), q.zero}
			return planes, func(int) VecVirtual { return entry(p.scales, flags, 28, d) }
		})
	}
}

func quadsIQ2_XS(q *quads) func() {
	p := newPoints(q, "iq2xsPlanes", 512, iq2Levels(), iq2Scale)
	one := inRegister(dataVector("ones", 0x0101010101010101, 0x0101010101010101))
	return func() {
		d := v.reg()
		v.halves(q.u.offset(0), d)
		scales := q.words(58, nil)
		var words [4]VecVirtual
		p.each(func(n int) (planes [4]VecVirtual, scale func(g int) VecVirtual) {
			if n%2 == 0 {
				words = q.words(2+8*n, nil)
			}
			number, sign := alternate(words[n%2*2], words[n%2*2+1])
			eighth := K()
			VPTESTMB(one, sign, eighth)
			points, bits := []VecVirtual{number}, [][]OpmaskVirtual{{top(number), eighth}}
			planes = [4]VecVirtual{p.lookup(0, points, bits)[0], p.lookup(1, points, bits)[0], signs(sign, 1), q.zero}
			return planes, func(g int) VecVirtual { return entry(p.scales, scales[2+n/4], n%4*8+4*g, d) }
		})
	}
}

func quadsIQ2_S(q *quads) func() {
	p := newPoints(q, "iq2sPlanes", 1024, iq2Levels(), iq2Scale)
	return func() {
		d := v.reg()
		v.halves(q.u.offset(0), d)
		tail := q.words(66, nil)
		var words, flags [4]VecVirtual
		var low, high []VecVirtual // of two pieces
		p.each(func(n int) (planes [4]VecVirtual, scale func(g int) VecVirtual) {
			if n%4 == 0 {
				words, flags = q.words(2+4*n, nil), q.words(34+4*n, nil)
			}
			if n%2 == 0 {
				var points []VecVirtual
				var bits [][]OpmaskVirtual
				for i := n; i < n+2; i++ {
					number := ordered(words[i%4])
					eighth, ninth := pairs(tail[i/4], i%4)
					points, bits = append(points, number), append(bits, []OpmaskVirtual{top(number), eighth, ninth})
				}
				low, high = p.lookup(0, points, bits), p.lookup(1, points, bits)
			}
			planes = [4]VecVirtual{low[n%2], high[n%2], ordered(flags[n%4]), q.zero}
			return planes, func(g int) VecVirtual { return entry(p.scales, tail[2+n/4], n%4*8+4*g, d) }
		})
	}
}

// quadsIQ3_S: a point has four elements. The codebook has two planes of four bits in one, bit 0 and
// bit 1, and bit 2 twice.
func quadsIQ3_S(q *quads) func() {
	p := newPoints(q, "iq3sPlanes", 512, iq3Levels(), iq3Scale)
	low := constantWord(nibbleMask)
	return func() {
		d := v.reg()
		v.halves(q.u.offset(0), d)
		eighths, scales := q.words(66, nil), q.words(94, nil)
		var words, flags [4]VecVirtual
		p.each(func(n int) (planes [4]VecVirtual, scale func(g int) VecVirtual) {
			if n%2 == 0 {
				words = q.words(2+8*n, nil)
			}
			if n%4 == 0 {
				flags = q.words(74+4*n, nil)
			}
			even, odd := alternate(words[n%2*2], words[n%2*2+1])
			eighthEven, eighthOdd := pairs(eighths[n/4], n%4)
			points, bits := []VecVirtual{even, odd}, [][]OpmaskVirtual{{top(even), eighthEven}, {top(odd), eighthOdd}}
			x, y := p.lookup(0, points, bits), p.lookup(1, points, bits)
			down, up := v.reg(), v.reg()
			VPSRLW(Imm(4), x[0], down)
			VPSLLW(Imm(4), x[1], up)
			planes = [4]VecVirtual{selected(low, x[0], up), selected(low, down, x[1]), selected(low, y[0], y[1]), ordered(flags[n%4])}
			return planes, func(int) VecVirtual { return entry(p.scales, scales[3], 4*n, d) }
		})
	}
}
