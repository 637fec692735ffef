package hipdyn

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"gorun/hipdyn/abi"
)

const (
	// argumentBytes is the most that the arguments of a kernel may take.
	argumentBytes = 512
	// argumentPadding follows them: the compiler may load the last arguments
	// with a wide instruction that reads beyond them.
	argumentPadding = 64
)

// Dim is a number of blocks, or of threads of a block, along x, y and z.
type Dim struct{ X, Y, Z uint32 }

// Linear is a Dim along x only.
func Linear(n int) Dim { return Dim{uint32(n), 1, 1} }

func (d Dim) String() string { return fmt.Sprintf("%dx%dx%d", d.X, d.Y, d.Z) }

// Args are the arguments of a kernel, packed as it expects them: in order, each
// at the next multiple of its size. Reset begins anew. Args may be used again
// as soon as Launch has returned; then nothing is allocated for a launch.
type Args struct {
	buffer  [argumentBytes + argumentPadding]byte
	size    uintptr // of the arguments so far
	buffers [32]*Buffer
	count   int // of buffers
	err     error

	// The call of a launch.
	extra    [5]uintptr
	call     [11]uintptr
	function *Function
	stream   *Stream
}

// NewArgs makes empty arguments.
func NewArgs() *Args { return new(Args) }

// Reset empties the arguments.
func (a *Args) Reset() *Args {
	clear(a.buffers[:a.count])
	a.size, a.count, a.err = 0, 0, nil
	return a
}

// slot makes room for an argument of n bytes.
func (a *Args) slot(n uintptr) []byte {
	at := (a.size + n - 1) &^ (n - 1)
	if at+n > argumentBytes {
		if a.err == nil {
			a.err = fmt.Errorf("more than %d bytes of arguments", argumentBytes)
		}
		at = 0
	}
	clear(a.buffer[min(a.size, at):at])
	a.size = at + n
	return a.buffer[at:a.size]
}

// Buffer adds a pointer to a buffer, offset bytes into it. The launch checks
// that it is there and on the right device.
func (a *Args) Buffer(b *Buffer, offset int64) *Args {
	switch {
	case a.err != nil:
	case a.count == len(a.buffers):
		a.err = fmt.Errorf("more than %d buffers", len(a.buffers))
	case offset < 0 || offset >= b.size:
		a.err = fmt.Errorf("offset %d into a buffer of %d bytes", offset, b.size)
	default:
		a.buffers[a.count] = b
		a.count++
	}
	binary.NativeEndian.PutUint64(a.slot(8), uint64(b.address)+uint64(offset))
	return a
}

// Int32 adds an int.
func (a *Args) Int32(v int32) *Args {
	binary.NativeEndian.PutUint32(a.slot(4), uint32(v))
	return a
}

// Int64 adds a long.
func (a *Args) Int64(v int64) *Args {
	binary.NativeEndian.PutUint64(a.slot(8), uint64(v))
	return a
}

// Float32 adds a float.
func (a *Args) Float32(v float32) *Args { return a.Int32(int32(math.Float32bits(v))) }

// Launch enqueues a kernel: grid blocks of block threads each, with lds bytes
// of dynamic LDS.
func (f *Function) Launch(s *Stream, grid, block Dim, lds int, a *Args) error {
	if err := f.check(s, grid, block, lds, a); err != nil {
		return fmt.Errorf("kernel %s, grid %v of blocks %v: %w", f.Name, grid, block, err)
	}
	a.function, a.stream = f, s
	a.extra = [...]uintptr{abi.LaunchBuffer, 0, abi.LaunchBufferSize, 0, abi.LaunchEnd}
	a.call = [...]uintptr{
		f.handle, uintptr(grid.X), uintptr(grid.Y), uintptr(grid.Z), uintptr(block.X), uintptr(block.Y), uintptr(block.Z),
		uintptr(lds), s.handle, 0, 0,
	}
	// The arguments are on the heap, since they go through a channel: their
	// addresses do not change.
	return s.dev.owner.do(a)
}

// run is the launch on the device's thread.
func (a *Args) run() error {
	if a.stream.closed || a.function.module.handle == 0 {
		return fmt.Errorf("kernel %s: the stream or the module is closed", a.function.Name)
	}
	a.extra[1] = uintptr(unsafe.Pointer(&a.buffer))
	a.extra[3] = uintptr(unsafe.Pointer(&a.size))
	a.call[10] = uintptr(unsafe.Pointer(&a.extra))
	d := a.stream.dev
	err := d.check(d.lib.hip.hipModuleLaunchKernel.call(a.call[:]...), "hipModuleLaunchKernel")
	if err != nil {
		return fmt.Errorf("kernel %s: %w", a.function.Name, err)
	}
	return nil
}

// check finds what HIP would refuse, or not refuse and go wrong.
func (f *Function) check(s *Stream, grid, block Dim, lds int, a *Args) error {
	d := s.dev
	if a.err != nil {
		return a.err
	}
	if f.module.dev != d {
		return fmt.Errorf("it is loaded on device %v, the stream is on %v", f.module.dev, d)
	}
	for _, b := range a.buffers[:a.count] {
		if _, err := b.span(d, 0, 0); err != nil {
			return err
		}
	}
	for _, axis := range [...][2]uint32{{grid.X, block.X}, {grid.Y, block.Y}, {grid.Z, block.Z}} {
		threads := uint64(axis[0]) * uint64(axis[1])
		if threads == 0 || threads > math.MaxUint32 {
			return fmt.Errorf("%d threads along an axis: want 1 to %d", threads, uint32(math.MaxUint32))
		}
	}
	if n := uint64(block.X) * uint64(block.Y) * uint64(block.Z); n > uint64(d.BlockThreads) {
		return fmt.Errorf("%d threads in a block: the device takes %d", n, d.BlockThreads)
	}
	if lds < 0 || lds > d.LDS {
		return fmt.Errorf("%d bytes of LDS: the device has %d for a block", lds, d.LDS)
	}
	return nil
}
