package rdna

import (
	"fmt"
	"math/bits"

	"gorun/hipdyn/hipemu/rdna/isa"
)

// Numbers of scalar registers.
const (
	regVCC  = isa.VCC
	regExec = isa.Exec
	lanes   = 32
	allOn   = 0xffffffff
)

// values are what an operand is in each lane, as the low bits.
type values [lanes]uint64

// wave is a wave of 32 lanes.
type wave struct {
	group *group
	id    int
	pc    uint64 // within the image
	v     [][lanes]uint32
	s     [128]uint32 // scalar registers, VCC, TTMP, M0, EXEC by number
	scc   uint32
	mode  uint32
	done  bool

	signals, waits uint32 // barriers that the wave signalled, and those it has waited for
	blocked        bool

	near    *region // of the last access
	watched *region // whose use is use
	use     *usage
	scratch []byte
	written []byte // of scratch: 1 where it has been written
	buf     [5]values
	res     [2]values
	touched []uint64 // segments of an access
	plain   [5][lanes]uint32
	addr    [lanes]uint64
	local   [lanes]uint32 // addresses in LDS or scratch
	loaded  [4][lanes]uint32

	step *step
	n    Counters
}

// step is an instruction, prepared to run.
type step struct {
	in       *isa.Inst
	pc, next uint64
	run      func(w *wave, st *step)
	class    class
	maxV     int // highest vector register in use, -1 for none
	maxS     int

	src  [5]source
	dst  dest
	dual *step
	fn   laneFunc
	sem  *vectorOp
	mem  access
}

// class is a class of instructions that is counted.
type class uint8

const (
	classOther class = iota
	classVALU
	classTrans
	classWMMA
	classSALU
	classSMEM
	classVMEM
	classScratch
	classDS
	classBranch
	classBarrier
	classes
)

// stop ends a wave by way of panic; Launch recovers it.
type stop struct {
	lane int
	err  error
}

func (w *wave) fail(lane int, err error) { panic(stop{lane, err}) }

func (w *wave) failf(format string, args ...any) { w.fail(-1, fmt.Errorf(format, args...)) }

func (w *wave) exec() uint32 { return w.s[regExec] }

// slice is how many instructions a wave runs before the others get a turn.
const slice = 1 << 14

// run lets the wave run until it ends, waits at a barrier, or has had its turn.
func (w *wave) run(count *[classes]uint64) {
	p := w.group.launch.program
	for n := 0; n < slice && !w.done && !w.blocked; n++ {
		st := p.at(w.pc)
		if st == nil {
			st = p.decode(w)
		}
		w.step = st
		if st.maxV >= len(w.v) {
			w.failf("uses v%d: the metadata of the kernel gives %d vector registers", st.maxV, len(w.v))
		}
		if st.maxS >= w.group.launch.kernel.SGPRs && st.maxS < isa.VCC {
			w.failf("uses s%d: the metadata of the kernel gives %d scalar registers", st.maxS, w.group.launch.kernel.SGPRs)
		}
		count[st.class]++
		if st.class >= classVALU && st.class != classSALU && st.class != classSMEM && st.class <= classDS {
			w.n.LaneOps += uint64(bits.OnesCount32(w.s[regExec]))
		}
		w.pc = st.next
		st.run(w, st)
	}
}

// scalar reads a scalar source of 32 bits.
func (w *wave) scalar(r uint16) uint32 {
	if r < 128 {
		if r == w.group.launch.null {
			return 0
		}
		return w.s[r]
	}
	switch r {
	case isa.SCC:
		return w.scc
	case 251:
		return b2u(w.s[regVCC] == 0)
	case 252:
		return b2u(w.s[regExec] == 0)
	}
	if v, ok := constant(r, 'u', w.step.in.Literal); ok {
		return uint32(v)
	}
	w.failf("reads source %d, which is not implemented", r)
	return 0
}

// scalar64 reads a scalar source of 64 bits.
func (w *wave) scalar64(r uint16, typ byte) uint64 {
	if r < 128 {
		if r == w.group.launch.null {
			return 0
		}
		r &^= 1
		return uint64(w.s[r]) | uint64(w.s[r+1])<<32
	}
	if v, ok := constant(r, typ, w.step.in.Literal); ok {
		return v
	}
	return uint64(w.scalar(r))
}

func (w *wave) setScalar(r uint16, v uint32) {
	if r != w.group.launch.null && r < 128 {
		w.s[r] = v
	}
}

func (w *wave) setScalar64(r uint16, v uint64) {
	if r == w.group.launch.null {
		return
	}
	r &^= 1
	w.setScalar(r, uint32(v))
	w.setScalar(r+1, uint32(v>>32))
}

func b2u(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// Float constants by number from 240 on.
var (
	inlineF32 = [...]uint32{0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000, 0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983}
	inlineF16 = [...]uint32{0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118}
	inlineB16 = [...]uint32{0x3f00, 0xbf00, 0x3f80, 0xbf80, 0x4000, 0xc000, 0x4080, 0xc080, 0x3e22}
	inlineF64 = [...]uint64{0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x4000000000000000, 0xc000000000000000, 0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882}
)

// constant is the value of an inline constant or a literal, for an operand of
// a type (see vectorOp).
func constant(r uint16, typ byte, literal uint32) (uint64, bool) {
	switch {
	case r >= 128 && r <= 192:
		return uint64(r - 128), true
	case r >= 193 && r <= 208:
		n := int64(192) - int64(r)
		if wide(typ) {
			return uint64(n), true
		}
		return uint64(uint32(n)), true
	case r >= 240 && r <= 248:
		switch typ {
		case 'h', 'w', 'P':
			return uint64(inlineF16[r-240]), true
		case 'B', 'Q':
			return uint64(inlineB16[r-240]), true
		case 'd', 'q', 'z':
			return inlineF64[r-240], true
		}
		return uint64(inlineF32[r-240]), true
	case r == isa.Literal:
		if typ == 'd' {
			return uint64(literal) << 32, true // the high half
		}
		if typ == 'z' {
			return uint64(int64(int32(literal))), true
		}
		return uint64(literal), true
	}
	return 0, false
}
