package tensor

import "math"

// Types whose elements are 4-bit floats, E2M1: sign, two bits of exponent, one
// of mantissa, for the magnitudes 0, 0.5, 1, 1.5, 2, 3, 4 and 6. The table
// has them doubled, and the scales are halved in turn, as ggml does it.
//
// OCP Microscaling Formats (MX) Specification 1.0 (2023) for mxfp4 and e8m0;
// NVIDIA's NVFP4 has smaller blocks and e4m3 scales.
var e2m1 = [16]float32{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// dequantizeMXFP4: x = 2^(e-127) * E2M1
//
//	 0    1                          17
//	+----+--------------------------+
//	| e  | 16 bytes of two nibbles  |
//	+----+--------------------------+
//
// The low nibbles are elements 0 to 15, the high nibbles elements 16 to 31.
// The specification's NaN, e = 255, is an ordinary exponent here as in ggml.
func dequantizeMXFP4(dst []float32, src []byte) {
	for len(dst) >= 32 {
		y, x := (*[32]float32)(dst), (*[17]byte)(src)
		d := halfE8M0(x[0])
		for i, b := range x[1:] {
			y[i] = d * e2m1[b&15]
			y[i+16] = d * e2m1[b>>4]
		}
		dst, src = dst[32:], src[17:]
	}
}

// halfE8M0 returns 2^(e-128), half the value of an e8m0 scale.
func halfE8M0(e byte) float32 {
	if e < 2 { // subnormal
		return math.Float32frombits(1 << (21 + e))
	}
	return math.Float32frombits(uint32(e-1) << 23)
}

// dequantizeNVFP4: x = scale * E2M1
//
//	 0           4                                      36
//	+-----------+--------------------------------------+
//	| 4 scales  | 4 x 8 bytes of two nibbles           |
//	+-----------+--------------------------------------+
//
// Each scale, an unsigned e4m3, has 16 elements: 8 low nibbles, then 8 high.
// The scale of the whole tensor, which NVFP4 has besides, is a tensor of its
// own in a GGUF file and the model's business.
func dequantizeNVFP4(dst []float32, src []byte) {
	for len(dst) >= 64 {
		y, x := (*[64]float32)(dst), (*[36]byte)(src)
		for g := range 4 {
			d := nvfp4Scales[x[g]]
			out := (*[16]float32)(y[16*g:])
			for i, b := range (*[8]byte)(x[4+8*g:]) {
				out[i] = d * e2m1[b&15]
				out[i+8] = d * e2m1[b>>4]
			}
		}
		dst, src = dst[64:], src[36:]
	}
}

// nvfp4Scales holds half the value of each scale byte. ggml ignores the sign
// bit and takes 0x7f, the NaN, as zero; 0xff slips past that test.
var nvfp4Scales = func() (scales [256]float32) {
	for b := range scales {
		scales[b] = halfUE4M3(byte(b))
	}
	scales[0x7f] = 0
	return scales
}()

// halfUE4M3 returns half the value of an 8-bit float with a 4-bit exponent E
// (bias 7) and a 3-bit mantissa m, its sign bit ignored: m*2^-10 for E = 0,
// else (8 + m)*2^(E-11). It knows no NaN.
func halfUE4M3(b byte) float32 {
	e, m := int(b>>3&15), int(b&7)
	if e == 0 {
		e = 1
	} else {
		m += 8
	}
	return float32(math.Ldexp(float64(m), e-11))
}
