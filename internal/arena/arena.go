// Package arena hands out large, zeroed, page-aligned memory outside the Go
// heap, so that gigabytes of weights, KV pages and activations neither count
// as garbage-collected memory nor are scanned. The operating system commits
// the pages when they are first touched.
//
// The race detector cannot see such memory. Under the race build tag it comes
// from the Go heap instead, so that -race means something.
package arena

import "fmt"

// Arena is one allocation. The zero value is empty.
type Arena struct {
	bytes []byte
	free  func() error
}

// New allocates size bytes.
func New(size int64) (*Arena, error) {
	if size < 0 || int64(int(size)) != size {
		return nil, fmt.Errorf("arena: cannot allocate %d bytes", size)
	}
	if size == 0 {
		return &Arena{}, nil
	}
	return allocate(int(size))
}

// Bytes is the memory. It must not be used after Free.
func (a *Arena) Bytes() []byte { return a.bytes }

// Free gives the memory back. A second call does nothing.
func (a *Arena) Free() error {
	free := a.free
	a.bytes, a.free = nil, nil
	if free == nil {
		return nil
	}
	return free()
}
