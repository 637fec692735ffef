package gguf

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

// output writes one file. Its buffer keeps the first error and returns it when
// flushed, so only errors from elsewhere are looked at before.
type output struct {
	w    *bufio.Writer
	pos  int64    // bytes written so far, holes included
	file *os.File // what w writes to, if that is a file and can have holes
}

func newOutput(w io.Writer) *output {
	return &output{w: bufio.NewWriterSize(w, chunk)}
}

// Write appends p to the file.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	o.pos += int64(n)
	return n, err
}

func (o *output) u32(x uint32) { o.Write(binary.LittleEndian.AppendUint32(nil, x)) }
func (o *output) u64(x uint64) { o.Write(binary.LittleEndian.AppendUint64(nil, x)) }

func (o *output) text(s string) {
	o.u64(uint64(len(s)))
	io.WriteString(o, s)
}

// model writes a whole file.
func (o *output) model(m *Metadata, tensors []source) error {
	alignTo := int64(defaultAlignment)
	if v, ok := m.Get(keyAlignment); ok {
		alignTo, _ = alignment(v) // Writer.Set has checked it
	}
	if err := o.header(m, tensors, alignTo); err != nil {
		return err
	}
	for _, t := range tensors {
		if err := o.pad(alignTo); err != nil {
			return err
		}
		if err := o.tensor(t); err != nil {
			return fmt.Errorf("%s: %w", subject("tensor", t.Name), err)
		}
	}
	// The end of the last tensor is padded too, as ggml does.
	if err := o.pad(alignTo); err != nil {
		return err
	}
	return o.finish()
}

// header writes everything before the data section.
func (o *output) header(m *Metadata, tensors []source, alignTo int64) error {
	io.WriteString(o, magic)
	o.u32(latestVersion)
	o.u64(uint64(len(tensors)))
	o.u64(uint64(m.Len()))
	for key, v := range m.All() {
		o.text(key)
		o.u32(uint32(v.typ))
		if err := v.writeTo(o); err != nil {
			return fmt.Errorf("%s: %w", subject("key", key), err)
		}
	}
	offset := int64(0)
	for _, t := range tensors {
		o.text(t.Name)
		o.u32(uint32(len(t.Dims)))
		for _, d := range t.Dims {
			o.u64(uint64(d))
		}
		o.u32(uint32(t.Type))
		o.u64(uint64(offset))
		offset = alignUp(offset+t.Size, alignTo)
	}
	return nil
}

// tensor writes the data of a tensor.
func (o *output) tensor(t source) error {
	if t.data == nil {
		return o.zeros(t.Size)
	}
	e := &exactly{w: o, left: t.Size}
	if _, err := io.Copy(e, t.data); err != nil {
		return err
	}
	if e.left > 0 {
		return fmt.Errorf("its data end after %d of %d bytes", t.Size-e.left, t.Size)
	}
	return nil
}

// exactly passes on a given number of bytes and fails when given more.
type exactly struct {
	w    io.Writer
	left int64
}

func (e *exactly) Write(p []byte) (int, error) {
	if int64(len(p)) > e.left {
		return 0, fmt.Errorf("its data are at least %d bytes too long", int64(len(p))-e.left)
	}
	n, err := e.w.Write(p)
	e.left -= int64(n)
	return n, err
}

// pad writes zeros up to the next multiple of alignTo.
func (o *output) pad(alignTo int64) error { return o.zeros(alignUp(o.pos, alignTo) - o.pos) }

// zeros appends n zero bytes, as a hole if that is possible and worth it.
func (o *output) zeros(n int64) error {
	if o.file == nil || n < chunk {
		_, err := io.CopyN(o, zeroReader{}, n)
		return err
	}
	if err := o.w.Flush(); err != nil {
		return err
	}
	o.pos += n
	_, err := o.file.Seek(o.pos, io.SeekStart)
	return err
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// finish writes out what is buffered and gives a file that ends in a hole its
// length.
func (o *output) finish() error {
	if err := o.w.Flush(); err != nil {
		return err
	}
	if o.file == nil {
		return nil
	}
	return o.file.Truncate(o.pos)
}
