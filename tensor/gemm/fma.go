package gemm

import "math"

// fma32 returns a*b + c rounded once.
//
// The product is exact in float64. The sum is rounded to 53 bits and then to
// 24, which differs from rounding once only if the first rounding lands
// between two float32, exactly in the middle. Such a sum is moved off the
// middle, to the side of the exact one. For results below the normal float32
// the middle is elsewhere, so there every inexact sum is made odd in its last
// bit, which has the same effect (Boldo and Melquiond, "Emulation of FMA and
// correctly rounded sums", 2008).
func fma32(a, b, c float32) float32 {
	const tail, middle = 1<<29 - 1, 1 << 28
	p, z := float64(a)*float64(b), float64(c)
	sum := p + z
	bits := math.Float64bits(sum)
	if bits&tail != middle && math.Abs(sum) >= 0x1p-126 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return float32(sum)
	}
	// Knuth's two-sum: rest is what the rounding of the sum lost.
	z1 := sum - p
	rest := (p - (sum - z1)) + (z - z1)
	if rest != 0 && bits&1 == 0 {
		if (rest > 0) == (sum > 0) {
			bits++
		} else {
			bits--
		}
		sum = math.Float64frombits(bits)
	}
	return float32(sum)
}
