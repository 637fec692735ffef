// Package gguf reads and writes GGUF model files.
//
// It owns the file format and nothing else: it turns bytes into metadata and
// a tensor table, and back. It follows the GGUF specification, docs/gguf.md in
// the ggml repository, versions 2 and 3 in little-endian order (the two
// versions have the same layout). Version 1, big-endian files and unknown
// versions are refused by name.
//
// A file is laid out as follows; numbers are little-endian and nothing in the
// header is aligned.
//
//	offset 0  +------------------------------------------------------+
//	          | "GGUF" | version u32 | tensors u64 | key/values u64  |
//	          +------------------------------------------------------+
//	          | key/value                                            |  one per
//	          |   key string | value type u32 | value                |  key
//	          +------------------------------------------------------+
//	          | tensor                                               |  one per
//	          |   name string | dimensions u32 | u64 per dimension   |  tensor
//	          |   element type u32 | offset u64 in the data section  |
//	          +------------------------------------------------------+
//	          | zeros up to a multiple of general.alignment (or 32)  |
//	data      +------------------------------------------------------+
//	section   | bytes of a tensor | zeros up to the alignment | ...  |
//	          +------------------------------------------------------+
//
//	string    length u64 | bytes
//	array     element type u32 | length u64 | elements
//
// A large model may be split over files named NAME-00001-of-0000N.gguf. Each
// is a complete GGUF file with its own tensor table and data section; the
// metadata of the first is the model's, and split.no, split.count and
// split.tensors.count tie them together. [Open] opens the whole set.
//
// # What the reader promises
//
// No number in a file is trusted. Every length is checked against the bytes
// that are left before it is used, so that opening a file allocates at most
// twice its size plus 16 MiB, and a malformed file gives a [*FormatError] that
// names the key or tensor, the offset and the value. Opening reads the header
// only: not one byte of tensor data. Metadata arrays are checked but not kept;
// a [Value] remembers where its elements are and decodes them when asked, from
// the open file.
//
// Keys and tensor names must be valid UTF-8, not empty and at most 65535
// bytes, because they are printed and looked up (the specification asks for
// ASCII keys). String values may hold any bytes: some vocabularies do.
//
// A tensor whose type is not in the table of package tensor does not keep the
// file from opening; see [Tensor.Size] for what is known about it then.
package gguf
