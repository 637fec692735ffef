package gemm

import "gorun/tensor"

// The decoders of blocks of 32; package tensor describes the layouts.

func half(b []byte) float32 { return tensor.F16ToF32(le.Uint16(b)) }

func decodeQ4_0(u []uint8, s, _ []float32, src []byte) {
	s[0] = half(src)
	nibbles(u, src[2:])
}

func decodeQ4_1(u []uint8, s, m []float32, src []byte) {
	s[0], m[0] = half(src), half(src[2:])
	nibbles(u, src[4:])
}

func decodeQ5_0(u []uint8, s, _ []float32, src []byte) {
	s[0] = half(src)
	nibbles(u, src[6:])
	fifthBits(u, le.Uint32(src[2:]))
}

func decodeQ5_1(u []uint8, s, m []float32, src []byte) {
	s[0], m[0] = half(src), half(src[2:])
	nibbles(u, src[8:])
	fifthBits(u, le.Uint32(src[4:]))
}

func decodeQ8_0(u []uint8, s, _ []float32, src []byte) {
	s[0] = half(src)
	signed(u, src[2:])
}

// nibbles sets u to the low nibbles of len(u)/2 bytes, then the high ones.
func nibbles(u []uint8, src []byte) {
	n := len(u) / 2
	for i, b := range src[:n] {
		u[i], u[i+n] = b&15, b>>4
	}
}

func fifthBits(u []uint8, h uint32) {
	for i := range u {
		u[i] |= uint8(h >> i & 1 << 4)
	}
}

// signed moves int8 to uint8 with a bias of 128.
func signed(u []uint8, src []byte) {
	for i := range u {
		u[i] = src[i] ^ 0x80
	}
}
