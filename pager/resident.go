package pager

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/edsrzf/mmap-go"

	"gorun/compute"
	"gorun/gguf"
)

// resident holds every page at a fixed place.
type resident struct {
	pages []compute.Page
	bytes int64
	close []func() error
}

func (r *resident) Acquire(ctx context.Context, id PageID) (compute.Page, error) {
	if err := ctx.Err(); err != nil {
		return compute.Page{}, err
	}
	return r.pages[id], nil
}

// Begin implements Residency.
func (r *resident) Begin(int, bool) {}

// Expect implements Residency: everything is here.
func (r *resident) Expect([]PageID) {}

// Rows implements Residency with the page that all rows are in.
func (r *resident) Rows(ctx context.Context, m *Matrix, rows []int32) (compute.Page, []int32, error) {
	page, err := r.Acquire(ctx, m.Page(0))
	return page, rows, err
}

// Held implements Residency.
func (r *resident) Held() int { return len(r.pages) }

func (r *resident) Bytes() int64 { return r.bytes }

func (r *resident) Close() error {
	var errs []error
	for i := len(r.close) - 1; i >= 0; i-- {
		errs = append(errs, r.close[i]())
	}
	r.close = nil
	return errors.Join(errs...)
}

// Map maps the files of a model into memory and uses the pages in place. The
// device must be a compute.HostMapper and the parts of the model files on
// disk; CanMap tells.
func Map(f *gguf.File, dev compute.Device, c *Catalog) (Residency, error) {
	if !CanMap(f, dev) {
		return nil, fmt.Errorf("the weights cannot be mapped: %s is not a file on disk, or device %s cannot use mapped files",
			f.Parts()[0].Path, dev.Name())
	}
	mapper := dev.(compute.HostMapper)
	r := &resident{}
	parts := make([]compute.Buffer, len(f.Parts()))
	for i, part := range f.Parts() {
		m, err := mmap.Map(part.ReaderAt.(*os.File), mmap.RDONLY, 0)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("map %s: %w", part.Path, err), r.Close())
		}
		r.close = append(r.close, m.Unmap)
		if int64(len(m)) < part.Size {
			return nil, errors.Join(fmt.Errorf("%s shrank from %d to %d bytes while it was opened", part.Path, part.Size, len(m)), r.Close())
		}
		parts[i] = mapper.MapHost(m)
	}
	r.place(c, func(p Page) compute.Span { return compute.Span{Buf: parts[p.Part], Off: p.Offset, N: p.Bytes} })
	return r, nil
}

// CanMap reports whether Map would work.
func CanMap(f *gguf.File, dev compute.Device) bool {
	_, ok := dev.(compute.HostMapper)
	for _, part := range f.Parts() {
		_, file := part.ReaderAt.(*os.File)
		ok = ok && file
	}
	return ok
}

// Load reads all pages into one buffer of the device. progress, if not nil,
// is told of the bytes read so far.
func Load(ctx context.Context, f *gguf.File, dev compute.Device, c *Catalog, progress func(done, total int64)) (Residency, error) {
	buf, err := dev.NewBuffer(LoadBytes(c))
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	r := &resident{bytes: buf.Bytes(), close: []func() error{buf.Free}}
	var off int64
	r.place(c, func(p Page) compute.Span {
		s := compute.Span{Buf: buf, Off: off, N: p.Bytes}
		off += aligned(p.Bytes)
		return s
	})
	if err := r.read(ctx, f, dev, c, progress); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// LoadBytes is the memory that Load takes for a catalog.
func LoadBytes(c *Catalog) int64 {
	var n int64
	for _, p := range c.pages {
		n += aligned(p.Bytes)
	}
	return n
}

// aligned rounds up to a cache line, so that pages begin on one.
func aligned(n int64) int64 { return (n + 63) &^ 63 }

func (r *resident) place(c *Catalog, where func(Page) compute.Span) {
	r.pages = make([]compute.Page, len(c.pages))
	for id, p := range c.pages {
		r.pages[id] = compute.Page{Data: where(p), Type: p.Type, First: p.First, Rows: p.Rows, Cols: p.Cols}
	}
}

func (r *resident) read(ctx context.Context, f *gguf.File, dev compute.Device, c *Catalog, progress func(done, total int64)) error {
	const chunk = 4 << 20
	stream, err := dev.NewStream(compute.Work{})
	if err != nil {
		return err
	}
	defer stream.Close()
	staging := make([]byte, chunk)
	var done int64
	for id, p := range c.pages {
		part := f.Parts()[p.Part]
		for off := int64(0); off < p.Bytes; off += chunk {
			if err := ctx.Err(); err != nil {
				return err
			}
			b := staging[:min(chunk, p.Bytes-off)]
			if n, err := part.ReadAt(b, p.Offset+off); n < len(b) {
				return fmt.Errorf("read tensor %q at %d of %s: %w", p.Tensor, p.Offset+off, part.Path, err)
			}
			stream.Write(r.pages[id].Data.At(off, int64(len(b))), b)
			done += int64(len(b))
			if progress != nil {
				progress(done, c.bytes)
			}
		}
		if err := stream.Sync(); err != nil {
			return err
		}
	}
	return nil
}
