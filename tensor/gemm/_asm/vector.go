package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// vector is what differs between the instruction sets for code that works on
// vectors as wide as there are.
type vector interface {
	name() string
	rows() int // 32-bit lanes, each a row of weights
	reg() VecVirtual
	load(m Mem, dst VecVirtual)
	store(src VecVirtual, m Mem)
	zero(dst VecVirtual)
	and(a, b Op, dst VecVirtual)
	// andNot computes b without the bits of a.
	andNot(a, b Op, dst VecVirtual)
	or(a, b Op, dst VecVirtual)
	xor(a, b Op, dst VecVirtual)
	// insert sets lane, 128 bits, of dst. Lane 0 comes first.
	insert(lane int, m Mem, dst VecVirtual)
	// beginInsert64 comes once before insert64 in a function.
	beginInsert64()
	// insert64 is insert for 64 bits, twice.
	insert64(lane int, m Mem, dst VecVirtual)
	// insertRegister sets lane, 128 bits, of dst.
	insertRegister(lane int, src, dst VecVirtual)
	// bytesUpTo copies the bytes that are not above those of limit, and clears the others.
	bytesUpTo(limit Op, src, dst VecVirtual)
	// addWhere adds value to the bytes of dst where a bit of bits is set in
	// flags.
	addWhere(flags VecVirtual, bits, value Op, dst VecVirtual)
	// negateWhere subtracts the bytes of dst from value there.
	negateWhere(flags VecVirtual, bits, value Op, dst VecVirtual)
	// beginGather comes once before a gather in a function.
	beginGather()
	// gather32 loads the words that src has the numbers of, gather64 double
	// words.
	gather32(table GPVirtual, src, dst VecVirtual)
	gather64(table GPVirtual, src, dst VecVirtual)
	// shuffle is a VPSHUFB by a constant.
	shuffle(src VecVirtual, index Op, dst VecVirtual)
	// repeat loads 128 bits into every lane of 128 bits.
	repeat(m Mem, dst VecVirtual)
	// widen converts the f16 in the low half of each 32-bit lane to float32.
	widen(src, dst VecVirtual)
	// halves gathers an f16 from each row and converts them to float32.
	halves(at func(row int) Mem, dst VecVirtual)
}

// v is the instruction set that code is generated for.
var v vector

// constant returns a 32-bit value in all lanes: in a register where there are
// many, else in memory.
func constant(value uint32) Op {
	if v.rows() < tileRows {
		both := uint64(value)<<32 | uint64(value)
		return dataVector(fmt.Sprintf("vector%08x", value), both, both)
	}
	r := v.reg()
	VPBROADCASTD(dataWord(value), r)
	return r
}

// table returns 16 bytes in all lanes of 128 bits, as constant does.
func table(name string, low, high uint64) Op {
	m := dataVector(name, low, high)
	if v.rows() < tileRows {
		return m
	}
	r := v.reg()
	v.repeat(m, r)
	return r
}

// inRegister returns a constant in a register.
func inRegister(c Op) VecVirtual {
	if m, ok := c.(Mem); ok {
		r := v.reg()
		v.load(m, r)
		return r
	}
	return c.(VecVirtual)
}

// bytes16 packs a table of 16 bytes.
func bytes16(b [16]uint8) (low, high uint64) {
	for i := range 8 {
		low |= uint64(b[i]) << (8 * i)
		high |= uint64(b[8+i]) << (8 * i)
	}
	return low, high
}

// dataWord returns read-only memory that holds value.
func dataWord(value uint32) Mem {
	name := fmt.Sprintf("word%08x", value)
	if m, ok := data[name]; ok {
		return m
	}
	data[name] = ConstData(name, U32(value))
	return data[name]
}

// dataVector returns 16 bytes of read-only memory, repeated to 64.
func dataVector(name string, low, high uint64) Mem {
	if m, ok := data[name]; ok {
		return m
	}
	m := GLOBL(name, attr.RODATA|attr.NOPTR)
	for i := range 4 {
		DATA(16*i, U64(low))
		DATA(16*i+8, U64(high))
	}
	data[name] = m
	return m
}

// data has the read-only memory made so far.
var data = map[string]Mem{}

type avx512 struct{}

