package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The types with codebooks: 16 elements of a row are four points of four or
// two points of eight, gathered by their numbers.

// codebook returns a pointer to a table of the package.
func codebook(name string) GPVirtual {
	v.beginGather()
	p := GP64()
	LEAQ(NewDataAddr(Symbol{Name: "\u00b7" + name}, 0), p)
	return p
}

// bytesAt is a table for a shuffle that takes n bytes from each place to the
// low end of a word of 16/len(places) bytes and clears the rest.
func bytesAt(n int, places ...int) Mem {
	var b [16]uint8
	name := fmt.Sprintf("bytes%d", n)
	for i := range b {
		size := 16 / len(places)
		b[i] = 0x80
		if i%size < n {
			b[i] = uint8(places[i/size] + i%size)
		}
	}
	for _, p := range places {
		name += fmt.Sprintf("_%d", p)
	}
	low, high := bytes16(b)
	return dataVector(name, low, high)
}

// eightOf is a table for a shuffle that repeats two bytes eight times each.
func eightOf(a, b int) Mem {
	const ones = 0x0101010101010101
	return dataVector(fmt.Sprintf("eight%d_%d", a, b), uint64(a)*ones, uint64(b)*ones)
}

// bitOrder are the eight bits of a byte, in a byte each.
func bitOrder() Mem { return dataVector("bits", 0x8040201008040201, 0x8040201008040201) }

// shuffled is a shuffle into another register.
func shuffled(src VecVirtual, index Mem) VecVirtual {
	r := v.reg()
	v.shuffle(src, index, r)
	return r
}

func unpackIQ3_S(u *unpacker) func() {
	v.beginInsert64()
	grid, bits, twice := codebook("iq3sGrid"), inRegister2(bitOrder()), constant(30*0x01010101)
	low, one := constant(15), constant(1)
	return func() {
		d := v.reg()
		v.halves(u.offset(0), d)
		scales := u.word(106)
		for g := range 8 {
			s := masked(scales, 4*g, low)
			VPADDD(s, s, s)
			v.or(one, s, s)
			VCVTDQ2PS(s, s)
			VMULPS(d, s, s)
			u.storeScale(s, g)
		}
		for k := 0; k < 256; k += 16 {
			var rows [4]VecVirtual
			for i := range rows {
				at := k / 4 % 8
				index := shuffled(u.piece64(2+k/32*8, i), bytesAt(1, at, at+1, at+2, at+3))
				top := shuffled(u.piece64(66, i), bytesAt(1, k/32, k/32, k/32, k/32))
				shift := dataVector(fmt.Sprintf("top%d", at), uint64(7-at)<<32|uint64(8-at), uint64(5-at)<<32|uint64(6-at))
				VPSLLVD(shift, top, top)
				v.and(constantWord(0x100), top, top)
				v.or(top, index, index)
				rows[i] = v.reg()
				v.gather32(grid, index, rows[i])
				flags := shuffled(u.piece64(74+k/64*8, i), eightOf(k/8%8, k/8%8+1))
				v.negateWhere(flags, bits, twice, rows[i])
			}
			u.storePieces(rows, k)
		}
	}
}

// iq2 stores the levels of 256 elements: index and flags return the numbers of
// two points, and what has their signs in the lowest byte, as 64-bit words.
func (u *unpacker) iq2(grid GPVirtual, index, flags func(k, i int) VecVirtual) {
	bits, twice := bitOrder(), constantWord(86*0x01010101)
	for k := 0; k < 256; k += 16 {
		var rows [4]VecVirtual
		for i := range rows {
			rows[i] = v.reg()
			v.gather64(grid, index(k, i), rows[i])
			v.negateWhere(shuffled(flags(k, i), eightOf(0, 8)), inRegister2(bits), inRegister2(twice), rows[i])
		}
		u.storePieces(rows, k)
	}
}

// evenSigns completes seven signs in each 64-bit word by their parity.
func evenSigns(signs VecVirtual) VecVirtual {
	v.and(constantLong(127), signs, signs)
	parity, t := v.reg(), v.reg()
	VPSRLQ(Imm(4), signs, parity)
	v.xor(signs, parity, parity)
	VPSRLQ(Imm(2), parity, t)
	v.xor(t, parity, parity)
	VPSRLQ(Imm(1), parity, t)
	v.xor(t, parity, parity)
	VPSLLQ(Imm(7), parity, parity)
	v.or(parity, signs, signs) // what is above the byte does not matter
	return signs
}

