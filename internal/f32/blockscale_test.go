package f32

import (
	"math"
	"testing"
)

func TestBlockScale(t *testing.T) {
	inf, nan := float32(math.Inf(-1)), float32(math.NaN())
	for _, c := range []struct {
		x              []float32
		scale, inverse float32
	}{
		{[]float32{1, -254, 3}, 2, 0.5},
		{[]float32{0, 0}, 0, 0},
		{[]float32{0x1p-111, -0x1p-112}, 0, 0},
		{[]float32{127 * 0x1p-110}, 0x1p-110, 0x1p110},
		{[]float32{1, inf}, nan, 0},
		{[]float32{nan, 1}, nan, 0},
	} {
		scale, inverse := BlockScale(c.x, 127)
		if math.Float32bits(scale) != math.Float32bits(c.scale) || inverse != c.inverse {
			t.Errorf("%v: scale %v, inverse %v, want %v, %v", c.x, scale, inverse, c.scale, c.inverse)
		}
	}
}