func (avx512) name() string                   { return "avx512" }
func (avx512) rows() int                      { return 16 }
func (avx512) reg() VecVirtual                { return ZMM() }
func (avx512) load(m Mem, dst VecVirtual)     { VMOVDQU32(m, dst) }
func (avx512) store(src VecVirtual, m Mem)    { VMOVDQU32(src, m) }
func (avx512) zero(dst VecVirtual)            { VPXORD(dst, dst, dst) }
func (avx512) and(a, b Op, dst VecVirtual)    { VPANDD(a, b, dst) }
func (avx512) andNot(a, b Op, dst VecVirtual) { VPANDND(b, a, dst) }

// allLanes selects all lanes of a gather, which clears its mask.
var allLanes OpmaskVirtual

func (avx512) beginGather() {
	allLanes = K()
	KXNORW(allLanes, allLanes, allLanes)
}

func (avx512) gather32(table GPVirtual, src, dst VecVirtual) {
	k := K()
	KMOVW(allLanes, k)
	VMOVDQA32(src, dst)
	VPGATHERDD(Mem{Base: table, Index: src, Scale: 4}, k, dst)
}

func (avx512) gather64(table GPVirtual, src, dst VecVirtual) {
	k := K()
	KMOVW(allLanes, k)
	VMOVDQA32(src, dst)
	VPGATHERQQ(Mem{Base: table, Index: src, Scale: 8}, k, dst)
}

func (avx512) shuffle(src VecVirtual, index Op, dst VecVirtual) { VPSHUFB(index, src, dst) }
func (avx512) or(a, b Op, dst VecVirtual)                       { VPORD(a, b, dst) }
func (avx512) xor(a, b Op, dst VecVirtual)                      { VPXORD(a, b, dst) }
func (avx512) insert(lane int, m Mem, dst VecVirtual) {
	if lane == 0 {
		VBROADCASTI32X4(m, dst)
		return
	}
	VINSERTI32X4(Imm(uint64(lane)), m, dst, dst)
}

func (avx512) insert64(lane int, m Mem, dst VecVirtual) {
	if lane == 0 {
		VPBROADCASTQ(m, dst)
		return
	}
	VPBROADCASTQ(m, laneMasks[lane], dst)
}

// laneMasks select 64-bit words of a lane.
var laneMasks [4]OpmaskVirtual

func (avx512) beginInsert64() {
	for lane := 1; lane < 4; lane++ {
		bits := GP32()
		laneMasks[lane] = K()
		MOVL(U32(3<<(2*lane)), bits)
		KMOVW(bits, laneMasks[lane])
	}
}

func (avx512) insertRegister(lane int, src, dst VecVirtual) {
	VINSERTI32X4(Imm(uint64(lane)), src.AsX(), dst, dst)
}

func (avx512) bytesUpTo(limit Op, src, dst VecVirtual) {
	const atMost = 2
	k := K()
	VPCMPUB(Imm(atMost), limit, src, k)
	VMOVDQU8_Z(src, k, dst)
}

func (avx512) addWhere(flags VecVirtual, bits, value Op, dst VecVirtual) {
	k := K()
	VPTESTMB(bits, flags, k)
	VPADDB(value, dst, k, dst)
}

func (avx512) negateWhere(flags VecVirtual, bits, value Op, dst VecVirtual) {
	k := K()
	VPTESTMB(bits, flags, k)
	VPSUBB(dst, value, k, dst)
}

func (avx512) repeat(m Mem, dst VecVirtual) { VBROADCASTI32X4(m, dst) }

func (avx512) widen(src, dst VecVirtual) {
	t := YMM()
	VPMOVDW(src, t)
	VCVTPH2PS(t, dst)
}

func (avx512) halves(at func(row int) Mem, dst VecVirtual) {
	low, high := YMM(), YMM()
	gatherHalves(at, 0, low)
	gatherHalves(at, 8, high)
	VINSERTI128(Imm(1), high.AsX(), low, low)
	VCVTPH2PS(low, dst)
}

type avx2 struct{}

