package gguf

import (
	"encoding/binary"
	"io"
)

// encodedSize is the number of bytes that the value takes in a file, without
// its type.
func (v Value) encodedSize() int64 {
	least := int64(valueTypes[v.typ].size)
	switch v.typ {
	case TypeString:
		return least + int64(len(v.text))
	case TypeArray:
		return least + v.size
	}
	return least
}

// writeTo writes the value without its type.
func (v Value) writeTo(w io.Writer) error {
	var head []byte
	switch v.typ {
	case TypeString:
		head = binary.LittleEndian.AppendUint64(nil, uint64(len(v.text)))
		if _, err := w.Write(head); err != nil {
			return err
		}
		_, err := io.WriteString(w, v.text)
		return err
	case TypeArray:
		head = binary.LittleEndian.AppendUint32(nil, uint32(v.elem))
		head = binary.LittleEndian.AppendUint64(head, uint64(v.n))
		if _, err := w.Write(head); err != nil {
			return err
		}
		_, err := io.CopyN(w, io.NewSectionReader(v.r, v.off, v.size), v.size)
		return err
	}
	head = binary.LittleEndian.AppendUint64(nil, v.bits)
	_, err := w.Write(head[:valueTypes[v.typ].size])
	return err
}
