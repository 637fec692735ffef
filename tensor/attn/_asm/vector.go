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
	name := fmt.Sprintf("all%08x", value)
	if m, ok := data[name]; ok {
		return m
	}
	m := GLOBL(name, attr.RODATA|attr.NOPTR)
	for i := range lanes {
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
