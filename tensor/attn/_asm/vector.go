package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// lanes is the number of partial sums of the formulation.
const lanes = 16

// vector is what differs between the instruction sets.
type vector interface {
	name() string
	lanes() int // floats of a register
	reg() VecVirtual
	zero(dst VecVirtual)
	// constant is a value in all lanes, as an operand that may be memory.
	constant(value float32) Op
	// less puts a mask of the lanes where a < b where clear and choose find
	// it. Nothing is less than a NaN.
	less(a VecVirtual, b Op) mask
	// clear zeroes the lanes of the mask.
	clear(m mask, x VecVirtual)
	// choose copies the lanes of the mask from src.
	choose(m mask, src, x VecVirtual)
	and(a Op, b, dst VecVirtual)
	or(a Op, b, dst VecVirtual)
	xor(a Op, b, dst VecVirtual)
	// halfWord brings a float16 to all lanes.
	halfWord(m Mem, dst VecVirtual)
	// halfWords brings a float16 of each of as many keys as there are lanes to
	// a register.
	halfWords(key func(i int) Mem, dst VecVirtual)
	// words brings four bytes of each key to a lane: register i has those from
	// 4*i on, of 32 bytes or the first 16.
	words(key func(i int) Mem) []VecVirtual
	// multiplyPairs adds the products of two int16 in each lane and those in
	// memory.
	multiplyPairs(m Mem, x, sum VecVirtual)
	// multiplyBytes adds the products of four bytes in each lane and the int8
	// in memory, which are at most 64.
	multiplyBytes(m Mem, x, sum VecVirtual)
	// lookUp replaces codes by levels, of which there are 4 or 16. Bits above
	// those of a code do not matter.
	lookUp(x VecVirtual, levels []float32)
	// lookUpHigh is likewise for codes with another bit, of which memory has
	// four bytes if there are 32 levels, and one for eight codes if there are
	// 8. first is the number of the first bit.
	lookUpHigh(x VecVirtual, high Mem, first int, levels []float32)
	// tree adds up the partial sums of several registers, each of a lane or
	// half of one. See dots for the order of results.
	tree(sums []VecVirtual) VecVirtual
	// store stores count groups of four values from the first one on.
	store(x VecVirtual, first, count int, m Mem)
}

type mask = Register

// v is the instruction set that code is generated for.
var v vector

// halves is the registers of 16 floats.
func halves() int { return lanes / v.lanes() }

// data has the read-only memory made so far.
var data = map[string]Mem{}

// dataVector returns memory with 64 bytes of a value.
func dataVector(value uint32) Mem {
	list := make([]uint32, lanes)
	for i := range list {
		list[i] = value
	}
	return dataList(fmt.Sprintf("all%08x", value), list)
}

// dataList returns memory with values, which the name stands for.
func dataList(name string, values []uint32) Mem {
	if m, ok := data[name]; ok {
		return m
	}
	m := GLOBL(name, attr.RODATA|attr.NOPTR)
	for i, value := range values {
		DATA(4*i, U32(value))
	}
	data[name] = m
	return m
}

type avx512 struct{}

func (avx512) name() string        { return "avx512" }
func (avx512) lanes() int          { return 16 }
func (avx512) reg() VecVirtual     { return ZMM() }
func (avx512) zero(dst VecVirtual) { VPXORD(dst, dst, dst) }

func (avx512) constant(value float32) Op {
	r := ZMM()
	VMOVUPS(dataVector(math.Float32bits(value)), r)
	return r
}

func (avx512) less(a VecVirtual, b Op) mask {
	k := K()
	VCMPPS(Imm(lessOrdered), b, a, k)
	return k
}

func (avx512) clear(m mask, x VecVirtual)       { VPXORD(x, x, m, x) }
func (avx512) choose(m mask, src, x VecVirtual) { VMOVAPS(src, m, x) }
func (avx512) and(a Op, b, dst VecVirtual)      { VPANDD(a, b, dst) }
func (avx512) or(a Op, b, dst VecVirtual)       { VPORD(a, b, dst) }
func (avx512) xor(a Op, b, dst VecVirtual)      { VPXORD(a, b, dst) }

func (avx512) halfWord(m Mem, dst VecVirtual) {
	VPBROADCASTW(m, dst.AsY())
	VCVTPH2PS(dst.AsY(), dst)
}

func (avx512) halfWords(key func(i int) Mem, dst VecVirtual) {
	low, high := YMM(), XMM()
	gatherHalves(key, 0, low.AsX().(VecVirtual))
	gatherHalves(key, 8, high)
	VINSERTI32X4(Imm(1), high, low, low)
	VCVTPH2PS(low, dst)
}

