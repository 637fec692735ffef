package kernelset

import (
	"fmt"
	"math"
)

// Numbers are n between -2 and 2, the same each time, and no pattern.
func Numbers(n int) []float32 {
	list, x := make([]float32, n), uint32(n)
	for i := range list {
		x = x*1664525 + 1013904223
		list[i] = float32(int32(x)) * 0x1p-30
	}
	return list
}

// Differ is an error, which begins with what, if not all bits are the same.
func Differ(what string, got, want []float32) error {
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			return fmt.Errorf("%s: result %d is %v, not %v", what, i, got[i], want[i])
		}
	}
	return nil
}
