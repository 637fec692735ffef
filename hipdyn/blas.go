package hipdyn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"gorun/hipdyn/abi"
)

// blasLibrary is a libhipblas, and how its hipblasGemmEx is called.
type blasLibrary struct {
	*blasFunctions
	gemm     proc
	gemmName string
	types    abi.BLASTypes
}

// loadBLAS finds out which generation of hipblasGemmEx a library has. The
// function of one name takes other numbers from ROCm 7 on, as many as before.
func loadBLAS(s Source, hipMajor int) (*blasLibrary, error) {
	if s.BLAS == nil {
		return nil, fmt.Errorf("%s has no hipBLAS", s.Name)
	}
	r, major, err := s.BLAS(hipMajor)
	if err != nil {
		return nil, err
	}
	f, err := resolve[blasFunctions](r)
	if err != nil {
		return nil, fmt.Errorf("hipBLAS of %s lacks functions: %w", s.Name, err)
	}
	switch {
	case f.hipblasGemmEx_v2 != 0:
		return &blasLibrary{f, f.hipblasGemmEx_v2, "hipblasGemmEx_v2", abi.BLASTypesV2}, nil
	case major >= 3:
		return &blasLibrary{f, f.hipblasGemmEx, "hipblasGemmEx", abi.BLASTypesV2}, nil
	}
	return &blasLibrary{f, f.hipblasGemmEx, "hipblasGemmEx", abi.BLASTypesV1}, nil
}

// BLASError is a hipBLAS call that failed.
type BLASError struct {
	Call   string
	Status abi.Status
	Device int
}

func (e *BLASError) Error() string {
	return fmt.Sprintf("%s: %v on device %d", e.Call, e.Status, e.Device)
}

func (e *BLASError) Unwrap() error { return e.Status }

func (d *Device) checkBLAS(code abi.Code, call string) error {
	if code == 0 {
		return nil
	}
	return &BLASError{call, abi.Status(code), d.Index}
}

// BLAS is hipBLAS on a stream. It is optional: libraries and the kernels for an
// instruction set may be missing. It chooses its kernels by shape, so the bits
// of its results depend on shapes.
type BLAS struct {
	stream *Stream
	lib    *blasLibrary
	handle uintptr
}

