package f32

import "math"

// BlockScale is what a block of values is divided by to become integers of up to
// steps, the largest value over steps, and the inverse of that. With a NaN or an infinity among
// the values the scale is NaN and the inverse 0; if all are below 2^-110 both are 0: they are taken as zero.
func BlockScale(x []float32, steps float32) (scale, inverse float32) {
	const (
		infinity = 0xff << 23
		tiny     = (127 - 110) << 23 // 2^-110
	)
	var top uint32 // as bits, absolute values are in order, NaNs the largest
	for _, v := range x {
		top = max(top, math.Float32bits(v)&^(1<<31))
	}
	switch {
	case top >= infinity:
		return float32(math.NaN()), 0
	case top >= tiny:
		return math.Float32frombits(top) / steps, steps / math.Float32frombits(top)
	}
	return 0, 0
}
