package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The levels of types whose nibbles are indices, with the bias of the form.
var (
	iq4Levels   = [16]uint8{1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241}
	mxfp4Levels = [16]uint8{12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0}
	rocmFP4     = [16]uint8{10, 11, 12, 13, 14, 16, 18, 20, 10, 9, 8, 7, 6, 4, 2, 0}
	rocmFP3     = [16]uint8{4, 5, 6, 8, 4, 3, 2, 0}
	rocmFP2     = [16]uint8{0, 3, 5, 8}
)

func levels(name string, b [16]uint8) Op {
	low, high := bytes16(b)
	return table(name, low, high)
}

func unpackIQ4_NL(u *unpacker) func() {
	nibble, levels := constant(nibbleMask), levels("iq4Levels", iq4Levels)
	return func() {
		u.storeHalf(0)
		u.storeTable(u.codes(2), nibble, levels, 0, 16)
	}
}

func unpackIQ4_XS(u *unpacker) func() {
	nibble, levels := constant(nibbleMask), levels("iq4Levels", iq4Levels)
	return func() {
		u.storeScalesIQ4_XS()
		for g := range 8 {
			u.storeTable(u.codes(8+16*g), nibble, levels, 32*g, 32*g+16)
		}
	}
}

func (u *unpacker) storeScalesIQ4_XS() {
	low, top, bias := constant(15), constant(0x30), constant(32)
	head := u.columns(0)
	d := v.reg()
	v.widen(head[0], d)
	for g := range 8 {
		q, high := masked(head[1], 4*g, low), masked(head[0], 16+2*g-4, top)
		v.or(high, q, q)
		VPSUBD(inRegister(bias), q, q)
		VCVTDQ2PS(q, q)
		VMULPS(d, q, q)
		u.storeScale(q, g)
	}
}

// mxfp4Scale returns what converts a byte e, the lowest of 32 bits, to the scale
// 2^(e-128): it is an exponent of e-1 or, for e below 2, a
// subnormal of the bit 21+e.
func mxfp4Scale() func(words VecVirtual) VecVirtual {
	low, one, subnormal := constant(0xff), constant(1), constant(1<<21)
	return func(words VecVirtual) VecVirtual {
		e := masked(words, 0, low)
		tiny := masked(e, -21, subnormal)
		VPADDD(inRegister(subnormal), tiny, tiny)
		VPSUBD(inRegister(one), e, e)
		VPSLLD(Imm(23), e, e)
		VPMAXSD(tiny, e, e)
		return e
	}
}

func unpackMXFP4(u *unpacker) func() {
	nibble, levels, scale := constant(nibbleMask), levels("mxfp4Levels", mxfp4Levels), mxfp4Scale()
	return func() {
		u.storeScale(scale(u.word(0)), 0)
		u.storeTable(u.codes(1), nibble, levels, 0, 16)
	}
}

func unpackROCmFP4(u *unpacker) func() {
	nibble, levels := constant(nibbleMask), levels("rocmFP4", rocmFP4)
	valid, scale := rocmScale()
	return func() {
		w := valid(u.word(14))
		u.storeScale(scale(w, 16), 0)
		u.storeScale(scale(w, 24), 1)
		u.storeTable(u.codes(0), nibble, levels, 0, 16)
	}
}

func unpackROCmFP4Fast(u *unpacker) func() {
	nibble, levels := constant(nibbleMask), levels("rocmFP4", rocmFP4)
	valid, scale := rocmScale()
	return func() {
		u.storeScale(scale(valid(u.word(13)), 24), 0)
		u.storeTable(u.codes(0), nibble, levels, 0, 16)
	}
}

func unpackROCmFP8(u *unpacker) func() {
	bias := constant(0x80808080)
	valid, scale := rocmScale()
	return func() {
		u.storeScale(scale(valid(u.word(29)), 24), 0)
		u.storeSigned(0, bias)
	}
}

func unpackROCmFP2(u *unpacker) func() {
	v.beginInsert64()
	levels := levels("rocmFP2", rocmFP2)
	valid, scale := rocmScale()
	spread, mask := table("spreadFP2", 0x0101010100000000, 0x0303030302020202), spreadMasks(3)
	return func() {
		w := valid(u.word(6))
		u.storeScale(scale(w, 16), 0)
		u.storeScale(scale(w, 24), 1)
		for half := range 2 {
			rows := u.pieces64(2 * half) // not beyond the block
			for i := range rows {
				if half == 1 {
					VPSRLQ(Imm(16), rows[i], rows[i])
				}
				v.shuffle(rows[i], spread, rows[i])
				rows[i] = lookup(spreadFields(rows[i], -2, mask), levels)
			}
			u.storePieces(rows, 16*half)
		}
	}
}

