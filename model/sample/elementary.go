package sample

import "math"

// The functions of package math are assembly on some processors and may be
// compiled to fused multiply-adds on others, so their last bits differ. These
// do not: a float64() around each product forbids fusing, and everything else
// is rounded exactly once by IEEE 754.

// ln 2 is ln2High + ln2Low; the high part has 31 bits, so that a product with an
// integer of up to 22 bits is exact.
const (
	ln2High = 0x1.62e42fecp-1
	ln2Low  = 0x1.d1cf79abc9e3bp-32
)

// Powers of the 32nd root of two, as exact constants rounded once.
const (
	root   = 1.02189714865411667823448013478329943978214040244860806806040
	root2  = root * root
	root4  = root2 * root2
	root8  = root4 * root4
	root16 = root8 * root8
)

var roots = [32]float64{
	1, root, root2, root2 * root,
	root4, root4 * root, root4 * root2, root4 * root2 * root,
	root8, root8 * root, root8 * root2, root8 * root2 * root,
	root8 * root4, root8 * root4 * root, root8 * root4 * root2, root8 * root4 * root2 * root,
	root16, root16 * root, root16 * root2, root16 * root2 * root,
	root16 * root4, root16 * root4 * root, root16 * root4 * root2, root16 * root4 * root2 * root,
	root16 * root8, root16 * root8 * root, root16 * root8 * root2, root16 * root8 * root2 * root,
	root16 * root8 * root4, root16 * root8 * root4 * root, root16 * root8 * root4 * root2, root16 * root8 * root4 * root2 * root,
}

// exp returns e to the power x: 0 below -708, where results stop being normal
// numbers, and +Inf above 709.
func exp(x float64) float64 {
	if x < -708 {
		return 0
	}
	if x > 709 {
		return math.Inf(1)
	}
	// x = k ln2/32 + r with |r| ≤ ln2/64, so that e^x = 2^(k/32) e^r.
	k := math.Floor(float64(x*(32/math.Ln2)) + 0.5)
	r := x - float64(k*(ln2High/32)) - float64(k*(ln2Low/32))
	p := 1.0 / 720
	p = float64(p*r) + 1.0/120
	p = float64(p*r) + 1.0/24
	p = float64(p*r) + 1.0/6
	p = float64(p*r) + 0.5
	p = float64(p*r) + 1
	p = float64(p * r)
	n := int64(k)
	t := roots[n&31]
	scale := math.Float64frombits(uint64(1023+n>>5) << 52)
	return float64((t + float64(t*p)) * scale)
}

// log returns the natural logarithm of a positive normal number.
func log(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	// ln m = 2 artanh s, as a series in s².
	s := (m - 1) / (m + 1)
	z := float64(s * s)
	p := 1.0 / 21
	for n := 19.0; n > 1; n -= 2 {
		p = float64(p*z) + 1/n
	}
	f := float64(2*s) + float64(float64(2*s)*float64(p*z))
	k := float64(e)
	return float64(k*ln2High) + (f + float64(k*ln2Low))
}
