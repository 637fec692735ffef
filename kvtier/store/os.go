package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"unsafe"

	"gorun/internal/pageio"
)

// osFS is the real file system below a directory.
type osFS struct{ dir string }

// Dir is the file system below a directory of the operating system.
func Dir(path string) FS { return osFS{filepath.Clean(path)} }

func (o osFS) path(path string) string { return filepath.Join(o.dir, filepath.FromSlash(path)) }

// Mkdir also refuses what is there and is not a private directory.
func (o osFS) Mkdir(path string) error { return makePrivate(o.path(path)) }

// makePrivate makes a directory, or checks the one that is there.
func makePrivate(path string) error {
	if err := os.Mkdir(path, 0o700); err == nil || !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link: the KV store follows none; name the directory itself", path)
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", path)
	}
	return checkOwner(path, info)
}

func (o osFS) Open(path string, flag OpenFlag) (File, error) {
	name := o.path(path)
	mode := map[OpenFlag]int{ReadOnly: os.O_RDONLY, ReadWrite: os.O_RDWR, Create: os.O_RDWR | os.O_CREATE}[flag]
	f, err := os.OpenFile(name, mode|noFollow, 0o600)
	if err != nil {
		if isLink(err) {
			err = fmt.Errorf("%s is a symbolic link: the KV store follows none", name)
		}
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err == nil {
		err = checkOwner(name, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	file := &osFile{File: f}
	if direct, err := os.OpenFile(name, mode&^os.O_CREATE|noFollow|directFlag, 0); err == nil && directFlag != 0 {
		file.direct = pageio.NewAsync(direct)
	} else if err == nil {
		direct.Close()
	}
	return file, nil
}

func (o osFS) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(o.path(path)) }
func (o osFS) Rename(from, to string) error               { return os.Rename(o.path(from), o.path(to)) }
func (o osFS) Remove(path string) error                   { return os.Remove(o.path(path)) }

func (o osFS) SyncDir(path string) error {
	d, err := os.Open(o.path(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// osFile goes around the page cache where offset, length and memory allow it.
type osFile struct {
	*os.File
	direct  *pageio.Async // nil: the file system refused
	refused atomic.Bool
}

// warned keeps the line about slow files from being told twice.
var warned atomic.Bool

// around reports whether an access can go around the page cache.
func (f *osFile) around(b []byte, off int64) bool {
	return f.direct != nil && !f.refused.Load() && len(b) > 0 && off%pageio.Block == 0 && len(b)%pageio.Block == 0 &&
		uintptr(unsafe.Pointer(unsafe.SliceData(b)))%pageio.Block == 0
}

func (f *osFile) refuse(err error) bool {
	if !errors.Is(err, syscall.EINVAL) {
		return false
	}
	f.refused.Store(true)
	if warned.CompareAndSwap(false, true) {
		slog.Warn("the file system of the KV store has no access around the page cache: it will be used through it", "file", f.Name())
	}
	return true
}

func (f *osFile) ReadAt(b []byte, off int64) (int, error) {
	if f.around(b, off) {
		if n, err := f.direct.ReadAt(b, off); err == nil || !f.refuse(err) {
			return n, err
		}
	}
	return f.File.ReadAt(b, off)
}

// Batch implements BatchFile.
func (f *osFile) Batch(t *pageio.Batches, b []byte, off int64, done func(n int, err error)) bool {
	return f.around(b, off) && t.Add(f.direct, b, off, done)
}

func (f *osFile) WriteAt(b []byte, off int64) (int, error) {
	if f.around(b, off) {
		if n, err := f.direct.WriteAt(b, off); err == nil || !f.refuse(err) {
			return n, err
		}
	}
	return f.File.WriteAt(b, off)
}

func (f *osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f *osFile) Close() error {
	err := f.File.Close()
	if f.direct != nil {
		err = errors.Join(err, f.direct.Close())
	}
	return err
}
