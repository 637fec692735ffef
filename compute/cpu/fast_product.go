package cpu

import (
	"sort"
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
	prepared             []byte  // rows of activations
	from                 []int32 // which of them
	chosen               bool    // for some rows only: weights of an expert

	// The products that are computed side by side are one loop. An index of it
	// is a piece of one product, of grain tiles.
	grain      int
	first, end int
}

// streamed reports whether the product takes as long as reading its weights.
func (p *product) streamed() bool { return p.n <= 2 }

func (p *product) tiles() int { return (p.rows + tileRows - 1) / tileRows }

// row is the first weight row of a piece, or the end of them.
func (p *product) row(piece int) int { return min((piece-p.first)*p.grain*tileRows, p.rows) }

// head is the bytes of the first rows of a piece, as many as gemm fetches ahead.
func (p *product) head(piece int) []byte {
	first := p.row(piece)
	return p.weights[first*p.rowBytes : min(first+gemm.AheadRows(p.rowBytes), p.rows)*p.rowBytes]
}

func (f *fast) MatMul(products ...compute.Product) {
	for len(products) > 0 {
		n := f.gather(products)
		f.multiplyAll()
		for _, p := range products[:n] {
			release(p.W)
		}
		products = products[n:]
	}
}

// gather makes products of the first of them, as many as there is memory for
// their activations, which are prepared.
func (f *fast) gather(products []compute.Product) int {
	rest := f.prepared
	for done := 0; done < len(products); {
		x, form := products[done].X, gemm.FormOf(products[done].W.Type)
		alike, rows := 0, 0 // that follow, with the same activations
		for _, p := range products[done:] {
			if p.X != x || gemm.FormOf(p.W.Type) != form {
				break
			}
			alike++
			rows += count(p.Rows, x.Rows)
		}
		size := gemm.ActivationBytes(products[done].W.Type, x.Cols)
		if min(rows, x.Rows)*size > len(rest) {
			require(done > 0, "MatMul of %d rows of %d is beyond the work that the stream was made for", min(rows, x.Rows), x.Cols)
			return done
		}
		var whole []byte
		if rows >= x.Rows {
			whole, rest = rest[:x.Rows*size], rest[x.Rows*size:]
			f.prepare(products[done].W.Type, x, nil, whole, x.Rows)
		}
		for _, c := range products[done : done+alike] {
			checkProduct(c.Dst, c.W, c.X)
			p := product{
				t: c.W.Type, out: floatsFrom(c.Dst, c.W.First), stride: c.Dst.Stride, to: c.Rows.To,
				weights: bytesOf(c.W.Data), rows: c.W.Rows, cols: c.W.Cols, rowBytes: int(c.W.RowBytes()), n: count(c.Rows, x.Rows),
				prepared: whole, from: c.Rows.From, chosen: c.Rows.From != nil || c.Rows.To != nil,
			}
			if whole == nil {
				p.prepared, rest, p.from = rest[:p.n*size], rest[p.n*size:], nil
				f.prepare(p.t, x, c.Rows.From, p.prepared, p.n)
			}
			f.products = append(f.products, p)
		}
		done += alike
	}
	return len(products)
}

// preparation is activations that are being prepared.
type preparation struct {
	t        tensor.Type
	x        compute.Matrix
	from     []int32
	prepared []byte
	size     int // of a row
}

// prepare rounds n rows of activations.
func (f *fast) prepare(t tensor.Type, x compute.Matrix, from []int32, prepared []byte, n int) {
	f.preparation = preparation{t, x, from, prepared, gemm.ActivationBytes(t, x.Cols)}
	f.parallel(n, f.prepareBody)
	f.preparation = preparation{}
}

// do is the body of the loop over rows.
func (c *preparation) do(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		gemm.PrepareRow(c.t, c.prepared[i*c.size:][:c.size], row(c.x, at(c.from, i)))
	}
}

// multiplyAll computes the products in one loop.
func (f *fast) multiplyAll() {
	tiles, streamed := 0, true
	for i := range f.products {
		p := &f.products[i]
		tiles += p.tiles()
		streamed = streamed && p.streamed()
	}
	pieces, grain := 0, 1
	for i := range f.products {
		p := &f.products[i]
		p.grain = f.tilesAtOnce(p, tiles)
		p.first = pieces
		pieces += (p.tiles() + p.grain - 1) / p.grain
		p.end = pieces
		grain = max(grain, p.grain)
	}
	if streamed {
		f.pool.upcoming.Store(f.foresight.see(f.products))
		f.pool.ForRuns(pieces, 1, mostTiles/grain, f.productBody)
	} else {
		f.foresight.forget()
		f.pool.upcoming.Store(nil)
		f.pool.For(pieces, 1, f.productBody)
	}
	clear(f.products)
	f.products = f.products[:0]
}

// multiply computes pieces [lo, hi) of the products.
func (f *fast) multiply(worker, lo, hi int) {
	for i := f.productOf(lo); lo < hi; i++ {
		p := &f.products[i]
		end := min(hi, p.end)
		if end <= lo {
			continue
		}
		first, rows := p.row(lo), p.row(end)-p.row(lo)
		var next []byte
		if p.streamed() {
			f.fetch(worker, p.head(lo))
			next = f.next(worker, end, hi)
			f.fetched[worker].first = unsafe.SliceData(next)
		}
		gemm.Mul(p.t, p.out[first:], p.stride, p.to, p.weights[first*p.rowBytes:][:rows*p.rowBytes], next, rows, p.cols,
			p.prepared, p.from, p.n, f.scratch[worker])
		lo = end
	}
}

// productOf is the product that a piece belongs to; after the last piece, the number of products.
func (f *fast) productOf(piece int) int {
	return sort.Search(len(f.products), func(i int) bool { return f.products[i].end > piece })
}

// fetched is the beginning of what a worker's last product has fetched. It has a cache line of its own.
type fetched struct {
	first *byte
	_     [56]byte
}

// fetch fetches the head of a piece, unless the worker's last product did.
func (f *fast) fetch(worker int, head []byte) {
	if f.fetched[worker].first != unsafe.SliceData(head) {
		prefetch.Lines(head)
	}
}

// next is the weights that a worker will multiply after those before a piece, when it has to multiply
// all up to hi: they follow, or are those that it will claim, or of the loop after this.
func (f *fast) next(worker, piece, hi int) []byte {
	if piece == hi {
		piece = f.pool.Next(worker, hi)
	}
	i := f.productOf(piece)
	if i == len(f.products) {
		return f.pool.upcoming.Load().share(worker, f.pool.Threads())
	}
	p := &f.products[i]
	return p.weights[p.row(piece)*p.rowBytes:]
}

// tileRows is the number of weight rows that gemm computes side by side.
const tileRows = 16

// mostTiles is the most that a thread claims at a time.
const mostTiles = 32

// streamBytes are claimed at a time when weights are streamed: little, so that
// threads end at the same time, but enough to be worth a call.
const streamBytes = 64 << 10

// tilesAtOnce is how many tiles a thread claims of a product, in a loop over so many. With few
// columns weights are streamed; with many, panels of four tiles stay in the cache.
func (f *fast) tilesAtOnce(p *product, tiles int) int {
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
