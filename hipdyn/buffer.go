package hipdyn

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"gorun/hipdyn/abi"
)

// Buffer is memory of a device. What is in it at first is undefined.
type Buffer struct {
	dev     *Device
	address uintptr // within the device's address space
	size    int64
	freed   atomic.Bool
	virtual bool // belongs to a Range
}

// Alloc allocates size bytes. Its error unwraps to abi.OutOfMemory if they are
// not there.
func (d *Device) Alloc(size int64) (*Buffer, error) {
	if size <= 0 {
		return nil, fmt.Errorf("hipdyn: cannot allocate %d bytes on device %v", size, d)
	}
	address, err := d.create("hipMalloc", func(p *uintptr) abi.Code {
		return d.lib.hip.hipMalloc.call(uintptr(unsafe.Pointer(p)), uintptr(size))
	})
	if err != nil {
		return nil, fmt.Errorf("%d bytes: %w", size, err)
	}
	return &Buffer{dev: d, address: address, size: size}, nil
}

// Size is in bytes.
func (b *Buffer) Size() int64 { return b.size }

// Device is where the buffer is.
func (b *Buffer) Device() *Device { return b.dev }

// Free waits for the device and gives the memory back.
func (b *Buffer) Free() error {
	if b.virtual {
		return fmt.Errorf("hipdyn: this buffer belongs to a Range; free that")
	}
	if b.freed.Swap(true) {
		return fmt.Errorf("hipdyn: freeing a buffer: %w", errFreed)
	}
	return b.dev.Do(func() error { return b.dev.check(b.dev.lib.hip.hipFree.call(b.address), "hipFree") })
}

// span checks that n bytes at offset are in the buffer and that it is on the
// device, and returns their address.
func (b *Buffer) span(d *Device, offset, n int64) (uintptr, error) {
	switch {
	case b.freed.Load():
		return 0, fmt.Errorf("hipdyn: a buffer of %d bytes: %w", b.size, errFreed)
	case d != b.dev:
		return 0, fmt.Errorf("hipdyn: a buffer of device %v on device %v", b.dev, d)
	case offset < 0 || n < 0 || offset > b.size || n > b.size-offset:
		return 0, fmt.Errorf("hipdyn: %d bytes at %d of a buffer of %d", n, offset, b.size)
	}
	return b.address + uintptr(offset), nil
}

// Pinned is page-locked host memory, which devices copy from and to while the
// host goes on.
type Pinned struct {
	dev      *Device // that allocated it; all devices can use it
	bytes    []byte
	freed    atomic.Bool
	register bool
}

// AllocPinned allocates page-locked host memory that every device of the
// library can use.
func (d *Device) AllocPinned(size int64) (*Pinned, error) {
	if size <= 0 {
		return nil, fmt.Errorf("hipdyn: cannot allocate %d bytes of pinned memory", size)
	}
	address, err := d.create("hipHostMalloc", func(p *uintptr) abi.Code {
		return d.lib.hip.hipHostMalloc.call(uintptr(unsafe.Pointer(p)), uintptr(size), abi.HostMallocPortable)
	})
	if err != nil {
		return nil, fmt.Errorf("%d bytes of pinned memory: %w", size, err)
	}
	return &Pinned{dev: d, bytes: unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), size)}, nil
}

// PinMemory page-locks memory that is not on the Go heap, such as that of an
// arena or a mapped file, until Free.
func (d *Device) PinMemory(memory []byte) (*Pinned, error) {
	if len(memory) == 0 {
		return nil, fmt.Errorf("hipdyn: no memory to pin")
	}
	err := d.Do(func() error {
		code := d.lib.hip.hipHostRegister.call(uintptr(unsafe.Pointer(&memory[0])), uintptr(len(memory)), abi.HostRegisterPortable)
		return d.check(code, "hipHostRegister")
	})
	if err != nil {
		return nil, fmt.Errorf("%d bytes: %w", len(memory), err)
	}
	return &Pinned{dev: d, bytes: memory, register: true}, nil
}

// Bytes is the memory. While a copy from or to it is under way it belongs to
// the device.
func (p *Pinned) Bytes() []byte { return p.bytes }

// Free waits for the device and gives the memory back, or ends its pinning.
func (p *Pinned) Free() error {
	if p.freed.Swap(true) {
		return fmt.Errorf("hipdyn: freeing pinned memory: %w", errFreed)
	}
	d, address := p.dev, uintptr(unsafe.Pointer(&p.bytes[0]))
	err := d.Do(func() error {
		if p.register {
			return d.check(d.lib.hip.hipHostUnregister.call(address), "hipHostUnregister")
		}
		return d.check(d.lib.hip.hipHostFree.call(address), "hipHostFree")
	})
	runtime.KeepAlive(p)
	return err
}

// span checks that n bytes at offset are in the memory and returns their
// address.
func (p *Pinned) span(offset, n int64) (uintptr, error) {
	switch size := int64(len(p.bytes)); {
	case p.freed.Load():
		return 0, fmt.Errorf("hipdyn: %d bytes of pinned memory: %w", size, errFreed)
	case offset < 0 || n < 0 || offset > size || n > size-offset:
		return 0, fmt.Errorf("hipdyn: %d bytes at %d of %d bytes of pinned memory", n, offset, size)
	}
	return uintptr(unsafe.Pointer(unsafe.SliceData(p.bytes))) + uintptr(offset), nil
}
