package hipdyn

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"gorun/hipdyn/abi"
)

// stagingBytes is the size of the pinned memory that Write and Read go through.
const stagingBytes = 1 << 20

// Stream is a queue of work on a device: in order, beside other streams, and
// later than the call that enqueues it. One goroutine at a time may use it.
type Stream struct {
	dev     *Device
	handle  uintptr
	staging *Pinned // nil until needed
	closed  bool
}

// NewStream makes a stream that does not wait for others.
func (d *Device) NewStream() (*Stream, error) {
	h, err := d.create("hipStreamCreateWithFlags", func(h *uintptr) abi.Code {
		return d.lib.hip.hipStreamCreateWithFlags.call(uintptr(unsafe.Pointer(h)), abi.StreamNonBlocking)
	})
	if err != nil {
		return nil, err
	}
	return &Stream{dev: d, handle: h}, nil
}

// Device is where the stream runs.
func (s *Stream) Device() *Device { return s.dev }

// call makes a call on the device's thread. Later releases crash on a stream
// that has been destroyed, so that is caught here.
func (s *Stream) call(name string, fn func() abi.Code) error {
	if s.closed {
		return fmt.Errorf("hipdyn: %s on a stream that is closed", name)
	}
	return s.dev.Do(func() error { return s.dev.check(fn(), name) })
}

// Synchronize waits until the work that has been enqueued is done. It returns
// the error of work that failed.
func (s *Stream) Synchronize() error {
	return s.call("hipStreamSynchronize", func() abi.Code { return s.dev.lib.hip.hipStreamSynchronize.call(s.handle) })
}

// Done tells whether all work is done, without waiting.
func (s *Stream) Done() (bool, error) {
	return s.dev.ready(s.call("hipStreamQuery", func() abi.Code { return s.dev.lib.hip.hipStreamQuery.call(s.handle) }))
}

// ready turns "not ready" from an error into false.
func (d *Device) ready(err error) (bool, error) {
	if errors.Is(err, abi.NotReady) {
		return false, nil
	}
	return err == nil, err
}

// Close waits for the work and destroys the stream.
func (s *Stream) Close() error {
	if s.closed {
		return nil
	}
	err := s.Synchronize()
	err = errors.Join(err, s.call("hipStreamDestroy", func() abi.Code { return s.dev.lib.hip.hipStreamDestroy.call(s.handle) }))
	s.closed = true
	if s.staging != nil {
		err = errors.Join(err, s.staging.Free())
	}
	return err
}

// CopyIn enqueues a copy of n bytes from pinned memory to the device.
func (s *Stream) CopyIn(dst *Buffer, dstOffset int64, src *Pinned, srcOffset, n int64) error {
	to, err := dst.span(s.dev, dstOffset, n)
	if err != nil {
		return err
	}
	from, err := src.span(srcOffset, n)
	if err != nil {
		return err
	}
	return s.copy(to, from, n, abi.CopyHostToDevice)
}

// CopyOut enqueues a copy of n bytes from the device to pinned memory.
func (s *Stream) CopyOut(dst *Pinned, dstOffset int64, src *Buffer, srcOffset, n int64) error {
	to, err := dst.span(dstOffset, n)
	if err != nil {
		return err
	}
	from, err := src.span(s.dev, srcOffset, n)
	if err != nil {
		return err
	}
	return s.copy(to, from, n, abi.CopyDeviceToHost)
}

// Copy enqueues a copy of n bytes within the device.
func (s *Stream) Copy(dst *Buffer, dstOffset int64, src *Buffer, srcOffset, n int64) error {
	to, err := dst.span(s.dev, dstOffset, n)
	if err != nil {
		return err
	}
	from, err := src.span(s.dev, srcOffset, n)
	if err != nil {
		return err
	}
	return s.copy(to, from, n, abi.CopyDeviceToDevice)
}

func (s *Stream) copy(to, from uintptr, n int64, kind uintptr) error {
	if n == 0 {
		return nil
	}
	return s.call("hipMemcpyAsync", func() abi.Code {
		return s.dev.lib.hip.hipMemcpyAsync.call(to, from, uintptr(n), kind, s.handle)
	})
}

// Fill enqueues the setting of n bytes to a value.
func (s *Stream) Fill(dst *Buffer, offset, n int64, value byte) error {
	to, err := dst.span(s.dev, offset, n)
	if err != nil || n == 0 {
		return err
	}
	return s.call("hipMemsetAsync", func() abi.Code {
		return s.dev.lib.hip.hipMemsetAsync.call(to, uintptr(value), uintptr(n), s.handle)
	})
}

