package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// measures generates what benchmarks compare with: the read bandwidth, and the
// rate of fused multiply-adds.
func measures() {
	if v.rows() < tileRows {
		readAll()
	}
	function("Peak", "rounds int", "does ten independent multiply-adds a round.")
	rounds := Load(Param("rounds"), GP64())
	acc := make([]VecVirtual, 10)
	for i := range acc {
		acc[i] = v.reg()
		v.zero(acc[i])
	}
	a := v.reg()
	v.zero(a)
	Label("fma")
	for _, r := range acc {
		VFMADD231PS(a, a, r)
	}
	DECQ(rounds)
	JNZ(LabelRef("fma"))
	VZEROUPPER()
	RET()
}

func readAll() {
	function("ReadAll", "mem []byte", "reads memory, a multiple of 512 bytes.")
	p, n := Load(Param("mem").Base(), GP64()), Load(Param("mem").Len(), GP64())
	sums := make([]VecVirtual, 4)
	for i := range sums {
		sums[i] = v.reg()
		v.zero(sums[i])
	}
	step := 4 * v.rows()
	Label("read")
	PREFETCHT0(Mem{Base: p, Disp: 4096})
	for i := range 512 / step {
		v.or(Mem{Base: p, Disp: i * step}, sums[i%4], sums[i%4])
	}
	for i := 64; i < 512; i += 64 {
		PREFETCHT0(Mem{Base: p, Disp: 4096 + i})
	}
	ADDQ(U32(512), p)
	SUBQ(U32(512), n)
	JNZ(LabelRef("read"))
	VZEROUPPER()
	RET()
}
