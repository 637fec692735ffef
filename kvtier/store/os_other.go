//go:build !unix

package store

import (
	"errors"
	"io"
	"io/fs"
)

const (
	noFollow   = 0
	directFlag = 0
)

func isLink(error) bool { return false }

func checkOwner(string, fs.FileInfo) error { return nil }

// Lock: without locks and owners of files there is no store.
func (o osFS) Lock(bool) (io.Closer, error) {
	return nil, errors.New("the KV store needs Linux, macOS or another Unix so far")
}

// Punch: here space is used again, but not given back.
func (f *osFile) Punch(int64, int64) error { return nil }

func (f *osFile) Allocated() (int64, error) { return f.Size() }
