// Package pageio reads pages of files: large aligned pieces, several at a time,
// around the page cache where the file system allows it.
//
// A page may begin and end anywhere. Reads around the cache (O_DIRECT) must
// begin and end on blocks, in memory that begins on one, so a page is read
// with what surrounds it on its first and last block, and found somewhere
// inside:
//
//	file    ──┬──────────┬──────────┬──────────┬───────┐ end of file
//	          block      block      block      block   tail
//	page            [·················]
//	memory    [ head │ page            │ rest ]         Room(n) bytes
//
// The tail of a file that is no whole block is read through the cache: asking
// for more than a file has is an error on some devices. Where the file system
// refuses reads around the cache, all are made through it, and what was read
// is dropped from it afterwards, so that a model does not push everything
// else out of memory. The bytes are the same either way.
package pageio

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"gorun/internal/arena"
)

// Block is what reads around the cache are aligned to: at least the logical
// block of any disk in use.
const Block = 4096

// Room is the memory that reading a page of n bytes takes.
func Room(n int64) int64 { return (n+Block-1)/Block*Block + Block }

// largePage is what large pages of memory are aligned to.
const largePage = 2 << 20

// NewMemory allocates n bytes that begin on a block; of a large page, if they are
// as many. A read into large pages hands the disk a few pieces instead of one for
// every 4 KiB: in a virtual machine it is then several times as fast.
func NewMemory(n int64) (mem []byte, free func() error, err error) {
	unit := int64(Block)
	if n >= largePage {
		unit = largePage
	}
	a, err := arena.New((n+unit-1)/unit*unit + unit)
	if err != nil {
		return nil, nil, err
	}
	b := a.Bytes()
	adviseHuge(b)
	skip := -int64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (unit - 1)
	return b[skip : skip+n : skip+n], a.Free, nil
}

// Handle is a file as the operating system opens it. *os.File is one; tests
// put themselves between (see package faulty).
type Handle interface {
	io.ReaderAt
	io.Closer
	Stat() (fs.FileInfo, error)
}

// Options say how a file is opened. The zero value is a good default.
type Options struct {
	// Buffered reads through the page cache from the start.
	Buffered bool
	// Watch makes every read an error once the file is not what it was when
	// it was opened: truncated, rewritten, or replaced under its name.
	Watch bool
	// Wrap, if not nil, stands between the handles and who uses them.
	Wrap func(Handle) Handle
}

// File is an open file whose pages are read. It may be used by several
// goroutines.
type File struct {
	path     string
	buffered Handle
	direct   Handle // nil: the file system refused when it was opened
	refused  atomic.Bool
	watch    bool
	opened   identity
}

// identity is what tells whether a file is still the same.
type identity struct {
	info fs.FileInfo
	size int64
	time time.Time
}

// Open opens a file for reading.
func Open(path string, o Options) (*File, error) {
	b, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	f := &File{path: path, buffered: wrap(o, b), watch: o.Watch}
	info, err := f.buffered.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is not a regular file", path), f.Close())
	}
	f.opened = identity{info, info.Size(), info.ModTime()}
	if o.Buffered {
		return f, nil
	}
	d, err := openDirect(path)
	switch {
	case errors.Is(err, errNoDirect):
	case err != nil:
		return nil, errors.Join(err, f.Close())
	default:
		f.direct = wrap(o, d)
	}
	return f, nil
}

// From makes a File of something that is not a file of the operating system:
// a model in memory.
func From(name string, r io.ReaderAt, size int64, o Options) *File {
	return &File{path: name, buffered: wrap(o, memory{r, size}), opened: identity{size: size}}
}

type memory struct {
	io.ReaderAt
	size int64
}

func (memory) Close() error                 { return nil }
func (m memory) Stat() (fs.FileInfo, error) { return memoryInfo{size: m.size}, nil }

type memoryInfo struct {
	fs.FileInfo
	size int64
}

func (m memoryInfo) Size() int64 { return m.size }

func wrap(o Options, h Handle) Handle {
	if o.Wrap == nil {
		return h
	}
	return o.Wrap(h)
}

// errNoDirect means that a file system has no reads around the cache.
var errNoDirect = errors.New("no reads around the page cache")

// Path is the path that the file was opened by.
func (f *File) Path() string { return f.path }

