package attn

import (
	"math"
	"unsafe"

	"gorun/tensor"
)

// Shape is what all rows of a block have in common.
type Shape struct {
	KType, VType tensor.Type
	KDim, VDim   int // values of a head
	Span         int // positions of a span, a multiple of 16
	Scale        float32
	Cap          float32 // of scores; 0: none
}

// A Block attends with a number of query rows to one span. Its use is: Reset,
// Query and See for each row, Keys for all positions in ascending order, Weigh, Values
// likewise, Partial for each row. Positions count from the beginning of the
// span. Rows that share a KV head are neighbours.
type Block struct {
	set            *Set
	shape          Shape
	floats         *kernels // of a tile
	keys, values   *kernels // of the types
	kWidth, vWidth int      // floats of a row of a tile
	tileRows       int      // positions of a tile
	rows           []blockRow
	alike          bool      // all rows see the same positions
	q              []float32 // rows of kWidth
	scores         []float32 // rows of stride
	stride         int
	sums           []float32 // rows of vWidth
	tile           []float32
}

// blockRow is a query row: the positions that it sees, and what came of it.
type blockRow struct {
	from, to int
	top, sum float32
}

// tileFloats is about the size of a tile, half of a small first-level cache.
const tileFloats = 4096

// tileRows is the number of positions in a tile of rows so wide.
func tileRows(width int) int { return min(max(tileFloats/width/lanes*lanes, lanes), 64) }

// sizes are the floats that the parts of a block take.
func (s Shape) sizes(rows int) (q, scores, sums, tile int) {
	kWidth, vWidth := width(s.KType, s.KDim), width(s.VType, s.VDim)
	wide := max(kWidth, vWidth)
	// Kernels take 16 keys at a time: behind the last of a tile they find
	// what was there before, and leave scores that nobody reads.
	return rows * kWidth, rows * (s.Span + lanes), rows * vWidth, (tileRows(wide) + lanes) * wide
}

// Bytes is the memory of a block of so many rows.
func (s Shape) Bytes(rows int) int {
	q, scores, sums, tile := s.sizes(rows)
	return 4*(q+scores+sums+tile) + rows*int(unsafe.Sizeof(blockRow{})) + 64
}

// Init makes b a block of at most rows rows in the given memory.
func (b *Block) Init(s Shape, rows int, memory []byte) {
	memory = memory[-uintptr(unsafe.Pointer(unsafe.SliceData(memory)))%64:]
	q, scores, sums, tile := s.sizes(rows)
	take := func(n int) []float32 {
		part := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(memory[:4*n]))), n)
		memory = memory[4*n:]
		return part
	}
	set := Sets.Current()
	*b = Block{
		set: set, shape: s, floats: set.types[tensor.F32], keys: set.types[s.KType], values: set.types[s.VType], kWidth: width(s.KType, s.KDim), vWidth: width(s.VType, s.VDim), stride: s.Span + lanes,
		q: take(q), scores: take(scores), sums: take(sums), tile: take(tile),
	}
	b.tileRows = tileRows(max(b.kWidth, b.vWidth))
	n := rows * int(unsafe.Sizeof(blockRow{}))
	b.rows = unsafe.Slice((*blockRow)(unsafe.Pointer(unsafe.SliceData(memory[:n]))), rows)[:0]
}

// Reset forgets all rows.
func (b *Block) Reset() { b.rows = b.rows[:0] }

// Query adds a row. See tells what it sees.
func (b *Block) Query(q []float32) {
	row := b.q[len(b.rows)*b.kWidth:][:b.kWidth]
	clear(row[copy(row, q):])
	tensor.Rotate(b.shape.KType, row)
	if b.keys.round != nil {
		b.keys.round(row)
	}
	b.rows = append(b.rows, blockRow{})
}

// See changes what row i sees, and keeps its query. All rows are told, in
// ascending order.
func (b *Block) See(i, from, to int) {
	b.rows[i] = blockRow{from: from, to: to}
	b.alike = i == 0 || b.alike && from == b.rows[0].from && to == b.rows[0].to
}

// TileRows is the most positions that Keys and Values take at a time with so
// many rows.
func (b *Block) TileRows(rows int) int {
	if b.directKeys(rows) && direct(b.values, rows, b.shape.VDim) {
		return directRows
	}
	return b.tileRows
}

// directRows positions of all heads, and as many that are fetched for later,
// should stay in the second cache.
const directRows = 32

// fewRows is up to how many query rows convert keys and values as they meet
// them. With more, a tile of float32 is better.
const fewRows = 8

// direct reports whether rows of dim values need no tile.
func direct(k *kernels, rows, dim int) bool {
	return k.dots[0] != nil && rows <= fewRows && dim%lanes == 0
}

// directKeys reports whether keys need no tile: those that meet rounded queries never do.
func (b *Block) directKeys(rows int) bool {
	return b.keys.round != nil || direct(b.keys, rows, b.shape.KDim)
}

// Keys scores positions [pos, pos+n), whose keys begin at src[i*stride], with
// rows [first, end). Those that begin ahead bytes behind are fetched for later.
func (b *Block) Keys(first, end, pos, n int, src []byte, stride, ahead int) {
	if b.directKeys(end - first) {
		if whole := n / lanes * lanes; whole > 0 {
			b.score(b.keys, first, end, pos, whole, src, stride, ahead)
			if n == whole {
				return
			}
			pos, n, src = pos+whole, n-whole, src[whole*stride:]
		}
	}
	if b.keys.round != nil { // no floats: the keys stay what they are
		size, tail := b.kWidth/b.shape.KType.BlockSize()*b.shape.KType.BlockBytes(), bytesOf(b.tile)
		for i := range n {
			copy(tail[i*size:], src[i*stride:][:size])
		}
		b.score(b.keys, first, end, pos, n, tail, size, 0)
		return
	}
	b.keys.loadRows(b.shape.KType, b.tile, b.shape.KDim, src, stride, ahead, n)
	b.score(b.floats, first, end, pos, n, bytesOf(b.tile), 4*b.kWidth, 0)
}

