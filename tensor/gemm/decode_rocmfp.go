package gemm

import "gorun/tensor"

// The decoders of the ROCmFP types; package tensor describes the layouts.

var (
	rocmFP2 = [4]uint8{0, 3, 5, 8}             // bias 4
	rocmFP3 = [8]uint8{4, 5, 6, 8, 4, 3, 2, 0} // bias 4
	rocmFP4 = [16]uint8{10, 11, 12, 13, 14, 16, 18, 20, 10, 9, 8, 7, 6, 4, 2, 0}

	// rocmScales holds the value of each scale byte.
	rocmScales = func() (scales [256]float32) {
		for b := range scales {
			var x [32]float32
			tensor.Dequantize(tensor.Q8_0_ROCMFPX, x[:], []byte{1, 32: byte(b)})
			scales[b] = x[0]
		}
		return scales
	}()
)

func decodeROCmFP4(u []uint8, s, _ []float32, src []byte) {
	s[0], s[1] = rocmScales[src[16]], rocmScales[src[17]]
	levels(u, src, &rocmFP4)
}

func decodeROCmFP4Fast(u []uint8, s, _ []float32, src []byte) {
	s[0] = rocmScales[src[16]]
	levels(u, src, &rocmFP4)
}

func decodeROCmFP2(u []uint8, s, _ []float32, src []byte) {
	s[0], s[1] = rocmScales[src[8]], rocmScales[src[9]]
	for k := range u {
		u[k] = rocmFP2[src[k/4]>>(k&3*2)&3]
	}
}

func decodeROCmFP3(u []uint8, s, _ []float32, src []byte) {
	s[0], s[1] = rocmScales[src[12]], rocmScales[src[13]]
	for i := 0; i < 4; i++ {
		codes := uint32(src[3*i]) | uint32(src[3*i+1])<<8 | uint32(src[3*i+2])<<16
		for j := range 8 {
			u[8*i+j] = rocmFP3[codes>>(3*j)&7]
		}
	}
}

func decodeROCmFP6(u []uint8, s, _ []float32, src []byte) {
	s[0], s[1] = rocmScales[src[24]], rocmScales[src[25]]
	for i := range 8 {
		codes := uint32(src[3*i]) | uint32(src[3*i+1])<<8 | uint32(src[3*i+2])<<16
		for j := range 4 {
			u[4*i+j] = rocmFP6(uint8(codes >> (6 * j) & 63))
		}
	}
}

// rocmFP6 is the level of a code with a bias of 32: five bits of magnitude and
// a sign, minus zero being -32.
func rocmFP6(code uint8) uint8 {
	switch {
	case code < 32:
		return 32 + code
	case code == 32:
		return 0
	}
	return 64 - code
}

func decodeROCmFP8(u []uint8, s, _ []float32, src []byte) {
	s[0] = rocmScales[src[32]]
	signed(u, src)
}
