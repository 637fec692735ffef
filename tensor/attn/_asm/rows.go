package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// squares sums up squares in 16 partial sums.
func squares() {
	function("Squares", "(x []float32) float32", "sums up squares: see squaresGeneric.")
	at, n := Load(Param("x").Base(), GP64()), Load(Param("x").Len(), GP64())
	sum := make([]VecVirtual, halves())
	for i := range sum {
		sum[i] = v.reg()
		v.zero(sum[i])
	}
	Label("next")
	for i := range sum {
		x := v.reg()
		VMOVUPS(Mem{Base: at, Disp: 4 * v.lanes() * i}, x)
		VFMADD231PS(x, x, sum[i])
	}
	ADDQ(Imm(64), at)
	SUBQ(Imm(lanes), n)
	JNZ(LabelRef("next"))
	Store(across(sum, func(a, b VecVirtual) { VADDPS(a, b, b) }), ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// scale multiplies by a number and a weight each.
func scale() {
	function("Scale", "(dst, x, weight []float32, scale float32)", "scales values: see scaleGeneric.")
	dst, x, weight := Load(Param("dst").Base(), GP64()), Load(Param("x").Base(), GP64()), Load(Param("weight").Base(), GP64())
	n := Load(Param("dst").Len(), GP64())
	factor := broadcast("scale")
	Label("next")
	y := v.reg()
	VMULPS(Mem{Base: x}, factor, y)
	VMULPS(Mem{Base: weight}, y, y)
	VMOVUPS(y, Mem{Base: dst})
	for _, p := range []Op{dst, x, weight} {
		ADDQ(Imm(uint64(4*v.lanes())), p)
	}
	SUBQ(Imm(uint64(v.lanes())), n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	RET()
}

// accumulate adds a multiple.
func accumulate() {
	function("Accumulate", "(dst, x []float32, scale float32)", "adds a multiple: see accumulateGeneric.")
	dst, x, n := Load(Param("dst").Base(), GP64()), Load(Param("x").Base(), GP64()), Load(Param("dst").Len(), GP64())
	factor := broadcast("scale")
	Label("next")
	y := v.reg()
	VMOVUPS(Mem{Base: dst}, y)
	VFMADD231PS(Mem{Base: x}, factor, y)
	VMOVUPS(y, Mem{Base: dst})
	for _, p := range []Op{dst, x} {
		ADDQ(Imm(uint64(4*v.lanes())), p)
	}
	SUBQ(Imm(uint64(v.lanes())), n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	RET()
}

// multiplyAdd adds products.
func multiplyAdd() {
	function("MultiplyAdd", "(dst, a, b []float32)", "adds products: see multiplyAddGeneric.")
	dst, a, b := Load(Param("dst").Base(), GP64()), Load(Param("a").Base(), GP64()), Load(Param("b").Base(), GP64())
	n := Load(Param("dst").Len(), GP64())
	Label("next")
	x, y := v.reg(), v.reg()
	VMOVUPS(Mem{Base: dst}, y)
	VMOVUPS(Mem{Base: a}, x)
	VFMADD231PS(Mem{Base: b}, x, y)
	VMOVUPS(y, Mem{Base: dst})
	for _, p := range []Op{dst, a, b} {
		ADDQ(Imm(uint64(4*v.lanes())), p)
	}
	SUBQ(Imm(uint64(v.lanes())), n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	RET()
}

// halve rounds to float16, to nearest and even.
func halve() {
	function("Halve", "(dst []byte, x []float32)", "rounds to float16: see halveGeneric.")
	dst, x, n := Load(Param("dst").Base(), GP64()), Load(Param("x").Base(), GP64()), Load(Param("x").Len(), GP64())
	Label("next")
	y := v.reg()
	VMOVUPS(Mem{Base: x}, y)
	VCVTPS2PH(Imm(0), y, Mem{Base: dst})
	ADDQ(Imm(uint64(2*v.lanes())), dst)
	ADDQ(Imm(uint64(4*v.lanes())), x)
	SUBQ(Imm(uint64(v.lanes())), n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	RET()
}

// delta goes over the state twice, a run of columns at a time: such a part of
// it stays in the nearest cache in between.
func delta() {
	function("Delta", "(state, out, q, k, v []float32, decay, beta float32)", "applies a token: see deltaGeneric.")
	state, out, values := Load(Param("state").Base(), GP64()), Load(Param("out").Base(), GP64()), Load(Param("v").Base(), GP64())
	left, stride := Load(Param("out").Len(), GP64()), GP64()
	MOVQ(left, stride)
	SHLQ(Imm(2), stride)
	decay, beta := broadcast("decay"), broadcast("beta")
	for _, run := range []int{4, 1} {
		columns := run * lanes
		begin, end := fmt.Sprintf("run%d", run), fmt.Sprintf("after%d", run)
		Label(begin)
		CMPQ(left, Imm(uint64(columns)))
		JLT(LabelRef(end))
		for first := 0; first < run*halves(); first += min(run*halves(), 4) {
			deltaRun(fmt.Sprintf("%s_%d", begin, first), first, min(run*halves(), 4), state, out, values, stride, decay, beta)
		}
		for _, p := range []Op{state, out, values} {
			ADDQ(U32(4*columns), p)
		}
		SUBQ(Imm(uint64(columns)), left)
		JMP(LabelRef(begin))
		Label(end)
	}
	VZEROUPPER()
	RET()
}

// deltaRun applies a token to a number of registers of columns from the first
// on.
func deltaRun(label string, first, count int, state, out, values, stride Register, decay, beta VecVirtual) {
	column := func(base Register, i int) Mem { return Mem{Base: base, Disp: 4 * v.lanes() * (first + i)} }
	at, k, q, n := GP64(), GP64(), GP64(), GP64()
	sum := make([]VecVirtual, count)
	zero := func() {
		for i := range sum {
			sum[i] = v.reg()
			v.zero(sum[i])
		}
	}
	begin := func(name string) {
		MOVQ(state, at)
		Load(Param("k").Base(), k)
		Load(Param("k").Len(), n)
		Label(name)
	}
	zero()
	begin(label + "Old")
	weight := v.reg()
	VBROADCASTSS(Mem{Base: k}, weight)
	for i, s := range sum {
		x := v.reg()
		VMULPS(column(at, i), decay, x)
		VFMADD231PS(x, weight, s)
	}
	ADDQ(Imm(4), k)
	ADDQ(stride, at)
	DECQ(n)
	JNZ(LabelRef(label + "Old"))

	update := make([]VecVirtual, count)
	for i, s := range sum {
		update[i] = v.reg()
		VMOVUPS(column(values, i), update[i])
		VSUBPS(s, update[i], update[i])
		VMULPS(update[i], beta, update[i])
	}
	zero()
	Load(Param("q").Base(), q)
	begin(label + "New")
	weight, query := v.reg(), v.reg()
	VBROADCASTSS(Mem{Base: k}, weight)
	VBROADCASTSS(Mem{Base: q}, query)
	for i, s := range sum {
		x := v.reg()
		VMULPS(column(at, i), decay, x)
		VFMADD231PS(update[i], weight, x)
		VMOVUPS(x, column(at, i))
		VFMADD231PS(x, query, s)
	}
	ADDQ(Imm(4), k)
	ADDQ(Imm(4), q)
	ADDQ(stride, at)
	DECQ(n)
	JNZ(LabelRef(label + "New"))
	for i, s := range sum {
		VMOVUPS(s, column(out, i))
	}
}
