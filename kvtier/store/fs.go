package store

import (
	"io"
	"io/fs"

	"gorun/internal/pageio"
)

// FS is the file system as the store uses it. Paths are below the directory of
// the store, and errors say which. Tests put themselves between: they replay crashes and inject
// errors.
type FS interface {
	// Lock takes the lock of the directory, making both if they are not there
	// and it is not shared. A shared lock is for looking.
	Lock(shared bool) (io.Closer, error)
	// Mkdir makes a directory for the owner alone; one that is there is fine.
	Mkdir(path string) error
	// Open opens a file for reading and writing, or for reading alone. No
	// link is followed.
	Open(path string, flag OpenFlag) (File, error)
	ReadDir(path string) ([]fs.DirEntry, error)
	Rename(from, to string) error
	Remove(path string) error
	// SyncDir makes names in a directory durable.
	SyncDir(path string) error
}

// OpenFlag says how a file is opened.
type OpenFlag int

// The ways to open a file.
const (
	ReadOnly OpenFlag = iota
	ReadWrite
	Create // if it is not there
)

// File is an open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes what was written durable, with the size.
	Sync() error
	Size() (int64, error)
	Truncate(size int64) error
	// Punch gives the space of a range back to the disk; it reads as zeros.
	Punch(off, n int64) error
	// Allocated is the bytes that the file takes on the disk.
	Allocated() (int64, error)
}

// BatchFile is a File whose reads may begin together.
type BatchFile interface {
	File
	// Batch adds a read to others, as pageio.Batches.Add does.
	Batch(t *pageio.Batches, b []byte, off int64, done func(n int, err error)) bool
}
