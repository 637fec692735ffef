package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// blend adds up two scaled rows, each product rounded by itself.
func blend() {
	function("Blend", "(acc, x []float32, ca, cx float32)", "adds up scaled values: see blendGeneric.")
	acc, x := Load(Param("acc").Base(), GP64()), Load(Param("x").Base(), GP64())
	n := Load(Param("acc").Len(), GP64())
	ca, cx := broadcast("ca"), broadcast("cx")
	Label("next")
	a, b := v.reg(), v.reg()
	VMULPS(Mem{Base: acc}, ca, a)
	VMULPS(Mem{Base: x}, cx, b)
	VADDPS(b, a, a)
	VMOVUPS(a, Mem{Base: acc})
	ADDQ(Imm(uint64(4*v.lanes())), acc)
	ADDQ(Imm(uint64(4*v.lanes())), x)
	SUBQ(Imm(uint64(v.lanes())), n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	RET()
}
