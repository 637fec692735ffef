package tensor

import (
	"encoding/binary"
	"fmt"
)

// codec holds the conversions of one type; each works on whole blocks and
// relies on its caller for matching lengths. A nil function means that there
// is no such conversion.
//
// quantize takes one block (the plain floats take any number of elements). Its
// weights are nil, or as many as src has elements and not all zero.
type codec struct {
	dequantize func(dst []float32, src []byte)
	quantize   func(dst []byte, src, weights []float32)
}

// codecs is indexed by Type.
var codecs = [...]codec{
	F32:  {dequantizeF32, quantizeF32},
	F16:  {dequantizeF16, quantizeF16},
	BF16: {dequantizeBF16, quantizeBF16},

	Q4_0: {dequantizeQ4_0, quantizeQ4_0},
	Q4_1: {dequantizeQ4_1, quantizeQ4_1},
	Q5_0: {dequantizeQ5_0, quantizeQ5_0},
	Q5_1: {dequantizeQ5_1, quantizeQ5_1},
	Q8_0: {dequantizeQ8_0, quantizeQ8_0},

	Q2_K: {dequantizeQ2_K, quantizeQ2_K},
	Q3_K: {dequantizeQ3_K, quantizeQ3_K},
	Q4_K: {dequantizeQ4_K, quantizeQ4_K},
	Q5_K: {dequantizeQ5_K, quantizeQ5_K},
	Q6_K: {dequantizeQ6_K, quantizeQ6_K},

	IQ1_S:   {dequantize: dequantizeIQ1_S},
	IQ1_M:   {dequantize: dequantizeIQ1_M},
	IQ2_XXS: {dequantize: dequantizeIQ2_XXS},
	IQ2_XS:  {dequantize: dequantizeIQ2_XS},
	IQ2_S:   {dequantize: dequantizeIQ2_S},
	IQ3_XXS: {dequantize: dequantizeIQ3_XXS},
	IQ3_S:   {dequantize: dequantizeIQ3_S},
	IQ4_NL:  {dequantizeIQ4_NL, quantizeIQ4_NL},
	IQ4_XS:  {dequantizeIQ4_XS, quantizeIQ4_XS},

	TQ1_0: {dequantize: dequantizeTQ1_0},
	TQ2_0: {dequantize: dequantizeTQ2_0},
	Q1_0:  {dequantize: dequantizeQ1_0},

	MXFP4: {dequantizeMXFP4, quantizeMXFP4},
	NVFP4: {dequantize: dequantizeNVFP4},

	Q4_0_ROCMFP4:      {dequantizeROCmFP4, quantizeROCmFP4},
	Q4_0_ROCMFP4_FAST: {dequantizeROCmFP4Fast, quantizeROCmFP4Fast},
	Q2_0_ROCMFPX:      {dequantizeROCmFP2, quantizeROCmFP2},
	Q3_0_ROCMFPX:      {dequantizeROCmFP3, quantizeROCmFP3},
	Q6_0_ROCMFPX:      {dequantizeROCmFP6, quantizeROCmFP6},
	Q8_0_ROCMFPX:      {dequantizeROCmFP8, quantizeROCmFP8},
}

// le reads and writes the byte order of GGUF files.
var le = binary.LittleEndian

func (t Type) codec() codec {
	if uint64(t) < uint64(len(codecs)) {
		return codecs[t]
	}
	if t.turbo() != nil {
		return codec{
			func(dst []float32, src []byte) {
				Decode(t, dst, src)
				RotateBack(t, dst)
			},
			func(dst []byte, src, _ []float32) { t.quantizeTurbo(dst, src) },
		}
	}
	return codec{}
}

// CanDequantize reports whether Dequantize takes the type. It does not take
// f64 and the integers: they have a size, but no model keeps weights in them.
func (t Type) CanDequantize() bool { return t.codec().dequantize != nil }

// CanQuantize reports whether Quantize takes the type.
func (t Type) CanQuantize() bool { return t.codec().quantize != nil }

// Dequantize converts len(dst) elements of type t, whole blocks, to float32.
// The values are bit for bit those of ggml's reference dequantizer, on every
// platform. It neither allocates nor keeps a reference to its arguments.
//
// A type that cannot be dequantized, or a src that is not exactly the size of
// len(dst) elements, is a mistake of the caller: Dequantize panics. A reader
// of files checks with CanDequantize and RowSize first.
func Dequantize(t Type, dst []float32, src []byte) {
	c := t.codec()
	if c.dequantize == nil {
		panic(fmt.Sprintf("tensor: %v cannot be dequantized", t))
	}
	if err := t.checkLen(len(dst), len(src)); err != nil {
		panic(err.Error())
	}
	c.dequantize(dst, src)
}

// checkLen returns an error unless n elements of t are exactly size bytes.
func (t Type) checkLen(n, size int) error {
	want, err := t.RowSize(int64(n))
	if err == nil && want != int64(size) {
		err = fmt.Errorf("tensor: %d elements of %v are %d bytes, not %d", n, t, want, size)
	}
	return err
}
