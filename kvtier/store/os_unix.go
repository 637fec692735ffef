//go:build unix

package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const noFollow = unix.O_NOFOLLOW

// isLink reports whether opening failed because of noFollow.
func isLink(err error) bool { return errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EMLINK) }

// checkOwner refuses what others own or can look into.
func checkOwner(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s: its owner is not known", path)
	}
	if uid := os.Geteuid(); int(stat.Uid) != uid {
		return fmt.Errorf("%s belongs to user %d, and gorun runs as %d: the KV store needs a directory of its own", path, stat.Uid, uid)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s can be accessed by others (mode %04o): chmod go= %s", path, info.Mode().Perm(), path)
	}
	return nil
}

// Lock implements FS with flock, which ends with the process.
func (o osFS) Lock(shared bool) (io.Closer, error) {
	mode, how := os.O_RDWR|os.O_CREATE, unix.LOCK_EX
	if shared {
		mode, how = os.O_RDONLY, unix.LOCK_SH
		if _, err := os.Stat(o.dir); err != nil {
			return nil, err
		}
	}
	if !shared {
		if err := os.MkdirAll(parentOf(o.dir), 0o700); err != nil {
			return nil, err
		}
	}
	if err := makePrivate(o.dir); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(o.path("lock"), mode|noFollow, 0o600)
	if err != nil {
		if isLink(err) {
			err = fmt.Errorf("%s is a symbolic link: the KV store follows none", o.path("lock"))
		}
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); err != nil {
		holder := make([]byte, 32)
		n, _ := f.ReadAt(holder, 0)
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: %s is in use by process %s; give each its own directory", ErrLocked, o.dir, strings.TrimSpace(string(holder[:n])))
		}
		return nil, fmt.Errorf("lock of %s: %w", o.dir, err)
	}
	if !shared { // who holds it, for the other's message
		pid := fmt.Appendln(nil, os.Getpid())
		_, err := f.WriteAt(pid, 0) // first, since a full disk has no room for what it gave up
		if err := errors.Join(err, f.Truncate(int64(len(pid)))); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

func (f *osFile) Allocated() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512, nil
	}
	return info.Size(), nil
}
