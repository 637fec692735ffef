package cpu

import (
	"math"
	"unsafe"

	"gorun/compute"
	"gorun/tensor/attn"
)

// attention is one Attend or AttendSpans of a fast stream. It is cut into
// tasks, each a block of query rows of one KV head or, with few rows, of
// several. With few rows and much to see, each task is also one span only,
// whose partials are folded in the end; otherwise it goes through its spans in
// order and folds as it goes.
type attention struct {
	*fast
	a         compute.Attention
	shape     attn.Shape
	acc, q    compute.Matrix
	runs      []compute.KVRun
	rows      int  // of a block, at most
	split     bool // partials of spans go to rows of acc
	firstSpan int
	tasks     []attentionTask
}

// attentionTask is query rows [row, row+count) of a run in spans [span, end),
// with KV heads [kv, kv+kvs) and the query heads [head, head+heads) of each
// group.
type attentionTask struct {
	run         *compute.KVRun
	row, count  int
	kv, kvs     int
	head, heads int
	span, end   int
}

// mostBlockRows is the number of query rows that share a tile of keys. With
// more, the tile is converted less often, but the scores leave the cache.
const mostBlockRows = 64

// splitRows is the number of rows whose spans are attended to side by side.
const splitRows = 4

// splitBytes is the memory of their partials.
func splitBytes(w compute.Work) int64 {
	spans := (w.Context + compute.SpanTokens - 1) / compute.SpanTokens
	return 4 * int64(min(w.Rows, splitRows)) * int64(spans) * int64(w.Accumulator)
}

func (f *fast) Attend(acc, q compute.Matrix, a compute.Attention, seqs []compute.KVRun) {
	require(acc.Rows == q.Rows && acc.Cols == a.AccumulatorCols(), "Attend to %dx%d", acc.Rows, acc.Cols)
	if a.Reset {
		empty(acc, a)
	}
	if first, spans, ok := f.splits(q.Rows, a, seqs); ok {
		partials := compute.MatrixOf(f.partials, q.Rows*spans, acc.Cols)
		f.AttendSpans(partials, q, a, seqs, first)
		f.MergeSpans(acc, partials, a)
		return
	}
	f.attend(attention{a: a, acc: acc, q: q, runs: seqs})
}

// splits tells the first span and the number of spans of a call whose spans
// are better attended to side by side.
func (f *fast) splits(rows int, a compute.Attention, seqs []compute.KVRun) (first, spans int, ok bool) {
	first, end := 0, 0
	for i := range seqs {
		from, to := spansOf(a, &seqs[i], 0, seqs[i].Count)
		if i == 0 || from < first {
			first = from
		}
		end = max(end, to)
	}
	spans = end - first
	need := 4 * int64(rows) * int64(spans) * int64(a.AccumulatorCols())
	return first, spans, rows <= splitRows && spans > 1 && need <= f.partials.N
}

// spansOf is the spans [first, end) that rows [row, row+count) of a run see.
func spansOf(a compute.Attention, run *compute.KVRun, row, count int) (first, end int) {
	from, to := visible(a, run, row, count)
	if from >= to {
		return 0, 0
	}
	return from / compute.SpanTokens, (to-1)/compute.SpanTokens + 1
}

// visible is the positions [from, to) that rows [row, row+count) of a run see.
func visible(a compute.Attention, run *compute.KVRun, row, count int) (from, to int) {
	block := a.Layout.BlockTokens
	return max(a.Visible(run.Pos+row), run.FirstBlock*block), min(run.Pos+row+count, (run.FirstBlock+len(run.Pages))*block)
}

func (f *fast) AttendSpans(partials, q compute.Matrix, a compute.Attention, seqs []compute.KVRun, firstSpan int) {
	require(q.Rows > 0 && partials.Rows%q.Rows == 0 && partials.Cols == a.AccumulatorCols(),
		"AttendSpans to %dx%d", partials.Rows, partials.Cols)
	empty(partials, a)
	f.attend(attention{a: a, acc: partials, q: q, runs: seqs, split: true, firstSpan: firstSpan})
}

