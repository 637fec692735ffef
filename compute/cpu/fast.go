package cpu

import (
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

	products    []product // side by side
	preparation preparation
	fetched     []fetched // of each worker
	foresight   foresight
	attention   attention
	results     results
	storing     storing
	operands    operands

	// Bodies of loops over those, made once: a function that is made for a call
	// is allocated.
	prepareBody, productBody, attentionBody, mergeBody, finishBody, storeBody, rowsBody func(worker, lo, hi int)
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
	f := &fast{stream: s, memory: memory, fetched: make([]fetched, s.pool.Threads())}
	f.prepareBody, f.productBody, f.storeBody, f.rowsBody = f.preparation.do, f.multiply, f.storing.do, f.operands.rows
	f.attentionBody, f.mergeBody, f.finishBody = f.attention.do, f.results.merge, f.results.finish
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
