package rdna

import (
	"fmt"
	"strings"
	"sync/atomic"

	"gorun/hipdyn/hipemu/rdna/isa"
)

// program holds the prepared instructions of a module, by address. They are
// made when they are first reached.
type program struct {
	set   *isa.Set
	image []byte
	start uint64
	end   uint64
	steps []atomic.Pointer[step]
}

func (m *Module) program() (*program, error) {
	m.once.Do(func() {
		set, err := isa.For(m.Target)
		if err != nil {
			m.programErr = err
			return
		}
		p := &program{set: set, image: m.object.Image, start: ^uint64(0)}
		for _, t := range m.object.Text {
			p.start, p.end = min(p.start, t.Addr), max(p.end, t.Addr+t.Size)
		}
		p.steps = make([]atomic.Pointer[step], (p.end-p.start)/4+1)
		m.code = p
	})
	return m.code, m.programErr
}

// at is the instruction at an address, or nil if it has not been prepared.
func (p *program) at(pc uint64) *step {
	if i := (pc - p.start) / 4; pc >= p.start && i < uint64(len(p.steps)) {
		return p.steps[i].Load()
	}
	return nil
}

// decode prepares the instruction at the program counter of w.
func (p *program) decode(w *wave) *step {
	w.step = &step{pc: w.pc, maxV: -1}
	if w.pc < p.start || w.pc >= p.end || w.pc%4 != 0 {
		w.failf("runs at 0x%x, where no code is", w.pc)
	}
	in, err := p.set.Decode(p.image[w.pc:p.end])
	if err != nil {
		w.fail(-1, err)
	}
	st := &step{in: in, pc: w.pc, next: w.pc + uint64(in.Size)}
	w.step = st
	if err := prepare(p.set, st); err != nil {
		w.fail(-1, err)
	}
	p.steps[(w.pc-p.start)/4].Store(st)
	return st
}

// NotImplemented is the error of an instruction that the emulator can decode
// but not execute.
type NotImplemented struct{ Inst string }

func (e *NotImplemented) Error() string {
	return fmt.Sprintf("instruction %q is not implemented", e.Inst)
}

// halfRegisters tells whether the top bit of a register's number means the
// upper half of a register: so it is for operands of 16 bits in the short
// encodings from gfx11 on.
func halfRegisters(set *isa.Set, op *isa.Op) bool {
	if set.Generation < 11 || !strings.Contains(op.Base, "16") {
		return false
	}
	switch op.Encoding {
	case isa.VOP1, isa.VOP2, isa.VOPC, isa.DPP1, isa.DPP2, isa.DPPC:
		return true
	}
	return false
}

// prepare finds out how an instruction is executed.
func prepare(set *isa.Set, st *step) error {
	in := st.in
	st.maxV, st.maxS = -1, -1
	note := func(op *isa.Op, d, e uint16, src []uint16) {
		for _, o := range op.Operands {
			var r uint16
			switch o.Field {
			case 'd':
				r = d
			case 'e':
				r = e
			case '0', '1', '2':
				r = src[o.Field-'0']
			default:
				continue
			}
			if r >= isa.VGPR && halfRegisters(set, op) {
				continue // prepareVector knows which of them are halves
			}
			last := int(r) + int(o.Width) - 1
			if r >= isa.VGPR {
				st.maxV = max(st.maxV, last-isa.VGPR)
			} else if r < isa.VCC {
				st.maxS = max(st.maxS, last)
			}
		}
	}
	switch in.Op.Encoding {
	case isa.GLOBAL, isa.SCRATCH, isa.MUBUF:
		// What they use depends on more than the operands; see prepareMemory.
	default:
		note(in.Op, in.D, in.E, in.Src[:])
	}
	if in.Dual != nil {
		note(in.Dual, in.DualD, 0, append(in.DualSrc[:], 0))
	}
	var ok bool
	switch in.Op.Encoding {
	case isa.SOP1, isa.SOP2, isa.SOPC, isa.SOPK, isa.SOPP:
		ok = prepareScalar(set, st)
	case isa.SMEM:
		ok = prepareScalarMemory(set, st)
	case isa.DS:
		ok = prepareLDS(set, st)
	case isa.FLAT, isa.GLOBAL, isa.SCRATCH, isa.MUBUF:
		ok = prepareMemory(set, st)
	default:
		ok = prepareVector(set, st)
	}
	if !ok {
		return &NotImplemented{in.String()}
	}
	return nil
}
