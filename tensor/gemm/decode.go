package gemm

import "gorun/tensor"

// decode unpacks one block of a type in formats: u of its elements, and s and
// m of each group. (It is a switch since arguments of function values are
// allocated.)
func decode(t tensor.Type, u []uint8, s, m []float32, src []byte) {
	switch t {
	case tensor.Q4_0:
		decodeQ4_0(u, s, m, src)
	case tensor.Q4_1:
		decodeQ4_1(u, s, m, src)
	case tensor.Q5_0:
		decodeQ5_0(u, s, m, src)
	case tensor.Q5_1:
		decodeQ5_1(u, s, m, src)
	case tensor.Q8_0:
		decodeQ8_0(u, s, m, src)
	case tensor.Q2_K:
		decodeQ2_K(u, s, m, src)
	case tensor.Q3_K:
		decodeQ3_K(u, s, m, src)
	case tensor.Q4_K:
		decodeQ4_K(u, s, m, src)
	case tensor.Q5_K:
		decodeQ5_K(u, s, m, src)
	case tensor.Q6_K:
		decodeQ6_K(u, s, m, src)
	case tensor.IQ4_NL:
		decodeIQ4_NL(u, s, m, src)
	case tensor.IQ4_XS:
		decodeIQ4_XS(u, s, m, src)
	case tensor.IQ3_S:
		decodeIQ3_S(u, s, m, src)
	case tensor.IQ2_XXS:
		decodeIQ2_XXS(u, s, m, src)
	case tensor.IQ2_XS:
		decodeIQ2_XS(u, s, m, src)
	case tensor.IQ2_S:
		decodeIQ2_S(u, s, m, src)
	case tensor.MXFP4:
		decodeMXFP4(u, s, m, src)
	case tensor.Q4_0_ROCMFP4:
		decodeROCmFP4(u, s, m, src)
	case tensor.Q4_0_ROCMFP4_FAST:
		decodeROCmFP4Fast(u, s, m, src)
	case tensor.Q2_0_ROCMFPX:
		decodeROCmFP2(u, s, m, src)
	case tensor.Q3_0_ROCMFPX:
		decodeROCmFP3(u, s, m, src)
	case tensor.Q6_0_ROCMFPX:
		decodeROCmFP6(u, s, m, src)
	case tensor.Q8_0_ROCMFPX:
		decodeROCmFP8(u, s, m, src)
	}
}
