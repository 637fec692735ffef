//go:build !linux

package uring

// Ring is not there on this system.
type Ring struct{}

// Shared returns ErrUnsupported.
func Shared() (*Ring, error) { return nil, ErrUnsupported }

// Release does nothing.
func (*Ring) Release() error { return nil }

// ReadAt returns ErrUnsupported.
func (*Ring) ReadAt(fd int, b []byte, off int64) (int, error) { return 0, ErrUnsupported }

// Queue is not there on this system.
type Queue struct{}

// NewQueue returns ErrUnsupported.
func NewQueue() (*Queue, error) { return nil, ErrUnsupported }

// Start is never called: there is no queue.
func (*Queue) Start([]Read) {}

// Poll is never called.
func (*Queue) Poll() {}

// Wait is never called.
func (*Queue) Wait() {}

// Close does nothing.
func (*Queue) Close() error { return nil }
