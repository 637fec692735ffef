package gguf

import (
	"bytes"
	"encoding/binary"
)

// builder puts the bytes of a file together, right or wrong.
type builder struct {
	b   []byte
	bad int // where the bytes begin that a reader should object to
}

// here marks the place of the next bytes as the one to object to.
func (b *builder) here() *builder { b.bad = len(b.b); return b }

func (b *builder) raw(p ...byte) *builder  { b.b = append(b.b, p...); return b }
func (b *builder) plain(s string) *builder { return b.raw([]byte(s)...) }
func (b *builder) zeros(n int) *builder    { return b.raw(make([]byte, n)...) }
func (b *builder) u32(x uint32) *builder   { b.b = binary.LittleEndian.AppendUint32(b.b, x); return b }
func (b *builder) u64(x uint64) *builder   { b.b = binary.LittleEndian.AppendUint64(b.b, x); return b }
func (b *builder) text(s string) *builder  { return b.u64(uint64(len(s))).plain(s) }

// start writes the fixed fields of a version 3 file.
func (b *builder) start(tensors, keys uint64) *builder {
	return b.plain("GGUF").u32(3).u64(tensors).u64(keys)
}

// key writes a key and the type of its value, which must follow.
func (b *builder) key(name string, t ValueType) *builder { return b.text(name).u32(uint32(t)) }

// array writes the head of an array value.
func (b *builder) array(elem ValueType, n uint64) *builder { return b.u32(uint32(elem)).u64(n) }

// tensor writes a line of the tensor table up to the offset, which must
// follow.
func (b *builder) tensor(name string, typ uint32, dims ...uint64) *builder {
	b.text(name).u32(uint32(len(dims)))
	for _, d := range dims {
		b.u64(d)
	}
	return b.u32(typ)
}

// pad writes zeros up to a multiple of 32.
func (b *builder) pad() *builder { return b.zeros(int(alignUp(int64(len(b.b)), 32)) - len(b.b)) }

// read reads the file.
func (b *builder) read() (*File, error) { return readBytes(b.b) }

func readBytes(p []byte) (*File, error) { return Read("test.gguf", bytes.NewReader(p), int64(len(p))) }
