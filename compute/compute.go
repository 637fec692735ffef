// Package compute is what a forward pass asks of a device: memory, and
// operations on it. compute/cpu does them on the CPU, compute/strict is a test
// backend that punishes every misuse of this interface.
//
// Operations are enqueued on a Stream and run in that order, at some time
// before the next Read or Sync returns. Memory is opaque: a Buffer has a size
// and nothing else, and only Stream.Write and Stream.Read carry bytes across.
// Whatever an operation takes from the host (row lists, block tables) is taken
// before the call returns; the caller may change it afterwards.
//
// # Exactness
//
// The bits of a result depend on its operands alone: never on how many rows
// are computed together, on the number of threads, or on where a page lives.
// So every element of a product is accumulated in one fixed order, and
// attention is the merge, in order, of partials over fixed spans of absolute
// positions (see Attention). Device.Numerics names what may differ between
// devices and versions.
package compute

import (
	"fmt"

	"gorun/tensor"
)

// Device is a place that holds memory and executes operations.
type Device interface {
	// Name is what users call the device, "cpu" for example.
	Name() string
	// Numerics names the kernel set and its version: two devices with the
	// same Numerics give the same bits.
	Numerics() string
	// NewBuffer allocates memory with unspecified contents.
	NewBuffer(bytes int64) (Buffer, error)
	// Workspace is the memory that a stream takes for itself to do such work.
	Workspace(w Work) int64
	// NewStream starts an empty queue of operations. Work beyond w may be
	// slower, or fail at the next Sync.
	NewStream(w Work) (Stream, error)
	// Close frees what the device holds. Its buffers must be freed first.
	Close() error
}

// Work bounds the operands that a stream will see, so that it can take memory
// for them once. The zero value is for moving data only.
type Work struct {
	Rows int // of activations in a product
	Cols int // of the widest weight matrix in a product

	Accumulator int // columns of the widest accumulator of attention
	Context     int // positions of a sequence
}

// HostMapper is a Device that can use memory of the host in place, without a
// copy: mapped model files.
type HostMapper interface {
	// MapHost makes a read-only buffer of host. The memory must stay valid
	// until the buffer is freed.
	MapHost(host []byte) Buffer
}

// Buffer is memory of a device.
type Buffer interface {
	Bytes() int64
	// Free gives the memory back. All operations on it must have completed.
	Free() error
}

// Span is a run of bytes in a buffer.
type Span struct {
	Buf    Buffer
	Off, N int64
}

// At returns n bytes from off on.
func (s Span) At(off, n int64) Span {
	if off < 0 || n < 0 || off+n > s.N {
		panic(fmt.Sprintf("compute: bytes [%d, %d) of a span of %d", off, off+n, s.N))
	}
	return Span{s.Buf, s.Off + off, n}
}

// Matrix is a view of float32 values in a buffer, row by row: element (r, c)
// is at byte Off + 4*(r*Stride + c).
type Matrix struct {
	Buf                Buffer
	Off                int64
	Rows, Cols, Stride int
}

// MatrixOf views the first rows*cols values of s.
func MatrixOf(s Span, rows, cols int) Matrix {
	s = s.At(0, 4*int64(rows)*int64(cols))
	return Matrix{s.Buf, s.Off, rows, cols, cols}
}

// RowsAt is the view of n rows from r on.
func (m Matrix) RowsAt(r, n int) Matrix {
	if r < 0 || n < 0 || r+n > m.Rows {
		panic(fmt.Sprintf("compute: rows [%d, %d) of %d", r, r+n, m.Rows))
	}
	m.Off += 4 * int64(r) * int64(m.Stride)
	m.Rows = n
	return m
}

// ColsAt is the view of n columns from c on.
func (m Matrix) ColsAt(c, n int) Matrix {
	if c < 0 || n < 0 || c+n > m.Cols {
		panic(fmt.Sprintf("compute: columns [%d, %d) of %d", c, c+n, m.Cols))
	}
	m.Off += 4 * int64(c)
	m.Cols = n
	return m
}

// Span is the bytes of the view, which must have no gaps between its rows.
func (m Matrix) Span() Span {
	if m.Rows > 1 && m.Stride != m.Cols {
		panic("compute: a view with gaps is not one span")
	}
	return Span{m.Buf, m.Off, 4 * int64(m.Rows) * int64(m.Cols)}
}

// IsZero reports whether the view is the zero value, "no operand".
func (m Matrix) IsZero() bool { return m.Buf == nil }

// Page is a run of whole rows of one weight matrix, in the layout of the model
// file. Whoever acquired it hands it to exactly one operation, which releases
// Hold when it has completed, not when it was enqueued.
type Page struct {
	Data  Span
	Type  tensor.Type
	First int // first row of the matrix that the page holds
	Rows  int
	Cols  int
	Hold  Hold
}

// RowBytes is the distance between rows of the page.
func (p Page) RowBytes() int64 { return p.Data.N / int64(p.Rows) }

// Product is a product of a weight page with rows of activations:
//
//	Dst[to, W.First+j] = sum over k of W[j, k] X[from, k]
type Product struct {
	Dst  Matrix
	W    Page
	X    Matrix
	Rows Rows
}

// Hold keeps a page where it is.
type Hold interface{ Release() }

// Rows maps rows of an operand to rows of the result: row From[i] of the one
// makes row To[i] of the other. A nil list stands for 0, 1, 2, ...
type Rows struct{ From, To []int32 }
