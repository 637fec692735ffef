package hipemu

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"gorun/hipdyn/abi"
	"gorun/hipdyn/hipemu/rdna"
	"gorun/internal/arena"
)

func (e *Emulator) hipMalloc(out *uintptr, size uintptr) abi.Code {
	e.mu.Lock()
	defer e.mu.Unlock()
	d := e.here()
	if int64(size) > d.free() {
		return abi.OutOfMemory
	}
	va, err := d.mem.Alloc(int64(size))
	if err != nil {
		return allocationCode(err)
	}
	d.allocs[va] = int64(size)
	*out = uintptr(va)
	return abi.Success
}

func allocationCode(err error) abi.Code {
	if oom := (*rdna.OutOfMemory)(nil); errors.As(err, &oom) {
		return abi.OutOfMemory
	}
	return abi.InvalidValue
}

func (e *Emulator) hipFree(address uintptr) abi.Code {
	e.mu.Lock()
	d := e.here()
	e.mu.Unlock()
	e.finishDevice(d)
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := d.allocs[uint64(address)]; !ok {
		e.find("hipFree: 0x%x is no allocation of device %d", address, d.index)
		return abi.InvalidValue
	}
	delete(d.allocs, uint64(address))
	delete(e.log, uint64(address))
	if err := d.mem.Free(uint64(address)); err != nil {
		e.find("hipFree: %w", err)
		return abi.InvalidValue
	}
	return d.code()
}

// hostMemory is host memory that devices can use.
type hostMemory struct {
	address uintptr
	bytes   []byte
	arena   *arena.Arena // nil if it was registered
}

func (e *Emulator) hipHostMalloc(out *uintptr, size uintptr, flags uint32) abi.Code {
	if flags&^abi.HostMallocPortable != 0 || size == 0 {
		return abi.InvalidValue
	}
	a, err := arena.New(int64(size))
	if err != nil {
		return abi.OutOfMemory
	}
	*out = uintptr(unsafe.Pointer(&a.Bytes()[0]))
	return e.pin(&hostMemory{*out, a.Bytes(), a})
}

// pin makes host memory visible to all devices.
func (e *Emulator) pin(h *hostMemory) abi.Code {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, d := range e.devices {
		if err := d.mem.MapHost(uint64(h.address), h.bytes); err != nil {
			e.find("pinning memory: %w", err)
			return abi.HostMemoryRegistered
		}
	}
	e.pinned = append(e.pinned, h)
	return abi.Success
}

func (e *Emulator) hipHostRegister(p unsafe.Pointer, size uintptr, flags uint32) abi.Code {
	if p == nil || size == 0 {
		return abi.InvalidValue
	}
	return e.pin(&hostMemory{uintptr(p), unsafe.Slice((*byte)(p), size), nil})
}

func (e *Emulator) hipHostFree(address uintptr) abi.Code {
	return e.unpin("hipHostFree", address, true)
}

func (e *Emulator) hipHostUnregister(address uintptr) abi.Code {
	return e.unpin("hipHostUnregister", address, false)
}

