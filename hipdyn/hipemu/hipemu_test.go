//go:build linux && (amd64 || arm64) && !static

package hipemu

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"gorun/hipdyn"
	"gorun/hipdyn/abi"
)

// machine calls an emulator as C code would: without what hipdyn checks.
type machine struct {
	*testing.T
	*Emulator
}

func newMachine(t *testing.T, gfx ...string) *machine {
	t.Helper()
	var c Config
	for _, g := range gfx {
		c.GPUs = append(c.GPUs, GPU{GFX: g, Memory: 64 << 20})
	}
	e, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &machine{t, e}
}

// call calls a C function.
//
//go:uintptrescapes
func (m *machine) call(name string, args ...uintptr) abi.Code {
	m.Helper()
	address, err := m.resolve(name)
	if err != nil {
		m.Fatal(err)
	}
	result, _, _ := purego.SyscallN(address, args...)
	return abi.Code(int32(result))
}

// make calls a C function whose first argument is a pointer to its result.
func (m *machine) make(name string, args ...uintptr) uintptr {
	m.Helper()
	out := new(uintptr)
	args = append(args, make([]uintptr, 4)...) // C functions ignore what is too much
	if code := m.call(name, uintptr(unsafe.Pointer(out)), args[0], args[1], args[2], args[3]); code != abi.Success {
		m.Fatalf("%s: %v", name, code)
	}
	return *out
}

func (m *machine) want(code abi.Code, name string, args ...uintptr) {
	m.Helper()
	if got := m.call(name, args...); got != code {
		m.Errorf("%s: %v, want %v", name, got, code)
	}
}

// end closes the emulator, which must have found what is listed, in order.
func (m *machine) end(want ...string) {
	m.Helper()
	found := m.Findings()
	for i, w := range want {
		if i >= len(found) || !strings.Contains(found[i].Error(), w) {
			m.Errorf("finding %d of %v: want %q", i, found, w)
		}
	}
	if len(found) > len(want) {
		m.Errorf("found %v, want %d", found, len(want))
	}
	if err := m.Close(); err != nil && len(want) == 0 {
		m.Error(err)
	}
}

func (m *machine) stream() uintptr { return m.make("hipStreamCreateWithFlags", abi.StreamNonBlocking) }

// Each function that hipdyn binds is there, and no other.
func TestFunctions(t *testing.T) {
	hip, blas := hipdyn.Symbols()
	bound := map[string]bool{}
	for _, s := range append(hip, blas...) {
		bound[s.Name] = true
		if functions[s.Name] == nil {
			t.Errorf("%s is not emulated", s.Name)
		}
	}
	for name := range functions {
		if !bound[name] {
			t.Errorf("%s is emulated, and nobody calls it", name)
		}
	}
	for name := range deviceless {
		if !bound[name] {
			t.Errorf("%s is not a function", name)
		}
	}
}

func TestUseAfterFree(t *testing.T) {
	m := newMachine(t, "gfx1201")
	s, p := m.stream(), m.make("hipMalloc", 256)
	m.want(abi.Success, "hipMemsetAsync", p, 0, 256, s)
	m.want(abi.Success, "hipFree", p) // waits for the fill
	m.want(abi.InvalidValue, "hipMemsetAsync", p, 0, 256, s)
	m.want(abi.InvalidValue, "hipFree", p)
	if again := m.make("hipMalloc", 256); again == p {
		t.Error("an address is used twice")
	} else {
		m.want(abi.Success, "hipFree", again)
	}
	m.want(abi.Success, "hipStreamDestroy", s)
	m.end("hipMemsetAsync: 256 bytes at", "is no allocation of device 0")
}

