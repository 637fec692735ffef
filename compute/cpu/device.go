// Package cpu computes on the CPU.
//
// The reference is plain Go, and obviously right: weights are dequantized
// exactly, activations stay float32, and sums are carried in float64. Products
// of two float32 are exact in float64, so fused multiply-add hardware changes
// no bit. The fast path is held against it: matrix products are those of
// package gemm, which rounds activations to 8 bits where weights are quantized,
// and attention is that of package attn, in float32.
//
// Operations run at once when they are enqueued, split among the threads of a
// Pool by elements of the result. Each element is computed by one thread in
// one order, so the number of threads changes no bit either.
package cpu

import (
	"fmt"
	"unsafe"

	"gorun/compute"
	"gorun/internal/arena"
	"gorun/tensor/attn"
	"gorun/tensor/gemm"
	"gorun/tensor/vec"
)

// Device is the CPU. It implements compute.Device and compute.HostMapper.
type Device struct {
	pool      *Pool
	reference bool
}

// New makes a device that computes with the given number of threads, the
// caller's included.
func New(threads int) (*Device, error) {
	if _, err := Kernels(); err != nil {
		return nil, err
	}
	return newDevice(threads)
}

func newDevice(threads int) (*Device, error) {
	pool, err := NewPool(threads)
	if err != nil {
		return nil, err
	}
	return &Device{pool: pool}, nil
}

// NewReference makes a device that computes with the reference kernels.
func NewReference(threads int) (*Device, error) {
	d, err := newDevice(threads)
	if err == nil {
		d.reference = true
	}
	return d, err
}

// Name implements compute.Device.
func (d *Device) Name() string { return "cpu" }

// Numerics implements compute.Device.
func (d *Device) Numerics() string {
	if d.reference {
		return "cpu-reference-1"
	}
	return "cpu-3+" + gemm.Numerics + "+" + attn.Numerics + "+" + vec.Numerics
}

// NewStream implements compute.Device.
func (d *Device) NewStream(w compute.Work) (compute.Stream, error) {
	s := &stream{pool: d.pool}
	if d.reference {
		return s, nil
	}
	a, err := arena.New(Workspace(d.pool.Threads(), w))
	if err != nil {
		return nil, fmt.Errorf("cpu: %w", err)
	}
	return newFast(s, w, a), nil
}

// Workspace implements compute.Device.
func (d *Device) Workspace(w compute.Work) int64 {
	if d.reference {
		return 0
	}
	return Workspace(d.pool.Threads(), w)
}

// Close ends the device's threads.
func (d *Device) Close() error {
	d.pool.Close()
	return nil
}

// NewBuffer implements compute.Device.
func (d *Device) NewBuffer(bytes int64) (compute.Buffer, error) {
	a, err := arena.New(bytes)
	if err != nil {
		return nil, fmt.Errorf("cpu: %w", err)
	}
	return &buffer{mem: a.Bytes(), free: a.Free}, nil
}

// MapHost implements compute.HostMapper.
func (d *Device) MapHost(host []byte) compute.Buffer {
	return &buffer{mem: host, free: func() error { return nil }}
}

type buffer struct {
	mem  []byte
	free func() error
}

func (b *buffer) Bytes() int64 { return int64(len(b.mem)) }

func (b *buffer) Free() error {
	b.mem = nil
	return b.free()
}

// bytesOf is the memory of a span.
func bytesOf(s compute.Span) []byte {
	return s.Buf.(*buffer).mem[s.Off : s.Off+s.N : s.Off+s.N]
}

// row is the values of row r of a view.
func row(m compute.Matrix, r int) []float32 {
	if m.Cols == 0 {
		return nil
	}
	off := m.Off + 4*int64(r)*int64(m.Stride)
	b := m.Buf.(*buffer).mem[off : off+4*int64(m.Cols)]
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), m.Cols)
}

// int32s views a span as numbers.
func int32s(s compute.Span) []int32 {
	b := bytesOf(s)
	if len(b) < 4 {
		return nil
	}
	return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}
