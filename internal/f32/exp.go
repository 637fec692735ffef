package f32

import "math"

const (
	// expLeast is the least argument of Exp whose result is not zero. From
	// there on n is at least -125, so that 2^n times a polynomial above 0.7
	// is a normal number.
	expLeast = -86.5

	// Added to a number below 2^22, integer rounds it to a whole one, which
	// is then in the last bits of the sum.
	integer = 0x1.8p23

	log2e    = 0x1.715476p0
	ln2      = 0x1.62e43p-1   // rounded to float32
	ln2Error = -0x1.05c61p-29 // ln 2 minus that
)

// expTerms are the coefficients of x^2 to x^6, those of 1 and x being one. The
// polynomial is within 1.1e-8 of e^x, relatively.
var expTerms = [...]float32{0x1p-1, 0x1.5554dep-3, 0x1.55551ap-5, 0x1.120b64p-7, 0x1.6d10fep-10}

// Exp is e^x for x from 0 down: 2^n times a polynomial of degree six on
// [-ln 2/2, ln 2/2], and zero where the result would be below the normal
// numbers. It is within 2e-7 of e^x, relatively.
func Exp(x float32) float32 {
	if x < expLeast {
		return 0
	}
	if x != x {
		return x
	}
	t := FMA(x, log2e, integer)
	n := t - integer
	r := FMA(n, -ln2, x)
	r = FMA(n, -ln2Error, r)
	p := expTerms[4]
	for i := 3; i >= 0; i-- {
		p = FMA(p, r, expTerms[i])
	}
	p = FMA(p, r, 1)
	p = FMA(p, r, 1)
	// n times 2^23 steps the exponent by n.
	return math.Float32frombits(math.Float32bits(p) + math.Float32bits(t)<<23)
}

// tanhNear is where Tanh goes over from a polynomial to Exp.
const tanhNear = 0.625

// tanhTerms are the coefficients of x^3, x^5, ..., that of x being one.
var tanhTerms = [...]float32{-0x1.555552p-2, 0x1.110e1cp-3, -0x1.b9258ap-5, 0x1.58048ep-6, -0x1.8f8de4p-8}

// Tanh is the hyperbolic tangent, within 2e-7 of it, relatively.
func Tanh(x float32) float32 {
	a := math.Float32frombits(math.Float32bits(x) &^ (1 << 31))
	if a < tanhNear {
		u := a * a
		p := tanhTerms[4]
		for i := 3; i >= 0; i-- {
			p = FMA(p, u, tanhTerms[i])
		}
		a = FMA(p*u, a, a)
	} else {
		t := Exp(-2 * a)
		a = (1 - t) / (1 + t)
	}
	return math.Float32frombits(math.Float32bits(a) | math.Float32bits(x)&(1<<31))
}
