package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// elements is how a type stores values in rows.
type elements struct {
	name          string
	values, bytes int // of a block
	// begin brings what all values of a block need to all lanes.
	begin func(block Mem) scales
	// load brings a register of values from a block to float32; first is the
	// number of the first of them in the block.
	load func(block Mem, first int, s scales, dst VecVirtual)
	// distant are rows in pages, and not only in a tile.
	distant bool
	// loaded are rows that are always brought to a tile first.
	loaded bool
	// rounded are rows whose blocks are a factor and int8, which dots
	// multiplies with rounded queries.
	rounded bool
}

// scales are the factor of a block, if it has one, and its least value.
type scales struct{ factor, least VecVirtual }

func noScale(Mem) scales { return scales{} }

// factor is a float16 at the beginning of a block.
func factor(block Mem) scales {
	s := scales{factor: v.reg()}
	v.halfWord(block, s.factor)
	return s
}

// factorAndLeast are two.
func factorAndLeast(block Mem) scales {
	s := factor(block)
	s.least = v.reg()
	v.halfWord(block.Offset(2), s.least)
	return s
}

// apply scales x.
func (s scales) apply(x VecVirtual) {
	VMULPS(s.factor, x, x)
	if s.least != nil {
		VADDPS(s.least, x, x)
	}
}

// types lists all. v is chosen before.
func types() []elements {
	return append([]elements{
		{name: "F32", begin: noScale, values: lanes, bytes: 4 * lanes, load: func(block Mem, first int, _ scales, dst VecVirtual) {
			VMOVUPS(block.Offset(4*first), dst)
		}},
		{name: "F16", distant: true, begin: noScale, values: lanes, bytes: 2 * lanes, load: func(block Mem, first int, _ scales, dst VecVirtual) {
			VCVTPH2PS(block.Offset(2*first), dst)
		}},
		{name: "BF16", distant: true, begin: noScale, values: lanes, bytes: 2 * lanes, load: func(block Mem, first int, _ scales, dst VecVirtual) {
			VPMOVZXWD(block.Offset(2*first), dst)
			VPSLLD(Imm(16), dst, dst)
		}},
		{name: "Q8_0", distant: true, rounded: true, begin: factor, values: 32, bytes: 34, load: func(block Mem, first int, s scales, dst VecVirtual) {
			VPMOVSXBD(block.Offset(2+first), dst)
			VCVTDQ2PS(dst, dst)
			s.apply(dst)
		}},
		nibbles("Q4_0", factor, 2, from(-8, 16)),
		nibbles("Q4_1", factorAndLeast, 4, from(0, 16)),
		nibbles("IQ4_NL", factor, 2, iq4Levels),
		fiveBits("Q5_0", factor, 2, from(-16, 32)),
		fiveBits("Q5_1", factorAndLeast, 4, from(0, 32)),
	}, append(turbos("", 128), turbos("Short", 64)...)...)
}

// The levels of the types: see package tensor.
var (
	iq4Levels    = []float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}
	turbo4Levels = []float32{0.12840, 0.38805, 0.65676, 0.94234, 1.25623, 1.61805, 2.06902, 2.73259}
	turbo3Levels = []float32{0.24509, 0.75601, 1.34391, 2.15195}
	turbo2Levels = []float32{0.45278, 1.51042}
)

// from lists n numbers.
func from(first float32, n int) (list []float32) {
	for i := range n {
		list = append(list, first+float32(i))
	}
	return list
}

// symmetric lists levels and their opposites.
func symmetric(positive []float32) (list []float32) {
	for i := range positive {
		list = append(list, -positive[len(positive)-1-i])
	}
	return append(list, positive...)
}

// nibbles is a type whose blocks have 16 bytes from at on, of the codes of
// values i and i+16.
func nibbles(name string, begin func(Mem) scales, at int, levels []float32) elements {
	return elements{
		name: name, distant: true, loaded: fewRegisters(), values: 32, bytes: at + 16, begin: begin,
		load: func(block Mem, first int, s scales, dst VecVirtual) {
			nibble(block.Offset(at), first, dst)
			v.lookUp(dst, levels)
			s.apply(dst)
		},
	}
}

// fewRegisters reports whether there are too few to look levels up in dots and
// add.
func fewRegisters() bool { return v.lanes() < lanes }

