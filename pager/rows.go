package pager

import (
	"context"
	"errors"
	"fmt"

	"gorun/compute"
	"gorun/internal/pageio"
)

// rowReader reads single rows of tables, side by side into one buffer: a token
// needs one row of an embedding of hundreds of megabytes.
type rowReader struct {
	p      *Paged
	rows   []byte // on the host
	buffer compute.Buffer
	memory chan []byte // where reads go; all are here when none is under way
	free   func() error
	at     map[int32]int32
	from   []int32
}

func newRowReader(p *Paged) (*rowReader, error) {
	l := p.config.Layout
	n, room := l.lookedUpBytes(), pageio.Room(l.RowBytes)
	mem, free, err := pageio.NewMemory(pageio.Depth*room + n)
	if err != nil {
		return nil, fmt.Errorf("rows: %w", err)
	}
	r := &rowReader{p: p, rows: mem[pageio.Depth*room:], memory: make(chan []byte, pageio.Depth), free: free, at: map[int32]int32{}}
	for i := range int64(pageio.Depth) {
		r.memory <- mem[i*room:][:room]
	}
	if mapper, ok := p.dev.(compute.HostMapper); ok {
		r.buffer = mapper.MapHost(r.rows)
		return r, nil
	}
	if r.buffer, err = p.dev.NewBuffer(n); err != nil {
		return nil, errors.Join(fmt.Errorf("rows: %w", err), free())
	}
	return r, nil
}

// bytes is the memory of the reader.
func (r *rowReader) bytes() int64 {
	n := int64(len(r.rows)) + pageio.Depth*pageio.Room(r.p.config.Layout.RowBytes)
	if r.p.config.Layout.Staged {
		n += r.buffer.Bytes()
	}
	return n
}

func (r *rowReader) close() error { return errors.Join(r.buffer.Free(), r.free()) }

// Rows implements Residency.
func (p *Paged) Rows(ctx context.Context, m *Matrix, rows []int32) (compute.Page, []int32, error) {
	r := p.rows
	clear(r.at)
	r.from = r.from[:0]
	var distinct []int32
	for _, row := range rows {
		i, seen := r.at[row]
		if !seen {
			i = int32(len(distinct))
			r.at[row] = i
			distinct = append(distinct, row)
		}
		r.from = append(r.from, i)
	}
	if len(distinct) > p.config.Layout.Lookups {
		return compute.Page{}, nil, fmt.Errorf("%d rows of %s at once, planned were %d", len(distinct), m.Name, p.config.Layout.Lookups)
	}
	if err := r.read(ctx, m, distinct); err != nil {
		return compute.Page{}, nil, err
	}
	span := compute.Span{Buf: r.buffer, N: int64(len(distinct)) * m.rowBytes()}
	if p.config.Layout.Staged {
		p.config.Stream.Write(span, r.rows[:span.N])
	}
	p.mu.Lock()
	p.stats.Rows += int64(len(distinct))
	p.stats.RowBytes += span.N
	p.mu.Unlock()
	return compute.Page{Data: span, Type: m.Type, Rows: len(distinct), Cols: m.Cols}, r.from, nil
}

// read reads rows to the begin of r.rows. Reads that are under way when ctx is
// cancelled end later; the next call waits for them.
func (r *rowReader) read(ctx context.Context, m *Matrix, rows []int32) error {
	if err := r.settle(ctx); err != nil {
		return err
	}
	errs := make(chan error, len(rows))
	for i, row := range rows {
		select {
		case mem := <-r.memory:
			r.begin(ctx, m, row, r.rows[int64(i)*m.rowBytes():][:m.rowBytes()], mem, errs)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	var first error
	for range rows {
		select {
		case err := <-errs:
			if first == nil {
				first = err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return first
}

// settle waits until no read is under way.
func (r *rowReader) settle(ctx context.Context) error {
	var all [pageio.Depth][]byte
	for i := range all {
		select {
		case all[i] = <-r.memory:
		case <-ctx.Done():
			for _, mem := range all[:i] {
				r.memory <- mem
			}
			return ctx.Err()
		}
	}
	for _, mem := range all {
		r.memory <- mem
	}
	return nil
}

// begin reads a row by way of mem to dst.
func (r *rowReader) begin(ctx context.Context, m *Matrix, row int32, dst, mem []byte, errs chan<- error) {
	file, off := r.p.files[m.whole.Part], m.whole.Offset+int64(row)*m.rowBytes()
	r.p.queue.Read(ctx, pageio.Request{
		File: file, Off: off, N: m.rowBytes(), Mem: mem, Urgent: true,
		Done: func(b []byte, err error) {
			if err == nil {
				err = r.p.config.Checksums.verifyRow(m, row, b)
			}
			if err == nil {
				copy(dst, b)
			} else {
				err = fmt.Errorf("read row %d of tensor %q at offset %d of %s: %w", row, m.Name, off, file.Path(), err)
			}
			r.memory <- mem
			errs <- err
		},
	})
}
