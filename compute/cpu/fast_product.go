package cpu

import (
	"unsafe"

	"gorun/compute"
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
	prepared, residual   []byte // rows of activations; residual may be nil
}

// precise reports whether weights are so exact that activations of 8 bits
// would be what limits the product. It is then the sum of two products, one
// of activations rounded to 8 bits and one of what that leaves. Decoding waits
// for memory, where the second costs little: it finds the weights in the cache.
func precise(t tensor.Type) bool { return t == tensor.Q8_0 || t == tensor.Q8_0_ROCMFPX }

// preciseRows is how many rows of weights are multiplied twice at a time, so
// that they stay in the cache.
const preciseRows = 64

// residualBytes is the memory that a worker needs for the second product of so
// many activation rows.
func residualBytes(rows, cols int) int64 { return 4 * int64(max(preciseRows*rows, cols)) }

func (f *fast) MatMul(dst compute.Matrix, w compute.Page, x compute.Matrix, rows compute.Rows) {
	defer release(w)
	require(x.Cols == w.Cols && w.First+w.Rows <= dst.Cols,
		"MatMul of rows [%d, %d) of %d by %d columns to %d", w.First, w.First+w.Rows, w.Cols, x.Cols, dst.Cols)
	p := product{
		t: w.Type, out: floatsFrom(dst, w.First), stride: dst.Stride, to: rows.To,
		weights: bytesOf(w.Data), rows: w.Rows, cols: w.Cols, rowBytes: int(w.RowBytes()), n: count(rows, x.Rows),
	}
	f.prepare(&p, x, rows.From)
	tiles := (w.Rows + tileRows - 1) / tileRows
	grain := f.tilesAtOnce(tiles, p.n)
	if p.residual != nil {
		grain = min(grain, preciseRows/tileRows)
	}
	f.pool.For(tiles, grain, func(worker, lo, hi int) {
		f.multiply(&p, worker, lo*tileRows, min(hi*tileRows, w.Rows))
	})
}

// prepare rounds the rows of activations.
func (f *fast) prepare(p *product, x compute.Matrix, from []int32) {
	size := gemm.ActivationBytes(p.t, p.cols)
	need := p.n * size
	if precise(p.t) {
		need *= 2
	}
	require(need <= len(f.prepared), "MatMul of %d rows of %d is beyond the work that the stream was made for", p.n, p.cols)
	p.prepared = f.prepared[:p.n*size]
	if precise(p.t) {
		p.residual = f.prepared[p.n*size : need]
	}
	f.parallel(p.n, func(worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			in, out := row(x, at(from, i)), p.prepared[i*size:][:size]
			gemm.PrepareRow(p.t, out, in)
			if p.residual != nil {
				rest := f.second[worker][:p.cols]
				gemm.Residual(p.t, rest, in, out)
				gemm.PrepareRow(p.t, p.residual[i*size:][:size], rest)
			}
		}
	})
}

// multiply computes rows [first, end) of the weights.
func (f *fast) multiply(p *product, worker, first, end int) {
	weights, n := p.weights[first*p.rowBytes:end*p.rowBytes], end-first
	gemm.Mul(p.t, p.out[first:], p.stride, p.to, weights, n, p.cols, p.prepared, nil, p.n, f.scratch[worker])
	if p.residual == nil {
		return
	}
	rest := f.second[worker][:n*p.n]
	gemm.Mul(p.t, rest, n, nil, weights, n, p.cols, p.residual, nil, p.n, f.scratch[worker])
	for i := range p.n {
		out := p.out[at(p.to, i)*p.stride+first:][:n]
		for j, v := range rest[i*n:][:n] {
			out[j] += v
		}
	}
}

// tileRows is the number of weight rows that gemm computes side by side.
const tileRows = 16

// tilesAtOnce is how many tiles a thread claims: panels of four with many
// columns, and otherwise about an eighth of its share.
func (f *fast) tilesAtOnce(tiles, columns int) int {
	n := max(1, tiles/(8*f.pool.Threads()))
	if columns > 8 {
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
