// Package tensor owns the element types of tensors: their names and numbers,
// the size of a row, and the conversion to and from float32.
//
// # Block quantization
//
// A quantized row is a sequence of blocks. A block holds a fixed number of
// elements (32, 64, 128 or 256) in a fixed number of bytes: a small integer q
// for each element, and what they have in common, a scale d above all:
//
//	x[i] = d * q[i]
//
// The weights of a block are of similar size, so a few bits for each and 16
// for the scale lose little: q4_0 takes 4.5 bits a weight instead of 32. The
// types differ in the number of bits, in further parameters (an offset, scales
// of parts of a block that are quantized themselves), and in whether q is the
// value, or an index into a table of levels or of whole vectors. The comment
// of each dequantizer has the layout of its block and the formula of a value.
// All numbers of more than one byte are little-endian.
//
// A row is always a whole number of blocks; RowSize is the one function that
// tells its bytes.
//
// # Quantizing
//
// Rounding a block by the scale that takes its largest element to the largest
// level is quick, but not what loses least: a smaller scale clips one element
// and serves all others better. The k-quants and the types with levels of
// unequal distance therefore search. Given the scale, the best levels follow
// by rounding; given the levels, the best scale (and offset) is a least-squares
// fit. Quantize tries some scales, goes on from the best in turns, and then
// rounds the scales themselves, trying their neighbours.
//
// # Exactness
//
// Dequantize and Quantize give the same bits on every platform. A product that
// is later part of a sum is converted explicitly, float32(a*b) + c, since a Go
// compiler may otherwise fuse the two operations, across statements too, and
// round once instead of twice.
//
// # Sources
//
// Type numbers, layouts and codebooks are those of GGUF files as ggml
// (llama.cpp) defines them, down to the order of operations; the results are
// tested against values that its reference code produced. The ROCmFP types
// follow the fork of llama.cpp that introduced them.
package tensor
