package hipdyn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"gorun/hipdyn/abi"
)

// virtualPiece is the unit in which a Range grows. Some releases report a
// smaller granularity and then fault.
const virtualPiece = 2 << 20

// Range is a range of a device's addresses that is backed with memory as it is
// needed, so that a buffer grows in place.
//
// Virtual memory management is new in drivers and has had errors: only the
// first of several mappings accessible, or only the range as a whole. So access
// is set for all that is committed, and Reserve refuses a device that fails
// TestVirtual. On RDNA two addresses of the same memory need not be coherent:
// each byte has one.
type Range struct {
	buffer   Buffer // what is committed
	reserved int64
	pieces   []virtualMemory
}

// virtualMemory is memory that is mapped into a range.
type virtualMemory struct {
	handle uintptr
	size   int64
}

// Reserve takes a range of addresses of at least size bytes, without memory.
func (d *Device) Reserve(size int64) (*Range, error) {
	if err := d.TestVirtual(); err != nil {
		return nil, err
	}
	return d.reserve(size)
}

// TestVirtual finds out, once, whether virtual memory management works.
func (d *Device) TestVirtual() error { return d.virtual() }

func (d *Device) testVirtual() (err error) {
	switch {
	case !d.Virtual:
		return fmt.Errorf("device %v has no virtual memory management", d)
	case d.lib.Runtime.Major() < 6:
		// hipMemAllocationProp had another layout.
		return fmt.Errorf("virtual memory management needs ROCm 6, this is %v", d.lib.Runtime)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("virtual memory management of device %v does not work here: %w", d, err)
		}
	}()
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r, err := d.reserve(4 * virtualPiece)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Free()) }()
	for i, size := range []int64{virtualPiece, 3 * virtualPiece} {
		from := r.buffer.size
		if err := r.Commit(size); err != nil {
			return err
		}
		if err := s.Fill(r.Buffer(), from, size-from, byte(0xa5+i)); err != nil {
			return err
		}
	}
	got := make([]byte, 3*virtualPiece)
	if err := s.Read(got, r.Buffer(), 0); err != nil {
		return err
	}
	if !bytes.Equal(got, append(bytes.Repeat([]byte{0xa5}, virtualPiece), bytes.Repeat([]byte{0xa6}, 2*virtualPiece)...)) {
		return errors.New("what was written is not what is read")
	}
	return nil
}

func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

func (d *Device) reserve(size int64) (*Range, error) {
	if size <= 0 {
		return nil, fmt.Errorf("hipdyn: cannot reserve %d bytes", size)
	}
	size = roundUp(size, virtualPiece)
	address, err := d.create("hipMemAddressReserve", func(p *uintptr) abi.Code {
		return d.lib.hip.hipMemAddressReserve.call(uintptr(unsafe.Pointer(p)), uintptr(size), virtualPiece, 0, 0)
	})
	if err != nil {
		return nil, fmt.Errorf("%d bytes: %w", size, err)
	}
	r := &Range{reserved: size}
	r.buffer.dev, r.buffer.address, r.buffer.virtual = d, address, true
	return r, nil
}

// Buffer is what has been committed. It grows with Commit.
func (r *Range) Buffer() *Buffer { return &r.buffer }

// Reserved is the size of the range.
func (r *Range) Reserved() int64 { return r.reserved }

// Commit backs the range with memory up to at least size bytes. What is there
// already keeps its content. No work that uses the buffer may be enqueued
// meanwhile.
func (r *Range) Commit(size int64) error {
	size = roundUp(size, virtualPiece)
	b, d := &r.buffer, r.buffer.dev
	switch {
	case b.freed.Load():
		return fmt.Errorf("hipdyn: a range of %d bytes: %w", r.reserved, errFreed)
	case size > r.reserved:
		return fmt.Errorf("hipdyn: %d bytes of a range of %d", size, r.reserved)
	case size <= b.size:
		return nil
	}
	more := size - b.size
	var properties [abi.AllocationPropBytes]byte
	binary.NativeEndian.PutUint32(properties[abi.AllocationPropType:], abi.AllocationPinned)
	binary.NativeEndian.PutUint32(properties[abi.AllocationPropKind:], abi.LocationDevice)
	binary.NativeEndian.PutUint32(properties[abi.AllocationPropDevice:], uint32(d.Index))
	handle, err := d.create("hipMemCreate", func(h *uintptr) abi.Code {
		return d.lib.hip.hipMemCreate.call(uintptr(unsafe.Pointer(h)), uintptr(more), uintptr(unsafe.Pointer(&properties)), 0)
	})
	if err != nil {
		return fmt.Errorf("%d bytes: %w", more, err)
	}
	end := b.address + uintptr(b.size)
	err = d.Do(func() error {
		err := d.check(d.lib.hip.hipMemMap.call(end, uintptr(more), 0, handle, 0), "hipMemMap")
		if err != nil {
			return errors.Join(err, d.releaseVirtual(handle))
		}
		if err = d.setAccess(b.address, size); err != nil {
			return errors.Join(err, d.unmap(end, more), d.releaseVirtual(handle))
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.pieces = append(r.pieces, virtualMemory{handle, more})
	b.size = size
	return nil
}

// The rest runs on the device's thread.

func (d *Device) setAccess(address uintptr, size int64) error {
	var access [abi.AccessDescBytes]byte
	binary.NativeEndian.PutUint32(access[0:], abi.LocationDevice)
	binary.NativeEndian.PutUint32(access[4:], uint32(d.Index))
	binary.NativeEndian.PutUint32(access[abi.AccessDescFlags:], abi.AccessReadWrite)
	return d.check(d.lib.hip.hipMemSetAccess.call(address, uintptr(size), uintptr(unsafe.Pointer(&access)), 1), "hipMemSetAccess")
}

func (d *Device) unmap(address uintptr, size int64) error {
	return d.check(d.lib.hip.hipMemUnmap.call(address, uintptr(size)), "hipMemUnmap")
}

func (d *Device) releaseVirtual(handle uintptr) error {
	return d.check(d.lib.hip.hipMemRelease.call(handle), "hipMemRelease")
}

// Free waits for the device and gives memory and addresses back.
func (r *Range) Free() error {
	b, d := &r.buffer, r.buffer.dev
	if b.freed.Swap(true) {
		return fmt.Errorf("hipdyn: freeing a range: %w", errFreed)
	}
	return d.Do(func() error {
		err := d.check(d.lib.hip.hipDeviceSynchronize.call(), "hipDeviceSynchronize")
		at := b.address
		for _, p := range r.pieces {
			err = errors.Join(err, d.unmap(at, p.size), d.releaseVirtual(p.handle))
			at += uintptr(p.size)
		}
		return errors.Join(err, d.check(d.lib.hip.hipMemAddressFree.call(b.address, uintptr(r.reserved)), "hipMemAddressFree"))
	})
}
