package cpu

import (
	"fmt"
	"math"

	"gorun/compute"
	"gorun/tensor"
)

func (s *stream) StoreKV(l compute.KVLayout, k, v compute.Matrix, seqs []compute.KVRun) {
	require(k.Cols == l.Heads*l.KDim && (l.VInK || v.Cols == l.Heads*l.VDim && k.Rows == v.Rows),
		"StoreKV of %dx%d and %dx%d", k.Rows, k.Cols, v.Rows, v.Cols)
	for _, run := range seqs {
		s.parallel(run.Count, func(worker, lo, hi int) {
			for i := lo; i < hi; i++ {
				page, token := pageOf(&l, &run, run.Pos+i)
				s.storeHeads(worker, l.KType, bytesOf(page.At(l.KAt(token, 0), l.KRow())), row(k, run.Row+i), l.KDim)
				if !l.VInK {
					s.storeHeads(worker, l.VType, bytesOf(page.At(l.VAt(token, 0), l.VRow())), row(v, run.Row+i), l.VDim)
				}
			}
		})
	}
}

// storeHeads rounds heads of dim values each to t, padded with zeros to whole
// blocks.
func (s *stream) storeHeads(worker int, t tensor.Type, dst []byte, values []float32, dim int) {
	heads := len(values) / dim
	size := len(dst) / heads
	padded := s.worker(worker, paddedDim(t, size))
	clear(padded[dim:])
	for h := range heads {
		copy(padded, values[h*dim:][:dim])
		if err := tensor.Quantize(t, dst[h*size:][:size], padded); err != nil {
			clear(dst[h*size:][:size])
			s.fail(fmt.Errorf("the KV cache: %w: a wider type may hold it", err))
		}
	}
}

// paddedDim is the number of values in a head of size bytes.
func paddedDim(t tensor.Type, size int) int { return size / t.BlockBytes() * t.BlockSize() }

// pageOf is the page and the place in it of position pos.
func pageOf(l *compute.KVLayout, run *compute.KVRun, pos int) (compute.Span, int) {
	return run.Pages[pos/l.BlockTokens-run.FirstBlock], pos % l.BlockTokens
}

func (s *stream) Attend(acc, q compute.Matrix, a compute.Attention, seqs []compute.KVRun) {
	require(acc.Rows == q.Rows && acc.Cols == a.AccumulatorCols(), "Attend to %dx%d", acc.Rows, acc.Cols)
	if a.Reset {
		s.rows1(acc, func(_ int, acc []float32) { reset(acc, a) })
	}
	s.spans(q, a, seqs, func(r, h, _ int, part []float32) {
		fold(accumulator(row(acc, r), a, h), part)
	})
}

func (s *stream) AttendSpans(partials, q compute.Matrix, a compute.Attention, seqs []compute.KVRun, firstSpan int) {
	require(q.Rows > 0 && partials.Rows%q.Rows == 0 && partials.Cols == a.AccumulatorCols(),
		"AttendSpans to %dx%d", partials.Rows, partials.Cols)
	s.rows1(partials, func(_ int, part []float32) { reset(part, a) })
	s.spans(q, a, seqs, func(r, h, span int, part []float32) {
		copy(accumulator(row(partials, (span-firstSpan)*q.Rows+r), a, h), part)
	})
}

func (s *stream) MergeSpans(acc, partials compute.Matrix, a compute.Attention) {
	require(acc.Rows > 0 && partials.Rows%acc.Rows == 0 && partials.Cols == acc.Cols,
		"MergeSpans of %dx%d to %dx%d", partials.Rows, partials.Cols, acc.Rows, acc.Cols)
	s.rows1(acc, func(r int, acc_ []float32) {
		for p := r; p < partials.Rows; p += acc.Rows {
			for h := range a.Heads {
				fold(accumulator(acc_, a, h), accumulator(row(partials, p), a, h))
			}
		}
	})
}

func (s *stream) FinishAttention(out, acc compute.Matrix, a compute.Attention) {
	require(out.Rows == acc.Rows && out.Cols == a.Heads*a.Layout.VDim, "FinishAttention to %dx%d", out.Rows, out.Cols)
	s.rows1(acc, func(r int, acc []float32) {
		for h := range a.Heads {
			part := accumulator(acc, a, h)
			top, sum, scale := float64(part[0]), float64(part[1]), 1.0
			if !a.Sinks.IsZero() {
				sink := float64(row(a.Sinks, 0)[h])
				m := max(top, sink)
				scale = math.Exp(top - m)
				sum = float64(sum*scale) + math.Exp(sink-m)
			}
			o := row(out, r)[h*a.Layout.VDim:][:a.Layout.VDim]
			for d := range o {
				o[d] = float32(float64(part[2+d]) * scale / sum)
			}
		}
	})
}

// accumulator is the part of a row that belongs to head h: maximum, sum,
// weighted values.
func accumulator(row []float32, a compute.Attention, h int) []float32 {
	n := a.Layout.VDim + 2
	return row[h*n:][:n]
}