func (e *Emulator) unpin(call string, address uintptr, allocated bool) abi.Code {
	for _, d := range e.devices {
		e.finishDevice(d)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	i := slices.IndexFunc(e.pinned, func(h *hostMemory) bool { return h.address == address && (h.arena != nil) == allocated })
	if i < 0 {
		e.find("%s: 0x%x is no such memory", call, address)
		return abi.InvalidValue
	}
	h := e.pinned[i]
	e.pinned = slices.Delete(e.pinned, i, i+1)
	delete(e.log, uint64(address))
	var err error
	for _, d := range e.devices {
		err = errors.Join(err, d.mem.UnmapHost(uint64(address)))
	}
	if h.arena != nil {
		err = errors.Join(err, h.arena.Free())
	}
	if err != nil {
		e.find("%s: %w", call, err)
		return abi.InvalidValue
	}
	return e.here().code()
}

// place is a range of memory that a copy uses.
type place struct {
	dev  *device // nil: pinned memory
	base uint64  // of its allocation
	at   uint64
	size uint64
}

// onDevice checks that n bytes are in one allocation of a device, or in adjacent
// pieces of virtual memory. e.mu is held.
func (e *Emulator) onDevice(call string, d *device, address, n uintptr) (place, bool) {
	at, left := uint64(address), uint64(n)
	first, size, ok := d.mem.Contains(at)
	base := first
	for ok && left > first+uint64(size)-at {
		left -= first + uint64(size) - at
		at = first + uint64(size)
		first, size, ok = d.mem.Contains(at)
	}
	if !ok {
		e.find("%s: %d bytes at 0x%x are not in memory of device %d (never allocated, freed, or too short)", call, n, address, d.index)
		return place{}, false
	}
	return place{d, e.whole(base), uint64(address), uint64(n)}, true
}

// whole is the address of the range that an allocation is a part of, if it is
// virtual memory. e.mu is held.
func (e *Emulator) whole(base uint64) uint64 {
	for _, x := range e.handles {
		if r, virtual := x.(*reservation); virtual && base >= r.va && base < r.va+r.size {
			return r.va
		}
	}
	return base
}

// inPinned finds pinned memory. e.mu is held.
func (e *Emulator) inPinned(address, n uintptr) (place, bool) {
	for _, h := range e.pinned {
		if address >= h.address && address-h.address+n <= uintptr(len(h.bytes)) {
			return place{nil, uint64(h.address), uint64(address), uint64(n)}, true
		}
	}
	return place{}, false
}

// bytes is pinned memory as a slice.
func (e *Emulator) bytes(p place) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, h := range e.pinned {
		if uint64(h.address) == p.base {
			return h.bytes[p.at-p.base:][:p.size]
		}
	}
	panic("pinned memory is unpinned after its work is done")
}

func (e *Emulator) use(w *work, p place, write bool) error {
	return e.touch(w, p.base, []rdna.Span{{Lo: p.at, Hi: p.at + p.size}}, write)
}

// eachPart calls fn for the parts of a range that are in one allocation each.
func eachPart(m *rdna.Memory, at, n uint64, fn func(at, done, n uint64) error) error {
	for done := uint64(0); done < n; {
		base, size, ok := m.Contains(at + done)
		if !ok {
			return fmt.Errorf("0x%x is in no allocation", at+done)
		}
		part := min(n-done, base+uint64(size)-at-done)
		if err := fn(at+done, done, part); err != nil {
			return err
		}
		done += part
	}
	return nil
}

func (e *Emulator) hipMemcpyAsync(to, from unsafe.Pointer, n uintptr, kind int32, h uintptr) abi.Code {
	const call = "hipMemcpyAsync"
	s, code := e.stream(call, h)
	if code != abi.Success || n == 0 {
		return code
	}
	switch kind {
	case abi.CopyHostToDevice:
		return e.copyIn(s, uintptr(to), from, n)
	case abi.CopyDeviceToHost:
		return e.copyOut(s, to, uintptr(from), n)
	case abi.CopyDeviceToDevice:
		return e.copyWithin(call, s, s.dev, uintptr(to), s.dev, uintptr(from), n)
	}
	return abi.InvalidValue
}

// host finds out what a host pointer is: pinned memory, or pageable.
func (e *Emulator) hostPointer(p unsafe.Pointer, n uintptr) (at place, pinned, ok bool) {
	at, pinned = e.inPinned(uintptr(p), n)
	if pinned {
		return at, true, true
	}
	for _, d := range e.devices {
		if _, _, device := d.mem.Contains(uint64(uintptr(p))); device {
			e.find("hipMemcpyAsync: 0x%x is memory of device %d, not of the host", uintptr(p), d.index)
			return at, false, false
		}
	}
	return at, false, true
}

func (e *Emulator) copyIn(s *stream, to uintptr, from unsafe.Pointer, n uintptr) abi.Code {
	e.mu.Lock()
	dst, ok := e.onDevice("hipMemcpyAsync", s.dev, to, n)
	src, pinned, good := e.hostPointer(from, n)
	e.mu.Unlock()
	if !ok || !good {
		return abi.InvalidValue
	}
	var staged []byte
	if !pinned { // HIP has read pageable memory when the call returns
		staged = slices.Clone(unsafe.Slice((*byte)(from), n))
	}
	e.enqueue(s, "hipMemcpyAsync", fmt.Sprintf("a copy of %d bytes from the host", n), func(w *work) error {
		bytes := staged
		if pinned {
			if err := e.use(w, src, false); err != nil {
				return err
			}
			bytes = e.bytes(src)
		}
		if err := e.use(w, dst, true); err != nil {
			return err
		}
		return eachPart(s.dev.mem, dst.at, dst.size, func(at, done, n uint64) error {
			return s.dev.mem.Write(at, bytes[done:done+n])
		})
	})
	return abi.Success
}

