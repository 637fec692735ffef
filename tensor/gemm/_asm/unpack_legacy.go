package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const nibbleMask = 0x0f0f0f0f

func unpackQ4_0(u *unpacker) func() {
	nibble := constant(nibbleMask)
	return func() {
		u.storeHalf(0)
		u.storeNibbles(u.codes(2), nibble, 0, 16)
	}
}

func unpackQ4_1(u *unpacker) func() {
	nibble := constant(nibbleMask)
	return func() {
		u.storeHalves(u.word(0))
		u.storeNibbles(u.codes(4), nibble, 0, 16)
	}
}

func unpackQ5_0(u *unpacker) func() {
	store := u.fifthBits()
	return func() {
		u.storeHalf(0)
		store(2)
	}
}

func unpackQ5_1(u *unpacker) func() {
	store := u.fifthBits()
	return func() {
		u.storeHalves(u.word(0))
		store(4)
	}
}

// fifthBits returns what stores the levels of a block of q5_0 or q5_1, whose
// fifth bits are at an offset and whose nibbles follow.
func (u *unpacker) fifthBits() func(offset int) {
	nibble := constant(nibbleMask)
	bit, value := table("bits", 0x8040201008040201, 0x8040201008040201), constant(0x10101010)
	spread := [2]Op{
		table("spread01", 0, 0x0101010101010101),
		table("spread23", 0x0202020202020202, 0x0303030303030303),
	}
	return func(offset int) {
		codes, high := u.pieces(offset+4), u.pieces(offset)
		for part := range 2 {
			if part > 0 && v.rows() < tileRows && u.dot != nil { // few registers: load again
				codes, high = u.pieces(offset+4), u.pieces(offset)
			}
			var levels [4]VecVirtual
			for i, w := range codes {
				levels[i] = masked(w, 4*part, nibble)
				flags := v.reg()
				v.shuffle(high[i], spread[part], flags)
				v.addWhere(flags, bit, value, levels[i])
			}
			u.storePieces(levels, 16*part)
		}
	}
}

func unpackQ8_0(u *unpacker) func() {
	bias := constant(0x80808080)
	return func() {
		u.storeHalf(0)
		u.storeSigned(2, bias)
	}
}

// storeSigned stores 32 int8.
func (u *unpacker) storeSigned(offset int, bias Op) {
	for part := range 2 {
		for j, w := range u.codes(offset + 16*part) {
			v.xor(bias, w, w)
			u.storeLevels(w, 16*part+4*j)
		}
	}
}

// storeHalf stores the f16 at an offset as the scale of a block of one group.
func (u *unpacker) storeHalf(offset int) {
	d := v.reg()
	v.halves(u.offset(offset), d)
	u.storeScale(d, 0)
}

// storeHalves stores two f16 as the scale and the minimum.
func (u *unpacker) storeHalves(word VecVirtual) {
	d, m := v.reg(), v.reg()
	v.widen(word, d)
	u.storeScale(d, 0)
	VPSRLD(Imm(16), word, m)
	v.widen(m, m)
	u.storeMin(m, 0)
}
