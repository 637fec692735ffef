package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// dots multiplies query rows with keys of a type. A register has partial sums
// of one query row and one key, all 16 or half of them; as many pairs are
// computed at once as a register has lanes, and their sums make one register:
// with g groups of four in it, value c of group l belongs to the sums of
// register g*c + l.
func dots(rows int, t elements) {
	function(fmt.Sprintf("Dots%s%d", t.name, rows),
		"(dst []float32, stride int, q []float32, k []byte, kStride, ahead, vectors, keys int, scale float32)",
		"multiplies query rows with keys: see dotsGeneric.")
	height := min(rows, v.lanes()/4) // query rows at once
	for first := 0; first < rows; first += height {
		dotsOf(t, first, height)
	}
	VZEROUPPER()
	RET()
}

// dotsOf multiplies height query rows from the first on.
func dotsOf(t elements, first, height int) {
	pairs := v.lanes()
	groups, wide := pairs/4, pairs/height // wide keys at once
	dst, k := Load(Param("dst").Base(), GP64()), Load(Param("k").Base(), GP64())
	dstStride := newStride(Load(Param("stride"), GP64()), 2)
	rowBytes := newStride(Load(Param("vectors"), GP64()), 6)
	keyStride := newStride(Load(Param("kStride"), GP64()), 0)
	if first > 0 {
		LEAQ(dstStride.at(dst, first), dst)
	}
	keys := AllocLocal(8) // registers are short
	n := Load(Param("keys"), GP64())
	MOVQ(n, keys)
	var firstHalf Mem
	if halves() > 1 {
		firstHalf = AllocLocal(pairs * 4 * v.lanes())
	}
	sums := make([]VecVirtual, pairs)
	// sum is the register of a query row and a key.
	sum := func(r, j int) VecVirtual {
		f := r*wide + j
		return sums[f%4*groups+f/4]
	}
	q, keyAt := GP64(), make([]GPVirtual, wide/4)

	again := fmt.Sprintf("rows%d", first)
	Label(again)
	for half := range halves() {
		Load(Param("q").Base(), q)
		if first > 0 {
			LEAQ(rowBytes.at(q, first), q)
		}
		for i := range keyAt {
			keyAt[i] = GP64()
			if i == 0 {
				MOVQ(k, keyAt[0])
			} else {
				LEAQ(Mem{Base: keyAt[i-1], Index: keyStride.one, Scale: 4}, keyAt[i])
			}
		}
		for i := range sums {
			sums[i] = v.reg()
			v.zero(sums[i])
		}
		var aheadAt []GPVirtual
		if half == 0 && first == 0 && t.distant {
			aheadAt = fetchAhead(keyAt)
		}
		steps := Load(Param("vectors"), GP64())
		loop := fmt.Sprintf("%sHalf%d", again, half)
		Label(loop)
		vectors := t.values / lanes
		query := make([]VecVirtual, height*vectors)
		for i := range query {
			query[i] = v.reg()
			VMOVUPS(rowBytes.at(q, i/vectors).Offset(64*(i%vectors)+4*half*v.lanes()), query[i])
		}
		for j := range wide {
			block := keyStride.at(keyAt[j/4], j%4)
			scale := t.begin(block)
			if aheadAt != nil {
				PREFETCHT1(keyStride.at(aheadAt[j/4], j%4))
			}
			for i := range vectors {
				key := v.reg()
				t.load(block, lanes*i+half*v.lanes(), scale, key)
				for r := range height {
					VFMADD231PS(key, query[r*vectors+i], sum(r, j))
				}
			}
		}
		ADDQ(U32(4*t.values), q)
		for _, at := range append(aheadAt, keyAt...) {
			ADDQ(Imm(uint64(t.bytes)), at)
		}
		SUBQ(Imm(uint64(vectors)), steps)
		JNZ(LabelRef(loop))
		switch {
		case half < halves()-1:
			for i, s := range sums {
				VMOVUPS(s, firstHalf.Offset(4*v.lanes()*i))
			}
		case half > 0:
			for i, s := range sums {
				VADDPS(firstHalf.Offset(4*v.lanes()*i), s, s)
			}
		}
	}
	result := v.tree(sums)
	VMULPS(broadcast("scale"), result, result)
	for l := 0; l < groups; l += wide / 4 {
		v.store(result, l, wide/4, dstStride.at(dst, l*4/wide))
	}
	ADDQ(Imm(uint64(4*wide)), dst)
	for range wide / 4 {
		LEAQ(Mem{Base: k, Index: keyStride.one, Scale: 4}, k)
	}
	SUBQ(Imm(uint64(wide)), keys)
	JNZ(LabelRef(again))
}

// stride is a distance between rows in bytes.
type stride struct{ one, three Register }

// newStride makes one of a number of units of 2^shift bytes.
func newStride(n Register, shift uint64) stride {
	s := stride{n, GP64()}
	if shift > 0 {
		SHLQ(Imm(shift), s.one)
	}
	LEAQ(Mem{Base: s.one, Index: s.one, Scale: 2}, s.three)
	return s
}

// at is the address of row 0, 1, 2 or 3.
func (s stride) at(base Register, row int) Mem {
	switch row {
	case 0:
		return Mem{Base: base}
	case 3:
		return Mem{Base: base, Index: s.three, Scale: 1}
	}
	return Mem{Base: base, Index: s.one, Scale: uint8(row)}
}

// fetchAhead returns the addresses of memory that is fetched for later: rows of
// one head are too far apart for the hardware to see where they go, and the
// next ones may be in another page.
func fetchAhead(at []GPVirtual) []GPVirtual {
	distance, later := Load(Param("ahead"), GP64()), make([]GPVirtual, len(at))
	for i := range at {
		later[i] = GP64()
		LEAQ(Mem{Base: at[i], Index: distance, Scale: 1}, later[i])
	}
	return later
}

// argument is the memory of a parameter.
func argument(name string) Mem {
	m, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return m.Addr
}
