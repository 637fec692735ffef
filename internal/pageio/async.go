package pageio

import (
	"errors"
	"os"

	"gorun/internal/uring"
)

// Async is a file that is read without a thread for each read, where the
// system can do that (see package uring), and else as files are.
type Async struct {
	*os.File
	fd   int
	ring *uring.Ring // or nil
}

// NewAsync takes an open file over.
func NewAsync(f *os.File) *Async {
	a := &Async{File: f}
	if ring, err := uring.Shared(); err == nil {
		a.ring, a.fd = ring, int(f.Fd())
	}
	return a
}

// ReadAt implements io.ReaderAt.
func (a *Async) ReadAt(b []byte, off int64) (int, error) {
	if a.ring != nil && off >= 0 { // -1 is where the file stands, to a ring
		if n, err := a.ring.ReadAt(a.fd, b, off); err == nil && n == len(b) {
			return n, nil
		}
	}
	return a.File.ReadAt(b, off) // which tells what is wrong
}

// Close implements io.Closer. No read may be under way.
func (a *Async) Close() error {
	err := a.File.Close()
	if a.ring != nil {
		err = errors.Join(err, a.ring.Release())
		a.ring = nil
	}
	return err
}

// Batch is reads that begin together.
type Batch struct {
	ring  *uring.Ring // the one of all files
	reads []uring.Read
}

// Add adds a read of b at off. It returns false if the file has none that nobody
// waits for: ReadAt then reads. done is called once, by a goroutine that must not be
// held up; ok is false unless all of b was read: ReadAt then tells what is wrong.
func (t *Batch) Add(a *Async, b []byte, off int64, done func(ok bool)) bool {
	if a.ring == nil || off < 0 || len(b) == 0 {
		return false
	}
	t.ring = a.ring
	t.reads = append(t.reads, uring.Read{FD: a.fd, Memory: b, Off: off, Done: func(n int, err error) { done(err == nil && n == len(b)) }})
	return true
}

// Start begins the reads.
func (t *Batch) Start() {
	if len(t.reads) > 0 {
		t.ring.Start(t.reads)
	}
}
