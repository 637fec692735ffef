package hipemu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"gorun/hipdyn"
	"gorun/hipdyn/abi"
	"gorun/hipdyn/hipemu/rdna"
)

// Emulator is a machine with GPUs.
type Emulator struct {
	config  Config
	slot    *slot
	ctx     context.Context
	cancel  context.CancelFunc
	workers sync.WaitGroup

	mu       sync.Mutex // over all below, and over the tables of devices
	devices  []*device
	current  map[int]int // thread -> device
	handles  map[uintptr]any
	next     uintptr // handle
	made     int     // streams
	host     clock   // what the host has waited for
	log      map[uint64][]access
	pinned   []*hostMemory
	failures []*Failure
	findings []error
	counters map[string]rdna.Counters // of the last launch of a kernel
	strings  map[string][]byte        // C strings that have been given out
	closed   bool
}

// device is a GPU of an Emulator.
type device struct {
	GPU
	index   int
	mem     *rdna.Memory
	streams []*stream
	peers   map[int]bool
	allocs  map[uint64]int64 // address -> size
	mapped  []*mapping       // of virtual memory
	created int64            // bytes of virtual memory that is not accessible yet
	fault   error            // of work; sticky
}

// New makes an emulator. It takes one of a fixed number of sets of C function
// pointers, which Close gives back.
func New(c Config) (*Emulator, error) {
	if err := c.fill(); err != nil {
		return nil, err
	}
	e := &Emulator{
		config: c, current: map[int]int{}, handles: map[uintptr]any{}, next: firstHandle, host: clock{},
		log: map[uint64][]access{}, strings: map[string][]byte{}, counters: map[string]rdna.Counters{},
	}
	list, set := os.LookupEnv("HIP_VISIBLE_DEVICES")
	for i, g := range visible(c.GPUs, list, set) {
		e.devices = append(e.devices, &device{GPU: g, index: i, mem: rdna.NewMemory(g.Memory), peers: map[int]bool{}, allocs: map[uint64]int64{}})
	}
	var err error
	if e.slot, err = takeSlot(e); err != nil {
		return nil, err
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e, nil
}

// Source is what hipdyn.OpenSource takes.
func (e *Emulator) Source() hipdyn.Source {
	s := hipdyn.Source{Name: fmt.Sprintf("emulator of HIP %v", e.config.Runtime), HIP: e.resolve}
	if !e.config.NoBLAS {
		s.BLAS = func(int) (hipdyn.Resolver, int, error) { return e.resolve, e.blasMajor(), nil }
	}
	return s
}

// resolve is the address of a C function, if this release has it.
func (e *Emulator) resolve(name string) (uintptr, error) {
	major := e.config.Runtime.Major()
	absent := false
	switch name {
	case "hipGetDevicePropertiesR0600", "hipGetDevicePropertiesR0000":
		absent = major < 6
	case "hipblasGemmEx_v2":
		absent = major != 6
	}
	address, ok := e.slot.address[name]
	if !ok || absent {
		return 0, fmt.Errorf("undefined symbol: %s", name)
	}
	return address, nil
}

// Failure is an error to be injected.
type Failure struct {
	Call string // C function
	Nth  int    // the call that fails: 1 is the next
	Code abi.Code
	// Late lets the call succeed and the work that it enqueues fail, as a
	// sticky error of the device.
	Late bool
}

// Fail injects an error.
func (e *Emulator) Fail(f Failure) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failures = append(e.failures, &f)
}

// failing tells whether a call fails, and counts it. e.mu is held.
func (e *Emulator) failing(call string, late bool) (abi.Code, bool) {
	for i, f := range e.failures {
		if f.Call != call || f.Late != late {
			continue
		}
		if f.Nth--; f.Nth <= 0 {
			e.failures = slices.Delete(e.failures, i, i+1)
			return f.Code, true
		}
	}
	return 0, false
}

// find notes something that a correct program does not do. e.mu is held.
func (e *Emulator) find(format string, args ...any) {
	e.findings = append(e.findings, fmt.Errorf(format, args...))
}

// Findings are the faults of work, and the calls that no correct program makes,
// so far.
func (e *Emulator) Findings() []error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.findings)
}

// Counters is what the last launch of a kernel cost, on any device.
func (e *Emulator) Counters(kernel string) rdna.Counters {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.counters[kernel]
}

// Close ends the emulator. Its error joins the findings and what has not been
// freed.
func (e *Emulator) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	errs := slices.Clone(e.findings)
	for _, d := range e.devices {
		for _, s := range d.streams {
			errs = append(errs, fmt.Errorf("a stream of device %d was not destroyed", d.index))
			s.end()
		}
		for va, size := range d.allocs {
			errs = append(errs, fmt.Errorf("%d bytes at 0x%x of device %d were not freed", size, va, d.index))
		}
	}
	for _, h := range e.pinned {
		errs = append(errs, fmt.Errorf("%d bytes of pinned memory were not freed", len(h.bytes)))
		if h.arena != nil {
			errs = append(errs, h.arena.Free())
		}
	}
	for _, h := range e.handles {
		switch h := h.(type) {
		case *event, *module, *virtualMemory, *reservation, *blas:
			errs = append(errs, fmt.Errorf("a %s was not freed", kindOf(h)))
		}
	}
	e.mu.Unlock()
	e.cancel()
	e.workers.Wait()
	e.slot.release()
	return errors.Join(errs...)
}

// firstHandle is far from any address.
const firstHandle = 0x6800_0000_0000

// handle makes a handle for x. e.mu is held.
func (e *Emulator) handle(x any) uintptr {
	e.next += 16
	e.handles[e.next] = x
	return e.next
}

// lookup finds what a handle is for. One that is not a T is a finding: HIP may
// crash there. e.mu is held.
func lookup[T any](e *Emulator, call string, h uintptr) (T, bool) {
	x, ok := e.handles[h].(T)
	if !ok {
		e.find("%s: 0x%x is not the handle of a %s", call, h, kindOf(x))
	}
	return x, ok
}

func kindOf(x any) string {
	switch x.(type) {
	case *stream:
		return "stream"
	case *event:
		return "event"
	case *module:
		return "module"
	case *function:
		return "function"
	case *virtualMemory:
		return "piece of virtual memory"
	case *reservation:
		return "reserved range"
	case *blas:
		return "hipBLAS handle"
	}
	return "thing"
}

// here is the calling thread's device. e.mu is held.
func (e *Emulator) here() *device { return e.devices[e.current[threadID()]] }
