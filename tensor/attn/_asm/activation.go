package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The constants of activations: see generic.go of package vec.
const (
	quickSlope = 1.702
	geluSlope  = 1.5957691
	geluCubic  = 0.0713548163
)

// activationFunction is x times the sigmoid of a, or the sigmoid only.
type activationFunction struct {
	name      string
	constants []float32
	a         func(c constants, x, a VecVirtual) // nil: a is x
	only      bool
}

var activations = []activationFunction{
	{name: "SiLU"},
	{name: "GELU", constants: []float32{geluCubic, geluSlope}, a: func(c constants, x, a VecVirtual) {
		t := v.reg()
		VMULPS(x, x, t)
		VMOVUPS(c[geluSlope], a)
		VFMADD231PS(c[geluCubic], t, a)
		VMULPS(x, a, a)
	}},
	{name: "QuickGELU", constants: []float32{quickSlope}, a: func(c constants, x, a VecVirtual) {
		VMULPS(c[quickSlope], x, a)
	}},
	{name: "Sigmoid", only: true},
}

func (f activationFunction) newConstants() constants {
	return newConstants(expConstants, f.constants, []float32{0})
}

// apply returns f(x).
func (f activationFunction) apply(c constants, x VecVirtual) VecVirtual {
	a, t, n, d := x, v.reg(), v.reg(), v.reg()
	if f.a != nil {
		a = v.reg()
		f.a(c, x, a)
	}
	v.or(dataVector(1<<31), a, t)
	c.exp(t)
	VADDPS(c[1], t, d)
	VMOVUPS(c[1], n)
	v.choose(v.less(a, c[0]), t, n)
	if !f.only {
		VMULPS(x, n, n)
	}
	VDIVPS(d, n, n)
	return n
}

// activate computes f in place.
func activate(f activationFunction) {
	function(f.name, "(x []float32)", "computes an activation: see activateGeneric.")
	at, n := Load(Param("x").Base(), GP64()), Load(Param("x").Len(), GP64())
	c := f.newConstants()
	Label("next")
	x := v.reg()
	VMOVUPS(Mem{Base: at}, x)
	VMOVUPS(f.apply(c, x), Mem{Base: at})
	ADDQ(Imm(uint64(4*v.lanes())), at)
	SUBQ(Imm(uint64(v.lanes())), n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	RET()
}

// gated computes a gated unit. Of a NaN and a limit, the NaN counts: it is the
// first operand.
func gated(f activationFunction) {
	function("Gated"+f.name, "(dst, gate, up []float32, limitGate, limitResult, limitUp, upBias float32)",
		"computes a gated unit: see gatedGeneric.")
	dst, gate, up := Load(Param("dst").Base(), GP64()), Load(Param("gate").Base(), GP64()), Load(Param("up").Base(), GP64())
	n := Load(Param("dst").Len(), GP64())
	c := f.newConstants()
	Label("next")
	limit, x, u := v.reg(), v.reg(), v.reg()
	VMOVUPS(Mem{Base: gate}, x)
	VBROADCASTSS(argument("limitGate"), limit)
	VMINPS(x, limit, x)
	y := f.apply(c, x)
	VBROADCASTSS(argument("limitResult"), limit)
	VMINPS(y, limit, y)
	VMOVUPS(Mem{Base: up}, u)
	VBROADCASTSS(argument("limitUp"), limit)
	VMINPS(u, limit, u)
	v.xor(dataVector(1<<31), limit, limit)
	VMAXPS(u, limit, u)
	VBROADCASTSS(argument("upBias"), limit)
	VADDPS(limit, u, u)
	VMULPS(u, y, y)
	VMOVUPS(y, Mem{Base: dst})
	for _, p := range []Op{dst, gate, up} {
		ADDQ(Imm(uint64(4*v.lanes())), p)
	}
	SUBQ(Imm(uint64(v.lanes())), n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	RET()
}
