package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// floatType loads as many weights as a vector has lanes, as float32.
type floatType struct {
	name string
	size int
	load func(m Mem, dst VecVirtual)
}

var floatTypes = []floatType{
	{"F32", 4, func(m Mem, dst VecVirtual) { VMOVUPS(m, dst) }},
	{"F16", 2, func(m Mem, dst VecVirtual) { VCVTPH2PS(m, dst) }},
	{"BF16", 2, func(m Mem, dst VecVirtual) {
		VPMOVZXWD(m, dst)
		VPSLLD(Imm(16), dst, dst)
	}},
}

const floatParams = "w []byte, stride int, x []byte, xAt []int, partial []float32, partialAt []int, steps, ahead int"

// floats generates the kernels that Set.float lists, and Set.reduce.
func floats() {
	for _, t := range floatTypes {
		fmt.Fprintf(&tables.floats, "\ttensor.%s: {\n", t.name)
		for _, rows := range []int{4, 1} {
			fmt.Fprintf(&tables.floats, "\t\t%s: [len(floatWidths)]floatFunc{", map[int]string{4: "rows4", 1: "row1"}[rows])
			for _, n := range []int{6, 4, 2, 1} {
				name := fmt.Sprintf("%s%dx%d", t.name, rows, n)
				fmt.Fprintf(&tables.floats, "%s%s, ", v.name(), name)
				float(name, t, rows, n)
			}
			fmt.Fprint(&tables.floats, "},\n")
		}
		fmt.Fprint(&tables.floats, "\t},\n")
	}
	reduce()
}

// float multiplies rows with n columns. Where a vector is half of the 16
// partial sums, or the registers do not suffice, it takes several passes: over
// pairs of rows, and over halves.
func float(name string, t floatType, rows, n int) {
	function(name, floatParams,
		fmt.Sprintf("multiplies %d rows with %d columns: see floatGeneric.", rows, n))
	rowsAtOnce := rows
	if v.rows() < tileRows && n >= 4 {
		rowsAtOnce = min(rows, 2)
	}
	w, stride, stride3 := GP64(), GP64(), GP64()
	Load(Param("stride"), stride)
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	vectors := tileRows / v.rows() // of 16 partial sums
	atOnce := vectors
	if n > 1 {
		atOnce = 1
	}
	for begin := 0; begin < vectors; begin += atOnce {
		for first := 0; first < rows; first += rowsAtOnce {
			floatPass(t, n, first, rowsAtOnce, begin, atOnce, w, stride, stride3)
		}
	}
	VZEROUPPER()
	RET()
}

// floatPass multiplies some rows, and some vectors of each 16 elements.
func floatPass(t floatType, n, first, rows, begin, vectors int, w, stride, stride3 GPVirtual) {
	label := fmt.Sprintf("loop%d_%d", begin, first)
	Load(Param("w").Base(), w)
	if first > 0 {
		LEAQ(Mem{Base: w, Index: stride, Scale: uint8(first)}, w)
	}
	sums := make([][][]VecVirtual, n) // column, row, vector
	for c := range sums {
		sums[c] = make([][]VecVirtual, rows)
		for r := range sums[c] {
			for range vectors {
				sums[c][r] = append(sums[c][r], v.reg())
			}
		}
	}
	eachSum := func(do func(at Mem, acc VecVirtual)) {
		for c := range sums {
			partial := columnPointer("partial", 6, c)
			for r := range sums[c] {
				for i, acc := range sums[c][r] {
					do(Mem{Base: partial, Disp: 64*(first+r) + (begin+i)*4*v.rows()}, acc)
				}
			}
		}
	}
	eachSum(func(at Mem, acc VecVirtual) { VMOVUPS(at, acc) })
	x := columnPointers("x", 0, n)
	steps, at := Load(Param("steps"), GP64()), GP64()
	XORQ(at, at)
	step := func(first, end, offset int) { // of 16 elements of some of the rows
		for i := range vectors {
			weights := make([]VecVirtual, end-first)
			for r := range weights {
				weights[r] = v.reg()
				t.load(rowAt(w, stride, stride3, first+r, offset*16*t.size+(begin+i)*v.rows()*t.size), weights[r])
			}
			for c := range n {
				q := v.reg()
				VMOVUPS(Mem{Base: x[c], Index: at, Scale: 1, Disp: 64*offset + (begin+i)*v.rows()*4}, q)
				for r := range weights {
					VFMADD231PS(q, weights[r], sums[c][first+r][i])
				}
			}
		}
	}
	next := func(steps int) {
		ADDQ(U32(steps*16*t.size), w)
		ADDQ(U32(steps*64), at)
	}
	if n == 1 {
		streamed(t, w, stride, stride3, steps.(GPVirtual), rows, step, next)
	} else {
		Label(label)
		step(0, rows, 0)
		next(1)
		DECQ(steps)
		JNZ(LabelRef(label))
	}
	eachSum(func(at Mem, acc VecVirtual) { VMOVUPS(acc, at) })
}

