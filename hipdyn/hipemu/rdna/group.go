package rdna

import (
	"context"
	"errors"

	"gorun/hipdyn/hipemu/rdna/hsaco"
	"gorun/hipdyn/hipemu/rdna/isa"
)

// group is a work-group. Its waves take turns on one goroutine, so that what
// they do is the same in every run.
type group struct {
	launch *launch
	at     [3]uint32
	waves  []*wave
	lds    lds
	live   int    // waves that have not ended
	came   int    // waves that have signalled the barrier
	phase  uint32 // barriers that all have signalled
	n      Counters
}

func newGroup(l *launch) *group {
	g := &group{launch: l}
	g.lds.init(l.lds)
	for i := range l.waves {
		g.waves = append(g.waves, &wave{
			group: g, id: i,
			v:       make([][lanes]uint32, l.kernel.VGPRs),
			scratch: make([]byte, l.kernel.Scratch*lanes), written: make([]byte, l.kernel.Scratch*lanes),
		})
	}
	return g
}

// run runs work-group number n.
func (g *group) run(ctx context.Context, n uint64, count *[classes]uint64) {
	l := g.launch
	x, y := uint64(l.cfg.Grid[0]), uint64(l.cfg.Grid[1])
	g.at = [3]uint32{uint32(n % x), uint32(n / x % y), uint32(n / x / y)}
	g.live, g.came, g.phase = len(g.waves), 0, 0
	g.lds.reset()
	for _, w := range g.waves {
		w.begin()
	}
	g.n.Workgroups++
	g.n.Waves += uint64(len(g.waves))
	for g.live > 0 && !l.stopped.Load() && ctx.Err() == nil {
		ran := false
		for _, w := range g.waves {
			if !w.done && !w.blocked {
				ran = true
				if !g.turn(w, count) {
					return
				}
			}
		}
		if !ran {
			w := g.waves[0]
			for _, w = range g.waves {
				if w.blocked {
					break
				}
			}
			l.report(w.faultAt(-1, errors.New("waits at a barrier that not all waves of the work-group reach")))
		}
	}
	for _, w := range g.waves {
		g.n.add(&w.n)
	}
}

// turn lets a wave run; it returns false when the launch has to end.
func (g *group) turn(w *wave, count *[classes]uint64) (ok bool) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stop:
			g.launch.report(w.faultAt(r.lane, r.err))
			ok = false
		default:
			panic(r)
		}
	}()
	w.run(count)
	return true
}

func (w *wave) faultAt(lane int, err error) *Fault {
	f := &Fault{Kernel: w.group.launch.kernel.Name, Group: w.group.at, Wave: w.id, Lane: lane, Err: err}
	if w.step != nil {
		f.PC = w.step.pc
		if w.step.in != nil {
			f.Inst = w.step.in.String()
		}
	}
	return f
}

// begin sets the registers of a wave as its first instruction finds them.
func (w *wave) begin() {
	l := w.group.launch
	k := l.kernel
	for i := range w.v {
		for j := range w.v[i] {
			w.v[i][j] = l.poison
		}
	}
	for i := range w.s {
		w.s[i] = l.poison
	}
	fill(w.scratch, poison)
	clear(w.written)
	w.n = Counters{}
	w.scc, w.done, w.blocked, w.signals, w.waits, w.near, w.step = 0, false, false, 0, 0, nil, nil
	w.pc, w.mode = k.Entry, uint32(k.FloatMode())
	first := w.id * lanes
	w.s[regExec], w.s[regExec+1] = allOn, 0
	if n := l.items - first; n < lanes {
		w.s[regExec] = 1<<n - 1
	}
	w.s[l.set.M0()] = allOn

	n := 0
	push := func(v ...uint32) {
		for _, x := range v {
			w.s[n] = x
			n++
		}
	}
	push64 := func(v uint64) { push(uint32(v), uint32(v>>32)) }
	if k.Properties&hsaco.PrivateSegmentBuffer != 0 {
		base := uint64(scratchBase)
		push(uint32(base), uint32(base>>32), allOn, 0)
	}
	if k.Properties&hsaco.DispatchPtr != 0 {
		push64(l.packet)
	}
	if k.Properties&hsaco.KernargPtr != 0 {
		push64(l.kernarg)
	}
	if k.Properties&hsaco.FlatScratchInit != 0 {
		push64(scratchBase)
	}
	if k.Properties&hsaco.PrivateSegmentSize != 0 {
		push(uint32(k.Scratch))
	}
	n = max(n, k.UserSGPRs())
	if l.set.Generation == 12 {
		w.s[isa.TTMP+9] = w.group.at[0]
		w.s[isa.TTMP+7] = w.group.at[1] | w.group.at[2]<<16
	} else {
		for axis := range 3 {
			if k.GroupID(axis) {
				push(w.group.at[axis])
			}
		}
		if k.GroupInfo() {
			push(0)
		}
		if k.ScratchOffset() && l.set.Generation == 10 {
			push(0)
		}
	}
	for lane := range lanes {
		item := uint32(first + lane)
		x, y := l.cfg.Block[0], l.cfg.Block[1]
		id := [3]uint32{item % x, item / x % y, item / x / y}
		if l.set.Generation == 10 {
			for i := range min(k.ItemIDs()+1, len(w.v)) {
				w.v[i][lane] = id[i]
			}
		} else {
			w.v[0][lane] = id[0] | id[1]<<10 | id[2]<<20
		}
	}
}

// end ends a wave.
func (w *wave) end() {
	w.done = true
	w.group.live--
	w.group.release()
}

// signal says that a wave has come to the barrier.
func (w *wave) signal() {
	w.signals++
	w.group.came++
	w.group.release()
}

// wait makes a wave wait for the barrier that it has signalled last.
func (w *wave) wait() {
	if w.signals == w.waits {
		w.failf("waits for a barrier without having signalled it")
	}
	w.blocked = w.group.phase < w.signals
	if !w.blocked {
		w.waits = w.signals
	}
}

// release lets the waves go on when all have come.
func (g *group) release() {
	if g.came == 0 || g.came < g.live {
		return
	}
	g.came = 0
	g.phase++
	for _, w := range g.waves {
		if w.blocked {
			w.blocked, w.waits = false, w.signals
		}
	}
}
