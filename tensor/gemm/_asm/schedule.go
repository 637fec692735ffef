package main

import (
	"fmt"
	"slices"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/reg"
)

// List scheduling. A processor chooses what to begin from the next hundred instructions or so. Code is written in the order of
// thought, each instruction next to those that it needs, so most of these hundred wait. The pass below puts the
// instructions between two labels in the order in which a machine begins them that has the pipes of Zen 5, looks further ahead,
// and has only so many registers.

const (
	window       = 160 // instructions that the machine looks at, from the first that has not begun
	width        = 8   // that begin in a cycle
	vectors      = 32  // registers
	fewestToFill = 24  // of these, by what is not the first instruction of the window
)

// scheduled has the functions that are put in order.
var scheduled = map[string]bool{}

// schedule is a pass of avo, before registers are allocated.
func schedule(fn *ir.Function) (err error) {
	if !scheduled[fn.Name] {
		return nil
	}
	written := fn.Nodes
	for room := vectors - 1; room >= fewestToFill; room-- {
		if err := analyze(fn); err != nil {
			return err
		}
		fn.Nodes = reordered(written, room)
		if err := analyze(fn); err != nil {
			return err
		}
		err = pass.AllocateRegisters(fn)
		fn.Allocation = nil
		clearGraph(fn)
		if err == nil {
			return nil
		}
		fn.Nodes = written
	}
	return fmt.Errorf("%s: %w", fn.Name, err)
}

// analyze finds which registers are live where.
func analyze(fn *ir.Function) error {
	clearGraph(fn)
	for _, p := range []func(*ir.Function) error{pass.LabelTarget, pass.CFG, pass.Liveness} {
		if err := p(fn); err != nil {
			return fmt.Errorf("%s: %w", fn.Name, err)
		}
	}
	return nil
}

func clearGraph(fn *ir.Function) {
	for _, i := range fn.Instructions() {
		i.Pred, i.Succ = nil, nil
	}
}

// reordered schedules what is between labels, branches, and instructions that change more registers than they name.
func reordered(nodes []ir.Node, room int) (all []ir.Node) {
	var run []*ir.Instruction
	end := func() {
		for _, i := range newBlock(run, room).order() {
			all = append(all, i)
		}
		run = nil
	}
	for _, n := range nodes {
		if i, ok := n.(*ir.Instruction); ok && !i.IsBranch && !i.IsTerminal && !is(i, "VZERO") {
			run = append(run, i)
			continue
		}
		end()
		all = append(all, n)
	}
	end()
	return all
}

// block is a run of instructions that follow each other.
type block struct {
	tasks []*task
	reads map[reg.ID]int // of those that have not begun
	live  map[reg.ID]bool
	out   reg.MaskSet // live at the end
	count map[reg.Kind]int
	room  map[reg.Kind]int // live registers of a kind
}

// task is an instruction. It begins when no other is waited for, in the cycle earliest or later.
type task struct {
	*ir.Instruction
	cost
	reads, writes []reg.ID
	next          []edge
	waits         int // for others that have not begun
	earliest      int
}

// edge leads to a task that begins so many cycles after another, or later.
type edge struct {
	*task
	cycles int
}

func newBlock(run []*ir.Instruction, room int) *block {
	b := &block{reads: map[reg.ID]int{}, live: map[reg.ID]bool{}, count: map[reg.Kind]int{},
		room: map[reg.Kind]int{reg.KindVector: room, reg.KindOpmask: 6}}
	if len(run) == 0 {
		return b
	}
	for id := range run[0].LiveIn {
		b.revive(id)
	}
	b.out = run[len(run)-1].LiveOut
	var scalar *task
	var accesses []*task
	writer, readers := map[reg.ID]*task{}, map[reg.ID][]*task{}
	for _, i := range run {
		t := &task{Instruction: i, cost: costOf(i), reads: ids(i.InputRegisters()), writes: ids(i.OutputRegisters())}
		for _, id := range t.reads {
			writer[id].before(t, true)
			b.reads[id]++
		}
		for _, id := range t.writes {
			for _, r := range readers[id] {
				r.before(t, false)
			}
			writer[id].before(t, false)
		}
		if t.scalar { // few registers, and flags: their order stays
			scalar.before(t, false)
			scalar = t
		}
		if n := len(b.tasks); is(i, "PREFETCH") && n > 0 { // evenly, as it is written
			b.tasks[n-1].before(t, false)
		}
		if t.memory() != nil {
			for _, other := range accesses {
				if collide(other, t) {
					other.before(t, true)
				}
			}
			accesses = append(accesses, t)
		}
		for _, id := range t.reads {
			readers[id] = append(readers[id], t)
		}
		for _, id := range t.writes {
			writer[id], readers[id] = t, nil
		}
		b.tasks = append(b.tasks, t)
	}
	return b
}