// words transposes the words of keys 0 to 7, and those of keys 8 to 15, in
// lanes of 128 bits. These are then put together.
func (avx512) words(key func(i int) Mem) []VecVirtual {
	var half [2][4]VecVirtual
	for h := range half {
		var rows [4]VecVirtual
		for i := range rows {
			rows[i] = ZMM()
			VBROADCASTI64X4(key(8*h+i), rows[i])
			VINSERTI64X4(Imm(1), key(8*h+i+4), rows[i], rows[i])
		}
		half[h] = transpose(rows)
	}
	list := make([]VecVirtual, 8)
	for i := range 4 {
		list[i], list[i+4] = ZMM(), half[0][i]
		VSHUFI32X4(Imm(0x88), half[1][i], half[0][i], list[i])
		VSHUFI32X4(Imm(0xdd), half[1][i], half[0][i], list[i+4])
	}
	return list
}

func (avx512) multiplyPairs(m Mem, x, sum VecVirtual) { VPDPWSSD_BCST(m, x, sum) }
func (avx512) multiplyBytes(m Mem, x, sum VecVirtual) { VPDPBUSD_BCST(m, x, sum) }

func (avx512) lookUp(x VecVirtual, levels []float32) { VPERMPS(table(levels), x, x) }

func (avx512) lookUpHigh(x VecVirtual, high Mem, first int, levels []float32) {
	k, y, half := K(), ZMM(), len(levels)/2
	KMOVW(high.Offset(first/8), k)
	VPERMPS(table(levels[:half]), x, y)
	VPERMPS(table(levels[half:]), x, k, y)
	VMOVAPS(y, x)
}

// tree takes 16 registers A, B, ... of 16 partial sums each:
//
//	[A8 B8], ...           i with i+8: two in a register
//	[A4 B4 C4 D4], ...     i with i+4
//	[A2 E2 | B2 F2 | ...]  i with i+2
//	[A E I M | B F J N | C G K O | D H L P]
func (avx512) tree(s []VecVirtual) VecVirtual {
	s = pairs(s, func(a, b, low, high VecVirtual) {
		VSHUFF32X4(Imm(0x44), b, a, low)
		VSHUFF32X4(Imm(0xee), b, a, high)
	})
	s = pairs(s, func(a, b, low, high VecVirtual) {
		VSHUFF32X4(Imm(0x88), b, a, low)
		VSHUFF32X4(Imm(0xdd), b, a, high)
	})
	return lastPairs(s)
}

func (avx512) store(x VecVirtual, first, count int, m Mem) {
	switch {
	case count == 4:
		VMOVUPS(x, m)
	case count == 2:
		VEXTRACTF64X4(Imm(uint64(first/2)), x, m)
	default:
		VEXTRACTF32X4(Imm(uint64(first)), x, m)
	}
}

type avx2 struct{}

func (avx2) name() string        { return "avx2" }
func (avx2) lanes() int          { return 8 }
func (avx2) reg() VecVirtual     { return YMM() }
func (avx2) zero(dst VecVirtual) { VXORPS(dst, dst, dst) }

func (avx2) constant(value float32) Op { return dataVector(math.Float32bits(value)) }

func (avx2) less(a VecVirtual, b Op) mask {
	m := YMM()
	VCMPPS(Imm(lessOrdered), b, a, m)
	return m
}

func (avx2) clear(m mask, x VecVirtual)       { VANDNPS(x, m.(VecVirtual), x) }
func (avx2) choose(m mask, src, x VecVirtual) { VBLENDVPS(m.(VecVirtual), src, x, x) }
func (avx2) and(a Op, b, dst VecVirtual)      { VANDPS(a, b, dst) }
func (avx2) or(a Op, b, dst VecVirtual)       { VORPS(a, b, dst) }
func (avx2) xor(a Op, b, dst VecVirtual)      { VXORPS(a, b, dst) }

func (avx2) halfWord(m Mem, dst VecVirtual) {
	VPBROADCASTW(m, dst.AsX())
	VCVTPH2PS(dst.AsX(), dst)
}

func (avx2) halfWords(key func(i int) Mem, dst VecVirtual) {
	x := XMM()
	gatherHalves(key, 0, x)
	VCVTPH2PS(x, dst)
}

func (avx2) words(key func(i int) Mem) []VecVirtual {
	var rows [4]VecVirtual
	for i := range rows {
		rows[i] = YMM()
		VBROADCASTI128(key(i), rows[i])
		VINSERTI128(Imm(1), key(i+4), rows[i], rows[i])
	}
	list := transpose(rows)
	return list[:]
}

func (avx2) multiplyPairs(m Mem, x, sum VecVirtual) {
	t := YMM()
	VPBROADCASTD(m, t)
	VPMADDWD(x, t, t)
	VPADDD(t, sum, sum)
}