// nibble brings codes to the low bits of lanes; what is above is not cleared.
func nibble(codes Mem, first int, dst VecVirtual) {
	VPMOVZXBD(codes.Offset(first%16), dst)
	if first >= 16 {
		VPSRLD(Imm(4), dst, dst)
	}
}

// fiveBits is such a type with fifth bits, four bytes from high on.
func fiveBits(name string, begin func(Mem) scales, high int, levels []float32) elements {
	return elements{
		name: name, distant: true, loaded: fewRegisters(), values: 32, bytes: high + 20, begin: begin,
		load: func(block Mem, first int, s scales, dst VecVirtual) {
			nibble(block.Offset(high+4), first, dst)
			v.lookUpHigh(dst, block.Offset(high), first, levels)
			s.apply(dst)
		},
	}
}

// turbos are the rotated types with blocks of so many values. What is kept in
// pages has long blocks, which would take more registers than there are.
func turbos(suffix string, values int) []elements {
	of := func(name string, bytes int, load func(codes Mem, first int, dst VecVirtual)) elements {
		return elements{
			name: name + suffix, distant: true, loaded: true, values: values, bytes: 2 + bytes, begin: factor,
			load: func(block Mem, first int, s scales, dst VecVirtual) {
				load(block.Offset(2), first, dst)
				s.apply(dst)
			},
		}
	}
	return []elements{
		of("Turbo4", values/2, func(codes Mem, first int, dst VecVirtual) {
			// The second code of a byte gets to the lane above.
			t := v.reg()
			VPMOVZXBQ(codes.Offset(first/2), dst)
			VPSLLQ(Imm(28), dst, t)
			v.or(t, dst, dst)
			v.lookUp(dst, symmetric(turbo4Levels))
		}),
		of("Turbo3", values/4+values/8, func(codes Mem, first int, dst VecVirtual) {
			quarter(codes, first, dst)
			v.lookUpHigh(dst, codes.Offset(values/4+first/8), 0, symmetric(turbo3Levels))
		}),
		of("Turbo2", values/4, func(codes Mem, first int, dst VecVirtual) {
			quarter(codes, first, dst)
			v.lookUp(dst, symmetric(turbo2Levels))
		}),
	}
}

// quarter brings codes of two bits to the low bits of lanes.
func quarter(codes Mem, first int, dst VecVirtual) {
	VPBROADCASTD(codes.Offset(first/16*4), dst)
	VPSRLVD(shifts(first%16, 2), dst, dst)
}

// shifts is memory with step*first, step*(first+1), ...
func shifts(first, step int) Mem {
	list := make([]uint32, lanes)
	for i := range list {
		list[i] = uint32(step * (first + i))
	}
	return dataList(fmt.Sprintf("shift%dfrom%d", step, first), list)
}

// table is memory with levels, again and again.
func table(levels []float32) Mem {
	list, name := make([]uint32, lanes), "levels"
	for i := range list {
		list[i] = math.Float32bits(levels[i%len(levels)])
		name += fmt.Sprintf("_%x", list[i])
	}
	return dataList(name, list)
}

// load brings rows to float32.
func load(t elements) {
	function("Load"+t.name, "(dst []float32, width int, src []byte, stride, ahead, rows, n int)", "loads rows of "+t.name+": see loadGeneric.")
	dst, width := Load(Param("dst").Base(), GP64()), Load(Param("width"), GP64())
	SHLQ(Imm(2), width)
	src, stride, rows := Load(Param("src").Base(), GP64()), Load(Param("stride"), GP64()), Load(Param("rows"), GP64())
	distance := Load(Param("ahead"), GP64())
	in, out, n := GP64(), GP64(), GP64()
	Label("row")
	MOVQ(src, in)
	MOVQ(dst, out)
	Load(Param("n"), n)
	Label("block")
	PREFETCHT1(Mem{Base: in, Index: distance, Scale: 1})
	scale := t.begin(Mem{Base: in})
	for first := 0; first < t.values; first += v.lanes() {
		x := v.reg()
		t.load(Mem{Base: in}, first, scale, x)
		VMOVUPS(x, Mem{Base: out, Disp: 4 * first})
	}
	ADDQ(Imm(uint64(t.bytes)), in)
	ADDQ(U32(4*t.values), out)
	SUBQ(U32(t.values), n)
	JNZ(LabelRef("block"))
	ADDQ(stride, src)
	ADDQ(width, dst)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}
