package cpu

import (
	"fmt"
	"sync"

	"gorun/compute"
	"gorun/tensor"
)

// stream executes each operation when it is enqueued.
type stream struct {
	pool    *Pool
	scratch [][]float32 // one for each worker, grown on demand

	mu  sync.Mutex
	err error // of an operation since the last Read or Sync
}

// fail keeps the first error for the next Read or Sync.
func (s *stream) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

// failed returns that error, once.
func (s *stream) failed() error {
	err := s.err
	s.err = nil
	return err
}

// worker returns n values of scratch that no other worker uses.
func (s *stream) worker(w, n int) []float32 {
	if len(s.scratch[w]) < n {
		s.scratch[w] = make([]float32, n)
	}
	return s.scratch[w][:n]
}

// parallel runs body over [0, n), a few chunks for each thread.
func (s *stream) parallel(n int, body func(worker, lo, hi int)) {
	if s.scratch == nil {
		s.scratch = make([][]float32, s.pool.Threads())
	}
	s.pool.For(n, (n+8*s.pool.Threads()-1)/(8*s.pool.Threads()), body)
}

func (s *stream) Write(dst compute.Span, src []byte) {
	require(int64(len(src)) == dst.N, "Write of %d bytes to %d", len(src), int(dst.N))
	copy(bytesOf(dst), src)
}

func (s *stream) Read(dst []byte, src compute.Span) error {
	require(int64(len(dst)) == src.N, "Read of %d bytes from %d", len(dst), int(src.N))
	copy(dst, bytesOf(src))
	return s.failed()
}

func (s *stream) Sync() error { return s.failed() }

func (s *stream) Close() error { return nil }

func (s *stream) Copy(dst, x compute.Matrix, rows compute.Rows) {
	require(dst.Cols == x.Cols, "Copy of %d columns to %d", x.Cols, dst.Cols)
	s.parallel(count(rows, x.Rows), func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			copy(row(dst, at(rows.To, i)), row(x, at(rows.From, i)))
		}
	})
}

func (s *stream) Embed(dst compute.Matrix, w compute.Page, rows compute.Rows) {
	defer release(w)
	require(dst.Cols == w.Cols, "Embed of rows of %d to %d", w.Cols, dst.Cols)
	s.parallel(count(rows, w.Rows), func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			tensor.Dequantize(w.Type, row(dst, at(rows.To, i)), pageRow(w, at(rows.From, i)))
		}
	})
}

func (s *stream) MatMul(products ...compute.Product) {
	for _, p := range products {
		s.multiply(p.Dst, p.W, p.X, p.Rows)
	}
}

func (s *stream) multiply(dst compute.Matrix, w compute.Page, x compute.Matrix, rows compute.Rows) {
	defer release(w)
	checkProduct(dst, w, x)
	n := count(rows, x.Rows)
	s.parallel(w.Rows, func(worker, lo, hi int) {
		weights := s.worker(worker, w.Cols)
		for j := lo; j < hi; j++ {
			tensor.Dequantize(w.Type, weights, pageRow(w, j))
			for i := range n {
				row(dst, at(rows.To, i))[w.First+j] = float32(dot(weights, row(x, at(rows.From, i))))
			}
		}
	})
}

func checkProduct(dst compute.Matrix, w compute.Page, x compute.Matrix) {
	require(x.Cols == w.Cols && w.First+w.Rows <= dst.Cols,
		"MatMul of rows [%d, %d) of %d by %d columns to %d", w.First, w.First+w.Rows, w.Cols, x.Cols, dst.Cols)
}

// dot sums the products in four interleaved partial sums.
func dot(a, b []float32) float64 {
	var s0, s1, s2, s3 float64
	b = b[:len(a)]
	for len(a) >= 4 {
		s0 += float64(a[0]) * float64(b[0])
		s1 += float64(a[1]) * float64(b[1])
		s2 += float64(a[2]) * float64(b[2])
		s3 += float64(a[3]) * float64(b[3])
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s0 += float64(a[i]) * float64(b[i])
	}
	return (s0 + s1) + (s2 + s3)
}

// pageRow is the bytes of row r of a page.
func pageRow(w compute.Page, r int) []byte {
	n := w.RowBytes()
	return bytesOf(w.Data.At(int64(r)*n, n))
}

func release(w compute.Page) {
	if w.Hold != nil {
		w.Hold.Release()
	}
}

// count is the number of rows that a mapping names, of n without one.
func count(r compute.Rows, n int) int {
	switch {
	case r.From != nil && r.To != nil:
		require(len(r.From) == len(r.To), "row lists of %d and %d", len(r.From), len(r.To))
		return len(r.From)
	case r.From != nil:
		return len(r.From)
	case r.To != nil:
		return len(r.To)
	}
	return n
}

// at is entry i of a row list.
func at(list []int32, i int) int {
	if list == nil {
		return i
	}
	return int(list[i])
}

// require panics unless ok. Its arguments are of one type, so that they are not
// allocated on the way.
func require(ok bool, format string, args ...int) {
	if ok {
		return
	}
	list := make([]any, len(args))
	for i, n := range args {
		list[i] = n
	}
	panic("cpu: " + fmt.Sprintf(format, list...))
}