func (avx2) multiplyBytes(m Mem, x, sum VecVirtual) {
	t := YMM()
	VPBROADCASTD(m, t)
	VPMADDUBSW(t, x, t)
	VPMADDWD(dataVector(0x00010001), t, t)
	VPADDD(t, sum, sum)
}

// gatherHalves gathers 16 bits of each of eight keys, in general registers:
// the vector units are busy enough.
func gatherHalves(key func(i int) Mem, first int, dst VecVirtual) {
	for i := range 2 {
		all, one := GP64(), GP64()
		MOVWQZX(key(first+4*i+3), all)
		for k := 2; k >= 0; k-- {
			MOVWQZX(key(first+4*i+k), one)
			SHLQ(Imm(16), all)
			ORQ(one, all)
		}
		if i == 0 {
			VMOVQ(all, dst)
		} else {
			VPINSRQ(Imm(1), all, dst, dst)
		}
	}
}

// transpose exchanges, in each four by four words that a lane of 128 bits has
// in the four registers, rows and columns.
func transpose(a [4]VecVirtual) [4]VecVirtual {
	low01, high01, low23, high23 := v.reg(), a[0], v.reg(), a[2]
	VPUNPCKLDQ(a[1], a[0], low01)
	VPUNPCKHDQ(a[1], a[0], high01)
	VPUNPCKLDQ(a[3], a[2], low23)
	VPUNPCKHDQ(a[3], a[2], high23)
	b := [4]VecVirtual{a[1], low01, a[3], high01}
	VPUNPCKLQDQ(low23, low01, b[0])
	VPUNPCKHQDQ(low23, low01, b[1])
	VPUNPCKLQDQ(high23, high01, b[2])
	VPUNPCKHQDQ(high23, high01, b[3])
	return b
}

// lookUp chooses between the halves of a table by bit 3.
func (avx2) lookUp(x VecVirtual, levels []float32) {
	if len(levels) <= 8 {
		VPERMPS(table(levels), x, x)
		return
	}
	low := YMM()
	VPERMPS(table(levels[:8]), x, low)
	top := YMM()
	VPSLLD(Imm(28), x, top)
	VPERMPS(table(levels[8:]), x, x)
	VBLENDVPS(top, x, low, x)
}

func (l avx2) lookUpHigh(x VecVirtual, high Mem, first int, levels []float32) {
	bit, half := YMM(), len(levels)/2
	if half == 16 {
		VPBROADCASTD(high, bit)
	} else {
		VPBROADCASTB(high, bit)
	}
	VPSLLVD(toTop(first), bit, bit)
	low := YMM()
	VMOVAPS(x, low)
	l.lookUp(low, levels[:half])
	l.lookUp(x, levels[half:])
	VBLENDVPS(bit, x, low, x)
}

// toTop is memory with what shifts bits first, first+1, ... to the highest.
func toTop(first int) Mem {
	list := make([]uint32, lanes)
	for i := range list {
		list[i] = uint32(max(31-first-i, 0))
	}
	return dataList(fmt.Sprintf("top%d", first), list)
}

// tree takes eight registers A, B, ... of eight partial sums each:
//
//	[A4 | B4], ...       i with i+4
//	[A2 C2 | B2 D2], ... i with i+2
//	[A C E G | B D F H]
func (avx2) tree(s []VecVirtual) VecVirtual {
	s = pairs(s, func(a, b, low, high VecVirtual) {
		VPERM2F128(Imm(0x20), b, a, low)
		VPERM2F128(Imm(0x31), b, a, high)
	})
	return lastPairs(s)
}

func (avx2) store(x VecVirtual, first, count int, m Mem) {
	if count == 2 {
		VMOVUPS(x, m)
		return
	}
	VEXTRACTF128(Imm(uint64(first)), x, m)
}

// lessOrdered is the predicate "less than, and quiet about NaNs".
const lessOrdered = 0x11

// pairs halves the number of registers: split brings together what is to be
// added of two.
func pairs(s []VecVirtual, split func(a, b, low, high VecVirtual)) []VecVirtual {
	var sums []VecVirtual
	for i := 0; i < len(s); i += 2 {
		low, high := v.reg(), v.reg()
		split(s[i], s[i+1], low, high)
		VADDPS(high, low, low)
		sums = append(sums, low)
	}
	return sums
}

// lastPairs adds up partial sums of four within their 128 bits.
func lastPairs(s []VecVirtual) VecVirtual {
	s = pairs(s, func(a, b, low, high VecVirtual) {
		VUNPCKLPD(b, a, low)
		VUNPCKHPD(b, a, high)
	})
	s = pairs(s, func(a, b, low, high VecVirtual) {
		VSHUFPS(Imm(0x88), b, a, low)
		VSHUFPS(Imm(0xdd), b, a, high)
	})
	return s[0]
}
