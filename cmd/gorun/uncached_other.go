//go:build !linux

package main

import "os"

// openUncached opens a file; reading around the page cache is a matter of
// Linux so far.
func openUncached(path string) (f *os.File, direct bool, err error) {
	f, err = os.Open(path)
	return f, false, err
}
