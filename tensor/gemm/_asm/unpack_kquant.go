package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func unpackQ4_K(u *unpacker) func() {
	nibble := constant(nibbleMask)
	return func() {
		u.storeScalesMins()
		for g := range 8 {
			k := g/2*64 + g%2*16
			u.storeNibbles(u.codes(16+16*g), nibble, k, k+32)
		}
	}
}

// storeScalesMins unpacks the head of q4_K and q5_K: see scalesMins of the package.
func (u *unpacker) storeScalesMins() {
	nibble, low := constant(nibbleMask), constant(0xff)
	six, top, sign := constant(0x3f3f3f3f), constant(0x30303030), constant(1<<31)
	head := u.columns(0)
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

func unpackQ5_K(u *unpacker) func() {
	nibble := constant(nibbleMask)
	bit := constant(0x10101010)
	return func() {
		u.storeScalesMins()
		store := func(codes, high [4]VecVirtual, g, odd int) {
			for j, w := range codes {
				r, h := masked(w, g%2*4, nibble), masked(high[j], g-4, bit)
				v.or(h, r, r)
				u.storeLevels(r, 32*g+16*odd+4*j)
			}
		}
		if u.dot != nil { // few registers: load again
			for g := range 8 {
				for odd := range 2 {
					store(u.codes(48+g/2*32+16*odd), u.codes(16+16*odd), g, odd)
				}
			}
			return
		}
		high := [2][4]VecVirtual{}
		if v.rows() == tileRows {
			high[0], high[1] = u.codes(16), u.codes(32)
		}
		for pair := range 4 {
			for odd := range 2 {
				if v.rows() < tileRows {
					high[odd] = u.codes(16 + 16*odd)
				}
				codes := u.codes(48 + 32*pair + 16*odd)
				store(codes, high[odd], 2*pair, odd)
				store(codes, high[odd], 2*pair+1, odd)
			}
		}
	}
}

func unpackQ2_K(u *unpacker) func() {
	pair := constant(0x03030303)
	return func() {
		u.storeScalesQ2_K()
		for part := range 4 { // 16 elements of each of four rows of 32
			codes := u.codes(16 + 16*part)
			for row := range 4 {
				for j, w := range codes {
					u.storeLevels(masked(w, 2*row, pair), part/2*128+32*row+part%2*16+4*j)
				}
			}
		}
	}
}

// headQ2_K returns the factors of scales and of minimums, the latter negative.
func (u *unpacker) headQ2_K() (d, dmin VecVirtual) {
	d, dmin = v.reg(), v.reg()
	head, sign := u.word(80), constant(1<<31)
	v.widen(head, d)
	VPSRLD(Imm(16), head, dmin)
	v.widen(dmin, dmin)
	v.xor(sign, dmin, dmin)
	return d, dmin
}

func (u *unpacker) storeScalesQ2_K() {
	nibble, low := constant(nibbleMask), constant(0xff)
	d, dmin := u.headQ2_K()
	for i, w := range u.columns(0) {
		scales, mins := masked(w, 0, nibble), masked(w, 4, nibble)
		for b := range 4 {
			u.storeScale(scaled(scales, 8*b, low, d), 4*i+b)
			u.storeMin(scaled(mins, 8*b, low, dmin), 4*i+b)
		}
	}
}

func unpackQ3_K(u *unpacker) func() {
	pair, bit := constant(0x03030303), constant(0x04040404)
	return func() {
		u.storeScalesQ3_K()
		for part := range 4 {
			codes, high := u.codes(32+16*part), u.codes(part%2*16)
			for row := range 4 {
				for j, w := range codes {
					r, h := masked(w, 2*row, pair), masked(high[j], part/2*4+row-2, bit)
					v.or(h, r, r)
					u.storeLevels(r, part/2*128+32*row+part%2*16+4*j)
				}
			}
		}
	}
}

// headQ3_K returns the factor of scales, and the scales of four groups each in bytes. It takes the last 16 bytes
// of the block: two bytes of levels, then 12 of scales, then d.
func (u *unpacker) headQ3_K() (d VecVirtual, scales [4]VecVirtual) {
	pair, nibble, bias := constant(0x03030303), constant(nibbleMask), constant(0x20202020)
	end := u.columns(94)
	d = v.reg()
	VPSRLD(Imm(16), end[3], d)
	v.widen(d, d)
	var words [3]VecVirtual // low bits of scales 0-3 and 8-11, 4-7 and 12-15; high bits
	for i := range words {
		words[i] = v.reg()
		next := v.reg()
		VPSRLD(Imm(16), end[i], words[i])
		VPSLLD(Imm(16), end[i+1], next)
		v.or(next, words[i], words[i])
	}
	for i := range scales {
		q, high := masked(words[i%2], i/2*4, nibble), masked(words[2], 2*i, pair)
		VPSLLD(Imm(4), high, high)
		v.or(high, q, q)
		VPSUBB(inRegister(bias), q, q)
		scales[i] = q
	}
	return d, scales
}

func (u *unpacker) storeScalesQ3_K() {
	d, scales := u.headQ3_K()
	for i, w := range scales {
		for b := range 4 {
			u.storeScale(scaledSigned(w, 8*b, d), 4*i+b)
		}
	}
}

func unpackQ6_K(u *unpacker) func() {
	nibble, top := constant(nibbleMask), constant(0x30303030)
	return func() {
		u.storeScalesQ6_K()
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

func (u *unpacker) storeScalesQ6_K() {
	d := v.reg()
	word := u.word(206) // not beyond the block
	VPSRLD(Imm(16), word, word)
	v.widen(word, d)
	for i, w := range u.columns(192) {
		for b := range 4 {
			u.storeScale(scaledSigned(w, 8*b, d), 4*i+b)
		}
	}
}