// empty makes accumulators that have seen nothing.
func empty(m compute.Matrix, a compute.Attention) {
	for r := range m.Rows {
		for h := range a.Heads {
			acc := accumulator(row(m, r), a, h)
			acc[0], acc[1] = float32(math.Inf(-1)), 0
		}
	}
}

func (f *fast) MergeSpans(acc, partials compute.Matrix, a compute.Attention) {
	require(acc.Rows > 0 && partials.Rows%acc.Rows == 0 && partials.Cols == acc.Cols,
		"MergeSpans of %dx%d to %dx%d", partials.Rows, partials.Cols, acc.Rows, acc.Cols)
	f.results = results{a: a, acc: acc, partials: partials}
	f.parallel(acc.Rows*a.Heads, f.mergeBody)
	f.results = results{}
}

// results is one MergeSpans or FinishAttention. It lives in the stream, as an
// attention does.
type results struct {
	a                  compute.Attention
	acc, partials, out compute.Matrix
}

// merge is the body of the loop over rows and heads.
func (c *results) merge(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		r, h := i/c.a.Heads, i%c.a.Heads
		acc := accumulator(row(c.acc, r), c.a, h)
		for p := r; p < c.partials.Rows; p += c.acc.Rows {
			part := accumulator(row(c.partials, p), c.a, h)
			attn.Fold(acc, part[0], part[1], part[2:])
		}
	}
}

// attend does the tasks of a call.
func (f *fast) attend(call attention) {
	l := call.a.Layout
	require(call.q.Cols == call.a.Heads*l.KDim && l.Heads > 0 && call.a.Heads%l.Heads == 0,
		"attention of %d heads over %d", call.a.Heads, l.Heads)
	call.fast, call.tasks = f, f.attention.tasks[:0]
	call.shape = attn.Shape{
		KType: l.KType, VType: l.VType, KDim: l.KDim, VDim: l.VDim, Span: compute.SpanTokens, Scale: call.a.Scale, Cap: call.a.Cap,
	}
	call.rows = mostBlockRows
	for call.rows > 1 && call.shape.Bytes(call.rows) > workerScratch {
		call.rows /= 2
	}
	require(len(f.scratch) > 0 && call.shape.Bytes(call.rows) <= workerScratch,
		"attention of heads of %d is beyond the work that the stream was made for", l.KDim)
	// The call lives in the stream, so that it is not allocated each time.
	f.attention = call
	f.attention.plan()
	f.pool.For(len(f.attention.tasks), f.attention.tasksAtOnce(), f.attentionBody)
	f.attention.forget()
}

// plan lists the tasks, those with most to see first. Neighbours in the list
// are neighbours in memory.
func (c *attention) plan() {
	group := c.a.Heads / c.a.Layout.Heads
	heads := min(group, c.rows)
	rows := c.rows / heads
	for i := range c.runs {
		t := attentionTask{run: &c.runs[i]}
		for last := t.run.Count; last > 0; last -= rows {
			t.row = max(0, last-rows)
			t.count = last - t.row
			first, end := spansOf(c.a, t.run, t.row, t.count)
			step := end - first
			if c.split {
				step = 1
			}
			for t.span = first; t.span < end; t.span += step {
				t.end = t.span + step
				kvs := c.headsAtOnce(t.count, (end-first)/step)
				for t.kv = 0; t.kv < c.a.Layout.Heads; t.kv += kvs {
					t.kvs = min(kvs, c.a.Layout.Heads-t.kv)
					for t.head = 0; t.head < group; t.head += heads {
						t.heads = min(heads, group-t.head)
						c.tasks = append(c.tasks, t)
					}
				}
			}
		}
	}
}

