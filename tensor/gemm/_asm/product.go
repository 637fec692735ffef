package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const tileRows = 16

// form is a product kernel's view of a type: see productKey of the package.
type form struct {
	group, top int
	min, wide  bool
}

var forms = []form{
	{group: 32, top: 15}, {group: 32, top: 31}, {group: 32, top: 127}, {group: 32, top: 255}, {group: 32, top: 255, wide: true},
	{group: 32, top: 15, min: true}, {group: 32, top: 31, min: true},
	{group: 16, top: 15}, {group: 16, top: 31}, {group: 16, top: 63}, {group: 16, top: 127},
	{group: 16, top: 15, min: true},
}

func (f form) name() string {
	switch {
	case f.min:
		return fmt.Sprintf("%dMin", f.group)
	case f.wide:
		return fmt.Sprintf("%dWide", f.group)
	}
	return fmt.Sprint(f.group)
}

// groupBytes, blockBytes and lowBytes are those of Form.
func (f form) groupBytes() int {
	n := 16*f.group + 64
	if f.min {
		n += 64
	}
	return n
}

func (f form) blockBytes() int {
	if f.wide {
		return f.lowBytes() + 32
	}
	return f.lowBytes()
}

func (f form) lowBytes() int { return 36 + 4*(32/f.group) }

// bytes lists where a block has the bytes of its activations, the high ones first.
func (f form) bytes() []int {
	if f.wide {
		return []int{0, f.lowBytes()}
	}
	return []int{0}
}

const productParams = "tile, x []byte, xAt []int, dst []float32, dstAt []int, blocks, rows int, carry bool"

// products generates the kernels that Set.product lists.
func products() {
	done := map[string]bool{}
	for _, f := range forms {
		var list []string
		for _, n := range []int{8, 4, 2, 1} {
			var name string
			if v.rows() == tileRows { // top does not matter
				name = fmt.Sprintf("Product%sx%d", f.name(), n)
			} else {
				n = min(n, 4) // more do not fit into the registers
				name = fmt.Sprintf("Product%sTop%dx%d", f.name(), f.top, n)
			}
			list = append(list, v.name()+name)
			switch {
			case done[name]:
			case v.rows() == tileRows:
				productAVX512(name, f, n)
			default:
				productAVX2(name, f, n)
			}
			done[name] = true
		}
		if v.rows() < tileRows {
			list[0] = "nil"
		}
		fmt.Fprintf(&tables.products, "\t{%d, %d, %v, %v}: {%s},\n", f.group, f.top, f.min, f.wide, strings.Join(list, ", "))
	}
}

func productDoc(f form, n int) string {
	return fmt.Sprintf("multiplies %d columns with a tile of groups of %d: see productGeneric.", n, f.group)
}

// columnPointers returns the addresses base + at[i]<<shift of n columns.
func columnPointers(base string, shift uint64, n int) []GPVirtual {
	pointers := make([]GPVirtual, n)
	for i := range pointers {
		pointers[i] = columnPointer(base, shift, i)
	}
	return pointers
}

// columnPointer is one of them.
func columnPointer(base string, shift uint64, column int) GPVirtual {
	p := GP64()
	Load(Param(base+"At").Base(), p)
	MOVQ(Mem{Base: p, Disp: 8 * column}, p)
	if shift > 0 {
		SHLQ(Imm(shift), p)
	}
	ADDQ(parameter(Param(base).Base()), p)
	return p
}

