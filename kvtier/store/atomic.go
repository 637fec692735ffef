package store

import (
	"errors"
	"fmt"
	"path"
)

// writeFile publishes a small file: it is there whole, or not at all. The
// content ends in its checksum.
func writeFile(fs FS, name string, content []byte) error {
	tmp := name + ".tmp"
	f, err := fs.Open(tmp, Create)
	if err != nil {
		return err
	}
	b := le.AppendUint32(append([]byte(nil), content...), sum(content))
	_, err = f.WriteAt(b, 0)
	err = errors.Join(err, f.Truncate(int64(len(b))))
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = fs.Rename(tmp, name)
	}
	if err == nil {
		err = fs.SyncDir(path.Dir(name))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, errors.Join(err, ignoreMissing(fs.Remove(tmp))))
	}
	return nil
}

// mostFile is the largest such file.
const mostFile = 256 << 20

// readFile reads a file that writeFile wrote.
func readFile(fs FS, name string) ([]byte, error) {
	f, err := fs.Open(name, ReadOnly)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size < 4 || size > mostFile {
		return nil, fmt.Errorf("%s: %w: it has %d bytes", name, ErrDamaged, size)
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	content := b[:size-4]
	if sum(content) != le.Uint32(b[size-4:]) {
		return nil, fmt.Errorf("%s: %w: its checksum is wrong", name, ErrDamaged)
	}
	return content, nil
}
