package policy

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
)

// Reader reads a trace.
type Reader struct {
	in     io.Reader
	header Header
	at     int64 // bytes read
}

// NewReader reads the header of a trace. in should be buffered.
func NewReader(in io.Reader) (*Reader, error) {
	r := &Reader{in: in}
	m := make([]byte, len(magic))
	if _, err := io.ReadFull(in, m); err != nil || string(m) != magic {
		return nil, fmt.Errorf("trace: this is no trace of gorun: it begins with %q, not with %q", m, magic)
	}
	r.at = int64(len(m))
	text, err := r.block()
	if err != nil {
		return nil, fmt.Errorf("trace: the header: %w", noEOF(err))
	}
	if err := json.Unmarshal(text, &r.header); err != nil {
		return nil, fmt.Errorf("trace: the header: %w", err)
	}
	if len(r.header.Pools) > mostPools {
		return nil, fmt.Errorf("trace: the header: %d pools are more than %d", len(r.header.Pools), mostPools)
	}
	return r, nil
}

// Header says what the trace is of.
func (r *Reader) Header() Header { return r.header }

// Events are the events that follow, once. A trace that was cut off gives what
// is whole, then io.ErrUnexpectedEOF.
func (r *Reader) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			begin := r.at
			b, err := r.block()
			if err == io.EOF {
				return
			}
			var c coder
			for err == nil && len(b) > 0 {
				var e Event
				if e, b, err = c.take(b); err != nil {
					break
				}
				if int(e.Pool) >= len(r.header.Pools) {
					err = fmt.Errorf("trace: an event of pool %d, the header names %d", e.Pool, len(r.header.Pools))
					break
				}
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(Event{}, fmt.Errorf("trace: the block at %d: %w", begin, err))
				return
			}
		}
	}
}

// block reads a block. io.EOF means that there is none.
func (r *Reader) block() ([]byte, error) {
	var head [blockHeader]byte
	n, err := io.ReadFull(r.in, head[:])
	r.at += int64(n)
	if err != nil {
		return nil, err
	}
	size, sum := binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint32(head[4:])
	if size > mostBytes {
		return nil, fmt.Errorf("%d bytes are more than the %d that a block may have", size, mostBytes)
	}
	b := make([]byte, size)
	n, err = io.ReadFull(r.in, b)
	r.at += int64(n)
	if err != nil {
		return nil, noEOF(err)
	}
	if got := crc32.Checksum(b, castagnoli); got != sum {
		return nil, fmt.Errorf("its checksum is %08x, not %08x", got, sum)
	}
	return b, nil
}

// noEOF makes an end in the middle an unexpected one.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Refs are the uses of pages of a pool among events.
func Refs(events iter.Seq2[Event, error], pool int) ([]Ref, error) {
	var refs []Ref
	for e, err := range events {
		if err != nil {
			return refs, err
		}
		if int(e.Pool) == pool && (e.Kind == Hit || e.Kind == Miss) {
			refs = append(refs, Ref{Page(e.Page), e.Cause == Scan})
		}
	}
	return refs, nil
}