func ids(registers []reg.Register) (list []reg.ID) {
	for _, r := range registers {
		if !slices.Contains(list, r.ID()) {
			list = append(list, r.ID())
		}
	}
	return list
}

// before makes other wait for t, if there is one, or for its result.
func (t *task) before(other *task, result bool) {
	if t == nil {
		return
	}
	e := edge{task: other}
	if result {
		e.cycles = t.latency
	}
	t.next = append(t.next, e)
	other.waits++
}

// collide reports whether one of two accesses to memory is a store, and the other may touch what it stores. What different
// registers point to is different memory: weights, activations, results, the tile.
func collide(a, b *task) bool {
	if !a.stores() && !b.stores() {
		return false
	}
	x, y := a.memory(), b.memory()
	if x.Base == nil || y.Base == nil || x.Base.ID() != y.Base.ID() {
		return false
	}
	const size = 64
	return x.Index != nil || y.Index != nil || x.Disp < y.Disp+size && y.Disp < x.Disp+size
}

func (t *task) memory() *operand.Mem {
	for _, op := range t.Operands {
		if m, ok := op.(operand.Mem); ok {
			return &m
		}
	}
	return nil
}

func (t *task) stores() bool { return slices.ContainsFunc(t.Outputs, operand.IsMem) }

// order lets the machine begin them all.
func (b *block) order() (begun []*ir.Instruction) {
	waiting := slices.Clone(b.tasks)
	for cycle := 0; len(waiting) > 0; cycle++ {
		free := zen5
		for range width {
			i := slices.IndexFunc(waiting[:min(len(waiting), window)], func(t *task) bool {
				return t.waits == 0 && t.earliest <= cycle && free.have(t.cost) && (t == waiting[0] || b.hasRoom(t))
			})
			if i < 0 {
				break
			}
			t := waiting[i]
			waiting = slices.Delete(waiting, i, i+1)
			free.take(t.cost)
			for _, e := range t.next {
				e.waits--
				e.earliest = max(e.earliest, cycle+e.cycles)
			}
			b.begin(t)
			begun = append(begun, t.Instruction)
		}
	}
	return begun
}

// begin keeps the account of live registers.
func (b *block) begin(t *task) {
	for _, id := range t.reads {
		if b.reads[id]--; !b.wanted(id) && b.live[id] {
			b.live[id] = false
			b.count[id.Kind()]--
		}
	}
	for _, id := range t.writes {
		if b.wanted(id) {
			b.revive(id)
		}
	}
}

func (b *block) wanted(id reg.ID) bool { return b.reads[id] > 0 || b.out[id] != 0 }

func (b *block) revive(id reg.ID) {
	if !b.live[id] {
		b.live[id] = true
		b.count[id.Kind()]++
	}
}

// hasRoom reports whether there are registers for what t writes.
func (b *block) hasRoom(t *task) bool {
	more := map[reg.Kind]int{}
	for _, id := range t.writes {
		if !b.live[id] {
			more[id.Kind()]++
		}
	}
	for kind, n := range more {
		for _, id := range t.reads {
			if id.Kind() == kind && b.reads[id] == 1 && b.out[id] == 0 && !slices.Contains(t.writes, id) {
				n--
			}
		}
		if room, few := b.room[kind]; few && b.count[kind]+n > room {
			return false
		}
	}
	return true
}
