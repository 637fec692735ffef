package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The constants of exp and tanh: see exp.go of the package.
const (
	expLeast = -86.5
	integer  = 0x1.8p23
	log2e    = 0x1.715476p0
	ln2      = 0x1.62e43p-1
	ln2Error = -0x1.05c61p-29
	tanhNear = 0.625
)

var (
	expTerms  = []float32{0x1p-1, 0x1.5554dep-3, 0x1.55551ap-5, 0x1.120b64p-7, 0x1.6d10fep-10}
	tanhTerms = []float32{-0x1.555552p-2, 0x1.110e1cp-3, -0x1.b9258ap-5, 0x1.58048ep-6, -0x1.8f8de4p-8}
)

// constants are operands of values that a loop needs. Those of the avx512 set
// are registers, so they are made before the loop.
type constants map[float32]Op

func newConstants(lists ...[]float32) constants {
	c := constants{}
	for _, list := range lists {
		for _, value := range list {
			c[value] = v.constant(value)
		}
	}
	return c
}

var expConstants = append([]float32{expLeast, integer, log2e, -ln2, -ln2Error, 1}, expTerms...)

// exp replaces x by its exponential.
func (c constants) exp(x VecVirtual) {
	none := v.less(x, c[expLeast])
	t, n := v.reg(), v.reg()
	VMOVUPS(c[integer], t)
	VFMADD231PS(c[log2e], x, t)
	VSUBPS(c[integer], t, n)
	VFMADD231PS(c[-ln2], n, x)
	VFMADD231PS(c[-ln2Error], n, x)
	p := v.reg()
	VMOVUPS(c[expTerms[4]], p)
	for _, term := range []float32{expTerms[3], expTerms[2], expTerms[1], expTerms[0], 1, 1} {
		VFMADD213PS(c[term], x, p)
	}
	VPSLLD(Imm(23), t, t)
	VPADDD(t, p, x)
	v.clear(none, x)
}

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
