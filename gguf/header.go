package gguf

import (
	"encoding/binary"
	"fmt"
	"io"

	"gorun/tensor"
)

// header is what one file holds before its data section.
type header struct {
	part     Part
	metadata *Metadata
	tensors  []Tensor
	index    nameIndex // of tensors
}

const (
	magic         = "GGUF"
	latestVersion = 3

	// The least bytes of an entry: two counts and a type; two lengths, a type
	// and an offset.
	leastPair   = 8 + 4
	leastTensor = 8 + 4 + 4 + 8
)

// readHeader reads the header of one file.
func readHeader(name string, r io.ReaderAt, size int64) (*header, error) {
	s := newScanner(name, r, 0, size)
	h := &header{part: Part{ReaderAt: r, Path: name, Size: size}}
	tensors, keys, err := s.prologue(&h.part)
	if err != nil {
		return nil, err
	}
	if err := s.metadata(h, keys); err != nil {
		return nil, err
	}
	entries, err := s.tensorTable(h, tensors)
	if err != nil {
		return nil, err
	}
	h.part.DataOffset = min(alignUp(s.pos, h.part.Alignment), size)
	return h, s.place(h, entries)
}

// prologue reads the fixed fields at the start: magic, version and the number
// of tensors and of keys.
func (s *scanner) prologue(p *Part) (tensors, keys uint64, err error) {
	if s.end < 24 {
		return 0, 0, s.errorf(s.end, "the file ends after %d bytes; a GGUF file has at least 24", s.end)
	}
	if err := s.claim("header length", 0, 24, 1); err != nil {
		return 0, 0, err
	}
	if err := s.magic(); err != nil {
		return 0, 0, err
	}
	if p.Version, err = s.version(); err != nil {
		return 0, 0, err
	}
	if tensors, err = s.count("tensor count", leastTensor, maxTensors); err != nil {
		return 0, 0, err
	}
	keys, err = s.count("metadata key count", leastPair, maxKeys)
	return tensors, keys, err
}

func (s *scanner) magic() error {
	b, err := s.next(len(magic))
	if err != nil {
		return err
	}
	switch string(b) {
	case magic:
		return nil
	case "FUGG":
		return s.errorf(0, "the magic number is %q: this is a big-endian GGUF file, which is not supported", b)
	}
	return s.errorf(0, "the magic number is %q, not %q: this is not a GGUF file", b, magic)
}

func (s *scanner) version() (uint32, error) {
	at := s.pos
	v, err := s.u32()
	if err != nil {
		return 0, err
	}
	swapped := binary.BigEndian.Uint32(binary.LittleEndian.AppendUint32(nil, v))
	switch {
	case v == 2 || v == latestVersion:
		return v, nil
	case v == 1:
		return 0, s.errorf(at, "GGUF version 1 is not supported; convert the file to version 3")
	case swapped >= 1 && swapped <= latestVersion:
		return 0, s.errorf(at, "version %#x is %d in big-endian order: big-endian GGUF files are not supported", v, swapped)
	}
	return 0, s.errorf(at, "GGUF version %d is not supported; versions 2 and 3 are", v)
}

// count reads how many entries of at least size bytes a table has and claims
// them.
func (s *scanner) count(what string, size, most uint64) (uint64, error) {
	at := s.pos
	n, err := s.u64()
	if err != nil {
		return 0, err
	}
	if err := s.claim(what, at, n, size); err != nil {
		return 0, err
	}
	if n > most {
		return 0, s.errorf(at, "%s %d is more than %d", what, n, most)
	}
	return n, nil
}

// metadata reads n key/value pairs, and from them the alignment of the data
// section.
func (s *scanner) metadata(h *header, n uint64) error {
	h.metadata = newMetadata(int(n))
	h.part.Alignment = defaultAlignment
	for range n {
		at := s.pos
		key, err := s.identifier("key")
		if err != nil {
			return err
		}
		s.about("key", key)
		if _, ok := h.metadata.Get(key); ok {
			return s.errorf(at, "the key occurs twice")
		}
		at = s.pos
		t, err := s.valueType("value type")
		if err != nil {
			return err
		}
		if err := s.claim("value length", at, valueTypes[t].size, 1); err != nil {
			return err
		}
		v, err := s.value(t, 0)
		if err != nil {
			return err
		}
		h.metadata.Set(key, v)
		if key == keyAlignment {
			if h.part.Alignment, err = alignment(v); err != nil {
				return s.errorf(at, "%v", err)
			}
		}
	}
	return nil
}

// alignment returns the value of general.alignment if it is acceptable.
func alignment(v Value) (int64, error) {
	n, err := v.Uint()
	if err != nil {
		return 0, err
	}
	if n < minAlignment || n > maxAlignment || n&(n-1) != 0 {
		return 0, fmt.Errorf("alignment %d is not a power of two from %d to %d", n, minAlignment, maxAlignment)
	}
	return int64(n), nil
}

// entry is what the tensor table says about the place of a tensor.
type entry struct {
	line   int64  // where the line of the tensor begins in the file
	offset uint64 // of the data in the data section
}

// at is where in the file the offset is given.
func (e entry) at(t *Tensor) int64 {
	return e.line + leastTensor - 8 + int64(len(t.Name)) + 8*int64(len(t.Dims))
}

// tensorTable reads n lines of the tensor table. The tensors are complete but
// for their places, which follow from the entries that it returns.
func (s *scanner) tensorTable(h *header, n uint64) ([]entry, error) {
	h.tensors = make([]Tensor, n)
	entries := make([]entry, n)
	dims := make([]int64, n*maxDims)
	for i := range h.tensors {
		t := &h.tensors[i]
		entries[i].line = s.pos
		var err error
		if t.Name, err = s.identifier("tensor name"); err != nil {
			return nil, err
		}
		s.about("tensor", t.Name)
		if t.Dims, err = s.dims(dims[i*maxDims:][:0:maxDims]); err != nil {
			return nil, err
		}
		if err := s.tensorType(t); err != nil {
			return nil, err
		}
		if entries[i].offset, err = s.u64(); err != nil {
			return nil, err
		}
	}
	h.index = indexNames(h.tensors)
	if _, second, ok := h.index.duplicate(h.tensors); ok {
		s.about("tensor", h.tensors[second].Name)
		return nil, s.errorf(entries[second].line, "the tensor occurs twice")
	}
	return entries, nil
}

// dims reads the dimensions of a tensor and appends them to dims.
func (s *scanner) dims(dims []int64) ([]int64, error) {
	at := s.pos
	n, err := s.u32()
	if err != nil {
		return nil, err
	}
	if n == 0 || n > maxDims {
		return nil, s.errorf(at, "%d dimensions; a tensor has 1 to %d", n, maxDims)
	}
	if err := s.claim("dimension count", at, uint64(n), 8); err != nil {
		return nil, err
	}
	at = s.pos
	for range n {
		d, err := s.u64()
		if err != nil {
			return nil, err
		}
		// What does not fit becomes negative and is refused below.
		dims = append(dims, int64(d))
	}
	if err := checkDims(dims); err != nil {
		return nil, s.errorf(at, "%v", err)
	}
	return dims, nil
}

// tensorType reads the element type of a tensor and, if it is known, works out
// the size of the data.
func (s *scanner) tensorType(t *Tensor) error {
	at := s.pos
	u, err := s.u32()
	if err != nil {
		return err
	}
	t.Type = tensor.Type(u)
	if !t.Type.Known() {
		return nil
	}
	if t.Size, err = t.dataSize(); err != nil {
		return s.errorf(at, "%v", err)
	}
	return nil
}