// productAVX512 keeps, for each column, 16 sums of float32 and 16 of int32.
func productAVX512(name string, f form, n int) {
	function(name, productParams, productDoc(f, n))

	// The first rows of the results are those of the mask.
	mask, one := K(), GP64()
	Load(Param("rows"), RCX)
	MOVQ(U32(1), one)
	SHLQ(CL, one)
	DECQ(one)
	KMOVW(one.As32(), mask)

	acc := make([]VecVirtual, n)
	for c := range acc {
		acc[c] = ZMM()
		VPXORD(acc[c], acc[c], acc[c])
	}
	carry := Load(Param("carry"), GP8())
	TESTB(carry, carry)
	JZ(LabelRef("begin"))
	for c, p := range columnPointers("dst", 2, n) {
		VMOVUPS_Z(Mem{Base: p}, mask, acc[c])
	}

	Label("begin")
	tile := Load(Param("tile").Base(), GP64())
	x := columnPointers("x", 0, n)
	blocks, at := Load(Param("blocks"), GP64()), GP64()
	XORQ(at, at)
	isum := make([]VecVirtual, n)
	for c := range isum {
		isum[c] = ZMM()
	}
	Label("loop")
	block := func(c, offset int) Mem { return Mem{Base: x[c], Index: at, Scale: 1, Disp: offset} }
	for g := range 32 / f.group {
		base := g * f.groupBytes()
		for c := range n {
			if f.min || f.wide {
				VPXORD(isum[c], isum[c], isum[c])
			} else {
				VPBROADCASTD(block(c, 36+4*g), isum[c])
			}
		}
		for _, from := range f.bytes() {
			if from > 0 { // high bytes come first
				for c := range n {
					VPSLLD(Imm(8), isum[c], isum[c])
					VPADDD_BCST(block(c, 36+4*g), isum[c], isum[c])
				}
			}
			for k := 0; k < f.group; k += 4 {
				w := ZMM()
				VMOVDQU32(Mem{Base: tile, Disp: base + 16*k}, w)
				for c := range n {
					VPDPBUSD_BCST(block(c, from+g*f.group+k), w, isum[c])
				}
			}
		}
		s := ZMM()
		VMOVUPS(Mem{Base: tile, Disp: base + 16*f.group}, s)
		for c := range n {
			t := ZMM()
			VMULPS_BCST(block(c, 32), s, t)
			VCVTDQ2PS(isum[c], isum[c])
			VFMADD231PS(t, isum[c], acc[c])
		}
		if f.min {
			m := ZMM()
			VMOVUPS(Mem{Base: tile, Disp: base + 16*f.group + 64}, m)
			for c := range n {
				VFMADD231PS_BCST(block(c, 36+4*g), m, acc[c])
			}
		}
	}
	ADDQ(U32(32/f.group*f.groupBytes()), tile)
	ADDQ(U32(f.blockBytes()), at)
	DECQ(blocks)
	JNZ(LabelRef("loop"))

	for c, p := range columnPointers("dst", 2, n) {
		VMOVUPS(acc[c], mask, Mem{Base: p})
	}
	VZEROUPPER()
	RET()
}

