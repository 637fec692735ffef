package main

import (
	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// quantizes generates the quantizers of activations, in AVX2 only: they are a
// small part of a product.
func quantizes() {
	if v.rows() == tileRows {
		return
	}
	quantize("Quantize32", form{group: 32})
	quantize("Quantize16", form{group: 16})
	quantize("Quantize32Wide", form{group: 32, wide: true})
	quantize("Quantize32Min", form{group: 32, min: true})
	quantize("Quantize16Min", form{group: 16, min: true})
}

func quantize(name string, f form) {
	function(name, "dst []byte, x []float32, bias int", "quantizes at least one block of activations: see quantizeBlock.")
	const (
		infinity = 0xff << 23
		tiny     = (127 - 110) << 23
	)
	dst, x, n := GP64(), GP64(), GP64()
	Load(Param("dst").Base(), dst)
	Load(Param("x").Base(), x)
	Load(Param("x").Len(), n)
	var minusBias VecVirtual
	if !f.min {
		bias := Load(Param("bias"), GP64())
		NEGQ(bias)
		minusBias = XMM()
		VMOVD(bias.(GPVirtual).As32(), minusBias)
		VPBROADCASTD(minusBias, minusBias)
	}
	abs, order, steps := constant(1<<31-1), YMM(), XMM()
	VMOVDQU(inOrder(), order)
	VMOVSS(dataWord(0x42fe0000), steps) // 127

	Label("loop")
	values := make([]VecVirtual, 4)
	top := YMM()
	for i := range values {
		values[i] = YMM()
		VMOVUPS(Mem{Base: x, Disp: 32 * i}, values[i])
		if i == 0 {
			VPAND(abs, values[i], top)
			continue
		}
		t := YMM()
		VPAND(abs, values[i], t)
		VPMAXUD(t, top, top)
	}
	most, t := XMM(), XMM()
	VEXTRACTI128(Imm(1), top, t)
	VPMAXUD(t, top.AsX(), most)
	VPSHUFD(Imm(0x0e), most, t)
	VPMAXUD(t, most, most)
	VPSHUFD(Imm(0x01), most, t)
	VPMAXUD(t, most, most)
	bits := GP32()
	VMOVD(most, bits)
	SUBL(U32(tiny), bits)
	CMPL(bits, U32(infinity-tiny))
	JAE(LabelRef("special"))

	scale, inverse := XMM(), YMM()
	VDIVSS(steps, most, scale)
	if f.wide {
		VMULSS(dataWord(0x3b800000), scale, scale) // 1/256
	}
	VMOVSS(scale, Mem{Base: dst, Disp: 32})
	t = XMM()
	VDIVSS(most, steps, t)
	VBROADCASTSS(t, inverse)
	low := make([]VecVirtual, len(values))
	for i, r := range values {
		VMULPS(inverse, r, r)
		if f.wide {
			low[i] = YMM()
			whole := YMM()
			VROUNDPS(Imm(0), r, whole)
			VSUBPS(whole, r, low[i])
			VMULPS(constant(0x43800000), low[i], low[i]) // 256
			VCVTPS2DQ(low[i], low[i])
			VPMINSD(constant(127), low[i], low[i])
			VPMAXSD(constant(1<<32-127), low[i], low[i])
		}
		VCVTPS2DQ(r, r)
	}
	storeBytes(values, order, Mem{Base: dst})
	if f.wide {
		storeBytes(low, order, Mem{Base: dst, Disp: f.lowBytes()})
		for i, r := range values {
			VPSLLD(Imm(8), r, r)
			VPADDD(low[i], r, r)
		}
	}
	// The sums of the halves, twice.
	first, second, sums := YMM(), YMM(), XMM()
	VPADDD(values[1], values[0], first)
	VPADDD(values[3], values[2], second)
	VPHADDD(second, first, first)
	VEXTRACTI128(Imm(1), first, sums)
	VPADDD(first.AsX(), sums, sums)
	VPHADDD(sums, sums, sums)
	if f.group == 32 {
		VPHADDD(sums, sums, sums)
	}
	if f.min {
		VCVTDQ2PS(sums, sums)
		VBROADCASTSS(scale, scale)
		VMULPS(scale, sums, sums)
	} else {
		VPMULLD(minusBias, sums, sums)
	}
	if f.group == 32 {
		VMOVD(sums, Mem{Base: dst, Disp: 36})
	} else {
		VMOVQ(sums, Mem{Base: dst, Disp: 36})
	}
	Label("next")
	ADDQ(Imm(uint64(f.blockBytes())), dst)
	ADDQ(U32(128), x)
	SUBQ(Imm(32), n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()

	// All q are zero. The scale is zero too if the values are small, else NaN.
	Label("special")
	zero := YMM()
	VPXOR(zero, zero, zero)
	for _, from := range f.bytes() {
		VMOVDQU(zero, Mem{Base: dst, Disp: from})
	}
	nan, none := GP64(), GP64()
	MOVQ(U32(0x7fc00000), nan)
	XORQ(none, none)
	CMPL(bits, Imm(0))
	CMOVQLT(none, nan) // below tiny: the difference is negative
	MOVL(nan.As32(), Mem{Base: dst, Disp: 32})
	for g := range 32 / f.group {
		if f.min {
			MOVL(nan.As32(), Mem{Base: dst, Disp: 36 + 4*g})
		} else {
			MOVL(none.As32(), Mem{Base: dst, Disp: 36 + 4*g})
		}
	}
	JMP(LabelRef("next"))
}

// storeBytes stores 32 integers as bytes.
func storeBytes(values []VecVirtual, order VecVirtual, m Mem) {
	a, b := YMM(), YMM()
	VPACKSSDW(values[1], values[0], a)
	VPACKSSDW(values[3], values[2], b)
	VPACKSSWB(b, a, a)
	VPERMD(a, order, a)
	VMOVDQU(a, m)
}

// inOrder are the places of 32-bit words after two packings.
func inOrder() Mem {
	if m, ok := data["inOrder"]; ok {
		return m
	}
	m := GLOBL("inOrder", attr.RODATA|attr.NOPTR)
	data["inOrder"] = m
	for i, place := range []uint32{0, 4, 1, 5, 2, 6, 3, 7} {
		DATA(4*i, U32(place))
	}
	return m
}
