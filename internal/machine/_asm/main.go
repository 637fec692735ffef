// Command _asm generates the loops of package machine.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!purego")
	fma("fmaAVX2", 12, func() reg.VecVirtual { return YMM() })
	fma("fmaAVX512", 24, func() reg.VecVirtual { return ZMM() })
	read()
	Generate()
}

// fma runs n rounds of independent chains of fused multiply-adds.
func fma(name string, chains int, vector func() reg.VecVirtual) {
	TEXT(name, NOSPLIT, "func(n int)")
	n := Load(Param("n"), GP64())
	factor := vector()
	sums := make([]reg.VecVirtual, chains)
	for i := range sums {
		sums[i] = vector()
		zero := XMM()
		VPXOR(zero, zero, zero)
		VBROADCASTSS(zero, sums[i])
	}
	zero := XMM()
	VPXOR(zero, zero, zero)
	VBROADCASTSS(zero, factor)
	Label("loop")
	for _, s := range sums {
		VFMADD231PS(factor, factor, s)
	}
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// read loads n bytes, a multiple of 256.
func read() {
	TEXT("readAVX2", NOSPLIT, "func(p *byte, n int)")
	p, n := Load(Param("p"), GP64()), Load(Param("n"), GP64())
	sums := make([]reg.VecVirtual, 8)
	for i := range sums {
		sums[i] = YMM()
		VPXOR(sums[i], sums[i], sums[i])
	}
	Label("next")
	for i, s := range sums {
		VPOR(Mem{Base: p, Disp: 32 * i}, s, s)
	}
	ADDQ(U32(256), p)
	SUBQ(U32(256), n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	RET()
}
