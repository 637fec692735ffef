package gemm

import (
	"math"
	"unsafe"

	"gorun/tensor"
)

const (
	// tileRows is the number of rows that a kernel computes side by side.
	tileRows = 16

	// chunk is the number of elements of K that a tile covers at most. It is
	// a multiple of the blocks of all types.
	chunk = 1024

	// panelTiles tiles are unpacked before many columns pass over them, so
	// that the columns of a group are fetched from afar once for all.
	panelTiles = 4

	// dotColumns columns or fewer are multiplied without making tiles.
	dotColumns = 2
)

// ScratchBytes is the scratch memory that Mul needs for weights of type t with
// rows of cols elements, at most 1 MiB.
func ScratchBytes(t tensor.Type, cols int) int {
	if f := formats[t]; f != nil {
		return columnsSize + tileRows*f.fileBytes(t, chunk) + panelTiles*f.tileBytes(t, chunk) + 3*alignment
	}
	return floatScratchBytes(t, min(cols, chunk))
}

// tileBytes is the size of a tile of k elements of K.
func (f *format) tileBytes(t tensor.Type, k int) int { return k / f.form.group * f.form.groupBytes() }

// fileBytes is the size of k elements in the file.
func (f *format) fileBytes(t tensor.Type, k int) int { return k / t.BlockSize() * t.BlockBytes() }

// Mul computes n columns of a product: for each column c below n and each row
// r of the weights
//
//	dst[to(c)*dstStride + r] = sum over k of w[r, k] * x[from(c), k]
//
// where from and to are entries of the lists xRows and dstRows, or c itself
// where the list is nil. Rows listed twice in dstRows are a mistake.
//
// w begins with rows rows of cols elements of type t in file layout. next is
// what will be multiplied after them: with one or two columns, AheadRows of it
// are fetched meanwhile. It may be nil. x holds rows of activations as PrepareRow
// makes them (for this type or one of the same Form), scratch at least
// ScratchBytes.
//
// Mul neither allocates nor keeps its arguments, and calls with different dst
// and scratch may run at the same time. Lengths that do not fit are mistakes
// of the caller: it panics.
//
// A caller that shares a product among threads splits rows, in multiples of
// 16, rather than columns. With many columns each panel of 64 rows is unpacked once, and 64 rows are a good
// piece. The runtime can preempt Mul between kernel calls. The longest of
// those are the ones with a single column, which take 64 KiB or 16 rows from end to end,
// 10 us for rows of 16 KiB.
func Mul(t tensor.Type, dst []float32, dstStride int, dstRows []int32, w, next []byte, rows, cols int,
	x []byte, xRows []int32, n int, scratch []byte) {
	Sets.Current().mul(t, dst, dstStride, dstRows, w, next, rows, cols, x, xRows, n, scratch)
}

func (s *Set) mul(t tensor.Type, dst []float32, dstStride int, dstRows []int32, w, next []byte, rows, cols int,
	x []byte, xRows []int32, n int, scratch []byte) {
	p := product{set: s, t: t, format: formats[t], dst: dst, w: w, next: next, rows: rows, cols: cols, x: x, n: n,
		dstStride: dstStride, dstRows: dstRows, xRows: xRows}
	if rows == 0 || n == 0 {
		return
	}
	p.check(scratch)
	switch {
	case cols == 0:
		p.zero()
	case p.format != nil:
		p.integer(scratch)
	default:
		p.float(scratch)
	}
}

// product is one call of Mul.
type product struct {
	set              *Set
	t                tensor.Type
	format           *format
	dst              []float32
	w, next, x       []byte
	rows, cols, n    int
	dstStride        int
	dstRows, xRows   []int32
	rowBytes, xBytes int // of a row of weights and of activations
}

