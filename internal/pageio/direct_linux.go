package pageio

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openDirect opens a file whose reads go around the page cache.
func openDirect(path string) (Handle, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECT, 0)
	if errors.Is(err, unix.EINVAL) {
		return nil, errNoDirect
	}
	if err != nil {
		return nil, err
	}
	return NewAsync(f), nil
}

// dropCache tells the system that what was read is not needed again.
func dropCache(h Handle, off, n int64) {
	if f, ok := h.(*os.File); ok {
		_ = unix.Fadvise(int(f.Fd()), off, n, unix.FADV_DONTNEED) // advice
	}
}

// adviseHuge asks for large pages of memory.
func adviseHuge(b []byte) {
	if len(b) >= 2<<20 {
		_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // advice
	}
}
