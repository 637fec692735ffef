//go:build race

package arena

import "fmt"

// mostHeap is beyond any test; make panics on sizes that no address space has.
const mostHeap = 1 << 36

func allocate(size int) (*Arena, error) {
	if size > mostHeap {
		return nil, fmt.Errorf("arena: allocate %d bytes: race builds allocate at most %d", size, mostHeap)
	}
	return &Arena{bytes: make([]byte, size)}, nil
}
