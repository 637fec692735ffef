package rdna

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"gorun/hipdyn/hipemu/rdna/hsaco"
	"gorun/hipdyn/hipemu/rdna/isa"
)

// LaunchConfig says what to launch.
type LaunchConfig struct {
	Grid       [3]uint32 // work-groups
	Block      [3]uint32 // work-items of a work-group
	DynamicLDS uint32    // bytes beyond the kernel's own
	Ignore     Check     // checks that are left out
	Poison     uint32    // what registers hold at first; zero means a NaN
	Workers    int       // work-groups that run at once; zero means one for each core
	Watch      *Watch    // notes the memory that is used; may be nil
}

// Check is a set of checks.
type Check uint8

// Checks that a launch makes unless told otherwise.
const (
	UndefinedMemory Check = 1 << iota // global memory or scratch read before it was written
	UndefinedLDS                      // LDS read before it was written
	RaceLDS                           // LDS used by two waves without a barrier between
)

// registerPoison is what registers hold at first: a NaN as f32, f16 and f64.
const registerPoison = 0x7fe57fe5

// maxLDS is the LDS of a work-group, in bytes.
const maxLDS = 64 << 10

// Counters say what a launch cost.
type Counters struct {
	Workgroups, Waves uint64
	Instructions      uint64 // of waves
	VALU              uint64 // vector arithmetic other than the next two
	Trans             uint64 // transcendental
	WMMA              uint64 // matrix products
	SALU              uint64
	SMEM              uint64
	VMEM              uint64 // global, flat, buffer
	Scratch           uint64
	DS                uint64 // LDS and lane permutes
	Branch            uint64
	Barrier           uint64
	Other             uint64 // waits, hints
	LaneOps           uint64 // lanes that were active, over all vector instructions

	GlobalReadBytes, GlobalWriteBytes uint64
	GlobalSegments                    uint64 // 128-byte segments touched, over all instructions
	Atomics                           uint64 // lanes
	LDSConflicts                      uint64 // cycles lost to bank conflicts
	VGPRs                             int    // of a wave
	LDSBytes                          int    // of a work-group
}

func (c *Counters) add(o *Counters) {
	c.Workgroups += o.Workgroups
	c.Waves += o.Waves
	c.LaneOps += o.LaneOps
	c.GlobalReadBytes += o.GlobalReadBytes
	c.GlobalWriteBytes += o.GlobalWriteBytes
	c.GlobalSegments += o.GlobalSegments
	c.Atomics += o.Atomics
	c.LDSConflicts += o.LDSConflicts
}

func (c *Counters) classes(n *[classes]uint64) {
	for i, p := range []*uint64{&c.Other, &c.VALU, &c.Trans, &c.WMMA, &c.SALU, &c.SMEM, &c.VMEM, &c.Scratch, &c.DS, &c.Branch, &c.Barrier} {
		*p += n[i]
		c.Instructions += n[i]
	}
}

// Fault is an error of a kernel while it runs.
type Fault struct {
	Kernel string
	PC     uint64 // address within the image
	Inst   string // disassembly
	Group  [3]uint32
	Wave   int
	Lane   int // -1 if it is not about one lane
	Err    error
}

func (f *Fault) Error() string {
	s := fmt.Sprintf("kernel %s at pc 0x%x [%s], work-group %d,%d,%d wave %d", f.Kernel, f.PC, f.Inst, f.Group[0], f.Group[1], f.Group[2], f.Wave)
	if f.Lane >= 0 {
		s += fmt.Sprintf(" lane %d", f.Lane)
	}
	return s + ": " + f.Err.Error()
}

func (f *Fault) Unwrap() error { return f.Err }

// launch is a launch while it runs.
type launch struct {
	kernel  *Kernel
	cfg     LaunchConfig
	mem     *Memory
	program *program
	set     *isa.Set
	null    uint16
	base    uint64 // address of the image
	kernarg uint64
	packet  uint64
	poison  uint32
	waves   int // of a work-group
	items   int
	lds     int
	errors  sync.Mutex
	fault   *Fault
	stopped atomic.Bool
}

