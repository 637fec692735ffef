package gguf

import (
	"encoding/binary"
	"io"
)

// writeTo writes the value without its type.
func (v Value) writeTo(w io.Writer) error {
	switch v.typ {
	case TypeString:
		head := binary.LittleEndian.AppendUint64(nil, uint64(len(v.text)))
		if _, err := w.Write(head); err != nil {
			return err
		}
		_, err := io.WriteString(w, v.text)
		return err
	case TypeArray:
		head := binary.LittleEndian.AppendUint32(nil, uint32(v.elem))
		head = binary.LittleEndian.AppendUint64(head, uint64(v.n))
		if _, err := w.Write(head); err != nil {
			return err
		}
		_, err := io.CopyN(w, io.NewSectionReader(v.r, v.off, v.size), v.size)
		return err
	}
	scalar := binary.LittleEndian.AppendUint64(nil, v.bits)
	_, err := w.Write(scalar[:valueTypes[v.typ].size])
	return err
}
