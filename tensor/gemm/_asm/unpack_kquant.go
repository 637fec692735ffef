package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func unpackQ4_K(u *unpacker) func() {
	nibble, low := constant(nibbleMask), constant(0xff)
	six, top, sign := constant(0x3f3f3f3f), constant(0x30303030), constant(1<<31)
	return func() {
		u.scalesMins(u.columns(0), nibble, low, six, top, sign)
		for g := range 8 {
			k := g/2*64 + g%2*16
			u.storeNibbles(u.codes(16+16*g), nibble, k, k+32)
		}
	}
}

// scalesMins unpacks the head of q4_K and q5_K: see the function of that name.
func (u *unpacker) scalesMins(head [4]VecVirtual, nibble, low, six, top, sign Op) {
	d, dmin := v.reg(), v.reg()
	v.widen(head[0], d)
	VPSRLD(Imm(16), head[0], dmin)
	v.widen(dmin, dmin)
	v.xor(sign, dmin, dmin)

	scales := [2]VecVirtual{masked(head[1], 0, six), masked(head[3], 0, nibble)}
	high := masked(head[1], 2, top)
	v.or(high, scales[1], scales[1])
	mins := [2]VecVirtual{masked(head[2], 0, six), masked(head[3], 4, nibble)}
	high = masked(head[2], 2, top)
	v.or(high, mins[1], mins[1])
	for g := range 8 {
		u.storeScale(scaled(scales[g/4], g%4*8, low, d), g)
		u.storeMin(scaled(mins[g/4], g%4*8, low, dmin), g)
	}
}

func unpackQ6_K(u *unpacker) func() {
	nibble, top := constant(nibbleMask), constant(0x30303030)
	return func() {
		d := v.reg()
		v.halves(u.offset(208), d)
		for i, w := range u.columns(192) {
			for b := range 4 {
				u.storeScale(scaledSigned(w, 8*b, d), 4*i+b)
			}
		}
		for part := range 4 { // 16 elements of each of four rows of 32
			half, odd := part/2, part%2
			var nibbles [4]VecVirtual
			tops := u.codes(128 + 16*part)
			for _, row := range []int{0, 2, 1, 3} {
				if row < 2 {
					nibbles = u.codes(64*half + 32*row + 16*odd)
				}
				for j := range 4 {
					r, t := masked(nibbles[j], row/2*4, nibble), masked(tops[j], 2*row-4, top)
					v.or(t, r, r)
					u.storeLevels(r, 128*half+32*row+16*odd+4*j)
				}
			}
		}
	}
}
