package hsaco

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// unpack reads a MessagePack document as nil, bool, uint64, int64 (negative
// numbers only), string, []any and map[string]any. The document comes from a
// file that may be hostile: depth and number of values are bounded, and no
// length is believed before the bytes are there. Source: the MessagePack
// specification. Floats, binary and extension types do not occur in metadata.
func unpack(data []byte) (any, error) {
	u := &unpacker{data: data, left: maxValues}
	v := u.value(0)
	if u.err == nil && len(u.data) > 3 {
		u.err = fmt.Errorf("%d bytes after its end", len(u.data))
	}
	return v, u.err
}

const (
	maxDepth  = 16
	maxValues = 1 << 20
)

var errShort = errors.New("ends early")

type unpacker struct {
	data []byte
	left int
	err  error
}

func (u *unpacker) take(n uint64) []byte {
	if u.err == nil && n > uint64(len(u.data)) {
		u.err = errShort
	}
	if u.err != nil {
		return nil
	}
	b := u.data[:n]
	u.data = u.data[n:]
	return b
}

func (u *unpacker) uint(size uint64) uint64 {
	b := u.take(size)
	if b == nil {
		return 0
	}
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.BigEndian.Uint16(b))
	case 4:
		return uint64(binary.BigEndian.Uint32(b))
	}
	return binary.BigEndian.Uint64(b)
}

func (u *unpacker) value(depth int) any {
	u.left--
	if u.err == nil && (depth > maxDepth || u.left < 0) {
		u.err = errors.New("too deep or too many values")
	}
	t := u.uint(1)
	if u.err != nil {
		return nil
	}
	switch {
	case t < 0x80:
		return t
	case t < 0x90:
		return u.object(t&15, depth)
	case t < 0xa0:
		return u.array(t&15, depth)
	case t < 0xc0:
		return string(u.take(t & 31))
	case t >= 0xe0:
		return int64(int8(t))
	}
	switch t {
	case 0xc0:
		return nil
	case 0xc2, 0xc3:
		return t == 0xc3
	case 0xcc, 0xcd, 0xce, 0xcf:
		return u.uint(1 << (t - 0xcc))
	case 0xd0, 0xd1, 0xd2, 0xd3:
		size := uint64(1) << (t - 0xd0)
		shift := 64 - 8*size
		n := int64(u.uint(size)<<shift) >> shift
		if n >= 0 {
			return uint64(n)
		}
		return n
	case 0xd9, 0xda, 0xdb:
		return string(u.take(u.uint(1 << (t - 0xd9))))
	case 0xdc, 0xdd:
		return u.array(u.uint(2<<(t-0xdc)), depth)
	case 0xde, 0xdf:
		return u.object(u.uint(2<<(t-0xde)), depth)
	}
	u.err = fmt.Errorf("type 0x%x is not supported", t)
	return nil
}

func (u *unpacker) array(n uint64, depth int) any {
	a := []any{}
	for ; n > 0 && u.err == nil; n-- {
		a = append(a, u.value(depth+1))
	}
	return a
}

func (u *unpacker) object(n uint64, depth int) any {
	m := map[string]any{}
	for ; n > 0 && u.err == nil; n-- {
		k, ok := u.value(depth + 1).(string)
		if !ok && u.err == nil {
			u.err = errors.New("a key is not text")
		}
		m[k] = u.value(depth + 1)
	}
	return m
}
