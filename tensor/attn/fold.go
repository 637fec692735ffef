package attn

import "gorun/internal/f32"

// Fold merges a partial into an accumulator, which has the maximum, the sum of
// weights and the weighted values. Where the sum is zero there is nothing.
func Fold(acc []float32, top, sum float32, values []float32) {
	switch {
	case sum == 0:
		return
	case acc[1] == 0:
		acc[0], acc[1] = top, sum
		copy(acc[2:], values)
		return
	}
	both := max(acc[0], top)
	ca, cp := f32.Exp(acc[0]-both), f32.Exp(top-both)
	acc[0], acc[1] = both, float32(acc[1]*ca)+float32(sum*cp)
	acc = acc[2:]
	values = values[:len(acc)]
	whole := len(acc) / lanes * lanes
	if whole > 0 {
		Sets.Current().blend(acc[:whole], values[:whole], ca, cp)
	}
	blendGeneric(acc[whole:], values[whole:], ca, cp)
}

func blendGeneric(acc, x []float32, ca, cx float32) {
	for i, v := range x[:len(acc)] {
		acc[i] = float32(acc[i]*ca) + float32(v*cx)
	}
}