func (e *Emulator) copyOut(s *stream, to unsafe.Pointer, from, n uintptr) abi.Code {
	e.mu.Lock()
	src, ok := e.onDevice("hipMemcpyAsync", s.dev, from, n)
	dst, pinned, good := e.hostPointer(to, n)
	e.mu.Unlock()
	if !ok || !good {
		return abi.InvalidValue
	}
	var staged []byte
	if !pinned {
		staged = make([]byte, n)
	}
	e.enqueue(s, "hipMemcpyAsync", fmt.Sprintf("a copy of %d bytes to the host", n), func(w *work) error {
		if err := e.use(w, src, false); err != nil {
			return err
		}
		bytes := staged
		if pinned {
			if err := e.use(w, dst, true); err != nil {
				return err
			}
			bytes = e.bytes(dst)
		}
		return eachPart(s.dev.mem, src.at, src.size, func(at, done, n uint64) error {
			return s.dev.mem.Read(bytes[done:done+n], at)
		})
	})
	if !pinned { // HIP waits, too
		e.finish(s)
		if code := e.codeOf(s.dev); code != abi.Success {
			return code
		}
		copy(unsafe.Slice((*byte)(to), n), staged)
	}
	return abi.Success
}

// copyWithin copies between memories of devices.
func (e *Emulator) copyWithin(call string, s *stream, toDev *device, to uintptr, fromDev *device, from, n uintptr) abi.Code {
	e.mu.Lock()
	dst, ok := e.onDevice(call, toDev, to, n)
	src, good := e.onDevice(call, fromDev, from, n)
	e.mu.Unlock()
	if !ok || !good {
		return abi.InvalidValue
	}
	e.enqueue(s, call, fmt.Sprintf("a copy of %d bytes between devices' memory", n), func(w *work) error {
		if err := errors.Join(e.use(w, src, false), e.use(w, dst, true)); err != nil {
			return err
		}
		return eachPart(fromDev.mem, src.at, src.size, func(from, done, n uint64) error {
			return eachPart(toDev.mem, dst.at+done, n, func(to, done, n uint64) error {
				return toDev.mem.Copy(to, from+done, int64(n))
			})
		})
	})
	return abi.Success
}

func (e *Emulator) hipMemcpyPeerAsync(to uintptr, toDevice int32, from uintptr, fromDevice int32, n, h uintptr) abi.Code {
	s, code := e.stream("hipMemcpyPeerAsync", h)
	if code != abi.Success || n == 0 {
		return code
	}
	dst, code := e.device(toDevice)
	if code != abi.Success {
		return code
	}
	src, code := e.device(fromDevice)
	if code != abi.Success {
		return code
	}
	e.mu.Lock()
	enabled := dst == src || dst.peers[src.index] && src.peers[dst.index]
	if !enabled {
		e.find("hipMemcpyPeerAsync: devices %d and %d have not enabled access to each other", src.index, dst.index)
	}
	e.mu.Unlock()
	if !enabled {
		return abi.PeerAccessNotEnabled
	}
	return e.copyWithin("hipMemcpyPeerAsync", s, dst, to, src, from, n)
}

func (e *Emulator) hipMemsetAsync(to uintptr, value int32, n, h uintptr) abi.Code {
	s, code := e.stream("hipMemsetAsync", h)
	if code != abi.Success || n == 0 {
		return code
	}
	e.mu.Lock()
	dst, ok := e.onDevice("hipMemsetAsync", s.dev, to, n)
	e.mu.Unlock()
	if !ok {
		return abi.InvalidValue
	}
	e.enqueue(s, "hipMemsetAsync", fmt.Sprintf("a fill of %d bytes", n), func(w *work) error {
		if err := e.use(w, dst, true); err != nil {
			return err
		}
		return eachPart(s.dev.mem, dst.at, dst.size, func(at, _, n uint64) error {
			return s.dev.mem.Fill(at, byte(value), int64(n))
		})
	})
	return abi.Success
}
