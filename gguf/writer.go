package gguf

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Writer builds a GGUF file, version 3: metadata are set and tensors added
// first, then one of its methods writes everything. The same calls give the
// same bytes.
//
// Errors of Set and AddTensor are kept and returned when writing.
type Writer struct {
	metadata Metadata
	tensors  []source
	names    map[string]struct{}
	err      error
}

// source is a tensor to be written and where its data come from.
type source struct {
	Tensor
	data io.Reader // nil for a hole
}

// NewWriter returns a Writer for an empty file.
func NewWriter() *Writer { return &Writer{names: make(map[string]struct{})} }

// fail keeps the first error.
func (w *Writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("gguf: "+format, args...)
	}
}

// Set gives a metadata key a value. A key that is set again keeps its place.
// The key general.alignment, if set, is obeyed.
func (w *Writer) Set(key string, v Value) {
	if problem := badName(key); problem != "" {
		w.fail("key %s", problem)
		return
	}
	if key == keyAlignment {
		if _, err := alignment(v); err != nil {
			w.fail("%s: %w", subject("key", key), err)
			return
		}
	}
	w.metadata.Set(key, v)
}

// CopyMetadata sets all pairs of m but those that tie a split set together.
// Arrays are read from the file of m when they are written.
func (w *Writer) CopyMetadata(m *Metadata) {
	for key, v := range m.All() {
		if !strings.HasPrefix(key, "split.") {
			w.Set(key, v)
		}
	}
}

// AddTensor adds a tensor with the Name, Type and Dims of t; its Part and
// Offset do not matter. Size may be 0 unless the type is not known. data gives
// the Size bytes when the tensor is written, once; if it is nil they are
// zeros, left as a hole where the file is written by path.
func (w *Writer) AddTensor(t Tensor, data io.Reader) {
	t.Dims = slices.Clone(t.Dims)
	if problem := badName(t.Name); problem != "" {
		w.fail("tensor name %s", problem)
		return
	}
	if _, ok := w.names[t.Name]; ok {
		w.fail("%s is added twice", subject("tensor", t.Name))
		return
	}
	w.names[t.Name] = struct{}{}
	size, err := t.checkedSize()
	if err != nil {
		w.fail("%s: %w", subject("tensor", t.Name), err)
		return
	}
	t.Size = size
	w.tensors = append(w.tensors, source{t, data})
}

// checkedSize checks what a caller says about a tensor and returns the number
// of bytes of its data.
func (t Tensor) checkedSize() (int64, error) {
	if len(t.Dims) == 0 || len(t.Dims) > maxDims {
		return 0, fmt.Errorf("%d dimensions; a tensor has 1 to %d", len(t.Dims), maxDims)
	}
	if err := checkDims(t.Dims); err != nil {
		return 0, err
	}
	if !t.Type.Known() {
		if t.Size <= 0 {
			return 0, fmt.Errorf("%v is not a known type, so the size must be given, and it is %d", t.Type, t.Size)
		}
		return t.Size, nil
	}
	size, err := t.dataSize()
	if err != nil {
		return 0, err
	}
	if t.Size != 0 && t.Size != size {
		return 0, fmt.Errorf("size is given as %d, but %v of %v take %d bytes", t.Size, t.Dims, t.Type, size)
	}
	return size, nil
}

// WriteTo writes the file to out and returns the number of bytes written.
// Holes are written as zeros.
func (w *Writer) WriteTo(out io.Writer) (int64, error) {
	if w.err != nil {
		return 0, w.err
	}
	o := newOutput(out)
	if err := o.model(&w.metadata, w.tensors); err != nil {
		return o.pos, fmt.Errorf("gguf: %w", err)
	}
	return o.pos, nil
}