// burst is how many bytes of a row are read before the next row's: a core reads
// several rows from memory faster in turns of some lines than line by line.
const burst = 512

// streamed does the steps of a product with one column, which waits for memory: a burst
// of each row at a time, and meanwhile fetches the same place of the rows to come.
func streamed(t floatType, w, stride, stride3, steps GPVirtual, rows int, step func(first, end, offset int), next func(steps int)) {
	perLine, perBurst := 4/t.size, burst/(16*t.size)
	ahead := GP64()
	Load(Param("ahead"), ahead)
	ADDQ(w, ahead)
	times := func(n int, label string, body func()) {
		SUBQ(U32(n), steps)
		JL(LabelRef(label + "done"))
		Label(label)
		body()
		next(n)
		SUBQ(U32(n), steps)
		JGE(LabelRef(label))
		Label(label + "done")
		ADDQ(U32(n), steps)
	}
	times(perBurst, "burst", func() {
		for r := range rows {
			for i := range perBurst {
				if i%perLine == 0 {
					PREFETCHT0(rowAt(ahead, stride, stride3, r, 16*t.size*i))
				}
				step(r, r+1, i)
			}
		}
		ADDQ(U32(burst), ahead)
	})
	times(perLine, "line", func() {
		for r := range rows {
			PREFETCHT0(rowAt(ahead, stride, stride3, r, 0))
		}
		for i := range perLine {
			step(0, rows, i)
		}
		ADDQ(U32(64), ahead)
	})
	if perLine > 1 {
		TESTQ(steps, steps)
		JZ(LabelRef("end"))
		step(0, rows, 0)
		Label("end")
	}
}

// rowAt addresses a byte of row 0 to 3.
func rowAt(w, stride, stride3 GPVirtual, row, offset int) Mem {
	m := Mem{Base: w, Disp: offset}
	switch row {
	case 1:
		m.Index, m.Scale = stride, 1
	case 2:
		m.Index, m.Scale = stride, 2
	case 3:
		m.Index, m.Scale = stride3, 1
	}
	return m
}

// reduce adds up partial sums in a tree.
func reduce() {
	function("Reduce", "dst, partial []float32", "adds up each 16 partial sums: see reduceGeneric.")
	dst, n, p := Load(Param("dst").Base(), GP64()), Load(Param("dst").Len(), GP64()), Load(Param("partial").Base(), GP64())
	a, b := YMM(), XMM()
	TESTQ(n, n)
	JZ(LabelRef("done"))
	Label("loop")
	VMOVUPS(Mem{Base: p}, a)
	VADDPS(Mem{Base: p, Disp: 32}, a, a)
	VEXTRACTF128(Imm(1), a, b)
	VADDPS(b, a.AsX(), a.AsX())
	VMOVHLPS(a.AsX(), a.AsX(), b)
	VADDPS(b, a.AsX(), a.AsX())
	VMOVSHDUP(a.AsX(), b)
	VADDSS(b, a.AsX(), a.AsX())
	VMOVSS(a.AsX(), Mem{Base: dst})
	ADDQ(Imm(4), dst)
	ADDQ(Imm(64), p)
	DECQ(n)
	JNZ(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}
