package tensor

import (
	"fmt"
	"math"
)

// Quantize converts src to type t. len(dst) must be the size of len(src)
// elements, else it panics as Dequantize does. The result is the same on
// every platform, it depends on no more than the block that an element is in,
// and nothing is allocated.
//
// The types of one scale without a search (q4_0, q4_1, q5_0, q5_1, q8_0,
// mxfp4) give the bytes of ggml's reference quantizer. The others search for
// the scales with the least squared error.
//
// The error says that gorun has no quantizer for t, or is a *ValueError for an
// element that a block type cannot hold. dst is not written then. The plain
// floats f32, f16 and bf16 take any value: a large one may become infinite,
// and CheckValues tells whether that is so.
func Quantize(t Type, dst []byte, src []float32) error {
	quantize, err := quantizer(t, dst, src)
	if err != nil {
		return err
	}
	block, size := t.BlockSize(), t.BlockBytes()
	if block == 1 {
		quantize(dst, src, nil)
		return nil
	}
	for ; len(src) > 0; dst, src = dst[size:], src[block:] {
		quantize(dst[:size], src[:block], nil)
	}
	return nil
}

// QuantizeWeighted is Quantize for whole rows of len(importance) elements. It
// minimises the error with each squared difference multiplied by the weight
//
//	importance[column] * sqrt(mean of x^2 over the row + x^2)
//
// The importance of a column is typically the mean square of the activations
// that it is multiplied with. Without an importance it does what Quantize does.
// len(src) must be a multiple of len(importance), and that of the block size;
// otherwise, and for an importance that is negative or not finite, the error
// says so. q8_0 and the plain floats do not depend on weights.
func QuantizeWeighted(t Type, dst []byte, src, importance []float32) error {
	if importance == nil {
		return Quantize(t, dst, src)
	}
	quantize, err := quantizer(t, dst, src)
	if err != nil {
		return err
	}
	n, block, size := len(importance), t.BlockSize(), t.BlockBytes()
	if n == 0 || len(src)%n != 0 || n%block != 0 {
		return fmt.Errorf("tensor: an importance of %d columns does not fit %d elements in %v blocks of %d", n, len(src), t, block)
	}
	for i, w := range importance {
		if !(w >= 0) || w > math.MaxFloat32 {
			return fmt.Errorf("tensor: importance of column %d is %v", i, w)
		}
	}
	var weights [maxBlock]float32
	for ; len(src) > 0; src = src[n:] {
		variance := meanSquare(src[:n])
		for at := 0; at < n; at += block {
			weigh(weights[:block], src[at:], importance[at:], variance)
			quantize(dst[:size], src[at:][:block], weights[:block])
			dst = dst[size:]
		}
	}
	return nil
}

// maxBlock is the size of the largest block.
const maxBlock = 256

// quantizer returns the function that quantizes to t, after checking the
// arguments.
func quantizer(t Type, dst []byte, src []float32) (func(dst []byte, src, weights []float32), error) {
	c := t.codec()
	if c.quantize == nil {
		return nil, fmt.Errorf("tensor: no quantizer for %v", t)
	}
	if err := t.checkLen(len(src), len(dst)); err != nil {
		panic(err.Error())
	}
	if t.BlockSize() == 1 {
		return c.quantize, nil
	}
	return c.quantize, CheckValues(t, src)
}

// meanSquare is the mean of x^2.
func meanSquare(x []float32) float32 {
	sum := 0.0
	for _, f := range x {
		sum += float64(float64(f) * float64(f))
	}
	return float32(sum / float64(len(x)))
}

// weigh sets the weights of one block, the largest of them to 1. A block
// without any importance has equal weights.
func weigh(weights, x, importance []float32, variance float32) {
	most := 0.0
	for i := range weights {
		f := float64(x[i])
		w := float64(importance[i]) * math.Sqrt(float64(variance)+float64(f*f))
		most = max(most, w)
	}
	for i := range weights {
		f := float64(x[i])
		weights[i] = 1
		if most > 0 {
			weights[i] = float32(float64(importance[i]) * math.Sqrt(float64(variance)+float64(f*f)) / most)
		}
	}
}

// A ValueError is an element that a type cannot hold.
type ValueError struct {
	Type  Type
	Index int // of the element
	Value float32
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("tensor: element %d %s", e.Index, e.Reason())
}

// Reason is the error without the place.
func (e *ValueError) Reason() string {
	if f := float64(e.Value); math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Sprintf("is %v, which %v cannot hold", e.Value, e.Type)
	}
	return fmt.Sprintf("is %v, and %v reaches to %v only", e.Value, e.Type, e.Type.limit())
}

// CheckValues returns a *ValueError for the first element of src that is not
// finite or beyond the range of the type.
func CheckValues(t Type, src []float32) error {
	limit := t.limit()
	for i, f := range src {
		if !(f <= limit && f >= -limit) {
			return &ValueError{t, i, f}
		}
	}
	return nil
}

// limit is the largest magnitude that a type takes: what its largest scale and
// its smaller extreme level (or its largest offset) give.
func (t Type) limit() float32 {
	const half, e4m3 = 65504, 224
	switch t {
	case F16, Q4_1, Q5_1, Turbo4, Turbo3, Turbo2, turbo4Short, turbo3Short, turbo2Short:
		return half
	case BF16:
		return math.MaxFloat32 - 0x1p119 // more is rounded to infinity
	case Q4_0:
		return 8 * half
	case Q5_0:
		return 16 * half
	case Q8_0:
		return 127 * half
	case Q2_K:
		return 15 * half
	case Q3_K:
		return 32 * 3 * half
	case Q4_K, Q5_K:
		return 63 * half
	case Q6_K:
		return 127 * 31 * half
	case IQ4_NL:
		return 113 * half
	case IQ4_XS:
		return 31 * 113 * half
	case Q2_0_ROCMFPX, Q3_0_ROCMFPX:
		return 4 * e4m3
	case Q4_0_ROCMFP4, Q4_0_ROCMFP4_FAST:
		return 10 * e4m3
	case Q6_0_ROCMFPX:
		return 31 * e4m3
	case Q8_0_ROCMFPX:
		return 127 * e4m3
	}
	return math.MaxFloat32
}
