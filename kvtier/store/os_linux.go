package store

import (
	"errors"

	"golang.org/x/sys/unix"
)

const directFlag = unix.O_DIRECT

func (f *osFile) Sync() error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (f *osFile) Punch(off, n int64) error {
	err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil // the space is used again, but not given back
	}
	return err
}