func reset(row []float32, a compute.Attention) {
	clear(row)
	for h := range a.Heads {
		accumulator(row, a, h)[0] = float32(math.Inf(-1))
	}
}

// fold merges a partial into an accumulator.
func fold(acc, part []float32) {
	if part[1] == 0 {
		return
	}
	top := max(acc[0], part[0])
	ca, cp := math.Exp(float64(acc[0])-float64(top)), math.Exp(float64(part[0])-float64(top))
	acc[0] = top
	for i := 1; i < len(acc); i++ {
		acc[i] = float32(float64(float64(acc[i])*ca) + float64(float64(part[i])*cp))
	}
}

// spans calls emit with the partial of every (row of q, head, span) that has a
// visible key, in ascending order of spans for each row and head. The calls
// for one row and head come from one thread.
func (s *stream) spans(q compute.Matrix, a compute.Attention, seqs []compute.KVRun, emit func(r, h, span int, part []float32)) {
	l := a.Layout
	require(q.Cols == a.Heads*l.KDim && l.Heads > 0 && a.Heads%l.Heads == 0, "attention of %d heads over %d", a.Heads, l.Heads)
	s.parallel(len(seqs)*l.Heads, func(worker, lo, hi int) {
		w := s.newSpanWorker(worker, a)
		for i := lo; i < hi; i++ {
			run, kvHead := seqs[i/l.Heads], i%l.Heads
			begin := max(a.Visible(run.Pos), run.FirstBlock*l.BlockTokens)
			end := min(run.Pos+run.Count, (run.FirstBlock+len(run.Pages))*l.BlockTokens)
			for begin < end {
				span := begin / compute.SpanTokens
				stop := min(end, (span+1)*compute.SpanTokens)
				w.load(run, kvHead, begin, stop)
				group := a.Heads / l.Heads
				for r := run.Row; r < run.Row+run.Count; r++ {
					pos := run.Pos + r - run.Row
					from, to := max(begin, a.Visible(pos)), min(stop, pos+1)
					if from >= to {
						continue
					}
					for h := kvHead * group; h < (kvHead+1)*group; h++ {
						emit(r, h, span, w.partial(row(q, r)[h*l.KDim:][:l.KDim], from, to))
					}
				}
				begin = stop
			}
		}
	})
}

// spanWorker holds the keys and values of one head over one span as float32.
type spanWorker struct {
	a          compute.Attention
	keys, vals []float32 // rows of padded heads
	kDim, vDim int       // padded
	first      int       // position of row 0
	scores     []float64
	sums       []float64
	part       []float32
}

func (s *stream) newSpanWorker(worker int, a compute.Attention) *spanWorker {
	l := a.Layout
	kDim, vDim := paddedDim(l.KType, int(l.KHeadBytes)), paddedDim(l.VType, int(l.VHeadBytes))
	mem := s.worker(worker, compute.SpanTokens*(kDim+vDim))
	return &spanWorker{
		a: a, kDim: kDim, vDim: vDim, keys: mem[:compute.SpanTokens*kDim], vals: mem[compute.SpanTokens*kDim:],
		scores: make([]float64, compute.SpanTokens), sums: make([]float64, l.VDim), part: make([]float32, l.VDim+2),
	}
}

func (w *spanWorker) load(run compute.KVRun, head, begin, stop int) {
	l := w.a.Layout
	w.first = begin
	for pos := begin; pos < stop; pos++ {
		page, token := pageOf(&l, &run, pos)
		i := pos - begin
		tensor.Dequantize(l.KType, w.keys[i*w.kDim:][:w.kDim], bytesOf(page.At(l.KAt(token, head), l.KHeadBytes)))
		tensor.Dequantize(l.VType, w.vals[i*w.vDim:][:w.vDim], bytesOf(page.At(l.VAt(token, head), l.VHeadBytes)))
	}
}

// partial attends to positions [from, to).
func (w *spanWorker) partial(q []float32, from, to int) []float32 {
	scores := w.scores[:to-from]
	top := math.Inf(-1)
	for i := range scores {
		score := float64(dot(q, w.keys[(from+i-w.first)*w.kDim:][:len(q)]) * float64(w.a.Scale))
		if w.a.Cap > 0 {
			score = softcap(score, float64(w.a.Cap))
		}
		scores[i] = score
		top = max(top, score)
	}
	// The maximum is kept as float32, so weights must be relative to that.
	top = float64(float32(top))
	sum := 0.0
	clear(w.sums)
	for i, score := range scores {
		weight := float64(float32(math.Exp(score - top)))
		sum += weight
		for d, v := range w.vals[(from+i-w.first)*w.vDim:][:len(w.sums)] {
			w.sums[d] += weight * float64(v)
		}
	}
	w.part[0], w.part[1] = float32(top), float32(sum)
	for d, v := range w.sums {
		w.part[2+d] = float32(v)
	}
	return w.part
}
