package quantize

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"gorun/gguf"
	"gorun/tensor"
)

// chunkElements is about how many elements are converted at a time.
const chunkElements = 1 << 16

// chunk is some rows of a tensor on their way from one type to another. It is
// used again when its bytes have been written.
type chunk struct {
	source  io.ReaderAt
	from    gguf.Tensor
	to      tensor.Type
	row     int64 // the first
	rows    int64
	raw     []byte
	values  []float32
	encoded []byte
	done    chan error // one for each conversion
}

// pool is the goroutines that convert, and the chunks that they work on: two
// for each, so that one is converted while another is written.
type pool struct {
	chunks  []*chunk
	work    chan *chunk
	workers sync.WaitGroup
}

func newPool(threads int) *pool {
	threads = max(threads, 1)
	p := &pool{work: make(chan *chunk, 2*threads)}
	for range 2 * threads {
		p.chunks = append(p.chunks, &chunk{done: make(chan error, 1)})
	}
	for range threads {
		p.workers.Go(func() {
			for c := range p.work {
				c.done <- c.convert()
			}
		})
	}
	return p
}

// close waits until all chunks given out are converted, and ends the
// goroutines.
func (p *pool) close() {
	close(p.work)
	p.workers.Wait()
}

// convert reads the rows, turns them into float32 and then into the new type.
func (c *chunk) convert() error {
	n := c.rows * c.from.Dims[0]
	c.raw = resize(c.raw, c.rows*c.from.RowBytes())
	c.values = resize(c.values, n)
	size, err := c.to.RowSize(n)
	if err != nil {
		return err
	}
	c.encoded = resize(c.encoded, size)
	if n, err := c.source.ReadAt(c.raw, c.row*c.from.RowBytes()); n < len(c.raw) {
		return fmt.Errorf("its data end too early: %w", err)
	}
	tensor.Dequantize(c.from.Type, c.values, c.raw)
	if err := tensor.CheckValues(c.to, c.values); err != nil {
		return c.locate(err)
	}
	return tensor.Quantize(c.to, c.encoded, c.values)
}

// locate says in which row and column of the tensor a value is.
func (c *chunk) locate(err error) error {
	var bad *tensor.ValueError
	if !errors.As(err, &bad) {
		return err
	}
	at, columns := int64(bad.Index), c.from.Dims[0]
	return &ValueError{Row: c.row + at/columns, Column: at % columns, Err: bad}
}

// A ValueError is an element of the model that a type cannot hold.
type ValueError struct {
	Row, Column int64
	Err         *tensor.ValueError
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("the element in row %d, column %d %s", e.Row, e.Column, e.Err.Reason())
}

// Unwrap returns the error of package tensor.
func (e *ValueError) Unwrap() error { return e.Err }

// resize returns a slice of that length, the given one if it is large enough.
func resize[T any](s []T, n int64) []T {
	if int64(cap(s)) < n {
		return make([]T, n)
	}
	return s[:n]
}

// converter reads a tensor that is being converted. It keeps all chunks of the
// pool busy and gives their bytes in order. After an error the pool is of no
// further use.
type converter struct {
	ctx     context.Context
	step    Step
	source  io.ReaderAt
	pool    *pool
	advance func(n int64)

	perChunk int64    // rows
	next     int64    // first row that no chunk has yet
	used     int      // chunks given out so far
	busy     []*chunk // given out and not yet written, in order
	left     []byte   // of the chunk that is being written, busy[0]
	err      error
}

func newConverter(ctx context.Context, s Step, source io.ReaderAt, p *pool, advance func(n int64)) *converter {
	return &converter{
		ctx: ctx, step: s, source: source, pool: p, advance: advance,
		perChunk: max(chunkElements/s.Source.Dims[0], 1),
	}
}

// Read gives bytes of the converted tensor.
func (c *converter) Read(b []byte) (int, error) {
	if c.err == nil && len(c.left) == 0 {
		c.err = c.advanceChunk()
	}
	if c.err != nil {
		return 0, c.err
	}
	n := copy(b, c.left)
	c.left = c.left[n:]
	return n, nil
}

// advanceChunk makes the next chunk the one that is being written.
func (c *converter) advanceChunk() error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if c.left != nil { // the first has been written
		c.advance(c.busy[0].rows * c.step.Source.RowBytes())
		c.busy = c.busy[1:]
		c.left = nil
	}
	c.giveOut()
	if len(c.busy) == 0 {
		return io.EOF
	}
	if err := <-c.busy[0].done; err != nil {
		return err
	}
	c.left = c.busy[0].encoded
	return nil
}

// giveOut lets all free chunks be converted. They are used in turn, so the
// oldest is the one that gets free.
func (c *converter) giveOut() {
	for c.next < c.step.Source.Rows() && len(c.busy) < len(c.pool.chunks) {
		k := c.pool.chunks[c.used%len(c.pool.chunks)]
		k.source, k.from, k.to, k.row = c.source, c.step.Source, c.step.Type, c.next
		k.rows = min(c.perChunk, c.step.Source.Rows()-c.next)
		c.busy = append(c.busy, k)
		c.used++
		c.next += k.rows
		c.pool.work <- k
	}
}
