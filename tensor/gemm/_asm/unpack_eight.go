package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Blocks of 32 have a size that makes 16-byte loads straddle cache lines. Eight
// blocks together are a whole number of 16 bytes; they are loaded in step with
// these and put together in registers.

// chunks are the 16 bytes at multiples of 16 of eight blocks, loaded when
// first needed. The last one loaded stays.
type chunks struct {
	u    *unpacker
	rows map[int][4]VecVirtual
}

func (c *chunks) at(i int) [4]VecVirtual {
	if _, ok := c.rows[i]; !ok {
		c.rows[i] = c.u.pieces(16 * i)
	}
	return c.rows[i]
}

// piece returns vector i of 16 bytes at an offset, which never decreases.
func (c *chunks) piece(offset, i int) VecVirtual {
	first, skip := c.at(offset / 16)[i], offset%16
	if skip == 0 {
		return first
	}
	r := v.reg()
	VPALIGNR(Imm(uint64(skip)), first, c.at(offset/16 + 1)[i], r)
	return r
}

// half returns the f16 at an offset, converted to float32.
func (c *chunks) half(offset int) VecVirtual {
	r := c.word(offset, 2)
	v.widen(r, r)
	return r
}

// word returns n bytes at an offset, which do not straddle chunks, as one word
// of each row.
func (c *chunks) word(offset, n int) VecVirtual {
	rows, skip := c.at(offset/16), offset%16
	all := v.reg()
	for i, r := range rows {
		var b [16]uint8
		for j := range b {
			b[j] = 0x80
		}
		for j := range n {
			b[4*i+j] = uint8(skip + j)
		}
		low, high := bytes16(b)
		index := dataVector(fmt.Sprintf("word%d_%d_%d", n, skip, i), low, high)
		if i == 0 {
			v.shuffle(r, index, all)
			continue
		}
		t := v.reg()
		v.shuffle(r, index, t)
		v.or(t, all, all)
	}
	return all
}

// eightNibbles generates eight blocks of q4_0, or of a type like it with a
// table of levels.
func (u *unpacker) eightNibbles(level func(VecVirtual) VecVirtual) func() {
	nibble := constant(nibbleMask)
	return func() {
		c := chunks{u, map[int][4]VecVirtual{}}
		for b := range 8 {
			u.storeScale(c.half(18*b), b)
			for part := range 2 {
				for i := range 4 {
					u.storeLevels(level(masked(c.piece(18*b+2, i), 4*part, nibble)), 32*b+16*part+4*i)
				}
			}
		}
	}
}

func eightQ4_0(u *unpacker) func() {
	return u.eightNibbles(func(r VecVirtual) VecVirtual { return r })
}

func eightIQ4_NL(u *unpacker) func() {
	levels := levels("iq4Levels", iq4Levels)
	return u.eightNibbles(func(r VecVirtual) VecVirtual { return lookup(r, levels) })
}

func eightQ4_1(u *unpacker) func() {
	nibble := constant(nibbleMask)
	return func() {
		c := chunks{u, map[int][4]VecVirtual{}}
		for b := range 8 {
			d, m := v.reg(), c.word(20*b, 4)
			v.widen(m, d)
			u.storeScale(d, b)
			VPSRLD(Imm(16), m, m)
			v.widen(m, m)
			u.storeMin(m, b)
			for part := range 2 {
				for i := range 4 {
					u.storeLevels(masked(c.piece(20*b+4, i), 4*part, nibble), 32*b+16*part+4*i)
				}
			}
		}
	}
}

func eightROCmFP4(u *unpacker) func() {
	nibble, levels := constant(nibbleMask), levels("rocmFP4", rocmFP4)
	valid, scale := rocmScale()
	return func() {
		c := chunks{u, map[int][4]VecVirtual{}}
		for b := range 8 {
			for part := range 2 {
				for i := range 4 {
					u.storeLevels(lookup(masked(c.piece(18*b, i), 4*part, nibble), levels), 32*b+16*part+4*i)
				}
			}
			w := valid(c.word(18*b+16, 2))
			u.storeScale(scale(w, 0), 2*b)
			u.storeScale(scale(w, 8), 2*b+1)
		}
	}
}

func eightQ8_0(u *unpacker) func() {
	bias := constant(0x80808080)
	return func() {
		c := chunks{u, map[int][4]VecVirtual{}}
		for b := range 8 {
			u.storeScale(c.half(34*b), b)
			for part := range 2 {
				for i := range 4 {
					r := v.reg()
					v.xor(bias, c.piece(34*b+2+16*part, i), r)
					u.storeLevels(r, 32*b+16*part+4*i)
				}
			}
		}
	}
}
