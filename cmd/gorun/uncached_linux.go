package main

import (
	"errors"
	"os"
	"syscall"
)

// openUncached opens a file to be read around the page cache where the file
// system can do that.
func openUncached(path string) (f *os.File, direct bool, err error) {
	f, err = os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECT, 0)
	if errors.Is(err, syscall.EINVAL) {
		f, err = os.Open(path)
		return f, false, err
	}
	return f, err == nil, err
}