// Size is the size that the file had when it was opened.
func (f *File) Size() int64 { return f.opened.size }

// Direct reports whether reads go around the page cache, as far as is known
// by now.
func (f *File) Direct() bool { return f.direct != nil && !f.refused.Load() }

// Close closes the file. No read may be under way.
func (f *File) Close() error {
	err := f.buffered.Close()
	if f.direct != nil {
		err = errors.Join(err, f.direct.Close())
	}
	return err
}

// Same is ErrChanged if the file is not the one that other, of size bytes, is a
// handle of.
func (f *File) Same(other Handle, size int64) error {
	info, err := other.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(info, f.opened.info) || f.opened.size != size {
		return fmt.Errorf("%w: %s", ErrChanged, f.path)
	}
	return nil
}

// ErrChanged is returned when a file that is watched is not what it was.
var ErrChanged = errors.New("the file has changed since it was opened")

// Check is ErrChanged if the file is not what it was when it was opened.
func (f *File) Check() error {
	info, err := f.buffered.Stat()
	switch {
	case err != nil:
		return err
	case info.Size() != f.opened.size:
		return fmt.Errorf("%w: %s had %d bytes and has %d", ErrChanged, f.path, f.opened.size, info.Size())
	case !info.ModTime().Equal(f.opened.time):
		return fmt.Errorf("%w: %s was written to", ErrChanged, f.path)
	}
	now, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s was deleted or renamed", ErrChanged, f.path)
	case err != nil:
		return err
	case !os.SameFile(now, f.opened.info):
		return fmt.Errorf("%w: %s was replaced by another file", ErrChanged, f.path)
	}
	return nil
}

// ReadPage reads n bytes from off on. The page that it returns lies somewhere
// in mem, which begins on a block and has Room(n) bytes; the rest of mem may be
// overwritten. An error means that the page is not to be used.
func (f *File) ReadPage(mem []byte, off, n int64) ([]byte, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	info, err := f.buffered.Stat()
	if err != nil {
		return nil, err
	}
	if off < 0 || n < 0 || off+n > info.Size() {
		return nil, fmt.Errorf("%w: %s ends at %d", io.ErrUnexpectedEOF, f.path, info.Size())
	}
	if int64(len(mem)) < Room(n) {
		return nil, fmt.Errorf("pageio: %d bytes of memory for a page of %d", len(mem), n)
	}
	head := off % Block
	page := mem[head : head+n]
	if err := f.read(mem, page, off, info.Size()); err != nil {
		return nil, err
	}
	// Whoever changed the file while it was read has left a trace by now.
	if err := f.check(); err != nil {
		return nil, err
	}
	return page, nil
}

func (f *File) check() error {
	if !f.watch {
		return nil
	}
	return f.Check()
}

// read fills page, at off of a file of size bytes, which begins within the
// first block of mem.
func (f *File) read(mem, page []byte, off, size int64) error {
	end := off + int64(len(page))
	if f.Direct() {
		from, to := off/Block*Block, min((end+Block-1)/Block*Block, size/Block*Block)
		if from < to {
			err := readFull(f.direct, mem[:to-from], from, Block)
			if errors.Is(err, syscall.EINVAL) {
				f.refused.Store(true) // some refuse only now
				return f.through(page, off)
			}
			if err != nil {
				return err
			}
		}
		off = min(max(off, to), end)
	}
	return f.through(page[int64(len(page))-(end-off):], off)
}

// through reads through the page cache.
func (f *File) through(b []byte, off int64) error {
	if len(b) == 0 {
		return nil
	}
	if err := readFull(f.buffered, b, off, 1); err != nil {
		return err
	}
	dropCache(f.buffered, off, int64(len(b)))
	return nil
}

// mostReads is how many pieces a page may come in. Disks give it in one; a
// network file system, or a signal, may cut it.
const mostReads = 16

// readFull reads all of b, in pieces that begin on multiples of unit.
func readFull(r io.ReaderAt, b []byte, off, unit int64) error {
	var done int64
	for range mostReads {
		n, err := r.ReadAt(b[done:], off+done)
		if int64(n) == int64(len(b))-done {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n == 0 {
			break
		}
		done = (done + int64(n)) / unit * unit
	}
	return fmt.Errorf("%w: a short read, %d of %d bytes", io.ErrUnexpectedEOF, done, len(b))
}