func unpackROCmFP3(u *unpacker) func() {
	v.beginInsert64()
	levels := levels("rocmFP3", rocmFP3)
	valid, scale := rocmScale()
	// 12 bits of four codes in each word, in the odd ones from bit 4 on.
	spread, mask := table("spreadFP3", 0x8080020180800100, 0x8080050480800403), spreadMasks(7)
	shift := table("shiftFP3", 4<<32, 4<<32)
	return func() {
		w := valid(u.word(10))
		u.storeScale(scale(w, 16), 0)
		u.storeScale(scale(w, 24), 1)
		for half := range 2 {
			rows := u.pieces64(6 * half)
			for i := range rows {
				v.shuffle(rows[i], spread, rows[i])
				VPSRLVD(inRegister(shift), rows[i], rows[i])
				rows[i] = lookup(spreadFields(rows[i], 5, mask), levels)
			}
			u.storePieces(rows, 16*half)
		}
	}
}

// unpackROCmFP6: the bias is 32, and a code has a sign and a magnitude, where
// minus zero stands for -32.
func unpackROCmFP6(u *unpacker) func() {
	valid, scale := rocmScale()
	mask := spreadMasks(63)
	spread := [2]Op{
		table("spreadFP6Low", 0x8005040380020100, 0x800b0a0980080706),
		table("spreadFP6High", 0x8007060580040302, 0x800d0c0b800a0908),
	}
	sign, magnitude, twice := constant(0x20202020), constant(0x1f1f1f1f), constant(0x40404040)
	return func() {
		w := valid(u.word(22))
		u.storeScale(scale(w, 16), 0)
		u.storeScale(scale(w, 24), 1)
		for half := range 2 {
			rows := u.pieces(10 * half)
			for i := range rows {
				v.shuffle(rows[i], spread[half], rows[i])
				code := spreadFields(rows[i], 2, mask)
				size := masked(code, 0, magnitude)
				// u is 32 + size or 32 - size, or 0 if that is 32 by its sign.
				zero := v.reg() // 32 where size is zero
				VPADDB(inRegister(magnitude), size, zero)
				v.and(sign, zero, zero)
				v.xor(sign, zero, zero)
				v.and(code, zero, zero)
				v.or(zero, size, size)
				VPADDB(inRegister(sign), size, size)
				v.negateWhere(code, sign, twice, size)
				rows[i] = size
			}
			u.storePieces(rows, 16*half)
		}
	}
}

// spreadMasks are those of one field in each byte of a word.
func spreadMasks(field uint32) (masks [4]Op) {
	for i := range masks {
		masks[i] = constant(field << (8 * i))
	}
	return masks
}

// spreadFields spreads four fields of each word over its bytes: field i moves
// left by i times left bits.
func spreadFields(src VecVirtual, left int, masks [4]Op) VecVirtual {
	r := masked(src, 0, masks[0])
	for i := 1; i < 4; i++ {
		t := masked(src, -left*i, masks[i])
		v.or(t, r, r)
	}
	return r
}

// rocmScale returns what converts a scale byte, the bits from right on of a word. It is half an unsigned e4m3: with
// its exponent E and mantissa m, (8 + m)*2^(E-11), or m*2^-10 for E = 0, which is the smaller of the first and
// twice the first less 2^-7. Bytes from 0x7f on are zero, which valid makes of words of them.
func rocmScale() (valid func(words VecVirtual) VecVirtual, scale func(w VecVirtual, right int) VecVirtual) {
	last, field, bias := constant(0x7e7e7e7e), constant(0x7f<<20), constant((127-8)<<23)
	two, offset := constant(math.Float32bits(2)), constant(math.Float32bits(-0x1p-7))
	valid = func(words VecVirtual) VecVirtual {
		r := v.reg()
		v.bytesUpTo(last, words, r)
		return r
	}
	scale = func(w VecVirtual, right int) VecVirtual {
		s, tiny := masked(w, right-20, field), v.reg()
		VPADDD(bias, s, s)
		VMOVAPS(s, tiny)
		VFMADD213PS(offset, inRegister(two), tiny)
		VMINPS(tiny, s, s)
		return s
	}
	return valid, scale
}
