package gguf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// keyAlignment is the key for the alignment of the data section.
const keyAlignment = "general.alignment"

// File is a model in one GGUF file, or in a split set that acts as one. It may
// be used by several goroutines at once.
type File struct {
	metadata *Metadata
	tensors  []Tensor
	index    nameIndex // of tensors
	parts    []Part
	closers  []io.Closer
}

// Part is one file of a model.
type Part struct {
	// ReaderAt reads the file; it is an *os.File if the file was opened by
	// Open. It is closed by File.Close.
	io.ReaderAt
	Path       string // path, or the name given to Read
	Size       int64  // of the file
	Version    uint32 // of the format
	Alignment  int64  // of the data section
	DataOffset int64  // where the data section begins
}

// Open opens the model at path. If that is a member of a split set
// (NAME-00001-of-0000N.gguf), whichever, all members are opened; an error
// names the one that is missing.
func Open(path string) (*File, error) {
	f := &File{}
	if err := f.open(path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *File) open(path string) error {
	first, err := f.openHeader(path)
	if err != nil {
		return err
	}
	set, err := setOf(path, first)
	if err != nil {
		return err
	}
	if set == nil {
		f.adopt(first)
		return nil
	}
	return f.openSet(set, first)
}

// openHeader opens one file, which Close then closes, and reads its header.
func (f *File) openHeader(path string) (*header, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("gguf: %w", err)
	}
	f.closers = append(f.closers, file)
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("gguf: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("gguf: %s is not a regular file", path)
	}
	return readHeader(path, file, info.Size())
}

// Read reads a model of size bytes from r, which must stay readable while the
// File is in use; name is for errors. A member of a split set is refused:
// alone it is no model.
func Read(name string, r io.ReaderAt, size int64) (*File, error) {
	h, err := readHeader(name, r, size)
	if err != nil {
		return nil, err
	}
	split, err := splitOf(h)
	if err != nil {
		return nil, err
	}
	if split.count > 1 {
		return nil, fmt.Errorf("gguf: %s is part %d of the %d of a split set; open the set by the path of a member", name, split.no+1, split.count)
	}
	f := &File{}
	f.adopt(h)
	return f, nil
}

// adopt makes h all of the model.
func (f *File) adopt(h *header) {
	f.metadata, f.tensors, f.index, f.parts = h.metadata, h.tensors, h.index, []Part{h.part}
}

// Close closes the files that Open opened.
func (f *File) Close() error {
	var errs []error
	for _, c := range f.closers {
		errs = append(errs, c.Close())
	}
	f.closers = nil
	return errors.Join(errs...)
}

// Metadata returns the metadata of the model: those of the first part. They
// are shared and must not be changed.
func (f *File) Metadata() *Metadata { return f.metadata }

// Tensors returns the tensors of all parts in the order of the tensor tables.
func (f *File) Tensors() []Tensor { return slices.Clone(f.tensors) }

// Tensor returns the tensor of that name.
func (f *File) Tensor(name string) (Tensor, bool) {
	i, ok := f.index.find(f.tensors, name)
	if !ok {
		return Tensor{}, false
	}
	return f.tensors[i], true
}

// Parts returns the files of the model in order: one, or all of a split set.
func (f *File) Parts() []Part { return slices.Clone(f.parts) }

// Section returns the bytes of a tensor of this file.
func (f *File) Section(t Tensor) *io.SectionReader {
	return io.NewSectionReader(f.parts[t.Part], t.Offset, t.Size)
}

// Version is the version of the format of the first part.
func (f *File) Version() uint32 { return f.parts[0].Version }

// Alignment is the alignment of tensor data in the first part. Parts of a
// split set may differ in it.
func (f *File) Alignment() int64 { return f.parts[0].Alignment }
