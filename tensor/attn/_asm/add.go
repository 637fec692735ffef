package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// add adds weighted values of a type to rows of sums. A run of columns of as
// many rows as the registers allow stays in registers for all positions; the
// first runs are the widest.
func add(rows int, t elements) {
	function(fmt.Sprintf("Add%s%d", t.name, rows), "(dst, w []float32, stride int, v []byte, vStride, ahead, vectors, n int)",
		"adds weighted values to rows: see addGeneric.")
	least := t.values / lanes // vectors of a run
	height := min(rows, v.lanes()/(least*halves()))
	for first := 0; first < rows; first += height {
		dst, values := Load(Param("dst").Base(), GP64()), Load(Param("v").Base(), GP64())
		wStride := newStride(Load(Param("stride"), GP64()), 2)
		rowBytes := newStride(Load(Param("vectors"), GP64()), 6)
		if first > 0 {
			LEAQ(rowBytes.at(dst, first), dst)
		}
		left := Load(Param("vectors"), GP64())
		for run := max(least, min(v.lanes()/height, 8)/halves()); run >= least; run /= 2 {
			addRun(fmt.Sprintf("Rows%dRun%d", first, run), t, run, first, height, dst, values, left, wStride, rowBytes)
		}
	}
	VZEROUPPER()
	RET()
}

// addRun adds runs of so many vectors while there are as many left.
func addRun(label string, t elements, run, first, height int, dst, values, left Register, wStride, rowBytes stride) {
	begin, position, end := "begin"+label, "position"+label, "end"+label
	Label(begin)
	CMPQ(left, Imm(uint64(run)))
	JLT(LabelRef(end))
	sums := make([][]VecVirtual, height)
	column := func(i int) int { return 4 * v.lanes() * i }
	for r := range sums {
		sums[r] = make([]VecVirtual, run*halves())
		for i := range sums[r] {
			sums[r][i] = v.reg()
			VMOVUPS(rowBytes.at(dst, r).Offset(column(i)), sums[r][i])
		}
	}
	w, at := Load(Param("w").Base(), GP64()), GP64()
	if first > 0 {
		LEAQ(wStride.at(w, first), w)
	}
	MOVQ(values, at)
	n, vStride := Load(Param("n"), GP64()), Load(Param("vStride"), GP64())

	var later GPVirtual
	if first == 0 && t.distant {
		later = fetchAhead([]GPVirtual{at})[0]
	}

	Label(position)
	if later != nil {
		for line := 0; line < run*lanes/t.values*t.bytes; line += 64 {
			PREFETCHT1(Mem{Base: later, Disp: line})
		}
		ADDQ(vStride, later)
	}
	value, scale := make([]VecVirtual, run*halves()), scales{}
	for i := range value {
		value[i] = v.reg()
		number := i * v.lanes()
		block := Mem{Base: at, Disp: number / t.values * t.bytes}
		if number%t.values == 0 {
			scale = t.begin(block)
		}
		t.load(block, number%t.values, scale, value[i])
	}
	for r := range sums {
		weight := v.reg()
		VBROADCASTSS(wStride.at(w, r), weight)
		for i := range value {
			VFMADD231PS(value[i], weight, sums[r][i])
		}
	}
	ADDQ(Imm(4), w)
	ADDQ(vStride, at)
	DECQ(n)
	JNZ(LabelRef(position))

	for r := range sums {
		for i, s := range sums[r] {
			VMOVUPS(s, rowBytes.at(dst, r).Offset(column(i)))
		}
	}
	ADDQ(U32(64*run), dst)
	ADDQ(U32(run*lanes/t.values*t.bytes), values)
	SUBQ(Imm(uint64(run)), left)
	JMP(LabelRef(begin))
	Label(end)
}
