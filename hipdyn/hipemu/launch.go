package hipemu

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"gorun/hipdyn/abi"
	"gorun/hipdyn/hipemu/rdna"
)

// module is a hipModule_t.
type module struct {
	dev       *device
	code      *rdna.Module
	functions map[string]uintptr
}

// function is a hipFunction_t.
type function struct {
	module *module
	kernel *rdna.Kernel
}

// mostObject bounds how far the headers of a code object may point.
const mostObject = 64 << 20

// objectAt is the ELF file at an address: HIP is not told its size, either.
func objectAt(p unsafe.Pointer) ([]byte, bool) {
	const headerBytes = 64
	h := unsafe.Slice((*byte)(p), headerBytes)
	if string(h[:4]) != elf.ELFMAG || h[elf.EI_CLASS] != byte(elf.ELFCLASS64) {
		return nil, false
	}
	le := binary.LittleEndian
	// The table of sections is the last thing in files that lld writes.
	end := le.Uint64(h[40:]) + uint64(le.Uint16(h[58:]))*uint64(le.Uint16(h[60:]))
	if end < headerBytes || end > mostObject {
		return nil, false
	}
	return slices.Clone(unsafe.Slice((*byte)(p), end)), true
}

func (e *Emulator) hipModuleLoadData(out *uintptr, image unsafe.Pointer) abi.Code {
	if image == nil {
		return abi.InvalidValue
	}
	object, ok := objectAt(image)
	if !ok {
		return abi.InvalidImage
	}
	code, err := rdna.Load(object)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.find("hipModuleLoadData: %w", err)
		return abi.InvalidImage
	}
	d := e.here()
	if code.Target != d.GFX {
		return abi.NoBinaryForGPU
	}
	*out = e.handle(&module{dev: d, code: code, functions: map[string]uintptr{}})
	return abi.Success
}

func (e *Emulator) hipModuleUnload(h uintptr) abi.Code {
	e.mu.Lock()
	m, ok := lookup[*module](e, "hipModuleUnload", h)
	e.mu.Unlock()
	if !ok {
		return abi.InvalidHandle
	}
	e.finishDevice(m.dev)
	e.mu.Lock()
	defer e.mu.Unlock()
	m.dev.mem.Unload(m.code)
	for _, f := range m.functions {
		delete(e.handles, f)
	}
	delete(e.handles, h)
	return m.dev.code()
}

func (e *Emulator) hipModuleGetFunction(out *uintptr, h uintptr, name unsafe.Pointer) abi.Code {
	e.mu.Lock()
	defer e.mu.Unlock()
	m, ok := lookup[*module](e, "hipModuleGetFunction", h)
	if !ok {
		return abi.InvalidHandle
	}
	k, err := m.code.Kernel(goString(name))
	if err != nil {
		return abi.NotFound
	}
	f, ok := m.functions[k.Name]
	if !ok {
		f = e.handle(&function{m, k})
		m.functions[k.Name] = f
	}
	*out = f
	return abi.Success
}

func goString(p unsafe.Pointer) string {
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// kernargPadding follows the arguments that a kernel gets: HIP gives it a buffer
// of its own, and wide loads read beyond the last argument.
const kernargPadding = 64

// launchBuffer reads the extra array of a launch.
func launchBuffer(extra unsafe.Pointer) (kernarg []byte, ok bool) {
	if extra == nil {
		return nil, false
	}
	var buffer unsafe.Pointer
	size := uintptr(0)
	for words := unsafe.Slice((*unsafe.Pointer)(extra), 5); len(words) >= 2; words = words[2:] {
		switch uintptr(words[0]) {
		case abi.LaunchBuffer:
			buffer = words[1]
		case abi.LaunchBufferSize:
			size = *(*uintptr)(words[1])
		}
	}
	if buffer == nil && size > 0 || size > 4096 {
		return nil, false
	}
	return append(slices.Clone(unsafe.Slice((*byte)(buffer), size)), make([]byte, kernargPadding)...), true
}

func (e *Emulator) hipModuleLaunchKernel(h uintptr, gridX, gridY, gridZ, blockX, blockY, blockZ, lds uint32, streamHandle uintptr,
	parameters, extra unsafe.Pointer) abi.Code {
	const call = "hipModuleLaunchKernel"
	s, code := e.stream(call, streamHandle)
	if code != abi.Success {
		return code
	}
	kernarg, ok := launchBuffer(extra)
	if !ok || parameters != nil {
		return abi.InvalidValue
	}
	e.mu.Lock()
	f, ok := lookup[*function](e, call, h)
	if ok && f.module.dev != s.dev {
		e.find("%s: kernel %s is loaded on device %d, the stream is on device %d", call, f.kernel.Name, f.module.dev.index, s.dev.index)
		ok = false
	}
	if ok && len(kernarg)-kernargPadding < explicitBytes(f.kernel) {
		e.find("%s: kernel %s takes %d bytes of arguments, and gets %d", call, f.kernel.Name, explicitBytes(f.kernel), len(kernarg)-kernargPadding)
		ok = false
	}
	e.mu.Unlock()
	switch threads := uint64(blockX) * uint64(blockY) * uint64(blockZ); {
	case !ok:
		return abi.InvalidHandle
	case threads == 0 || gridX == 0 || gridY == 0 || gridZ == 0:
		return abi.InvalidValue
	case threads > mostThreads || threads > uint64(f.kernel.MaxWorkgroup):
		return abi.InvalidConfiguration
	case int(lds)+f.kernel.LDS > mostLDS:
		return abi.InvalidValue
	}
	config := rdna.LaunchConfig{
		Grid: [3]uint32{gridX, gridY, gridZ}, Block: [3]uint32{blockX, blockY, blockZ}, DynamicLDS: lds, Workers: e.config.Workers,
	}
	e.enqueue(s, call, fmt.Sprintf("kernel %s, grid %dx%dx%d of %dx%dx%d", f.kernel.Name, gridX, gridY, gridZ, blockX, blockY, blockZ), func(w *work) error {
		config := config
		if e.severalStreams() {
			config.Watch = &rdna.Watch{}
		}
		counters, err := f.kernel.Launch(e.ctx, config, kernarg, s.dev.mem)
		e.mu.Lock()
		e.counters[f.kernel.Name] = counters
		e.mu.Unlock()
		if err != nil || config.Watch == nil {
			return err
		}
		return e.touched(w, config.Watch.Uses())
	})
	return abi.Success
}

// severalStreams tells whether kernels can be in each other's way at all: one
// stream is in order, and watching costs.
func (e *Emulator) severalStreams() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.made > 1
}

// touched notes what a kernel has used.
func (e *Emulator) touched(w *work, uses []rdna.Use) error {
	for _, u := range uses {
		e.mu.Lock()
		base := e.whole(u.Base)
		e.mu.Unlock()
		if err := errors.Join(e.touch(w, base, u.Read, false), e.touch(w, base, u.Written, true)); err != nil {
			return err
		}
	}
	return nil
}

// explicitBytes is where the last argument ends that is not hidden.
func explicitBytes(k *rdna.Kernel) int {
	n := 0
	for _, a := range k.Args {
		if !a.Hidden() {
			n = max(n, a.Offset+a.Size)
		}
	}
	return n
}