// A kernel that uses a buffer which was freed before it ran.
func TestKernelUsesFreedBuffer(t *testing.T) {
	object, err := os.ReadFile("../../kernels/testdata/faults.gfx1201.hsaco")
	if err != nil {
		t.Fatal(err)
	}
	m := newMachine(t, "gfx1201")
	s, module := m.stream(), m.make("hipModuleLoadData", uintptr(unsafe.Pointer(&object[0])))
	name := []byte("copy\x00")
	f := m.make("hipModuleGetFunction", module, uintptr(unsafe.Pointer(&name[0])))
	y, x := m.make("hipMalloc", 256), m.make("hipMalloc", 256)
	m.want(abi.Success, "hipMemsetAsync", x, 0, 256, s)
	m.want(abi.Success, "hipFree", y)
	var pins runtime.Pinner // on the heap, where addresses do not change
	defer pins.Unpin()
	kernarg, size := &[3]uintptr{y, x, 64}, new(uintptr)
	pins.Pin(kernarg)
	pins.Pin(size)
	*size = 20
	extra := &[5]uintptr{abi.LaunchBuffer, uintptr(unsafe.Pointer(kernarg)), abi.LaunchBufferSize, uintptr(unsafe.Pointer(size)), abi.LaunchEnd}
	pins.Pin(extra)
	launch := func(f, grid, block, s uintptr) []uintptr {
		return []uintptr{f, grid, 1, 1, block, 1, 1, 0, s, 0, uintptr(unsafe.Pointer(extra))}
	}
	m.want(abi.InvalidHandle, "hipModuleLaunchKernel", launch(module, 1, 64, s)...)
	m.want(abi.InvalidValue, "hipModuleLaunchKernel", launch(f, 0, 64, s)...)
	m.want(abi.InvalidConfiguration, "hipModuleLaunchKernel", launch(f, 1, 128, s)...)
	*size = 19
	m.want(abi.InvalidHandle, "hipModuleLaunchKernel", launch(f, 1, 64, s)...)
	*size = 20
	m.want(abi.Success, "hipModuleLaunchKernel", launch(f, 1, 64, s)...)
	m.want(abi.LaunchFailure, "hipStreamSynchronize", s)
	m.want(abi.LaunchFailure, "hipFree", x) // it stays
	m.end("is not the handle of a function", "takes 20 bytes of arguments, and gets 19", "inside the freed allocation of 256 bytes")
}

// Handles that are none, where HIP may crash.
func TestWrongHandles(t *testing.T) {
	m := newMachine(t, "gfx1100", "gfx1100")
	s, v := m.stream(), m.make("hipEventCreateWithFlags", abi.EventDisableTiming)
	m.want(abi.InvalidHandle, "hipStreamSynchronize", v)
	m.want(abi.InvalidHandle, "hipStreamDestroy", 0)
	m.want(abi.InvalidHandle, "hipEventRecord", s, s)
	m.want(abi.InvalidHandle, "hipModuleUnload", 1)
	m.want(abi.Success, "hipStreamDestroy", s)
	m.want(abi.InvalidHandle, "hipStreamQuery", s)
	m.want(abi.Success, "hipSetDevice", 1)
	other := m.stream()
	m.want(abi.InvalidHandle, "hipEventRecord", v, other)
	m.want(abi.InvalidDevice, "hipSetDevice", 2)
	m.want(abi.Success, "hipEventDestroy", v)
	m.want(abi.Success, "hipStreamDestroy", other)
	m.end("is not the handle of a stream", "is not the handle of a stream", "is not the handle of a event", "is not the handle of a module",
		"is not the handle of a stream", "an event of device 0 in a stream of device 1")
}

func TestWrongCopies(t *testing.T) {
	m := newMachine(t, "gfx1030", "gfx1201")
	s, p, host := m.stream(), m.make("hipMalloc", 256), make([]byte, 300)
	h := uintptr(unsafe.Pointer(&host[0]))
	m.want(abi.InvalidValue, "hipMemcpyAsync", p, h, 257, abi.CopyHostToDevice, s)
	m.want(abi.InvalidValue, "hipMemcpyAsync", p, p, 16, abi.CopyHostToDevice, s)
	m.want(abi.InvalidValue, "hipMemcpyAsync", h, h, 16, abi.CopyDeviceToHost, s)
	m.want(abi.InvalidValue, "hipMemcpyAsync", p, h, 16, 7, s)
	m.want(abi.Success, "hipSetDevice", 1)
	q := m.make("hipMalloc", 256)
	m.want(abi.PeerAccessNotEnabled, "hipMemcpyPeerAsync", q, 1, p, 0, 16, s)
	m.want(abi.InvalidDevice, "hipDeviceEnablePeerAccess", 0, 0)
	m.want(abi.Success, "hipFree", q)
	m.want(abi.Success, "hipSetDevice", 0)
	m.want(abi.Success, "hipFree", p)
	m.want(abi.Success, "hipStreamDestroy", s)
	m.end("257 bytes at", "is memory of device 0, not of the host", "16 bytes at", "have not enabled access", "cannot reach device 0")
}

// Pageable memory is read within the call, and has been written when it returns.
func TestPageableCopies(t *testing.T) {
	m := newMachine(t, "gfx1151")
	s, p := m.stream(), m.make("hipMalloc", 8)
	in, out := []byte("abcdefgh"), make([]byte, 8)
	m.want(abi.Success, "hipMemcpyAsync", p, uintptr(unsafe.Pointer(&in[0])), 8, abi.CopyHostToDevice, s)
	copy(in, "overwrit")
	m.want(abi.Success, "hipMemcpyAsync", uintptr(unsafe.Pointer(&out[0])), p, 8, abi.CopyDeviceToHost, s)
	if string(out) != "abcdefgh" {
		t.Errorf("%q", out)
	}
	m.want(abi.Success, "hipFree", p)
	m.want(abi.Success, "hipStreamDestroy", s)
	m.end()
}

