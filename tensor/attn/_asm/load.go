package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// elements is how a type stores values in rows.
type elements struct {
	name          string
	values, bytes int // of a block
	// load brings a register of values from a block to float32; first is the
	// number of the first of them in the block. scale is that of begin.
	load func(block Mem, first int, scale, dst VecVirtual)
	// distant are rows in pages, and not only in a tile.
	distant bool
	// begin brings the scale of a block, if there is one, to all lanes.
	begin func(block Mem, scale VecVirtual)
}

var noScale = func(Mem, VecVirtual) {}

var types = []elements{
	{name: "F32", begin: noScale, values: lanes, bytes: 4 * lanes, load: func(block Mem, first int, _, dst VecVirtual) {
		VMOVUPS(block.Offset(4*first), dst)
	}},
	{name: "F16", distant: true, begin: noScale, values: lanes, bytes: 2 * lanes, load: func(block Mem, first int, _, dst VecVirtual) {
		VCVTPH2PS(block.Offset(2*first), dst)
	}},
	{name: "BF16", distant: true, begin: noScale, values: lanes, bytes: 2 * lanes, load: func(block Mem, first int, _, dst VecVirtual) {
		VPMOVZXWD(block.Offset(2*first), dst)
		VPSLLD(Imm(16), dst, dst)
	}},
	{name: "Q8_0", distant: true, values: 32, bytes: 34, begin: func(block Mem, scale VecVirtual) {
		v.halfWord(block, scale)
	}, load: func(block Mem, first int, scale, dst VecVirtual) {
		VPMOVSXBD(block.Offset(2+first), dst)
		VCVTDQ2PS(dst, dst)
		VMULPS(scale, dst, dst)
	}},
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
	scale := v.reg()
	t.begin(Mem{Base: in}, scale)
	for first := 0; first < t.values; first += v.lanes() {
		x := v.reg()
		t.load(Mem{Base: in}, first, scale, x)
		VMOVUPS(x, Mem{Base: out, Disp: 4 * first})
	}
	ADDQ(Imm(uint64(t.bytes)), in)
	ADDQ(U32(4*t.values), out)
	SUBQ(Imm(uint64(t.values)), n)
	JNZ(LabelRef("block"))
	ADDQ(stride, src)
	ADDQ(width, dst)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}
