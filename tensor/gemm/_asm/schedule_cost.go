package main

import (
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
)

// What instructions cost on Zen 5: pipes as loops of one or two of them show (docs/performance.md), latencies about.

// pipes are what a cycle has.
type pipes struct {
	busy  [4]bool // for vectors
	loads int     // left
}

var zen5 = pipes{loads: 2}

// cost is that of an instruction.
type cost struct {
	pipes   []int // it takes one of them, if any
	load    bool
	latency int  // cycles until its result is there
	scalar  bool // it writes a general register or flags
}

var (
	anyPipe  = []int{0, 3, 1, 2} // first those that fewer need
	permute  = []int{1, 2}
	multiply = []int{0, 1}
	shift    = []int{2, 3}
)

// pipe returns a free one for an instruction.
func (p *pipes) pipe(c cost) (i int, ok bool) {
	for _, i := range c.pipes {
		if !p.busy[i] {
			return i, true
		}
	}
	return 0, false
}

func (p *pipes) have(c cost) bool {
	_, ok := p.pipe(c)
	return (ok || len(c.pipes) == 0) && (!c.load || p.loads > 0)
}

func (p *pipes) take(c cost) {
	if i, ok := p.pipe(c); ok {
		p.busy[i] = true
	}
	if c.load {
		p.loads--
	}
}

// costOf takes a vector instruction for a simple one if it is not known.
func costOf(i *ir.Instruction) cost {
	const nearest = 8 // cycles to the nearest cache
	c := cost{latency: 2, load: slices.ContainsFunc(i.Inputs, operand.IsMem)}
	switch {
	case !is(i, "V"):
		c.scalar = !is(i, "PREFETCH", "K")
	case is(i, "VPERM", "VPSHUFB", "VSHUF", "VINSERT", "VGF2P8", "VPTEST", "VPMOV", "VPINSR", "VPCMP") || is(i, "VBROADCASTI") && hasMask(i):
		c.pipes, c.latency = permute, 4
	case is(i, "VPDP", "VMUL", "VFMADD", "VPMULTI"):
		c.pipes, c.latency = multiply, 4
	case is(i, "VPSRL", "VPSLL", "VPSRA", "VPSH", "VCVT"):
		c.pipes = shift
	case is(i, "VMOV", "VBROADCAST", "VPBROADCAST") && !hasMask(i): // a load, or the name of a register
	default:
		c.pipes = anyPipe
	}
	if c.load {
		c.latency += nearest
	}
	return c
}

// is reports whether the name of an instruction begins with one of these.
func is(i *ir.Instruction, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(i.Opcode, p) })
}

// hasMask reports whether a move or a broadcast has a mask.
func hasMask(i *ir.Instruction) bool { return len(i.Operands) > 2 }
