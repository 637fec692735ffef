package pager

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"

	"gorun/gguf"
)

// Checksums are those of the pages of a model, and of the rows of tables that
// rows are looked up in. They are kept in a file beside the model:
//
//	"gorSUM01"
//	length u32, JSON     names and sizes of the model's files, number of pages
//	CRC-32C u32 ...      of each page, by PageID
//	CRC-32C u32 ...      of each row of each table, in the order of the catalog
//	CRC-32C u32          of all that is before
//
// Numbers are little-endian. How a model is cut into pages depends on nothing
// but the model.
type Checksums struct {
	path  string
	pages []uint32
	rows  map[*Matrix][]uint32
}

const checksumMagic = "gorSUM01"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrChecksum is returned for pages that do not have their checksum.
var ErrChecksum = errors.New("wrong checksum")

// ChecksumPath is where the checksums of a model are kept.
func ChecksumPath(f *gguf.File) string { return f.Parts()[0].Path + ".sums" }

// checksumHeader says what checksums are of.
type checksumHeader struct {
	Parts []checksumPart `json:"parts"`
	Pages int            `json:"pages"`
	Rows  int            `json:"rows"`
}

type checksumPart struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

func newChecksumHeader(f *gguf.File, c *Catalog) checksumHeader {
	h := checksumHeader{Pages: len(c.pages)}
	for _, part := range f.Parts() {
		h.Parts = append(h.Parts, checksumPart{filepath.Base(part.Path), part.Size})
	}
	for _, m := range c.matrices {
		if m.Table {
			h.Rows += m.Rows
		}
	}
	return h
}

// NewChecksums reads all pages of a catalog that has been planned. progress, if
// not nil, is told of the bytes read so far.
func NewChecksums(ctx context.Context, f *gguf.File, c *Catalog, progress func(done, total int64)) (*Checksums, error) {
	s := &Checksums{pages: make([]uint32, len(c.pages)), rows: map[*Matrix][]uint32{}}
	var b []byte
	var done int64
	for _, m := range c.matrices {
		for i := range m.Pages() {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			p := c.pages[m.Page(i)]
			part := f.Parts()[p.Part]
			b = slices.Grow(b[:0], int(p.Bytes))[:p.Bytes]
			if n, err := part.ReadAt(b, p.Offset); n < len(b) {
				return nil, fmt.Errorf("read tensor %q at %d of %s: %w", p.Tensor, p.Offset, part.Path, err)
			}
			s.pages[m.Page(i)] = crc32.Checksum(b, castagnoli)
			for rest := b; m.Table && len(rest) > 0; rest = rest[m.rowBytes():] {
				s.rows[m] = append(s.rows[m], crc32.Checksum(rest[:m.rowBytes()], castagnoli))
			}
			if done += p.Bytes; progress != nil {
				progress(done, c.bytes)
			}
		}
	}
	return s, nil
}

// WriteFile writes the checksums to path, or leaves what is there as it is.
func (s *Checksums) WriteFile(path string, f *gguf.File, c *Catalog) (err error) {
	header, err := json.Marshal(newChecksumHeader(f, c))
	if err != nil {
		return err
	}
	b := binary.LittleEndian.AppendUint32([]byte(checksumMagic), uint32(len(header)))
	b = append(b, header...)
	add := func(sums []uint32) {
		for _, sum := range sums {
			b = binary.LittleEndian.AppendUint32(b, sum)
		}
	}
	add(s.pages)
	for _, m := range c.matrices {
		add(s.rows[m])
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	out, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(out.Name()))
		}
	}()
	_, err = out.Write(b)
	if err := errors.Join(err, out.Chmod(0o644), out.Sync(), out.Close()); err != nil {
		return err
	}
	return os.Rename(out.Name(), path)
}

// mostChecksums bounds what a file of checksums may claim to hold.
const mostChecksums = 1 << 28

// ReadChecksums reads the checksums of a model whose catalog has been planned.
func ReadChecksums(path string, f *gguf.File, c *Catalog) (*Checksums, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("checksums: %w", err)
	}
	defer file.Close()
	want := newChecksumHeader(f, c)
	if want.Pages+want.Rows > mostChecksums {
		return nil, fmt.Errorf("checksums: a model of %d pages and %d rows", want.Pages, want.Rows)
	}
	s := &Checksums{path: path, rows: map[*Matrix][]uint32{}}
	// A file for this model has this size, give or take its header.
	b, err := io.ReadAll(io.LimitReader(file, int64(len(checksumMagic))+4*int64(want.Pages+want.Rows)+1<<20))
	if err != nil {
		return nil, fmt.Errorf("checksums: %w", err)
	}
	if err := s.parse(b, want, c); err != nil {
		return nil, fmt.Errorf("checksums %s: %w", path, err)
	}
	return s, nil
}

func (s *Checksums) parse(b []byte, want checksumHeader, c *Catalog) error {
	rest, ok := bytes.CutPrefix(b, []byte(checksumMagic))
	if !ok || len(rest) < 8 {
		return errors.New("this is no file of checksums")
	}
	body := b[:len(b)-4]
	if sum := binary.LittleEndian.Uint32(b[len(body):]); sum != crc32.Checksum(body, castagnoli) {
		return errors.New("the file is damaged: make it again with inspect --checksums")
	}
	rest = rest[:len(rest)-4]
	n := binary.LittleEndian.Uint32(rest)
	if rest = rest[4:]; int64(n) > int64(len(rest)) {
		return errors.New("the file is damaged: make it again with inspect --checksums")
	}
	var have checksumHeader
	if err := json.Unmarshal(rest[:n], &have); err != nil {
		return err
	}
	rest = rest[n:]
	if !slices.Equal(have.Parts, want.Parts) || have.Pages != want.Pages || have.Rows != want.Rows || len(rest) != 4*(want.Pages+want.Rows) {
		return fmt.Errorf("they are of another model, or were made by another version: %+v, not %+v", have, want)
	}
	take := func(n int) []uint32 {
		sums := make([]uint32, n)
		for i := range sums {
			sums[i] = binary.LittleEndian.Uint32(rest[4*i:])
		}
		rest = rest[4*n:]
		return sums
	}
	s.pages = take(want.Pages)
	for _, m := range c.matrices {
		if m.Table {
			s.rows[m] = take(m.Rows)
		}
	}
	return nil
}

// verify holds a page against its checksum. No checksums hold anything.
func (s *Checksums) verify(id PageID, b []byte) error {
	if s == nil {
		return nil
	}
	return s.compare(s.pages[id], b)
}

func (s *Checksums) verifyRow(m *Matrix, row int32, b []byte) error {
	if s == nil {
		return nil
	}
	return s.compare(s.rows[m][row], b)
}

func (s *Checksums) compare(want uint32, b []byte) error {
	if got := crc32.Checksum(b, castagnoli); got != want {
		return fmt.Errorf("%w: %08x, and %s says %08x: the model file is damaged, or is not the one that was checked", ErrChecksum, got, s.path, want)
	}
	return nil
}