// headsAtOnce is how many KV heads a task of count query rows takes if there
// are so many steps. The rows of a page have all heads side by side, so it is
// best to go over them together, as long as every thread has something to do.
func (c *attention) headsAtOnce(count, steps int) int {
	heads := c.a.Layout.Heads
	fit := c.rows / (count * (c.a.Heads / heads))
	wanted := (4*c.pool.Threads() + steps - 1) / steps // tasks of a step
	return max(1, min(fit, heads/wanted))
}

// leastWork is the number of multiply-adds that it takes to make waking a
// thread worth the while.
const leastWork = 1 << 20

// tasksAtOnce is how many tasks a thread claims.
func (c *attention) tasksAtOnce() int {
	if len(c.tasks) == 0 {
		return 1
	}
	t := c.tasks[0]
	from, to := visible(c.a, t.run, t.row, t.count)
	if c.split {
		to = min(to, from+compute.SpanTokens)
	}
	work := (to - from) * t.count * t.kvs * t.heads * (c.a.Layout.KDim + c.a.Layout.VDim)
	return max(1, leastWork/max(1, work))
}

// forget drops what the call borrowed.
func (c *attention) forget() {
	clear(c.tasks)
	*c = attention{tasks: c.tasks[:0]}
}

// do is the body of the loop over tasks.
func (c *attention) do(worker, lo, hi int) {
	var block attn.Block
	block.Init(c.shape, c.rows, c.scratch[worker])
	for i := lo; i < hi; i++ {
		c.task(&block, i)
	}
}

func (c *attention) task(block *attn.Block, i int) {
	t := c.tasks[i]
	block.Reset()
	c.eachRow(t, func(_, r, h int) {
		block.Query(row(c.q, t.run.Row+r)[h*c.a.Layout.KDim:][:c.a.Layout.KDim])
	})
	for span := t.span; span < t.end; span++ {
		c.span(block, i, span)
	}
}

// eachRow calls do with the rows of the block: number i is query row r of the
// run with query head h.
func (c *attention) eachRow(t attentionTask, do func(i, r, h int)) {
	group, i := c.a.Heads/c.a.Layout.Heads, 0
	for kv := t.kv; kv < t.kv+t.kvs; kv++ {
		for r := t.row; r < t.row+t.count; r++ {
			for h := t.head; h < t.head+t.heads; h++ {
				do(i, r, kv*group+h)
				i++
			}
		}
	}
}

// span attends with the block to one span.
func (c *attention) span(block *attn.Block, task, span int) {
	t, origin := c.tasks[task], span*compute.SpanTokens
	begin, end := c.within(t, t.row, t.count, span)
	if begin >= end {
		return
	}
	c.eachRow(t, func(i, r, _ int) {
		from, to := c.within(t, r, 1, span)
		block.See(i, from-origin, to-origin)
	})
	keys, values := stored{&c.a.Layout, t.run, false}, stored{&c.a.Layout, t.run, true}
	c.pass(keys, block, t, begin, end, values.address(begin, t.kv), block.Keys)
	block.Weigh()
	c.pass(values, block, t, begin, end, c.after(task, span), block.Values)
	c.eachRow(t, func(i, r, h int) { c.emit(block, i, t.run.Row+r, h, span) })
}

// emit folds the partial of one row of the block, or stores it.
func (c *attention) emit(block *attn.Block, i, r, h, span int) {
	top, sum, values := block.Partial(i)
	if c.split {
		r += (span - c.firstSpan) * c.q.Rows
	}
	attn.Fold(accumulator(row(c.acc, r), c.a, h), top, sum, values)
}

// within is the positions [from, to) of a span that rows [row, row+count) of
// the run of a task see.
func (c *attention) within(t attentionTask, row, count, span int) (from, to int) {
	from, to = visible(c.a, t.run, row, count)
	return max(from, span*compute.SpanTokens), min(to, (span+1)*compute.SpanTokens)
}

