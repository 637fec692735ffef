package tensor

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// slowROCmFP decodes one element the slow way: bit by bit, with the level
// worked out from its bits instead of looked up.
func slowROCmFP(t Type, block []byte, i int) float32 {
	half := i / 16
	switch t {
	case Q4_0_ROCMFP4, Q4_0_ROCMFP4_FAST:
		code := slowBits(block, 8*(i%16)+4*half, 4)
		scale := block[16]
		if t == Q4_0_ROCMFP4 {
			scale = block[16+half]
		}
		magnitude := code & 7
		if magnitude > 4 { // 6, 8, 10
			magnitude = 2 * (magnitude - 2)
		}
		return slowScale(scale) * slowSigned(magnitude, code>>3)
	case Q2_0_ROCMFPX:
		level := []float32{-4, -1, 1, 4}[slowBits(block, 64*half/2+2*(i-16*half), 2)]
		return slowScale(block[8+half]) * level
	case Q3_0_ROCMFPX:
		code := slowBits(block, 48*half+3*(i-16*half), 3)
		magnitude := code & 3
		if magnitude > 0 { // powers of two
			magnitude = 1 << (magnitude - 1)
		}
		return slowScale(block[12+half]) * slowSigned(magnitude, code>>2)
	case Q6_0_ROCMFPX:
		code := slowBits(block, 24*(i/4)+6*(i%4), 6)
		level := slowSigned(code&31, code>>5)
		if code == 32 {
			level = -32
		}
		return slowScale(block[24+half]) * level
	case Q8_0_ROCMFPX:
		level := float32(slowBits(block, 8*i, 8))
		if level >= 128 {
			level -= 256
		}
		return slowScale(block[32]) * level
	}
	panic(t.String())
}

// slowBits collects n bits from the given place, lowest first.
func slowBits(b []byte, at, n int) (code int) {
	for k := range n {
		if b[(at+k)/8]&(1<<((at+k)%8)) != 0 {
			code += 1 << k
		}
	}
	return code
}

func slowSigned(magnitude, sign int) float32 {
	if sign != 0 {
		magnitude = -magnitude
	}
	return float32(magnitude)
}

func slowScale(b byte) float32 {
	switch {
	case b > 0x7e:
		return 0
	case b < 8:
		return float32(b) / 1024
	}
	scale := float32(8+b%8) / 2048
	for range b / 8 {
		scale *= 2
	}
	return scale
}

func checkROCmFP(t rapid.TB, typ Type, src []byte) {
	t.Helper()
	got := make([]float32, len(src)/typ.BlockBytes()*32)
	Dequantize(typ, got, src)
	for i, g := range got {
		want := slowROCmFP(typ, src[i/32*typ.BlockBytes():], i%32)
		if math.Float32bits(g) != math.Float32bits(want) {
			t.Fatalf("%v: element %d is %g, want %g; bytes %x", typ, i, g, want, src)
		}
	}
}

func TestROCmFP(t *testing.T) {
	for _, typ := range Types() {
		if !typ.Private() {
			continue
		}
		t.Run(typ.String(), func(t *testing.T) {
			// All scale bytes in both places, and all codes in all places.
			for b := range 256 {
				src := make([]byte, typ.BlockBytes())
				for i := range src {
					src[i] = byte(b + 37*i)
				}
				src[len(src)-1] = byte(b)
				checkROCmFP(t, typ, src)
				src[len(src)-1], src[len(src)-2] = 0x35, byte(b)
				checkROCmFP(t, typ, src)
			}
			rapid.Check(t, func(t *rapid.T) {
				size := typ.BlockBytes() * rapid.IntRange(0, 4).Draw(t, "blocks")
				checkROCmFP(t, typ, rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, "bytes"))
			})
		})
	}
}

// The halved e4m3 scales against the definition of the format, and the two
// readings of bytes with the top bit set or the NaN pattern.
func TestE4M3Scales(t *testing.T) {
	for b := range 256 {
		if got, want := rocmScales[b], slowScale(byte(b)); got != want {
			t.Errorf("ROCmFP scale %#02x is %g, want %g", b, got, want)
		}
		e, m := b>>3&15, float64(b&7)
		value := (1 + m/8) * math.Pow(2, float64(e-7))
		if e == 0 {
			value = m / 8 * math.Pow(2, -6)
		}
		if b == 0x7f {
			value = 0
		}
		if got := nvfp4Scales[b]; got != float32(value/2) {
			t.Errorf("nvfp4 scale %#02x is %g, want %g", b, got, value/2)
		}
	}
}

func TestE8M0Scales(t *testing.T) {
	for e := range 256 {
		if got, want := float64(halfE8M0(byte(e))), math.Ldexp(1, e-128); got != want {
			t.Errorf("half of scale %d is %g, want %g", e, got, want)
		}
	}
}
