package tensor

import "math"

// f32, f16 and bf16 are arrays of little-endian numbers. Four at a time, the
// compiler sees that no index is out of range, which halves the time.

func dequantizeF32(dst []float32, src []byte) {
	for ; len(dst) >= 4 && len(src) >= 16; dst, src = dst[4:], src[16:] {
		for i := range (*[4]float32)(dst) {
			dst[i] = math.Float32frombits(le.Uint32(src[4*i:]))
		}
	}
	for i := range dst {
		dst[i] = math.Float32frombits(le.Uint32(src[4*i:]))
	}
}

func quantizeF32(dst []byte, src, _ []float32) {
	for i, f := range src {
		le.PutUint32(dst[4*i:], math.Float32bits(f))
	}
}

func dequantizeF16(dst []float32, src []byte) {
	for ; len(dst) >= 4 && len(src) >= 8; dst, src = dst[4:], src[8:] {
		for i := range (*[4]float32)(dst) {
			dst[i] = F16ToF32(le.Uint16(src[2*i:]))
		}
	}
	for i := range dst {
		dst[i] = F16ToF32(le.Uint16(src[2*i:]))
	}
}

func quantizeF16(dst []byte, src, _ []float32) {
	for i, f := range src {
		le.PutUint16(dst[2*i:], F32ToF16(f))
	}
}

func dequantizeBF16(dst []float32, src []byte) {
	for ; len(dst) >= 4 && len(src) >= 8; dst, src = dst[4:], src[8:] {
		for i := range (*[4]float32)(dst) {
			dst[i] = BF16ToF32(le.Uint16(src[2*i:]))
		}
	}
	for i := range dst {
		dst[i] = BF16ToF32(le.Uint16(src[2*i:]))
	}
}

func quantizeBF16(dst []byte, src, _ []float32) {
	for i, f := range src {
		le.PutUint16(dst[2*i:], F32ToBF16(f))
	}
}