// check panics unless every index that the kernels will compute is in range.
func (p *product) check(scratch []byte) {
	rowBytes, err := p.t.RowSize(int64(p.cols))
	if err != nil || p.rows < 0 || p.n < 0 || !p.t.CanDequantize() {
		fail("product of %d rows of %d %v with %d columns: %v", p.rows, p.cols, p.t, p.n, err)
	}
	p.rowBytes, p.xBytes = int(rowBytes), ActivationBytes(p.t, p.cols)
	if len(p.w) < p.rows*p.rowBytes {
		fail("%d rows of %d %v in %d bytes", p.rows, p.cols, p.t, len(p.w))
	}
	p.w = p.w[:p.rows*p.rowBytes]
	if len(scratch) < ScratchBytes(p.t, p.cols) {
		fail("%d bytes of scratch memory", len(scratch))
	}
	xEnd, dstEnd := bound(p.xRows, p.n), bound(p.dstRows, p.n)
	if xEnd < 0 || xEnd > math.MaxInt32 || xEnd*p.xBytes > len(p.x) {
		fail("activation row %d of %d bytes in %d", xEnd-1, p.xBytes, len(p.x))
	}
	if dstEnd < 0 || dstEnd > math.MaxInt32 || p.dstStride < 0 || dstEnd > 1 && p.dstStride > len(p.dst) || (dstEnd-1)*p.dstStride+p.rows > len(p.dst) {
		fail("result row %d of stride %d in %d", dstEnd-1, p.dstStride, len(p.dst))
	}
}

// bound is one more than the largest row that the first n entries of a list
// name, or -1 if one is negative.
func bound(list []int32, n int) int {
	if list == nil {
		return n
	}
	if len(list) < n {
		fail("%d rows in a list of %d", n, len(list))
	}
	low, high := list[0], list[0]
	for _, r := range list[:n] {
		low, high = min(low, r), max(high, r)
	}
	if low < 0 {
		return -1
	}
	return int(high) + 1
}

func (p *product) zero() {
	for c := range p.n {
		clear(p.dst[at(p.dstRows, c)*p.dstStride:][:p.rows])
	}
}

func at(list []int32, i int) int {
	if list == nil {
		return i
	}
	return int(list[i])
}

// integer multiplies quantized weights, a panel of rows after the other.
func (p *product) integer(scratch []byte) {
	f := p.format
	switch p.t {
	case tensor.IQ3_S, tensor.IQ2_XXS, tensor.IQ2_XS, tensor.IQ2_S:
		loadCodebooks()
	}
	cols, scratch := takeColumns(scratch)
	tail, scratch := take(scratch, tileRows*f.fileBytes(p.t, chunk))
	tiles, _ := take(scratch, panelTiles*f.tileBytes(p.t, chunk))
	if dot, blocks := p.dotKernels(); dot != nil {
		p.dot(cols, dot, blocks, tiles)
		return
	}
	panel := tileRows
	if p.n > widths[0] {
		panel *= panelTiles
	}
	for row := 0; row < p.rows; row += panel {
		end := min(row+panel, p.rows)
		for k := 0; k < p.cols; k += chunk {
			size := min(chunk, p.cols-k)
			p.unpack(tiles, tail, row, end, k, size)
			p.multiply(cols, tiles, row, end, k, size)
		}
	}
}

// dotKernels returns the kernels for few columns, if there are, and the blocks
// of a row as they count them.
func (p *product) dotKernels() (kernels *[dotColumns]dotFunc, blocks int) {
	switch {
	case p.n > dotColumns || p.rows < tileRows:
		return nil, 0
	case p.cols%256 == 0 && p.set.dot256[p.t] != nil:
		return p.set.dot256[p.t], p.cols / 256
	}
	return p.set.dot[p.t], p.cols / p.t.BlockSize()
}

const (
	// dotBytes of weights at most are multiplied in one call of a kernel, or 16 rows: so that the runtime can
	// preempt Mul, and yet short rows are not more calls than work.
	dotBytes = 64 << 10

	// aheadBytes at least are fetched ahead: what memory delivers in the time that it takes to begin.
	aheadBytes = 12 << 10
)

// AheadRows is the number of rows that Mul fetches ahead with one or two
// columns. Whoever calls it with rows that nobody has fetched may fetch as many first.
func AheadRows(rowBytes int) int {
	tile := tileRows * rowBytes
	return tileRows * max(1, (aheadBytes+tile-1)/max(1, tile))
}

