package pageio

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openDirect opens a file whose reads leave nothing in the page cache.
func openDirect(path string) (Handle, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_NOCACHE, 1); err != nil {
		return nil, errors.Join(errNoDirect, f.Close())
	}
	return f, nil
}

// dropCache: this system takes no such advice.
func dropCache(Handle, int64, int64) {}

// adviseHuge: this system takes no such advice.
func adviseHuge([]byte) {}
