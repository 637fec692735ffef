package cpu

import (
	"unsafe"

	"gorun/compute"
	"gorun/internal/arena"
	"gorun/tensor"
	"gorun/tensor/gemm"
)

// fast is a stream with the kernels of packages gemm and attn.
type fast struct {
	*stream
	memory   *arena.Arena
	scratch  [][]byte     // one for each worker
	prepared []byte       // rows of activations as gemm wants them
	partials compute.Span // of spans that are attended to side by side

	attention     attention
	attentionBody func(worker, lo, hi int)
}

// Workspace is the memory of a fast stream on so many threads: scratch for
// each of them, the prepared rows, and partials of attention.
func Workspace(threads int, w compute.Work) int64 {
	if w.Rows == 0 {
		return 0
	}
	return int64(threads)*workerScratch + int64(w.Rows)*preparedBytes(w.Cols) + splitBytes(w)
}

// workerScratch is the most that gemm asks for, and what a block of attn may
// take.
const workerScratch = 1 << 20

// preparedBytes is the most that a prepared row of cols values takes.
func preparedBytes(cols int) int64 {
	padded := (cols + 255) / 256 * 256 // whole blocks of every type
	most := 0
	for _, t := range tensor.Types() {
		if t.CanDequantize() {
			most = max(most, gemm.ActivationBytes(t, padded))
		}
	}
	return int64(most+63) &^ 63
}

func newFast(s *stream, w compute.Work, memory *arena.Arena) *fast {
	f := &fast{stream: s, memory: memory}
	f.attentionBody = f.attention.do
	if rest := memory.Bytes(); len(rest) > 0 {
		for range s.pool.Threads() {
			f.scratch = append(f.scratch, rest[:workerScratch])
			rest = rest[workerScratch:]
		}
		n := int64(w.Rows) * preparedBytes(w.Cols)
		f.prepared = rest[:n]
		f.partials = compute.Span{Buf: &buffer{mem: rest[n:]}, N: splitBytes(w)}
	}
	return f
}

func (f *fast) Close() error { return f.memory.Free() }

func (f *fast) MatMul(dst compute.Matrix, w compute.Page, x compute.Matrix, rows compute.Rows) {
	defer release(w)
	require(x.Cols == w.Cols && w.First+w.Rows <= dst.Cols,
		"MatMul of rows [%d, %d) of %d by %d columns to %d", w.First, w.First+w.Rows, w.Cols, x.Cols, dst.Cols)
	n := count(rows, x.Rows)
	size := gemm.ActivationBytes(w.Type, w.Cols)
	require(n*size <= len(f.prepared), "MatMul of %d rows of %d is beyond the work that the stream was made for", n, w.Cols)
	prepared := f.prepared[:n*size]
	f.parallel(n, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			gemm.PrepareRow(w.Type, prepared[i*size:][:size], row(x, at(rows.From, i)))
		}
	})
	rowBytes, weights, out := int(w.RowBytes()), bytesOf(w.Data), floatsFrom(dst, w.First)
	tiles := (w.Rows + tileRows - 1) / tileRows
	f.pool.For(tiles, f.tilesAtOnce(tiles, n), func(worker, lo, hi int) {
		first, end := lo*tileRows, min(hi*tileRows, w.Rows)
		gemm.Mul(w.Type, out[first:], dst.Stride, rows.To, weights[first*rowBytes:end*rowBytes], end-first, w.Cols,
			prepared, nil, n, f.scratch[worker])
	})
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
	b = b[off : off+4*n]
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), n)
}