// NewBLAS loads hipBLAS for a stream and multiplies two small matrices with it:
// a library of another generation than it seems would be wrong in silence.
func (s *Stream) NewBLAS() (*BLAS, error) {
	lib, err := s.dev.lib.blas()
	if err != nil {
		return nil, err
	}
	b := &BLAS{stream: s, lib: lib}
	h := new(uintptr)
	err = b.call("hipblasCreate", func() abi.Code { return lib.hipblasCreate.call(uintptr(unsafe.Pointer(h))) })
	if err != nil {
		return nil, err
	}
	b.handle = *h
	err = b.call("hipblasSetStream", func() abi.Code { return lib.hipblasSetStream.call(b.handle, s.handle) })
	if err == nil {
		if err = b.selfTest(); err != nil {
			err = fmt.Errorf("hipBLAS failed its self-test: %w", err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *BLAS) call(name string, fn func() abi.Code) error {
	if b.stream.closed {
		return fmt.Errorf("hipdyn: %s on a stream that is closed", name)
	}
	d := b.stream.dev
	return d.Do(func() error { return d.checkBLAS(fn(), name) })
}

// Close waits for the stream and ends hipBLAS.
func (b *BLAS) Close() error {
	if b.handle == 0 {
		return nil
	}
	err := errors.Join(
		b.stream.Synchronize(),
		b.call("hipblasDestroy", func() abi.Code { return b.lib.hipblasDestroy.call(b.handle) }),
	)
	b.handle = 0
	return err
}

// Float is an element type of BLAS.
type Float int

// The element types.
const (
	F32 Float = iota
	F16
	BF16
)

func (f Float) bytes() int64 {
	if f == F32 {
		return 4
	}
	return 2
}

func (f Float) number(t abi.BLASTypes) uintptr {
	return uintptr([...]int32{F32: t.F32, F16: t.F16, BF16: t.BF16}[f])
}

// Mul enqueues c = a bᵀ: a is m rows of k elements, b is n rows of k, both of
// one type, and c is m rows of n in float32, each at an offset in bytes.
// Sums are carried in float32.
func (b *BLAS) Mul(m, n, k int, t Float, c *Buffer, cOffset int64, a *Buffer, aOffset int64, w *Buffer, wOffset int64) error {
	if b.handle == 0 {
		return errors.New("hipdyn: BLAS is closed")
	}
	if m <= 0 || n <= 0 || k <= 0 || max(m, n, k) > math.MaxInt32 {
		return fmt.Errorf("hipdyn: a product of %d rows, %d columns and %d terms", m, n, k)
	}
	d := b.stream.dev
	var address [3]uintptr
	for i, x := range []struct {
		buffer     *Buffer
		offset     int64
		rows, cols int
		t          Float
	}{{c, cOffset, m, n, F32}, {a, aOffset, m, k, t}, {w, wOffset, n, k, t}} {
		var err error
		if address[i], err = x.buffer.span(d, x.offset, int64(x.rows)*int64(x.cols)*x.t.bytes()); err != nil {
			return err
		}
	}
	// hipBLAS has matrices by columns: what is a row here is a column there.
	// The product there is cᵀ = b aᵀ, with b's columns transposed to rows.
	scale := &[2]float32{1, 0}
	types, element := b.lib.types, t.number(b.lib.types)
	err := b.call(b.lib.gemmName, func() abi.Code {
		return b.lib.gemm.call(b.handle, abi.BLASTransposed, abi.BLASPlain, uintptr(n), uintptr(m), uintptr(k),
			uintptr(unsafe.Pointer(&scale[0])), address[2], element, uintptr(k), address[1], element, uintptr(k),
			uintptr(unsafe.Pointer(&scale[1])), address[0], F32.number(types), uintptr(n), uintptr(types.Compute), abi.BLASDefault)
	})
	runtime.KeepAlive(scale)
	return err
}

// selfTest multiplies matrices of small integers, where every sum is exact.
func (b *BLAS) selfTest() (err error) {
	const m, n, k = 16, 8, 16
	// The halves of 0 to 3.
	half := [4]uint16{0, 0x3c00, 0x4000, 0x4200}
	left := func(row, at int) int { return (row + 3*at) % 4 }
	right := func(row, at int) int { return (row*row + at) % 4 }
	var a, w []byte
	for i := range m * k {
		a = binary.LittleEndian.AppendUint16(a, half[left(i/k, i%k)])
	}
	for i := range n * k {
		w = binary.LittleEndian.AppendUint16(w, half[right(i/k, i%k)])
	}
	s := b.stream
	memory, err := s.dev.Alloc(m*n*4 + int64(len(a)+len(w)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, memory.Free()) }()
	const aAt, wAt = m * n * 4, m*n*4 + m*k*2
	got := make([]byte, m*n*4)
	err = inOrder(
		func() error { return s.Write(memory, aAt, a) },
		func() error { return s.Write(memory, wAt, w) },
		func() error { return b.Mul(m, n, k, F16, memory, 0, memory, aAt, memory, wAt) },
		func() error { return s.Read(got, memory, 0) },
	)
	if err != nil {
		return err
	}
	for i := range m * n {
		want := 0
		for at := range k {
			want += left(i/n, at) * right(i%n, at)
		}
		if v := math.Float32frombits(binary.LittleEndian.Uint32(got[4*i:])); v != float32(want) {
			return fmt.Errorf("element %d,%d of a product is %v, want %d", i/n, i%n, v, want)
		}
	}
	return nil
}