func (avx2) name() string                   { return "avx2" }
func (avx2) rows() int                      { return 8 }
func (avx2) reg() VecVirtual                { return YMM() }
func (avx2) load(m Mem, dst VecVirtual)     { VMOVDQU(m, dst) }
func (avx2) store(src VecVirtual, m Mem)    { VMOVDQU(src, m) }
func (avx2) zero(dst VecVirtual)            { VPXOR(dst, dst, dst) }
func (avx2) and(a, b Op, dst VecVirtual)    { VPAND(a, b, dst) }
func (avx2) andNot(a, b Op, dst VecVirtual) { VPANDN(b, a, dst) }
func (avx2) beginGather()                   {}

func (avx2) gather32(table GPVirtual, src, dst VecVirtual) {
	mask := inRegister(constant(1<<32 - 1))
	VMOVDQA(src, dst)
	VPGATHERDD(mask, Mem{Base: table, Index: src, Scale: 4}, dst)
}

func (avx2) gather64(table GPVirtual, src, dst VecVirtual) {
	mask := inRegister(constant(1<<32 - 1))
	VMOVDQA(src, dst)
	VPGATHERQQ(mask, Mem{Base: table, Index: src, Scale: 8}, dst)
}

func (avx2) shuffle(src VecVirtual, index Op, dst VecVirtual) { VPSHUFB(index, src, dst) }
func (avx2) or(a, b Op, dst VecVirtual)                       { VPOR(a, b, dst) }
func (avx2) xor(a, b Op, dst VecVirtual)                      { VPXOR(a, b, dst) }
func (avx2) insert(lane int, m Mem, dst VecVirtual) {
	if lane == 0 {
		VBROADCASTI128(m, dst)
		return
	}
	VINSERTI128(Imm(uint64(lane)), m, dst, dst)
}

func (avx2) beginInsert64() {}

func (avx2) insert64(lane int, m Mem, dst VecVirtual) {
	if lane == 0 {
		VPBROADCASTQ(m, dst)
		return
	}
	t := YMM()
	VPBROADCASTQ(m, t)
	VPBLENDD(Imm(0xf0), t, dst, dst)
}

func (avx2) insertRegister(lane int, src, dst VecVirtual) {
	VINSERTI128(Imm(uint64(lane)), src.AsX(), dst, dst)
}

func (avx2) bytesUpTo(limit Op, src, dst VecVirtual) {
	VPMINUB(limit, src, dst)
	VPCMPEQB(src, dst, dst)
	VPAND(src, dst, dst)
}

func (avx2) addWhere(flags VecVirtual, bits, value Op, dst VecVirtual) {
	t := YMM()
	VPAND(bits, flags, t)
	VPCMPEQB(bits, t, t)
	VPAND(value, t, t)
	VPADDB(t, dst, dst)
}

// negateWhere: value - u is ^u + value + 1.
func (avx2) negateWhere(flags VecVirtual, bits, value Op, dst VecVirtual) {
	t, one := YMM(), YMM()
	VPAND(bits, flags, t)
	VPCMPEQB(bits, t, t)
	VPXOR(t, dst, dst)
	VPAND(value, t, one)
	VPADDB(one, dst, dst)
	VPSUBB(t, dst, dst)
}

func (avx2) repeat(m Mem, dst VecVirtual) { VBROADCASTI128(m, dst) }

func (avx2) widen(src, dst VecVirtual) {
	// The low halves of a lane of 128 bits go to its low 64 bits, those of the
	// upper lane then next to those of the lower.
	VPSHUFB(dataVector("lowHalves", 0x0d0c090805040100, 0x8080808080808080), src, dst)
	VPERMQ(Imm(0x08), dst, dst)
	VCVTPH2PS(dst.AsX(), dst)
}

func (avx2) halves(at func(row int) Mem, dst VecVirtual) {
	t := YMM()
	gatherHalves(at, 0, t)
	VCVTPH2PS(t.AsX(), dst)
}

// gatherHalves gathers 16 bits from each of eight rows, in general registers:
// the vector units are busy enough.
func gatherHalves(at func(row int) Mem, first int, dst VecVirtual) {
	VPXOR(dst, dst, dst)
	for i := range 2 {
		all, one := GP64(), GP64()
		MOVWQZX(at(first+4*i+3), all)
		for r := 2; r >= 0; r-- {
			MOVWQZX(at(first+4*i+r), one)
			SHLQ(Imm(16), all)
			ORQ(one, all)
		}
		VPINSRQ(Imm(uint64(i)), all, dst.AsX(), dst.AsX())
	}
}
