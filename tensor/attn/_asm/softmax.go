package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// softmax goes over the scores twice: for the maximum, and for the weights.
func softmax() {
	function("Softmax", "(scores []float32) (top, sum float32)", "makes weights of scores: see softmaxGeneric.")
	begin, count := Load(Param("scores").Base(), GP64()), Load(Param("scores").Len(), GP64())
	SHRQ(Imm(4), count)
	at, n := GP64(), GP64()
	top, x := make([]VecVirtual, halves()), make([]VecVirtual, halves())
	for i := range top {
		top[i] = v.reg()
		VMOVUPS(dataVector(math.Float32bits(float32(math.Inf(-1)))), top[i])
	}
	each := func(label string, do func(i int, m Mem)) {
		MOVQ(begin, at)
		MOVQ(count, n)
		Label(label)
		for i := range halves() {
			x[i] = v.reg()
			m := Mem{Base: at, Disp: 4 * v.lanes() * i}
			VMOVUPS(m, x[i])
			do(i, m)
		}
		ADDQ(Imm(64), at)
		DECQ(n)
		JNZ(LabelRef(label))
	}
	// If one is a NaN, the result is the first operand.
	each("maximum", func(i int, _ Mem) { VMAXPS(top[i], x[i], top[i]) })
	largest := across(top, func(a, b VecVirtual) { VMAXPS(a, b, b) })
	zero := XMM()
	VXORPS(zero, zero, zero)
	VADDSS(zero, largest, largest)
	Store(largest, Return("top"))
	all := v.reg()
	VBROADCASTSS(largest, all)

	c := newConstants(expConstants)
	sum := make([]VecVirtual, halves())
	for i := range sum {
		sum[i] = v.reg()
		v.zero(sum[i])
	}
	each("weights", func(i int, m Mem) {
		VSUBPS(all, x[i], x[i])
		c.exp(x[i])
		VMOVUPS(x[i], m)
		VADDPS(x[i], sum[i], sum[i])
	})
	Store(across(sum, func(a, b VecVirtual) { VADDPS(a, b, b) }), Return("sum"))
	VZEROUPPER()
	RET()
}

// across combines 16 lanes to one in a tree.
func across(x []VecVirtual, combine func(a, b VecVirtual)) VecVirtual {
	half := x[0].AsY().(VecVirtual)
	if len(x) > 1 {
		combine(x[1], x[0])
	} else {
		high := YMM()
		VEXTRACTF64X4(Imm(1), x[0], high)
		combine(high, half)
	}
	high, quarter := XMM(), half.AsX().(VecVirtual)
	VEXTRACTF128(Imm(1), half, high)
	combine(high, quarter)
	VMOVHLPS(quarter, quarter, high)
	combine(high, quarter)
	VMOVSHDUP(quarter, high)
	combine(high, quarter)
	return quarter
}

// softcap computes both ways of tanh and chooses.
func softcap() {
	function("Softcap", "(x []float32, limit float32)", "caps scores: see softcapGeneric.")
	at, n := Load(Param("x").Base(), GP64()), Load(Param("x").Len(), GP64())
	c := newConstants(expConstants, tanhTerms, []float32{tanhNear, -2})
	limit := broadcast("limit")
	Label("next")
	x, sign, a := v.reg(), v.reg(), v.reg()
	VMOVUPS(Mem{Base: at}, x)
	VDIVPS(limit, x, x)
	v.and(dataVector(1<<31), x, sign)
	v.and(dataVector(1<<31-1), x, a)

	u, near := v.reg(), v.reg()
	VMULPS(a, a, u)
	VMOVUPS(c[tanhTerms[4]], near)
	for i := 3; i >= 0; i-- {
		VFMADD213PS(c[tanhTerms[i]], u, near)
	}
	VMULPS(u, near, near)
	VFMADD213PS(a, a, near)

	t, one, far := v.reg(), v.reg(), v.reg()
	VMULPS(c[-2], a, t)
	c.exp(t)
	VMOVUPS(c[1], one)
	VSUBPS(t, one, far)
	VADDPS(t, one, t)
	VDIVPS(t, far, far)

	v.choose(v.less(a, c[tanhNear]), near, far)
	v.or(sign, far, far)
	VMULPS(limit, far, far)
	VMOVUPS(far, Mem{Base: at})
	ADDQ(Imm(uint64(4*v.lanes())), at)
	SUBQ(Imm(uint64(v.lanes())), n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	RET()
}

// broadcast is a parameter in all lanes.
func broadcast(name string) VecVirtual {
	x := v.reg()
	VBROADCASTSS(argument(name), x)
	return x
}
