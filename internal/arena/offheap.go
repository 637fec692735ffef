//go:build !race

package arena

import (
	"fmt"

	"github.com/edsrzf/mmap-go"
)

func allocate(size int) (*Arena, error) {
	m, err := mmap.MapRegion(nil, size, mmap.RDWR, mmap.ANON, 0)
	if err != nil {
		return nil, fmt.Errorf("arena: allocate %d bytes: %w", size, err)
	}
	return &Arena{bytes: m, free: m.Unmap}, nil
}