// score is Keys for keys that kernels take, and up to 15 more.
func (b *Block) score(k *kernels, first, end, pos, n int, src []byte, stride, ahead int) {
	for rows := 0; first < end; first += rows {
		kernel := kernelFor(end - first)
		rows = heights[kernel]
		if from, to := b.union(first, rows); from < pos+n && pos < to {
			k.dots[kernel](b.scores[first*b.stride+pos:], b.stride, b.q[first*b.kWidth:], src, stride, ahead,
				b.kWidth/lanes, roundUp(n, lanes), b.shape.Scale)
			ahead = 0 // once is enough
		}
	}
}

// kernelFor is the highest kernel for so many rows.
func kernelFor(rows int) int {
	kernel := 0
	for heights[kernel] > rows {
		kernel++
	}
	return kernel
}

// union is the positions that at least one of the rows sees, and what is
// between them.
func (b *Block) union(first, rows int) (from, to int) {
	from, to = b.rows[first].from, b.rows[first].to
	if b.alike {
		return from, to
	}
	for _, r := range b.rows[first+1 : first+rows] {
		from, to = min(from, r.from), max(to, r.to)
	}
	return from, to
}

// common is the positions that all of the rows see.
func (b *Block) common(first, rows int) (from, to int) {
	from, to = b.rows[first].from, b.rows[first].to
	for _, r := range b.rows[first+1 : first+rows] {
		from, to = max(from, r.from), min(to, r.to)
	}
	return from, to
}

// Weigh makes weights of the scores.
func (b *Block) Weigh() {
	clear(b.sums[:len(b.rows)*b.vWidth])
	for i := range b.rows {
		r := &b.rows[i]
		r.top, r.sum = float32(math.Inf(-1)), 0
		if r.from >= r.to {
			continue
		}
		// Kernels take whole vectors; what the row does not see of them gets
		// the weight zero.
		begin, end := r.from/lanes*lanes, roundUp(r.to, lanes)
		scores := b.scores[i*b.stride:][begin:end]
		if b.shape.Cap > 0 {
			b.set.softcap(scores, b.shape.Cap)
		}
		fill(scores[:r.from-begin], float32(math.Inf(-1)))
		fill(scores[r.to-begin:], float32(math.Inf(-1)))
		r.top, r.sum = b.set.softmax(scores)
	}
}

func fill(dst []float32, v float32) {
	for i := range dst {
		dst[i] = v
	}
}

// Values adds the weighted values of positions [pos, pos+n), which begin at
// src[i*stride], to rows [first, end). Those that begin ahead bytes behind are
// fetched for later.
func (b *Block) Values(first, end, pos, n int, src []byte, stride, ahead int) {
	k := b.values
	if !direct(k, end-first, b.shape.VDim) {
		k.loadRows(b.shape.VType, b.tile, b.shape.VDim, src, stride, ahead, n)
		k, src, stride, ahead = b.floats, bytesOf(b.tile), 4*b.vWidth, 0
	}
	for rows := 0; first < end; first += rows {
		kernel := kernelFor(end - first)
		rows = heights[kernel]
		b.addRows(k, kernel, first, pos, pos+n, src, stride, ahead)
		ahead = 0 // once is enough
	}
}

// addRows adds positions [begin, end) to the rows of a kernel: those that all
// of them see together, and the others row by row.
func (b *Block) addRows(k *kernels, kernel, first, begin, end int, src []byte, stride, ahead int) {
	rows := heights[kernel]
	if r := &b.rows[first]; b.alike {
		if from, to := max(r.from, begin), min(r.to, end); from < to {
			k.add[kernel](b.sums[first*b.vWidth:], b.scores[first*b.stride+from:], b.stride, src[(from-begin)*stride:], stride, ahead,
				b.vWidth/lanes, to-from)
		}
		return
	}
	from, to := b.common(first, rows)
	from, to = max(from, begin), min(to, end)
	if from >= to {
		from, to = end, end
	}
	add := func(kernel, row, from, to int) {
		if from < to {
			k.add[kernel](b.sums[row*b.vWidth:], b.scores[row*b.stride+from:], b.stride, src[(from-begin)*stride:], stride, ahead,
				b.vWidth/lanes, to-from)
		}
	}
	one := len(heights) - 1
	for i := first; i < first+rows; i++ {
		add(one, i, max(b.rows[i].from, begin), min(b.rows[i].to, from))
	}
	add(kernel, first, from, to)
	for i := first; i < first+rows; i++ {
		add(one, i, max(b.rows[i].from, to), min(b.rows[i].to, end))
	}
}

// Partial is the result of row i: the largest score, the sum of weights and
// the weighted values. It may be asked for once.
func (b *Block) Partial(i int) (top, sum float32, values []float32) {
	values = b.sums[i*b.vWidth:][:b.vWidth]
	tensor.RotateBack(b.shape.VType, values)
	return b.rows[i].top, b.rows[i].sum, values[:b.shape.VDim]
}

// bytesOf views float32 as memory.
func bytesOf(values []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 4*len(values))
}