// after is where the keys are that come after the values of a span of a task:
// those of its next span or, it is likely, those of the next task. Zero: there are none.
func (c *attention) after(task, span int) uintptr {
	t := c.tasks[task]
	if span++; span >= t.end {
		if task++; task >= len(c.tasks) {
			return 0
		}
		t = c.tasks[task]
		span = t.span
	}
	from, to := c.within(t, t.row, t.count, span)
	if from >= to {
		return 0
	}
	return stored{&c.a.Layout, t.run, false}.address(from, t.kv)
}

// stored is the keys or the values of a run.
type stored struct {
	l      *compute.KVLayout
	run    *compute.KVRun
	values bool
}

// sizes are the bytes from one position to the next, from one head to the
// next, and of a head.
func (s stored) sizes() (row, next, head int64) {
	switch {
	case !s.values:
		return s.l.KRow(), s.l.KHeadBytes, s.l.KHeadBytes
	case s.l.VInK:
		return s.l.KRow(), s.l.KHeadBytes, s.l.VHeadBytes
	}
	return s.l.VRow(), s.l.VHeadBytes, s.l.VHeadBytes
}

// at is the page of a position and where it has a head.
func (s stored) at(pos, head int) (page compute.Span, off int64) {
	page, token := pageOf(s.l, s.run, pos)
	if s.values {
		return page, s.l.VAt(token, head)
	}
	return page, s.l.KAt(token, head)
}

func (s stored) address(pos, head int) uintptr {
	page, off := s.at(pos, head)
	return uintptr(unsafe.Pointer(unsafe.SliceData(bytesOf(page)))) + uintptr(off)
}

// pass takes positions [begin, end) to a block: for each KV head of the task a
// tile at a time. What comes next is fetched meanwhile; then is what comes
// after the last tile.
func (c *attention) pass(s stored, block *attn.Block, t attentionTask, begin, end int, then uintptr,
	take func(first, end, pos, n int, src []byte, stride, ahead int)) {
	rows, origin := t.count*t.heads, begin/compute.SpanTokens*compute.SpanTokens
	most, blockTokens := block.TileRows(rows), s.l.BlockTokens
	row, step, head := s.sizes()
	for n := 0; begin < end; begin += n {
		n = min(most, blockTokens-begin%blockTokens, end-begin)
		here, next, ahead := s.address(begin, t.kv), then, 0
		if begin+n < end {
			next = s.address(begin+n, t.kv)
		}
		if next != 0 {
			ahead = int(next - here)
		}
		page, off := s.at(begin, t.kv)
		tile, size := bytesOf(page)[off:], int64(n-1)*row+head
		for i := range t.kvs {
			take(i*rows, (i+1)*rows, begin-origin, n, tile[int64(i)*step:][:size], int(row), ahead)
		}
	}
}

func (f *fast) FinishAttention(out, acc compute.Matrix, a compute.Attention) {
	require(out.Rows == acc.Rows && out.Cols == a.Heads*a.Layout.VDim, "FinishAttention to %dx%d", out.Rows, out.Cols)
	f.results = results{a: a, acc: acc, out: out}
	f.parallel(acc.Rows, f.finishBody)
	f.results = results{}
}

// finish is the body of the loop over rows.
func (c *results) finish(_, lo, hi int) {
	for r := lo; r < hi; r++ {
		for h := range c.a.Heads {
			part := accumulator(row(c.acc, r), c.a, h)
			scale := 1 / float64(part[1])
			if !c.a.Sinks.IsZero() {
				scale = besideSink(part[0], part[1], row(c.a.Sinks, 0)[h])
			}
			o := row(c.out, r)[h*c.a.Layout.VDim:][:c.a.Layout.VDim]
			factor := float32(scale)
			for d, v := range part[2:] {
				o[d] = v * factor
			}
		}
	}
}

// besideSink is what makes a mean of weighted values whose weights sum up to
// sum, relative to a score of top, when a sink takes weight as well.
func besideSink(top, sum, sink float32) float64 {
	m := float64(max(top, sink))
	scale := math.Exp(float64(top) - m)
	return scale / (float64(float64(sum)*scale) + math.Exp(float64(sink)-m))
}
