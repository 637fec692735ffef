package rdna

import (
	"math/big"
	"math/bits"

	"gorun/hipdyn/hipemu/rdna/isa"
)

// Instructions in which lanes are not alone, or that have more than one result.

func (w *wave) fetchAll(st *step) {
	for i := range st.src {
		if st.src[i].kind == noSource {
			break
		}
		w.fetch(&st.src[i], &w.buf[i])
	}
}

// firstLane is the lowest lane that is on, or 0.
func firstLane(exec uint32) int {
	if exec == 0 {
		return 0
	}
	return bits.TrailingZeros32(exec)
}

func runReadFirst(w *wave, st *step) {
	w.fetch(&st.src[0], &w.buf[0])
	w.setScalar(st.in.D, uint32(w.buf[0][firstLane(w.exec())]))
}

func runReadLane(w *wave, st *step) {
	w.fetch(&st.src[0], &w.buf[0])
	w.setScalar(st.in.D, uint32(w.buf[0][w.scalar(st.src[1].reg)&31]))
}

func runWriteLane(w *wave, st *step) {
	w.v[st.in.D-isa.VGPR][w.scalar(st.src[1].reg)&31] = w.scalar(st.src[0].reg)
}

func runSwap(w *wave, st *step) {
	a, b := &w.v[st.in.D-isa.VGPR], &w.v[st.in.Src[0]-isa.VGPR]
	for m := w.exec(); m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m)
		a[i], b[i] = b[i], a[i]
	}
}

// runVectorMove copies; v_permlane64 has nothing to exchange in a wave of 32.
func runVectorMove(w *wave, st *step) {
	w.fetch(&st.src[0], &w.buf[0])
	w.store(&st.dst, &w.buf[0], w.exec())
}

// runPermlane moves lanes within (permlane16) or across (permlanex16) rows of
// 16, by selectors in scalar registers or in a vector register (var).
func runPermlane(w *wave, st *step) {
	in := st.in
	w.fetchAll(st)
	exec, cross, variable := w.exec(), 0, false
	switch in.Op.Base {
	case "v_permlanex16_b32":
		cross = 16
	case "v_permlane16_var_b32":
		variable = true
	case "v_permlanex16_var_b32":
		cross, variable = 16, true
	}
	fetchOff, bound := in.OpSel&1 != 0, in.OpSel&2 != 0
	src := w.buf[0]
	var sel uint64
	if !variable {
		sel = uint64(w.scalar(in.Src[1])) | uint64(w.scalar(in.Src[2]))<<32
	}
	mask := uint32(0)
	for i := range lanes {
		n := int(sel >> (4 * (i & 15)) & 15)
		if variable {
			n = int(w.buf[1][i] & 15)
		}
		from := i&16 ^ cross | n
		on := fetchOff || exec>>from&1 != 0
		w.res[0][i] = 0
		if on {
			w.res[0][i] = src[from]
		}
		// A lane that is off reads as zero, or leaves the destination alone.
		if on || bound {
			mask |= 1 << i
		}
	}
	w.store(&st.dst, &w.res[0], mask&exec)
}

// runMbcnt counts the bits of a mask below each lane.
func runMbcnt(w *wave, st *step) {
	w.fetchAll(st)
	high := st.in.Op.Base == "v_mbcnt_hi_u32_b32"
	for i := range lanes {
		below := uint32(1)<<i - 1
		if high {
			below = 0 // the upper half of a wave of 64
		}
		w.res[0][i] = uint64(bits.OnesCount32(uint32(w.buf[0][i])&below)) + w.buf[1][i]
	}
	w.store(&st.dst, &w.res[0], w.exec())
}

// runMad64 is a product of 32 bits plus 64 bits, with a carry out.
func runMad64(w *wave, st *step) {
	w.fetchAll(st)
	signed := st.src[2].typ == 'z'
	carry := uint32(0)
	for i := range lanes {
		a, b, c := w.buf[0][i], w.buf[1][i], w.buf[2][i]
		var r uint64
		if signed {
			p := s32(a) * s32(b)
			r = uint64(p) + c
			// The sum of two signed numbers, as 65 bits.
			if s := int64(r); (p >= 0) == (int64(c) >= 0) && (s >= 0) != (p >= 0) {
				carry |= 1 << i
			}
		} else {
			var over uint64
			r, over = bits.Add64(u32(a)*u32(b), c, 0)
			carry |= uint32(over) << i
		}
		w.res[0][i] = r
	}
	w.store(&st.dst, &w.res[0], w.exec())
	w.setScalar(st.in.E, carry&w.exec())
}

func runDivScale(w *wave, st *step) {
	w.fetchAll(st)
	mask := uint32(0)
	for i := range lanes {
		var r uint64
		var scaled bool
		if st.dst.typ == 'd' {
			r, scaled = divScale64(w.buf[0][i], w.buf[1][i], w.buf[2][i])
		} else {
			r, scaled = divScale32(w.buf[0][i], w.buf[1][i], w.buf[2][i])
		}
		w.res[0][i] = r
		mask |= b2u(scaled) << i
	}
	w.store(&st.dst, &w.res[0], w.exec())
	w.setScalar(st.in.E, mask&w.exec())
}

func runDivFmas(w *wave, st *step) {
	w.fetchAll(st)
	for i := range lanes {
		a, b, c, scaled := w.buf[0][i], w.buf[1][i], w.buf[2][i], w.buf[3][i] != 0
		if st.dst.typ == 'd' {
			w.res[0][i] = divFmas64(a, b, c, scaled)
		} else {
			w.res[0][i] = divFmas32(a, b, c, scaled)
		}
	}
	w.store(&st.dst, &w.res[0], w.exec())
}

// exactFMA64 is (a*b + c) * 2^e, rounded once. The numbers are finite.
func exactFMA64(a, b, c float64, e int) float64 {
	p := new(big.Float).SetPrec(4400).SetFloat64(a)
	p.Mul(p, new(big.Float).SetFloat64(b))
	p.Add(p, new(big.Float).SetFloat64(c))
	p.SetMantExp(p, e)
	r, _ := p.Float64()
	return r
}
