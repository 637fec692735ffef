package gemm

import "gorun/tensor"

// Form is what activations must know of the weights they are multiplied with.
// Rows that were prepared for one type serve every type of the same Form.
type Form struct {
	group int   // weights that share a scale, 16 or 32; 0: float32 activations
	bias  int32 // u minus the level of the weight
	min   bool  // a group has a minimum
	wide  bool  // the weights are so exact that 8 bits of an activation would not do
}

// format says how a quantized type is unpacked.
type format struct {
	form Form
	top  int // largest u: 15, 31, 63, 127 or 255
}

// formats lists the types with a native integer path.
var formats = map[tensor.Type]*format{
	tensor.Q4_0: {Form{group: 32, bias: 8}, 15},
	tensor.Q4_1: {Form{group: 32, min: true}, 15},
	tensor.Q5_0: {Form{group: 32, bias: 16}, 31},
	tensor.Q5_1: {Form{group: 32, min: true}, 31},
	tensor.Q8_0: {Form{group: 32, bias: 128, wide: true}, 255},

	tensor.Q2_K: {Form{group: 16, min: true}, 15},
	tensor.Q3_K: {Form{group: 16, bias: 4}, 15},
	tensor.Q4_K: {Form{group: 32, min: true}, 15},
	tensor.Q5_K: {Form{group: 32, min: true}, 31},
	tensor.Q6_K: {Form{group: 16, bias: 32}, 63},

	tensor.IQ4_NL:  {Form{group: 32, bias: 128}, 255},
	tensor.IQ4_XS:  {Form{group: 32, bias: 128}, 255},
	tensor.IQ3_S:   {Form{group: 32, bias: 15}, 31},
	tensor.IQ2_XXS: {Form{group: 32, bias: 43}, 127},
	tensor.IQ2_XS:  {Form{group: 16, bias: 43}, 127},
	tensor.IQ2_S:   {Form{group: 16, bias: 43}, 127},

	tensor.MXFP4: {Form{group: 32, bias: 12}, 31},

	tensor.Q4_0_ROCMFP4:      {Form{group: 16, bias: 10}, 31},
	tensor.Q4_0_ROCMFP4_FAST: {Form{group: 32, bias: 10}, 31},
	tensor.Q2_0_ROCMFPX:      {Form{group: 16, bias: 4}, 15},
	tensor.Q3_0_ROCMFPX:      {Form{group: 16, bias: 4}, 15},
	tensor.Q6_0_ROCMFPX:      {Form{group: 16, bias: 32}, 63},
	tensor.Q8_0_ROCMFPX:      {Form{group: 32, bias: 128, wide: true}, 255},
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

// blockBytes is the size of a block of 32 activations: q, or its high bytes;
// sx; for each group -bias times the sum of q, or sx times it in types with a
// minimum; the low bytes of wide q.
func (f Form) blockBytes() int {
	n := f.lowBytes()
	if f.wide {
		n += activationBlock
	}
	return n
}

// lowBytes is where a block has the low bytes of q.
func (f Form) lowBytes() int { return activationBlock + 4 + 4*(activationBlock/f.group) }
