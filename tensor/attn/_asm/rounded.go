package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A block of a rounded query row: see the package.
const (
	roundedBytes = 128
	roundedLow   = 64
	roundedScale = 96
	roundedSum   = 100
)

// round rounds query rows, in AVX2 only: it is done once for many keys.
func round() {
	function("Round", "(row []float32)", "rounds a query row in place: see roundGeneric.")
	const (
		infinity = 0xff << 23
		tiny     = (127 - 110) << 23
	)
	steps := dataVector(math.Float32bits(math.MaxInt16))
	row, n := Load(Param("row").Base(), GP64()), Load(Param("row").Len(), GP64())
	Label("block")
	values, size := make([]VecVirtual, 4), make([]VecVirtual, 4)
	for i := range values {
		values[i], size[i] = YMM(), YMM()
		VMOVUPS(Mem{Base: row, Disp: 32 * i}, values[i])
		VANDPS(dataVector(1<<31-1), values[i], size[i])
	}
	VPMAXUD(size[1], size[0], size[0])
	VPMAXUD(size[3], size[2], size[2])
	top := across([]VecVirtual{size[0], size[2]}, func(a, b VecVirtual) { VPMAXUD(a, b, b) })
	bits := GP32()
	VMOVD(top, bits)
	SUBL(U32(tiny), bits)
	CMPL(bits, U32(infinity-tiny))
	JAE(LabelRef("special"))

	scale, inverse := XMM(), YMM()
	VDIVSS(steps, top, scale)
	VMOVSS(scale, Mem{Base: row, Disp: roundedScale})
	VMOVSS(steps, scale)
	VDIVSS(top, scale, scale)
	VBROADCASTSS(scale, inverse)
	low := make([]VecVirtual, 4)
	for i, x := range values {
		low[i] = YMM()
		VMULPS(inverse, x, x)
		VROUNDPS(Imm(0), x, low[i])
		VSUBPS(low[i], x, low[i])
		VMULPS(dataVector(math.Float32bits(128)), low[i], low[i])
		VCVTPS2DQ(low[i], low[i])
		VCVTPS2DQ(x, x)
	}
	for i := 0; i < 4; i += 2 {
		x := values[i]
		VPACKSSDW(values[i+1], x, x)
		VPSHUFLW(Imm(0xd8), x, x)
		VPSHUFHW(Imm(0xd8), x, x)
		VPERMQ(Imm(0xd8), x, x)
		VMOVDQU(x, Mem{Base: row, Disp: 16 * i})
	}
	VPADDD(low[1], low[0], values[0])
	VPADDD(low[3], low[2], values[2])
	sum, zero := across([]VecVirtual{values[0], values[2]}, func(a, b VecVirtual) { VPADDD(a, b, b) }), XMM()
	VPSLLD(Imm(7), sum, sum)
	VPXOR(zero, zero, zero)
	VPSUBD(sum, zero, sum)
	VMOVD(sum, Mem{Base: row, Disp: roundedSum})
	VPACKSSDW(low[1], low[0], low[0])
	VPACKSSDW(low[3], low[2], low[2])
	VPACKSSWB(low[2], low[0], low[0])
	order := YMM()
	VMOVDQU(dataList("inOrder", []uint32{0, 4, 1, 5, 2, 6, 3, 7}), order)
	VPERMD(low[0], order, low[0])
	VMOVDQU(low[0], Mem{Base: row, Disp: roundedLow})

	Label("next")
	ADDQ(U32(roundedBytes), row)
	SUBQ(Imm(32), n)
	JNZ(LabelRef("block"))
	VZEROUPPER()
	RET()

	Label("special")
	none, factor := YMM(), GP32()
	VPXOR(none, none, none)
	for at := 0; at < roundedBytes; at += 32 {
		VMOVDQU(none, Mem{Base: row, Disp: at})
	}
	CMPL(bits, Imm(0))
	JLT(LabelRef("next")) // below tiny: the difference is negative
	MOVL(U32(0x7fc00000), factor)
	MOVL(factor, Mem{Base: row, Disp: roundedScale})
	JMP(LabelRef("next"))
}

// roundedDots multiplies rounded query rows with keys, as many keys side by
// side as a register has lanes: a scale is a lane's, and no sum crosses lanes.
func roundedDots(rows int, t elements) {
	function(fmt.Sprintf("Dots%s%d", t.name, rows),
		"(dst []float32, stride int, q []float32, k []byte, kStride, ahead, vectors, keys int, scale float32)",
		"multiplies rounded query rows with keys: see roundedDotsGeneric.")
	height := min(rows, v.lanes()/4)
	for first := 0; first < rows; first += height {
		roundedDotsOf(t, first, height)
	}
	VZEROUPPER()
	RET()
}

