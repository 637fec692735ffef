package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// add adds weighted values to rows of sums. A run of columns of all rows stays
// in registers for all positions; the first runs are as wide as the registers
// allow.
func add(rows int) {
	function(fmt.Sprintf("Add%d", rows), "(dst, w []float32, stride int, v []float32, vectors, n int)",
		"adds weighted values to rows: see addGeneric.")
	dst, values := Load(Param("dst").Base(), GP64()), Load(Param("v").Base(), GP64())
	wStride := newStride(Load(Param("stride"), GP64()), 2)
	rowBytes := newStride(Load(Param("vectors"), GP64()), 6)
	left := Load(Param("vectors"), GP64())
	w, at, n := GP64(), GP64(), GP64()
	registers := v.lanes() // of sums
	for run := min(registers/rows, 8) / halves(); run > 0; run /= 2 {
		begin, end := fmt.Sprintf("run%d", run), fmt.Sprintf("after%d", run)
		Label(begin)
		CMPQ(left, Imm(uint64(run)))
		JLT(LabelRef(end))
		sums := make([][]VecVirtual, rows)
		column := func(i int) int { return 4 * v.lanes() * i }
		for r := range sums {
			sums[r] = make([]VecVirtual, run*halves())
			for i := range sums[r] {
				sums[r][i] = v.reg()
				VMOVUPS(rowBytes.at(dst, r).Offset(column(i)), sums[r][i])
			}
		}
		Load(Param("w").Base(), w)
		MOVQ(values, at)
		Load(Param("n"), n)
		Label(fmt.Sprintf("position%d", run))
		value := make([]VecVirtual, run*halves())
		for i := range value {
			value[i] = v.reg()
			VMOVUPS(Mem{Base: at, Disp: column(i)}, value[i])
		}
		for r := range sums {
			weight := v.reg()
			VBROADCASTSS(wStride.at(w, r), weight)
			for i := range value {
				VFMADD231PS(value[i], weight, sums[r][i])
			}
		}
		ADDQ(Imm(4), w)
		ADDQ(rowBytes.one, at)
		DECQ(n)
		JNZ(LabelRef(fmt.Sprintf("position%d", run)))
		for r := range sums {
			for i, s := range sums[r] {
				VMOVUPS(s, rowBytes.at(dst, r).Offset(column(i)))
			}
		}
		ADDQ(U32(64*run), dst)
		ADDQ(U32(64*run), values)
		SUBQ(Imm(uint64(run)), left)
		JMP(LabelRef(begin))
		Label(end)
	}
	VZEROUPPER()
	RET()
}