// scaleIQ2 converts the lowest four bits of a word shifted right.
func (u *unpacker) scaleIQ2(src VecVirtual, right int, d VecVirtual, group int) {
	s := masked(src, right, constantWord(15))
	VCVTDQ2PS(s, s)
	VADDPS(constantWord(0x3f000000), s, s) // 0.5
	VMULPS(d, s, s)
	VMULPS(constantWord(0x3e800000), s, s) // 0.25
	u.storeScale(s, group)
}

func unpackIQ2_XXS(u *unpacker) func() {
	v.beginInsert64()
	grid := codebook("iq2xxsGrid")
	return func() {
		d := v.reg()
		v.halves(u.offset(0), d)
		for g := range 8 {
			u.scaleIQ2(u.word(2+8*g+4), 28, d, g)
		}
		index := func(k, i int) VecVirtual {
			at := k / 16 % 2 * 2
			return shuffled(u.piece64(2+k/32*8, i), bytesAt(1, at, at+1))
		}
		u.iq2(grid, index, func(k, i int) VecVirtual {
			signs := shuffled(u.piece64(2+k/32*8, i), bytesAt(4, 4, 4))
			at := uint64(k / 16 % 2 * 14)
			VPSRLVQ(dataVector(fmt.Sprintf("signs%d", at), at, at+7), signs, signs)
			return evenSigns(signs)
		})
	}
}

func unpackIQ2_XS(u *unpacker) func() {
	v.beginInsert64()
	grid := codebook("iq2xsGrid")
	return func() {
		d := v.reg()
		v.halves(u.offset(0), d)
		for half := range 2 {
			w := u.word(66 + 4*half)
			for g := range 8 {
				u.scaleIQ2(w, 4*g, d, 8*half+g)
			}
		}
		word := func(k, i int) VecVirtual {
			at := k / 16 % 2 * 4
			return shuffled(u.piece64(2+k/32*8, i), bytesAt(2, at, at+2))
		}
		index := func(k, i int) VecVirtual {
			w := word(k, i)
			v.and(constantLong(511), w, w)
			return w
		}
		u.iq2(grid, index, func(k, i int) VecVirtual {
			w := word(k, i)
			VPSRLQ(Imm(9), w, w)
			return evenSigns(w)
		})
	}
}

func unpackIQ2_S(u *unpacker) func() {
	v.beginInsert64()
	grid := codebook("iq2sGrid")
	return func() {
		d := v.reg()
		v.halves(u.offset(0), d)
		for half := range 2 {
			w := u.word(74 + 4*half)
			for g := range 8 {
				u.scaleIQ2(w, 4*g, d, 8*half+g)
			}
		}
		index := func(k, i int) VecVirtual {
			at, top := k/8%8, shuffled(u.piece64(66, i), bytesAt(1, k/32, k/32))
			w := shuffled(u.piece64(2+k/64*8, i), bytesAt(1, at, at+1))
			left := uint64(8 - k/8%4*2)
			VPSLLVQ(dataVector(fmt.Sprintf("left%d", left), left, left-2), top, top)
			v.and(constantLong(0x300), top, top)
			v.or(top, w, w)
			return w
		}
		u.iq2(grid, index, func(k, i int) VecVirtual {
			return shuffled(u.piece64(34+k/64*8, i), bytesAt(1, k/8%8, k/8%8+1))
		})
	}
}

// constantWord and constantLong are constants in memory.
func constantWord(value uint32) Mem {
	both := uint64(value)<<32 | uint64(value)
	return dataVector(fmt.Sprintf("vector%08x", value), both, both)
}

func constantLong(value uint64) Mem { return dataVector(fmt.Sprintf("long%x", value), value, value) }

// inRegister2 loads a constant where instructions want a register.
func inRegister2(m Mem) Op {
	if v.rows() < tileRows {
		return m
	}
	return inRegister(m)
}
