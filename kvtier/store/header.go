package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"

	"gorun/internal/prefetch"
)

// Key names a prefix of tokens in a namespace and layout.
type Key [32]byte

// Next is the key of the block after the one with key k.
func (k Key) Next(tokens []int32) Key {
	return keyOf("block", k, tokens)
}

// snapshotKey is the key of a snapshot with that tail behind the block k.
func snapshotKey(k Key, tail []int32) Key {
	return keyOf("state", k, tail)
}

func keyOf(kind string, before Key, tokens []int32) Key {
	var most [1 << 10]byte // of most blocks, which need no memory then
	b := most[:0]
	return sha256.Sum256(appendTokens(append(append(b, kind...), before[:]...), tokens))
}

func appendTokens(b []byte, tokens []int32) []byte {
	for _, t := range tokens {
		b = le.AppendUint32(b, uint32(t))
	}
	return b
}

var (
	le         = binary.LittleEndian
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// sum is the checksum of b. What was read is in no cache of the core, and a core fetches no
// further than to the end of a page of 4 KiB by itself: asked for what comes after, it is
// twice as fast.
func sum(b []byte) (s uint32) {
	const step, ahead = 4 << 10, 8 << 10
	prefetch.Lines(b[:min(ahead, len(b))])
	for len(b) > 0 {
		n := min(step, len(b))
		prefetch.Lines(b[min(ahead, len(b)):min(ahead+step, len(b))])
		s = crc32.Update(s, castagnoli, b[:n])
		b = b[n:]
	}
	return s
}

// header describes a record; doc.go has its form.
type header struct {
	kind        kind
	seq         uint64 // order of writing
	pos         int64  // tokens before
	used        int64  // bytes of data
	key, parent Key
	tokens      []int32
	sums        []uint32
}

// kind is what a table holds.
type kind uint16

const (
	blocks kind = 1
	states kind = 2
)

const (
	headerMagic = "gKV1"
	headerFixed = 104
	sector      = 512
)

// headerBytes is the size of headers with up to so many tokens and pieces.
func headerBytes(tokens, pieces int) int64 {
	return (headerFixed + 4*int64(tokens) + 4*int64(pieces) + 4 + sector - 1) / sector * sector
}

// encode writes the header to size bytes.
func (h *header) encode(size int64) []byte {
	b := append(make([]byte, 0, size), headerMagic...)
	b = le.AppendUint16(b, uint16(h.kind))
	b = le.AppendUint16(b, 0)
	b = le.AppendUint64(b, h.seq)
	b = le.AppendUint64(b, uint64(h.pos))
	b = le.AppendUint64(b, uint64(h.used))
	b = append(append(b, h.key[:]...), h.parent[:]...)
	b = le.AppendUint32(b, uint32(len(h.tokens)))
	b = le.AppendUint32(b, uint32(len(h.sums)))
	b = appendTokens(b, h.tokens)
	for _, s := range h.sums {
		b = le.AppendUint32(b, s)
	}
	b = le.AppendUint32(b, sum(b))
	return b[:size]
}

// errHeader means that a header is damaged.
var errHeader = errors.New("the header is damaged")

// decode reads the header of a slot of a table; ok is false for a free slot.
// Every length is checked before it is used.
func (h *header) decode(b []byte, k kind, mostTokens, mostPieces int, mostBytes int64) (ok bool, err error) {
	if len(bytes.TrimLeft(b, "\x00")) == 0 {
		return false, nil
	}
	if string(b[:4]) != headerMagic || le.Uint16(b[4:]) != uint16(k) {
		return false, errHeader
	}
	tokens, pieces := le.Uint32(b[96:]), le.Uint32(b[100:])
	if int64(tokens) > int64(mostTokens) || int64(pieces) > int64(mostPieces) {
		return false, errHeader
	}
	end := headerFixed + 4*int(tokens) + 4*int(pieces)
	if end+4 > len(b) || sum(b[:end]) != le.Uint32(b[end:]) {
		return false, errHeader
	}
	*h = header{kind: k, seq: le.Uint64(b[8:]), pos: int64(le.Uint64(b[16:])), used: int64(le.Uint64(b[24:]))}
	copy(h.key[:], b[32:])
	copy(h.parent[:], b[64:])
	h.tokens, h.sums = make([]int32, tokens), make([]uint32, pieces)
	for i := range h.tokens {
		h.tokens[i] = int32(le.Uint32(b[headerFixed+4*i:]))
	}
	for i := range h.sums {
		h.sums[i] = le.Uint32(b[headerFixed+4*int(tokens)+4*i:])
	}
	if h.pos < 0 || h.used < 0 || h.used > mostBytes {
		return false, errHeader
	}
	return true, nil
}
