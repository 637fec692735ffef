package cpu

import (
	"unsafe"

	"gorun/compute"
	"gorun/internal/prefetch"
	"gorun/tensor"
	"gorun/tensor/gemm"
)

// product is one matrix product under way.
type product struct {
	t                    tensor.Type
	out                  []float32
	stride               int
	to                   []int32
	weights              []byte
	rows, cols, rowBytes int
	n                    int
	prepared             []byte // rows of activations
}

// streamed reports whether the product takes as long as reading its weights.
func (p *product) streamed() bool { return p.n <= 2 }

func (f *fast) MatMul(dst compute.Matrix, w compute.Page, x compute.Matrix, rows compute.Rows) {
	defer release(w)
	require(x.Cols == w.Cols && w.First+w.Rows <= dst.Cols,
		"MatMul of rows [%d, %d) of %d by %d columns to %d", w.First, w.First+w.Rows, w.Cols, x.Cols, dst.Cols)
	// The product lives in the stream, so that it is not allocated each time.
	f.product = product{
		t: w.Type, out: floatsFrom(dst, w.First), stride: dst.Stride, to: rows.To,
		weights: bytesOf(w.Data), rows: w.Rows, cols: w.Cols, rowBytes: int(w.RowBytes()), n: count(rows, x.Rows),
	}
	p := &f.product
	f.prepare(p, x, rows.From)
	tiles := (w.Rows + tileRows - 1) / tileRows
	grain := f.tilesAtOnce(p)
	if p.streamed() {
		f.pool.upcoming.Store(f.foresight.see(p.weights, grain*tileRows*p.rowBytes))
		f.pool.ForRuns(tiles, grain, mostTiles/grain, f.productBody)
	} else {
		f.foresight.forget()
		f.pool.upcoming.Store(nil)
		f.pool.For(tiles, grain, f.productBody)
	}
	f.product = product{}
}

// prepare rounds the rows of activations.
func (f *fast) prepare(p *product, x compute.Matrix, from []int32) {
	size := gemm.ActivationBytes(p.t, p.cols)
	require(p.n*size <= len(f.prepared), "MatMul of %d rows of %d is beyond the work that the stream was made for", p.n, p.cols)
	p.prepared = f.prepared[:p.n*size]
	f.parallel(p.n, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			gemm.PrepareRow(p.t, p.prepared[i*size:][:size], row(x, at(from, i)))
		}
	})
}

// fetched is the beginning of what a worker's last product has fetched. It has a cache line of its own.
type fetched struct {
	first *byte
	_     [56]byte
}

// multiply computes tiles [lo, hi) of the weights.
func (f *fast) multiply(worker, lo, hi int) {
	p := &f.product
	first, end := lo*tileRows, min(hi*tileRows, p.rows)
	weights, next := p.weights[first*p.rowBytes:end*p.rowBytes], []byte(nil)
	if p.streamed() {
		next = f.fetch(worker, weights[:min(tileRows, end-first)*p.rowBytes], p.weights[end*p.rowBytes:], hi)
	}
	gemm.Mul(p.t, p.out[first:], p.stride, p.to, weights, next, end-first, p.cols, p.prepared, nil, p.n, f.scratch[worker])
}

// fetch fetches the first tile of a worker's weights, unless its last product did, and returns
// what this one is to fetch: what follows in memory, from tile i on, or in the next product.
func (f *fast) fetch(worker int, tile, following []byte, i int) (next []byte) {
	last := &f.fetched[worker]
	if last.first != unsafe.SliceData(tile) {
		prefetch.Lines(tile)
	}
	if next = following; !f.pool.Follows(worker, i) {
		next = f.pool.upcoming.Load().share(worker, f.pool.Threads())
	}
	last.first = unsafe.SliceData(next)
	return next
}

// tileRows is the number of weight rows that gemm computes side by side.
const tileRows = 16

// mostTiles is the most that a thread claims at a time.
const mostTiles = 32

// streamBytes are claimed at a time when weights are streamed: little, so that
// threads end at the same time, but enough to be worth a call.
const streamBytes = 64 << 10

// tilesAtOnce is how many tiles a thread claims. With few columns weights are
// streamed; with many, panels of four tiles stay in the cache.
func (f *fast) tilesAtOnce(p *product) int {
	tiles := (p.rows + tileRows - 1) / tileRows
	if p.streamed() {
		return min(max(1, streamBytes/(tileRows*p.rowBytes)), max(1, tiles/(4*f.pool.Threads())), mostTiles)
	}
	n := min(max(1, tiles/(8*f.pool.Threads())), mostTiles)
	if p.n > 8 {
		n = (n + 3) / 4 * 4
	}
	return n
}

// floatsFrom is the memory of a view from column col of row 0 to its end.
func floatsFrom(m compute.Matrix, col int) []float32 {
	b := m.Buf.(*buffer).mem
	off := m.Off + 4*int64(col)
	n := int64(m.Rows-1)*int64(m.Stride) + int64(m.Cols-col)
	return asFloats(b[off : off+4*n])
}

// asFloats views memory as values.
func asFloats(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}