// What was not freed is reported at the end.
func TestLeaks(t *testing.T) {
	m := newMachine(t, "gfx1201")
	m.stream()
	m.make("hipMalloc", 100)
	m.make("hipHostMalloc", 200, 0)
	m.make("hipEventCreateWithFlags", 0)
	m.make("hipMemAddressReserve", virtualGranularity, 0, 0, 0)
	err := m.Close()
	for _, want := range []string{"a stream of device 0 was not destroyed", "100 bytes at 0x", "200 bytes of pinned memory", "a event was not freed", "a reserved range was not freed"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := m.Close(); err != nil {
		t.Error("the second time:", err)
	}
}

// Emulators take turns at the C functions, of which there is a limited number.
func TestManyEmulators(t *testing.T) {
	var all []*machine
	for range 4 {
		all = append(all, newMachine(t, "gfx1201", "gfx1030"))
	}
	for i, m := range all {
		m.want(abi.Success, "hipSetDevice", uintptr(i%2))
		m.want(abi.Success, "hipFree", m.make("hipMalloc", uintptr(i+1)))
	}
	for _, m := range all {
		m.end()
	}
	made := func() int {
		slots.Lock()
		defer slots.Unlock()
		return len(slots.all)
	}
	before := made()
	for range 3 * maxSlots {
		newMachine(t, "gfx1100").end()
	}
	if after := made(); after != before {
		t.Errorf("%d sets of functions became %d", before, after)
	}
	closed := all[0]
	if address := closed.slot.address["hipMalloc"]; address == 0 {
		t.Error("no address")
	} else if result, _, _ := purego.SyscallN(address, 0, 1); abi.Code(result) != abi.ContextIsDestroyed {
		t.Error("a call to a closed emulator:", abi.Code(result))
	}
}

func TestBadModules(t *testing.T) {
	m := newMachine(t, "gfx1201")
	garbage := make([]byte, 100)
	out := new(uintptr)
	m.want(abi.InvalidImage, "hipModuleLoadData", uintptr(unsafe.Pointer(out)), uintptr(unsafe.Pointer(&garbage[0])))
	other, err := os.ReadFile("../../kernels/objects/rows.gfx1100.hsaco")
	if err != nil {
		t.Fatal(err)
	}
	m.want(abi.NoBinaryForGPU, "hipModuleLoadData", uintptr(unsafe.Pointer(out)), uintptr(unsafe.Pointer(&other[0])))
	right, err := os.ReadFile("../../kernels/objects/rows.gfx1201.hsaco")
	if err != nil {
		t.Fatal(err)
	}
	module := m.make("hipModuleLoadData", uintptr(unsafe.Pointer(&right[0])))
	name := []byte("no such kernel\x00")
	m.want(abi.NotFound, "hipModuleGetFunction", uintptr(unsafe.Pointer(out)), module, uintptr(unsafe.Pointer(&name[0])))
	m.want(abi.Success, "hipModuleUnload", module)
	m.end()
}

func TestParse(t *testing.T) {
	size := func(text string) (int64, error) {
		var n int64
		_, err := fmt.Sscanf(text, "%d", &n)
		return n, err
	}
	c, err := Parse("gfx1201, gfx1151:77", size)
	if err != nil || len(c.GPUs) != 2 || c.GPUs[0].Memory != 1<<30 || c.GPUs[1].Memory != 77 || !c.GPUs[1].Integrated {
		t.Errorf("%+v, %v", c, err)
	}
	for _, bad := range []string{"", "gfx900", "gfx1201:", "gfx1201:-5"} {
		if _, err := Parse(bad, size); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// Closing ends work that is under way, and drops what has not begun.
func TestCloseEndsWork(t *testing.T) {
	m := newMachine(t, "gfx1201")
	s, other := m.stream(), m.stream()
	begun, wait := make(chan bool), make(chan bool)
	handles := []*stream{m.handles[s].(*stream), m.handles[other].(*stream)}
	m.enqueue(handles[0], "hipModuleLaunchKernel", "a long kernel", func(*work) error {
		close(begun)
		<-m.ctx.Done()
		return m.ctx.Err()
	})
	m.enqueue(handles[1], "hipMemsetAsync", "a fill", func(*work) error {
		close(wait)
		return nil
	})
	handles[0].allow(1)
	<-begun
	if err := m.Close(); err == nil || strings.Contains(err.Error(), "a long kernel") {
		t.Error(err)
	}
	select {
	case <-wait:
		t.Error("work that nothing waited for has run")
	default:
	}
}
