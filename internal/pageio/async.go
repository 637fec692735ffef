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

// Batches is reads of one goroutine that begin together, and that it waits for.
type Batches struct {
	queue *uring.Queue // nil: this system has none
	next  []uring.Read
}

// NewBatches is for any number of files.
func NewBatches() *Batches {
	t := &Batches{}
	if queue, err := uring.NewQueue(); err == nil {
		t.queue = queue
	}
	return t
}

// Add adds a read of b at off to those that Start begins. It returns false if the file has
// none of this kind: ReadAt then reads. done is called once with the bytes read, by Start, Poll or Wait;
// unless they are all of b, ReadAt tells what is wrong.
func (t *Batches) Add(a *Async, b []byte, off int64, done func(n int, err error)) bool {
	if t.queue == nil || a.ring == nil || off < 0 || len(b) == 0 {
		return false
	}
	t.next = append(t.next, uring.Read{FD: a.fd, Memory: b, Off: off, Done: done})
	return true
}

// Start begins what was added.
func (t *Batches) Start() {
	if len(t.next) > 0 {
		t.queue.Start(t.next)
		clear(t.next)
		t.next = t.next[:0]
	}
}

// Poll tells of reads that have ended.
func (t *Batches) Poll() {
	if t.queue != nil {
		t.queue.Poll()
	}
}

// Wait is Poll once a read has ended. One is under way.
func (t *Batches) Wait() { t.queue.Wait() }

// Close implements io.Closer. No read may be under way.
func (t *Batches) Close() error {
	if t.queue == nil {
		return nil
	}
	return t.queue.Close()
}
