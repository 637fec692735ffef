package gguf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// chunk is how much of a header is read at a time.
const chunk = 64 << 10

// scanner walks over the header of a file, or over the elements of one array.
//
// Before bytes are consumed they are claimed, and claim is the one place where
// a length found in the file is compared with the bytes that are left. What
// has been claimed and not yet consumed is known to be header, so it is also
// how far the scanner may read ahead: it never touches tensor data, although
// it learns only at the end of the tensor table where the header ends.
type scanner struct {
	r       io.ReaderAt
	file    string // for errors; empty when the caller adds the context
	pos     int64  // next byte to consume
	end     int64  // where the bytes end
	claimed int64  // bytes from pos on that are known to be header

	window    []byte // bytes read ahead
	windowPos int64  // where window begins

	kind, name string // what is being read, for errors
}

func newScanner(file string, r io.ReaderAt, pos, end int64) *scanner {
	window := make([]byte, 0, min(chunk, max(0, end-pos)))
	return &scanner{r: r, file: file, pos: pos, end: end, window: window}
}

// about sets what the following errors are about: a key or a tensor by name.
func (s *scanner) about(kind, name string) { s.kind, s.name = kind, name }

// errorf returns a FormatError for the bytes at offset.
func (s *scanner) errorf(offset int64, format string, args ...any) error {
	e := &FormatError{File: s.file, Offset: offset, Problem: fmt.Sprintf(format, args...)}
	if s.kind != "" {
		e.Subject = subject(s.kind, s.name)
	}
	return e
}

// claim asserts that n items of at least size bytes each are still to come,
// beside everything claimed before. what and offset say where n comes from.
func (s *scanner) claim(what string, offset int64, n, size uint64) error {
	free := uint64(min(s.end-s.pos-s.claimed, math.MaxInt)) // MaxInt matters on 32-bit machines
	if n <= free/size {
		s.claimed += int64(n * size)
		return nil
	}
	each := ""
	if size > 1 {
		each = fmt.Sprintf(" of at least %d bytes each", size)
	}
	return s.errorf(offset, "%s %d%s does not fit into the %d bytes that are left for it", what, n, each, free)
}

// next consumes n claimed bytes. They are valid until the next call; n is at
// most 8 or the length of a chunk, whichever the file allows.
func (s *scanner) next(n int) ([]byte, error) {
	from := s.pos - s.windowPos
	if from < 0 || from+int64(n) > int64(len(s.window)) {
		ahead := s.window[:min(s.claimed, int64(cap(s.window)))]
		if read, err := s.r.ReadAt(ahead, s.pos); read < len(ahead) {
			s.window = s.window[:0]
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("gguf: %s: reading %d bytes at offset %d: %w", s.file, len(ahead), s.pos, err)
		}
		s.window, s.windowPos, from = ahead, s.pos, 0
	}
	s.skip(int64(n))
	return s.window[from : from+int64(n)], nil
}

// skip consumes n claimed bytes without looking at them.
func (s *scanner) skip(n int64) {
	s.pos += n
	s.claimed -= n
}

func (s *scanner) u32() (uint32, error) {
	b, err := s.next(4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (s *scanner) u64() (uint64, error) {
	b, err := s.next(8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// text consumes n claimed bytes as a string.
func (s *scanner) text(n int64) (string, error) {
	if n <= int64(cap(s.window)) {
		b, err := s.next(int(n))
		return string(b), err
	}
	var b strings.Builder
	b.Grow(int(n))
	for n > 0 {
		piece, err := s.next(int(min(n, int64(cap(s.window)))))
		if err != nil {
			return "", err
		}
		b.Write(piece)
		n -= int64(len(piece))
	}
	return b.String(), nil
}

// identifier consumes the name of a key or tensor, whose 8 length bytes have
// been claimed, and checks it.
func (s *scanner) identifier(kind string) (string, error) {
	s.about("", "")
	at := s.pos
	n, err := s.u64()
	if err != nil {
		return "", err
	}
	if err := s.claim(kind+" length", at, n, 1); err != nil {
		return "", err
	}
	if n > maxName {
		return "", s.errorf(at, "%s length %d is more than %d", kind, n, maxName)
	}
	name, err := s.text(int64(n))
	if err != nil {
		return "", err
	}
	if problem := badName(name); problem != "" {
		return "", s.errorf(at, "%s %s", kind, problem)
	}
	return name, nil
}
