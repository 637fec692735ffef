// Package f32 has functions of float32 whose bits are the same on every
// machine: assembly computes the same formulas with vectors. The standard
// library has them for float64 only, and with different bits on different
// machines.
package f32

import "math"

// lost are the bits of a float64 that a float32 has no room for, and half is
// what they are between two float32.
const lost, half = 1<<29 - 1, 1 << 28

// normal is the smallest normal float32.
const normal = 0x1p-126

// FMA returns a*b + c, rounded once.
//
// A float64 holds the product exactly, but not always the sum. Rounding the
// sum to a float64 and that to a float32 goes wrong only if the first rounding
// ends half way between two float32. There, and below the normal numbers,
// where the middle is elsewhere, the sum is rounded to odd instead: what was
// inexact ends in a one, hence on the right side of every middle (Boldo and
// Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms
// using rounding to odd", 2008).
func FMA(a, b, c float32) float32 {
	p, z := float64(a)*float64(b), float64(c)
	sum := p + z
	if math.Float64bits(sum)&lost == half || math.Abs(sum) < normal {
		sum = odd(p, z, sum)
	}
	return float32(sum)
}

// odd is p + z rounded to odd, given the sum rounded to nearest.
func odd(p, z, sum float64) float64 {
	// The error of a sum is a float64, and this computes it exactly.
	away := sum - p
	rest := (p - (sum - away)) + (z - away)
	bits := math.Float64bits(sum)
	if rest == 0 || rest != rest || bits&1 == 1 {
		return sum
	}
	if (rest > 0) == (sum > 0) { // the exact sum is farther from zero
		return math.Float64frombits(bits + 1)
	}
	return math.Float64frombits(bits - 1)
}