// productAVX2 does eight rows of the tile, then the other eight.
//
// VPMADDUBSW adds two products in 16 bits. The smaller u are, the more of
// these sums fit before they must be widened to 32 bits. Full bytes do not fit
// at all: there the factors are the absolute value of the level and the
// activation with the level's sign, and the sum is right without a correction.
// High bytes of activations are multiplied by 256 when they are widened.
func productAVX2(name string, f form, n int) {
	function(name, productParams, productDoc(f, n))
	sums := map[int]int{15: 8, 31: 4, 63: 2, 127: 1, 255: 1}[f.top]
	signed := f.top == 255

	// mask has the sign bit of each row that there is.
	tile, at := Load(Param("tile").Base(), GP64()), GP64()
	maskAt := GP64()
	LEAQ(rowMasks().Offset(64), maskAt)
	half := GP64()
	rows := Load(Param("rows"), GP64())
	SHLQ(Imm(2), rows)
	SUBQ(rows, maskAt)
	XORQ(half, half)

	Label("half")
	mask := YMM()
	VMOVDQU(Mem{Base: maskAt}.Idx(half, 1), mask)
	acc := make([]VecVirtual, n)
	for c := range acc {
		acc[c] = YMM()
		VXORPS(acc[c], acc[c], acc[c])
	}
	carry := Load(Param("carry"), GP8())
	TESTB(carry, carry)
	JZ(LabelRef("begin"))
	for c, p := range columnPointers("dst", 2, n) {
		VMASKMOVPS(Mem{Base: p}.Idx(half, 1), mask, acc[c])
	}

	Label("begin")
	x := columnPointers("x", 0, n)
	w := GP64()
	LEAQ(Mem{Base: tile, Index: half, Scale: 1}, w)
	blocks := Load(Param("blocks"), GP64())
	XORQ(at, at)
	ones := YMM()
	VPCMPEQW(ones, ones, ones)
	VPSRLW(Imm(15), ones, ones)
	var bias Op
	if signed {
		bias = constant(0x80808080)
	}
	factors := []Op{ones}
	if f.wide {
		factors = []Op{constant(0x01000100), ones}
	}

	Label("loop")
	block := func(c, offset int) Mem { return Mem{Base: x[c], Index: at, Scale: 1, Disp: offset} }
	for g := range 32 / f.group {
		base := g * f.groupBytes()
		isum, pairs := make([]VecVirtual, n), make([]VecVirtual, n)
		for c := range n {
			isum[c], pairs[c] = YMM(), YMM()
			if !f.min && !signed {
				VPBROADCASTD(block(c, 36+4*g), isum[c])
			}
		}
		empty := f.min || signed // isum has no value yet
		for k := 0; k < f.group; k += 4 {
			u, level := YMM(), YMM()
			VMOVDQU(Mem{Base: w, Disp: base + 16*k}, u)
			if signed {
				VPXOR(bias, u, level)
				VPABSB(level, u)
			}
			widen := k/4%sums == sums-1 || k+4 == f.group
			for c := range n {
				for i, from := range f.bytes() {
					q, into := YMM(), pairs[c]
					VPBROADCASTD(block(c, from+g*f.group+k), q)
					if signed {
						VPSIGNB(level, q, q)
					}
					if k/4%sums != 0 {
						into = YMM()
					}
					VPMADDUBSW(q, u, into)
					if into != pairs[c] {
						VPADDW(into, pairs[c], pairs[c])
					}
					switch {
					case widen && empty && i == 0:
						VPMADDWD(factors[i], pairs[c], isum[c])
					case widen:
						VPMADDWD(factors[i], pairs[c], pairs[c])
						VPADDD(pairs[c], isum[c], isum[c])
					}
				}
			}
			empty = empty && !widen
		}
		s := YMM()
		VMOVUPS(Mem{Base: w, Disp: base + 16*f.group}, s)
		for c := range n {
			t := YMM()
			VBROADCASTSS(block(c, 32), t)
			VMULPS(s, t, t)
			VCVTDQ2PS(isum[c], isum[c])
			VFMADD231PS(t, isum[c], acc[c])
		}
		if f.min {
			m := YMM()
			VMOVUPS(Mem{Base: w, Disp: base + 16*f.group + 64}, m)
			for c := range n {
				t := YMM()
				VBROADCASTSS(block(c, 36+4*g), t)
				VFMADD231PS(t, m, acc[c])
			}
		}
	}
	ADDQ(U32(32/f.group*f.groupBytes()), w)
	ADDQ(U32(f.blockBytes()), at)
	DECQ(blocks)
	JNZ(LabelRef("loop"))

	for c, p := range columnPointers("dst", 2, n) {
		VMASKMOVPS(acc[c], mask, Mem{Base: p}.Idx(half, 1))
	}
	ADDQ(Imm(32), half)
	CMPQ(half, Imm(64))
	JNE(LabelRef("half"))
	VZEROUPPER()
	RET()
}

// rowMasks are 16 words of ones and 16 of zeros.
func rowMasks() Mem {
	if m, ok := data["rowMasks"]; ok {
		return m
	}
	m := GLOBL("rowMasks", attr.RODATA|attr.NOPTR)
	for i := range 32 {
		if i < tileRows {
			DATA(4*i, U32(1<<32-1))
		} else {
			DATA(4*i, U32(0))
		}
	}
	data["rowMasks"] = m
	return m
}
