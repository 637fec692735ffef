package tensor

// Quantizers of iq4_nl and iq4_xs; iquant4.go has the layouts.

var (
	iq4Scalar  = newScalar(iq4Levels[:])
	iq4Reaches = []float32{-142, -136, -130, -124, -118, -112, -106, 95, 101, 107, 113, 119, 125}
	iq4Block   = scaledBlock{levels: iq4Scalar, group: 32, lo: -32, hi: 31, reaches: iq4Reaches}
)

func quantizeIQ4_NL(dst []byte, src, weights []float32) {
	x, y := (*[32]float32)(src), (*[18]byte)(dst)
	d := scaleF16(iq4Scalar.scale(x[:], orOnes(weights)[:32], iq4Reaches))
	var codes [32]byte
	iq4Scalar.encode(codes[:], x[:], F16ToF32(d))
	le.PutUint16(y[:], d)
	packNibbles((*[16]byte)(y[2:]), &codes)
}

func quantizeIQ4_XS(dst []byte, src, weights []float32) {
	x, y := (*[256]float32)(src), (*[136]byte)(dst)
	fit := iq4Block.fit(x, orOnes(weights))
	var codes [256]byte
	iq4Block.encode(&codes, x, &fit)
	var top, low uint32
	for g := range 8 {
		s := uint32(fit.scales[g] + 32)
		low |= s & 15 << (4 * g)
		top |= s >> 4 << (2 * g)
		packNibbles((*[16]byte)(y[8+16*g:]), (*[32]byte)(codes[32*g:]))
	}
	le.PutUint16(y[:], fit.d)
	le.PutUint16(y[2:], uint16(top))
	le.PutUint32(y[4:], low)
}
