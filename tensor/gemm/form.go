package gemm

import "gorun/tensor"

// Form is what activations must know of the weights they are multiplied with.
// Rows that were prepared for one type serve every type of the same Form.
type Form struct {
	group int   // weights that share a scale, 16 or 32; 0: float32 activations
	bias  int32 // u minus the level of the weight
	min   bool  // a group has a minimum
}

// format says how a quantized type is unpacked.
type format struct {
	form Form
	top  int // largest u: 15, 31, 63, 127 or 255
}

// formats lists the types with a native integer path.
var formats = map[tensor.Type]*format{
	tensor.Q4_0: {Form{32, 8, false}, 15},
	tensor.Q4_1: {Form{32, 0, true}, 15},
	tensor.Q5_0: {Form{32, 16, false}, 31},
	tensor.Q5_1: {Form{32, 0, true}, 31},
	tensor.Q8_0: {Form{32, 128, false}, 255},

	tensor.Q2_K: {Form{16, 0, true}, 15},
	tensor.Q3_K: {Form{16, 4, false}, 15},
	tensor.Q4_K: {Form{32, 0, true}, 15},
	tensor.Q5_K: {Form{32, 0, true}, 31},
	tensor.Q6_K: {Form{16, 32, false}, 63},

	tensor.IQ4_NL:  {Form{32, 128, false}, 255},
	tensor.IQ4_XS:  {Form{32, 128, false}, 255},
	tensor.IQ3_S:   {Form{32, 15, false}, 31},
	tensor.IQ2_XXS: {Form{32, 43, false}, 127},
	tensor.IQ2_XS:  {Form{16, 43, false}, 127},
	tensor.IQ2_S:   {Form{16, 43, false}, 127},

	tensor.MXFP4: {Form{32, 12, false}, 31},

	tensor.Q4_0_ROCMFP4:      {Form{16, 10, false}, 31},
	tensor.Q4_0_ROCMFP4_FAST: {Form{32, 10, false}, 31},
	tensor.Q2_0_ROCMFPX:      {Form{16, 4, false}, 15},
	tensor.Q3_0_ROCMFPX:      {Form{16, 4, false}, 15},
	tensor.Q6_0_ROCMFPX:      {Form{16, 32, false}, 63},
	tensor.Q8_0_ROCMFPX:      {Form{32, 128, false}, 255},
}

// Native reports whether the type has a path of its own. The others are
// dequantized, which is slower and exact in the weights.
func Native(t tensor.Type) bool {
	return formats[t] != nil || t == tensor.F32 || t == tensor.F16 || t == tensor.BF16
}

// FormOf returns the form of the activations that weights of type t take.
func FormOf(t tensor.Type) Form {
	if f := formats[t]; f != nil {
		return f.form
	}
	return Form{}
}

// groupBytes is the size of one group in a tile.
func (f Form) groupBytes() int {
	n := tileRows*f.group + 4*tileRows
	if f.min {
		n += 4 * tileRows
	}
	return n
}

// blockBytes is the size of a block of 32 activations: q, sx, and for each
// group -bias times the sum of q, or sx times it in types with a minimum.
func (f Form) blockBytes() int { return 32 + 4 + 4*(32/f.group) }