// dot multiplies with few columns. If the rows are no whole number of tiles, the last tile overlaps the one before.
func (p *product) dot(cols columns, kernels *[dotColumns]dotFunc, blocks int, tile []byte) {
	d := dots{cols: cols, width: p.n, atOnce: max(1, dotBytes/(tileRows*p.rowBytes)), blocks: blocks, tile: tile}
	if kernels[d.width-1] == nil {
		d.width, d.atOnce = 1, 1
	}
	d.kernel = kernels[d.width-1]
	ahead, whole := AheadRows(p.rowBytes), p.rows/tileRows*tileRows
	early := max(0, whole-ahead) // what is ahead of them is of this product
	p.dotRows(d, 0, early, ahead*p.rowBytes)
	p.dotRows(d, early, whole, p.beyond(p.w[early*p.rowBytes:]))
	if whole < p.rows {
		p.dotRows(d, p.rows-tileRows, p.rows, 0)
	}
}

// dots are calls of a kernel for few columns.
type dots struct {
	kernel dotFunc
	cols   columns
	width  int // columns of a call
	atOnce int // tiles of a call
	blocks int
	tile   []byte
}

// dotRows multiplies rows [row, end), a whole number of tiles. Without a kernel for two columns, each 16 rows come
// from memory for the first one and from the cache for the other.
func (p *product) dotRows(d dots, row, end, ahead int) {
	for row < end {
		tiles := min(d.atOnce, (end-row)/tileRows)
		for c := range p.n {
			d.cols.from[c] = at(p.xRows, c) * p.xBytes
			d.cols.to[c] = at(p.dstRows, c)*p.dstStride + row
		}
		next := row + tiles*tileRows
		for c := 0; c < p.n; c += d.width {
			d.kernel(d.tile, p.w[row*p.rowBytes:next*p.rowBytes], p.rowBytes, p.x, d.cols.from[c:][:d.width], p.dst, d.cols.to[c:][:d.width],
				d.blocks, tiles, ahead)
		}
		row = next
	}
}

// beyond is how far from w the next product's weights are; 0 if there are none.
func (p *product) beyond(w []byte) int {
	if len(p.next) == 0 {
		return 0
	}
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(p.next))) - uintptr(unsafe.Pointer(unsafe.SliceData(w))))
}

// unpack makes the tiles of elements [k, k+size) of rows [row, end).
func (p *product) unpack(tiles, tail []byte, row, end, k, size int) {
	f := p.format
	unpack, tileBytes := p.set.unpack[p.t], f.tileBytes(p.t, size)
	offset, length := f.fileBytes(p.t, k), f.fileBytes(p.t, size)
	for ; row < end; row, tiles = row+tileRows, tiles[tileBytes:] {
		w, stride := p.w[row*p.rowBytes+offset:], p.rowBytes
		if end-row < tileRows { // complete the tile with rows of zeros
			for r := range end - row {
				copy(tail[r*length:], w[r*stride:][:length])
			}
			w, stride = tail[:tileRows*length], length
			clear(w[(end-row)*length:])
		}
		unpack(tiles[:tileBytes], w[:(tileRows-1)*stride+length], stride, size/p.t.BlockSize())
	}
}

// multiply passes all columns over the tiles of elements [k, k+size) of rows
// [row, end).
func (p *product) multiply(cols columns, tiles []byte, row, end, k, size int) {
	f := p.format
	kernels, tileBytes := p.set.product[f.productKey()], f.tileBytes(p.t, size)
	blocks, offset := size/activationBlock, k/activationBlock*f.form.blockBytes()
	for c := 0; c < p.n; {
		width := 0
		for widths[width] > p.n-c || kernels[width] == nil {
			width++
		}
		from, to := cols.from[:widths[width]], cols.to[:widths[width]]
		for i := range from {
			from[i] = at(p.xRows, c+i)*p.xBytes + offset
			to[i] = at(p.dstRows, c+i)*p.dstStride + row
		}
		for r := row; r < end; r += tileRows {
			tile := tiles[(r-row)/tileRows*tileBytes:][:tileBytes]
			kernels[width](tile, p.x, from, p.dst, to, blocks, min(tileRows, end-r), k > 0)
			for i := range to {
				to[i] += tileRows
			}
		}
		c += len(from)
	}
}