// scratchBase is the made-up address of the scratch buffer of gfx10.
const scratchBase = 0x1000_0000_0000

// Launch runs a kernel to its end. The arguments are laid out as the metadata
// says; memory from there to a multiple of 64 bytes may be read, too. Hidden
// arguments are filled in. Launch returns a *Fault if the kernel did something
// wrong; memory then holds what had been written by then.
func (k *Kernel) Launch(ctx context.Context, cfg LaunchConfig, kernarg []byte, mem *Memory) (Counters, error) {
	var total Counters
	l := &launch{kernel: k, cfg: cfg, mem: mem, poison: cfg.Poison}
	if err := l.prepare(kernarg); err != nil {
		return total, fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	args, err := l.arguments(kernarg)
	if err != nil {
		return total, fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	defer mem.withdraw(args)

	groups := uint64(cfg.Grid[0]) * uint64(cfg.Grid[1]) * uint64(cfg.Grid[2])
	workers := cfg.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = int(min(uint64(workers), groups))
	var next atomic.Uint64
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range workers {
		wg.Go(func() {
			g := newGroup(l)
			var count [classes]uint64
			for !l.stopped.Load() {
				n := next.Add(1) - 1
				if n >= groups || ctx.Err() != nil {
					break
				}
				g.run(ctx, n, &count)
			}
			mu.Lock()
			total.add(&g.n)
			total.classes(&count)
			mu.Unlock()
		})
	}
	wg.Wait()
	total.VGPRs, total.LDSBytes = k.VGPRs, l.lds
	if l.fault != nil {
		return total, l.fault
	}
	return total, ctx.Err()
}

// prepare checks what was asked for.
func (l *launch) prepare(kernarg []byte) error {
	k, cfg := l.kernel, &l.cfg
	var err error
	if l.program, err = k.Module.program(); err != nil {
		return err
	}
	l.set, l.null = l.program.set, l.program.set.Null()
	l.items = 1
	for i := range 3 {
		if cfg.Grid[i] == 0 || cfg.Block[i] == 0 {
			return fmt.Errorf("grid %v of blocks %v: no dimension may be zero", cfg.Grid, cfg.Block)
		}
		if cfg.Block[i] > 1024 || uint64(cfg.Grid[i])*uint64(cfg.Block[i]) > math.MaxUint32 {
			return fmt.Errorf("grid %v of blocks %v: out of range", cfg.Grid, cfg.Block)
		}
		if r := k.Required[i]; r != 0 && uint32(r) != cfg.Block[i] {
			return fmt.Errorf("block %v: the kernel requires %v", cfg.Block, k.Required)
		}
		l.items *= int(cfg.Block[i])
	}
	if limit := max(k.MaxWorkgroup, 1); l.items > min(limit, 1024) {
		return fmt.Errorf("block %v has %d work-items: the kernel was compiled for at most %d", cfg.Block, l.items, limit)
	}
	if groups := float64(cfg.Grid[0]) * float64(cfg.Grid[1]) * float64(cfg.Grid[2]); groups > 1<<40 {
		return fmt.Errorf("grid %v: out of range", cfg.Grid)
	}
	l.waves = (l.items + lanes - 1) / lanes
	l.lds = k.LDS + int(cfg.DynamicLDS)
	switch {
	case l.lds > maxLDS:
		return fmt.Errorf("needs %d bytes of LDS: a work-group has at most %d", l.lds, maxLDS)
	case k.WaveSize != lanes:
		return fmt.Errorf("is for waves of %d lanes: only 32 are supported (compile with -mno-wavefrontsize64)", k.WaveSize)
	case k.DynamicStack:
		return errors.New("needs a stack of unknown size, which is not supported")
	case k.VGPRs == 0 || k.VGPRs > 256:
		return fmt.Errorf("its metadata gives %d vector registers", k.VGPRs)
	case k.Properties&(hsaco.QueuePtr|hsaco.DispatchID) != 0:
		return errors.New("needs a queue pointer or a dispatch number, which are not supported")
	case k.Preload != 0:
		return errors.New("wants arguments preloaded, which is not supported")
	case k.FloatMode() != 0xf0:
		return fmt.Errorf("wants float mode 0x%02x: only 0xf0 is supported (round to nearest, denormals kept)", k.FloatMode())
	}
	size := 0 // of the arguments that are not hidden
	for _, a := range k.Args {
		if !a.Hidden() {
			size = max(size, a.Offset+a.Size)
		}
	}
	if len(kernarg) < size {
		return fmt.Errorf("%d bytes of arguments: it takes %d", len(kernarg), size)
	}
	if l.poison == 0 {
		l.poison = registerPoison
	}
	return nil
}

// argumentPad is how many bytes beyond the arguments may be read.
const argumentPad = 64

// arguments places the arguments and the dispatch packet in memory.
func (l *launch) arguments(kernarg []byte) (*region, error) {
	k, cfg := l.kernel, &l.cfg
	size := (max(k.KernargSize, len(kernarg))+63)&^63 + argumentPad
	data := make([]byte, size+64)
	copy(data, kernarg)
	u16, u32, u64 := binary.LittleEndian.PutUint16, binary.LittleEndian.PutUint32, binary.LittleEndian.PutUint64
	for _, a := range k.Args {
		if !a.Hidden() {
			continue
		}
		at := data[a.Offset : a.Offset+a.Size]
		axis := max(0, int(a.Kind[len(a.Kind)-1]-'x')) % 3
		switch {
		case len(at) == 0:
		case a.Kind == "hidden_none":
		case hasAxis(a.Kind, "hidden_block_count_") && len(at) == 4:
			u32(at, cfg.Grid[axis])
		case hasAxis(a.Kind, "hidden_group_size_") && len(at) == 2:
			u16(at, uint16(cfg.Block[axis]))
		case hasAxis(a.Kind, "hidden_remainder_"), hasAxis(a.Kind, "hidden_global_offset_"):
		case a.Kind == "hidden_grid_dims" && len(at) == 2:
			dims := uint16(1)
			for i := range 3 {
				if cfg.Grid[i] > 1 || cfg.Block[i] > 1 {
					dims = uint16(i) + 1
				}
			}
			u16(at, dims)
		case a.Kind == "hidden_dynamic_lds_size" && len(at) == 4:
			u32(at, cfg.DynamicLDS)
		default:
			return nil, fmt.Errorf("hidden argument %s is not supported", a.Kind)
		}
	}
	p := data[size:]
	for i := range 3 {
		u16(p[4+2*i:], uint16(cfg.Block[i]))
		u32(p[12+4*i:], cfg.Grid[i]*cfg.Block[i])
	}
	u32(p[24:], uint32(k.Scratch))
	u32(p[28:], uint32(l.lds))
	r := &region{data: data, name: "memory of kernel arguments", readers: true}
	l.base = l.mem.image(k.Module).va
	l.mem.mu.Lock()
	l.mem.place(r)
	l.mem.mu.Unlock()
	l.kernarg, l.packet = r.va, r.va+uint64(size)
	u64(p[40:], l.kernarg)
	return r, nil
}

func hasAxis(kind, prefix string) bool {
	return len(kind) == len(prefix)+1 && kind[:len(prefix)] == prefix
}

// withdraw removes a region without a trace.
func (m *Memory) withdraw(r *region) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(r)
	m.freed = m.freed[:len(m.freed)-1]
}

// report keeps the first fault and ends the launch.
func (l *launch) report(f *Fault) {
	l.errors.Lock()
	defer l.errors.Unlock()
	if l.fault == nil {
		l.fault = f
	}
	l.stopped.Store(true)
}
