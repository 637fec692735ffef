//go:build !race

package arena

import (
	"fmt"
	"runtime"

	"github.com/edsrzf/mmap-go"
)

func allocate(size int) (*Arena, error) {
	prot := mmap.RDWR
	if runtime.GOOS == "linux" {
		prot = mmap.COPY // private: Linux has no large pages for shared memory unless told so
	}
	m, err := mmap.MapRegion(nil, size, prot, mmap.ANON, 0)
	if err != nil {
		return nil, fmt.Errorf("arena: allocate %d bytes: %w", size, err)
	}
	return &Arena{bytes: m, free: m.Unmap}, nil
}