// Write copies bytes to the device, in the order of the stream, and waits.
func (s *Stream) Write(dst *Buffer, offset int64, src []byte) error {
	if _, err := dst.span(s.dev, offset, int64(len(src))); err != nil {
		return err
	}
	return s.staged(len(src), func(at, n int) error {
		copy(s.staging.bytes, src[at:at+n])
		if err := s.CopyIn(dst, offset+int64(at), s.staging, 0, int64(n)); err != nil {
			return err
		}
		return s.Synchronize()
	})
}

// Read copies bytes from the device, after the work before it, and waits.
func (s *Stream) Read(dst []byte, src *Buffer, offset int64) error {
	if _, err := src.span(s.dev, offset, int64(len(dst))); err != nil {
		return err
	}
	return s.staged(len(dst), func(at, n int) error {
		if err := s.CopyOut(s.staging, 0, src, offset+int64(at), int64(n)); err != nil {
			return err
		}
		if err := s.Synchronize(); err != nil {
			return err
		}
		copy(dst[at:], s.staging.bytes[:n])
		return nil
	})
}

// staged calls fn for pieces that fit into the staging memory, on the device's
// thread.
func (s *Stream) staged(size int, fn func(at, n int) error) (err error) {
	if s.staging == nil {
		if s.staging, err = s.dev.AllocPinned(stagingBytes); err != nil {
			return err
		}
	}
	return s.dev.Do(func() error {
		for at := 0; at < size; at += stagingBytes {
			if err := fn(at, min(stagingBytes, size-at)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Event is a point in a stream.
type Event struct {
	dev    *Device
	handle uintptr
	timing bool
}

// NewEvent makes an event; one with timing can be compared with another by
// Since.
func (d *Device) NewEvent(timing bool) (*Event, error) {
	flags := uintptr(abi.EventDisableTiming)
	if timing {
		flags = 0
	}
	h, err := d.create("hipEventCreateWithFlags", func(h *uintptr) abi.Code {
		return d.lib.hip.hipEventCreateWithFlags.call(uintptr(unsafe.Pointer(h)), flags)
	})
	if err != nil {
		return nil, err
	}
	return &Event{d, h, timing}, nil
}

func (e *Event) call(name string, fn func() abi.Code) error {
	if e.handle == 0 {
		return fmt.Errorf("hipdyn: %s on an event that is closed", name)
	}
	return e.dev.Do(func() error { return e.dev.check(fn(), name) })
}

// Record moves the event to the end of what is in the stream now, which must be
// of the same device.
func (s *Stream) Record(e *Event) error {
	if e.dev != s.dev {
		return fmt.Errorf("hipdyn: an event of device %v in a stream of device %v", e.dev, s.dev)
	}
	return e.call("hipEventRecord", func() abi.Code { return s.dev.lib.hip.hipEventRecord.call(e.handle, s.handle) })
}

// Wait makes what is enqueued from now on wait for an event, of any device.
func (s *Stream) Wait(e *Event) error {
	if e.handle == 0 {
		return fmt.Errorf("hipdyn: waiting for an event that is closed")
	}
	return s.call("hipStreamWaitEvent", func() abi.Code { return s.dev.lib.hip.hipStreamWaitEvent.call(s.handle, e.handle, 0) })
}

// Synchronize waits for the event.
func (e *Event) Synchronize() error {
	return e.call("hipEventSynchronize", func() abi.Code { return e.dev.lib.hip.hipEventSynchronize.call(e.handle) })
}

// Done tells whether the event has been reached, without waiting.
func (e *Event) Done() (bool, error) {
	return e.dev.ready(e.call("hipEventQuery", func() abi.Code { return e.dev.lib.hip.hipEventQuery.call(e.handle) }))
}

// Since is the time from start to e on the device. Both must have been reached.
func (e *Event) Since(start *Event) (time.Duration, error) {
	if !e.timing || !start.timing {
		return 0, errors.New("hipdyn: an event was made without timing")
	}
	var ms float32
	err := e.call("hipEventElapsedTime", func() abi.Code {
		return e.dev.lib.hip.hipEventElapsedTime.call(uintptr(unsafe.Pointer(&ms)), start.handle, e.handle)
	})
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}

// Close destroys the event; what waits for it still does.
func (e *Event) Close() error {
	if e.handle == 0 {
		return nil
	}
	err := e.call("hipEventDestroy", func() abi.Code { return e.dev.lib.hip.hipEventDestroy.call(e.handle) })
	e.handle = 0
	return err
}
