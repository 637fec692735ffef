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