// roundedDotsOf multiplies height query rows from the first on.
func roundedDotsOf(t elements, first, height int) {
	k, q, steps := Load(Param("k").Base(), GP64()), GP64(), GP64()
	rowBytes := newStride(Load(Param("vectors"), GP64()), 6)
	keyStride := newStride(Load(Param("kStride"), GP64()), 0)
	distance := Load(Param("ahead"), GP64())
	keyAt := make([]GPVirtual, v.lanes()/4)
	for i := range keyAt {
		keyAt[i] = GP64()
	}
	key := func(offset int) func(i int) Mem {
		return func(i int) Mem { return keyStride.at(keyAt[i/4], i%4).Offset(offset) }
	}
	done := AllocLocal(8) // registers are short
	MOVQ(U32(0), done)
	sign := v.constant(math.Float32frombits(0x80808080))
	step := v.constant(1. / 128)

	again := fmt.Sprintf("rows%d", first)
	Label(again)
	MOVQ(k, keyAt[0])
	for i := range keyAt[1:] {
		LEAQ(Mem{Base: keyAt[i], Index: keyStride.one, Scale: 4}, keyAt[i+1])
	}
	sums := zeros(height)
	Load(Param("q").Base(), q)
	if first > 0 {
		LEAQ(rowBytes.at(q, first), q)
	}
	Load(Param("vectors"), steps)
	Label(again + "Block")
	query := func(r, at int) Mem { return rowBytes.at(q, r).Offset(at) }
	high, low := zeros(height), make([]VecVirtual, height)
	for r := range low {
		low[r] = v.reg()
		VPBROADCASTD(query(r, roundedSum), low[r])
	}
	for number := 0; number < t.values; {
		for _, word := range v.words(key(t.bytes - t.values + number)) {
			if first == 0 && number%(t.values/len(keyAt)) == 0 {
				fetchKeys(keyAt[number*len(keyAt)/t.values], keyStride, distance)
			}
			x := v.reg()
			v.xor(sign, word, x)
			for r, sum := range low {
				v.multiplyBytes(query(r, roundedLow+number), x, sum)
			}
			VPSLLW(Imm(8), word, x)
			VPSRAW(Imm(8), x, x)
			for r, sum := range high {
				v.multiplyPairs(query(r, 2*number), x, sum)
			}
			VPSRAW(Imm(8), word, word)
			for r, sum := range high {
				v.multiplyPairs(query(r, 2*number+4), word, sum)
			}
			number += 4
		}
	}
	scale := v.reg()
	v.halfWords(key(0), scale)
	for r, sum := range sums {
		both := v.reg()
		VBROADCASTSS(query(r, roundedScale), both)
		VMULPS(scale, both, both)
		VCVTDQ2PS(high[r], high[r])
		VCVTDQ2PS(low[r], low[r])
		VFMADD231PS(step, low[r], high[r])
		VFMADD231PS(both, high[r], sum)
	}
	ADDQ(U32(roundedBytes), q)
	for _, at := range keyAt {
		ADDQ(Imm(uint64(t.bytes)), at)
	}
	SUBQ(Imm(uint64(t.values/lanes)), steps)
	JNZ(LabelRef(again + "Block"))

	dst, factor := Load(Param("dst").Base(), GP64()), broadcast("scale")
	dstStride := newStride(Load(Param("stride"), GP64()), 2)
	ADDQ(done, dst)
	for r, s := range sums {
		VMULPS(factor, s, s)
		VMOVUPS(s, dstStride.at(dst, first+r))
	}
	for range keyAt {
		LEAQ(Mem{Base: k, Index: keyStride.one, Scale: 4}, k)
	}
	ADDQ(Imm(uint64(4*v.lanes())), done)
	left := Load(Param("keys"), GP64())
	SHLQ(Imm(2), left)
	CMPQ(left, done)
	JNE(LabelRef(again))
}

// fetchKeys fetches what is at a distance from a key and the three after it.
func fetchKeys(at Register, stride stride, distance Register) {
	later := GP64()
	LEAQ(Mem{Base: at, Index: distance, Scale: 1}, later)
	for j := range 4 {
		PREFETCHT1(stride.at(later, j))
	}
}

// zeros are n registers of zeros.
func zeros(n int) []VecVirtual {
	list := make([]VecVirtual, n)
	for i := range list {
		list[i] = v.reg()
		v.zero(list[i])
	}
	return list
}
