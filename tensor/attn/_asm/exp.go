package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The constants of exp and tanh: see package f32.
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
