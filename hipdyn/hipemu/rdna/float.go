package rdna

import (
	"math"
	"math/bits"

	"gorun/internal/f32"
)

// Conversions between bits and numbers. Types of operands have letters: f
// float32, h float16, B bfloat16, d float64.

func f32of(b uint64) float32 { return math.Float32frombits(uint32(b)) }
func bitsF32(f float32) uint64 {
	return uint64(math.Float32bits(f))
}
func f64of(b uint64) float64   { return math.Float64frombits(b) }
func bitsF64(f float64) uint64 { return math.Float64bits(f) }

// f16of is the float16 with the low 16 bits, exactly.
func f16of(b uint64) float32 {
	sign, exp, man := uint32(b>>15&1)<<31, uint32(b>>10&31), uint32(b&0x3ff)
	switch exp {
	case 0:
		f := float32(man) * 0x1p-24
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | man<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
}

// bitsF16 rounds to float16, to nearest even.
func bitsF16(f float32) uint64 { return round16(float64(f)) }

// round16 rounds to float16, to nearest even. A NaN keeps the top of its
// payload and becomes quiet.
func round16(f float64) uint64 {
	b := math.Float64bits(f)
	sign := b >> 48 & 0x8000
	abs := math.Abs(f)
	switch {
	case f != f:
		return sign | 0x7e00 | b>>42&0x3ff
	case abs >= 65520:
		return sign | 0x7c00
	case abs < 0x1p-14: // denormal: a multiple of 2^-24
		return sign | uint64(math.RoundToEven(abs*0x1p24))
	}
	b &^= 1 << 63
	b += 1<<41 - 1 + b>>42&1
	return sign | (b>>42 - (1023-15)<<10)
}

// truncate16 rounds to float16, toward zero.
func truncate16(f float32) uint64 {
	r := bitsF16(f)
	if f == f && math.Abs(float64(f)) < math.Inf(1) && math.Abs(float64(f16of(r))) > math.Abs(float64(f)) {
		r--
	}
	return r
}

func b16of(b uint64) float32 { return math.Float32frombits(uint32(b) << 16) }

// bitsB16 rounds to bfloat16, to nearest even.
func bitsB16(f float32) uint64 {
	b := math.Float32bits(f)
	if f != f {
		return uint64(b>>16 | 0x40)
	}
	return uint64((b + 0x7fff + b>>16&1) >> 16)
}

const (
	quiet32, quiet64 = 0x00400000, 1 << 51
	defaultNaN       = 0x7fc00000
	defaultNaN64     = 0x7ff8000000000000
	sign32, sign64   = 1 << 31, 1 << 63
	exp32, exp64     = 0x7f800000, 0x7ff0000000000000
	sign16           = 1 << 15
	quiet16, exp16   = 0x0200, 0x7c00
	defaultNaN16     = 0x7e00
	smallestNormal32 = 0x1p-126
)

func nan32(b uint64) bool { return uint32(b)&^sign32 > exp32 }
func nan64(b uint64) bool { return b&^sign64 > exp64 }
func nan16(b uint64) bool { return b&0x7fff > exp16 }

// result32 is a result, or if that is not a number the first source that is
// none, made quiet.
func result32(r float32, s ...uint64) uint64 {
	if r == r {
		return bitsF32(r)
	}
	for _, x := range s {
		if nan32(x) {
			return x&0xffffffff | quiet32
		}
	}
	return defaultNaN
}

func result64(r float64, s ...uint64) uint64 {
	if r == r {
		return bitsF64(r)
	}
	for _, x := range s {
		if nan64(x) {
			return x | quiet64
		}
	}
	return defaultNaN64
}

// result16 rounds a result that is exact enough as float64.
func result16(r float64, s ...uint64) uint64 {
	if r == r {
		return round16(r)
	}
	for _, x := range s {
		if nan16(x) {
			return x&0xffff | quiet16
		}
	}
	return defaultNaN16
}

func add32(a, b uint64) uint64 { return result32(f32of(a)+f32of(b), a, b) }
func sub32(a, b uint64) uint64 { return result32(f32of(a)-f32of(b), a, b) }
func mul32(a, b uint64) uint64 { return result32(f32of(a)*f32of(b), a, b) }
func fma32(a, b, c uint64) uint64 {
	return result32(f32.FMA(f32of(a), f32of(b), f32of(c)), a, b, c)
}

// mulLegacy32 is a product in which zero wins over infinity and NaN.
func mulLegacy32(a, b uint64) uint64 {
	if f32of(a) == 0 || f32of(b) == 0 {
		return 0
	}
	return mul32(a, b)
}

func fmaLegacy32(a, b, c uint64) uint64 {
	if f32of(a) == 0 || f32of(b) == 0 {
		return add32(0, c) // +0 plus the addend
	}
	return fma32(a, b, c)
}

func add64(a, b uint64) uint64    { return result64(f64of(a)+f64of(b), a, b) }
func mul64(a, b uint64) uint64    { return result64(f64of(a)*f64of(b), a, b) }
func fma64(a, b, c uint64) uint64 { return result64(math.FMA(f64of(a), f64of(b), f64of(c)), a, b, c) }

func h64(b uint64) float64 { return float64(f16of(b)) }

func add16(a, b uint64) uint64 { return result16(h64(a)+h64(b), a, b) }
func sub16(a, b uint64) uint64 { return result16(h64(a)-h64(b), a, b) }
func mul16(a, b uint64) uint64 { return result16(h64(a)*h64(b), a, b) }

// fma16 is exact as float64 where it matters: a product of two float16 has 22
// bits, and what the sum loses is below half of the last place of a float16.
func fma16(a, b, c uint64) uint64 {
	p := h64(a) * h64(b)
	return result16(p+h64(c), a, b, c)
}

// minMax are the smaller and the larger of two numbers. The kinds of NaN
// handling are those of gfx10 and gfx11 in IEEE mode (a signaling NaN becomes
// quiet and wins, a quiet one loses), of minimumNumber (gfx12: NaN loses) and
// of minimum (NaN wins).
type nanRule uint8

const (
	nanIEEE nanRule = iota
	nanNumber
	nanWins
)

type floatFormat struct {
	sign, exp, quiet uint64
}

var (
	format16 = floatFormat{sign16, exp16, quiet16}
	format32 = floatFormat{sign32, exp32, quiet32}
	format64 = floatFormat{sign64, exp64, quiet64}
)

func (f floatFormat) nan(b uint64) bool       { return b&(f.sign-1) > f.exp }
func (f floatFormat) signaling(b uint64) bool { return f.nan(b) && b&f.quiet == 0 }

// order maps bits of numbers to integers of the same order; -0 is below +0.
func (f floatFormat) order(b uint64) int64 {
	b &= f.sign<<1 - 1
	if b&f.sign != 0 {
		return -int64(b&^f.sign) - 1
	}
	return int64(b)
}

func (f floatFormat) pick(rule nanRule, a, b uint64, larger bool) uint64 {
	na, nb := f.nan(a), f.nan(b)
	if na || nb {
		switch {
		case rule == nanIEEE && f.signaling(a):
			return a | f.quiet
		case rule == nanIEEE && f.signaling(b):
			return b | f.quiet
		case na && (nb || rule == nanWins):
			return a | f.quiet
		case rule == nanWins:
			return b | f.quiet
		case na:
			return b
		}
		return a
	}
	if (f.order(a) > f.order(b)) == larger {
		return a
	}
	return b
}

func (f floatFormat) min(rule nanRule) laneFunc {
	return func(a, b, _ uint64) uint64 { return f.pick(rule, a, b, false) }
}

func (f floatFormat) max(rule nanRule) laneFunc {
	return func(a, b, _ uint64) uint64 { return f.pick(rule, a, b, true) }
}

func (f floatFormat) med3(rule nanRule) laneFunc {
	return func(a, b, c uint64) uint64 {
		if f.nan(a) || f.nan(b) || f.nan(c) {
			return f.pick(rule, f.pick(rule, a, b, false), c, false)
		}
		lo, hi := f.pick(rule, a, b, false), f.pick(rule, a, b, true)
		return f.pick(rule, f.pick(rule, hi, c, false), lo, true)
	}
}

// chain makes outer(inner(a, b), c).
func chain(inner, outer laneFunc) laneFunc {
	return func(a, b, c uint64) uint64 { return outer(inner(a, b, 0), c, 0) }
}

// Conversions to integers saturate; NaN gives zero.

func toI32(f float64) uint64 {
	switch {
	case f != f:
		return 0
	case f >= math.MaxInt32:
		return math.MaxInt32
	case f <= math.MinInt32:
		return 1 << 31
	}
	return uint64(uint32(int32(f)))
}

func toU32(f float64) uint64 {
	switch {
	case f != f || f <= 0:
		return 0
	case f >= math.MaxUint32:
		return math.MaxUint32
	}
	return uint64(uint32(f))
}

// toInt saturates to lo..hi, truncating.
func toInt(f float64, lo, hi int64) uint64 {
	switch {
	case f != f:
		return 0
	case f >= float64(hi):
		return uint64(hi)
	case f <= float64(lo):
		return uint64(lo)
	}
	return uint64(int64(f))
}

// norm scales -1..1 or 0..1 to integers of 16 bits, rounding to nearest even.
func norm(f float64, lo, scale float64) uint64 {
	if f != f {
		return 0
	}
	return uint64(int64(math.RoundToEven(min(max(f, lo), 1)*scale))) & 0xffff
}

func flush32(f float32) float32 {
	if f < smallestNormal32 && f > -smallestNormal32 {
		return float32(math.Copysign(0, float64(f)))
	}
	return f
}

// The transcendental functions are computed with float64 and rounded, so that
// they are at least as good as hardware's, which is within an ulp. As on
// hardware, those of float32 take and give zero for denormal numbers.

func exp2f32(a uint64) uint64 {
	return result32(flush32(float32(math.Exp2(float64(flush32(f32of(a)))))), a)
}

func log2f32(a uint64) uint64 {
	return result32(float32(math.Log2(float64(flush32(f32of(a))))), a)
}

func rcp32(a uint64) uint64 { return result32(flush32(float32(1/float64(flush32(f32of(a))))), a) }

func rsq32(a uint64) uint64 {
	x := float64(flush32(f32of(a)))
	return result32(float32(1/math.Sqrt(x)), a)
}

func sqrt32(a uint64) uint64 {
	return result32(float32(math.Sqrt(float64(flush32(f32of(a))))), a)
}

// sine and cosine are of turns. Beyond 256 turns hardware gives those of zero.
func sine(x float64) float64 {
	if math.IsInf(x, 0) {
		return math.NaN()
	}
	if math.Abs(x) > 256 {
		return 0
	}
	return math.Sin(2 * math.Pi * (x - math.RoundToEven(x)))
}

func cosine(x float64) float64 {
	if math.IsInf(x, 0) {
		return math.NaN()
	}
	if math.Abs(x) > 256 {
		return 1
	}
	return math.Cos(2 * math.Pi * (x - math.RoundToEven(x)))
}

func fract(x float64, below float64) float64 {
	if math.IsInf(x, 0) {
		return math.NaN()
	}
	return min(x-math.Floor(x), below)
}

// ldexp64 scales by a power of two, rounding once.
func ldexp64(x float64, e int32) float64 {
	return math.Ldexp(x, int(max(min(e, 3000), -3000)))
}

func ldexp32(x float32, e int32) float32 {
	// A float64 has room for every float32 times 2^e that is not rounded to
	// zero or infinity.
	return float32(math.Ldexp(float64(x), int(max(min(e, 600), -600))))
}

// exponent and mantissa are those of frexp: mantissas of 0.5 to 1.
func frexp(x float64) (mant float64, exp int32) {
	if x == 0 || math.IsInf(x, 0) || x != x {
		return x, 0
	}
	m, e := math.Frexp(x)
	return m, int32(e)
}

// class of a number for v_cmp_class: a bit for each.
func (f floatFormat) class(b uint64) uint32 {
	abs, neg := b&(f.sign-1), b&f.sign != 0
	side := func(n, p uint32) uint32 {
		if neg {
			return 1 << n
		}
		return 1 << p
	}
	switch {
	case abs > f.exp && b&f.quiet == 0:
		return 1
	case abs > f.exp:
		return 2
	case abs == f.exp:
		return side(2, 9)
	case abs == 0:
		return side(5, 6)
	case abs&f.exp == 0:
		return side(4, 7)
	}
	return side(3, 8)
}

// Division. The chain v_div_scale (twice), v_rcp, v_fma..., v_div_fmas,
// v_div_fixup gives the quotient rounded to nearest. AMD's published
// pseudo-code is wrong in corners; this follows what makes the chain right:
// operands are scaled by 2^64 (2^128 for float64) where the quotient or an
// intermediate result would leave the normal numbers.

// divScale32 scales which, one of the denominator and the numerator, for their
// division. It tells whether the result of v_div_fmas has to be scaled.
func divScale32(which, den, num uint64) (uint64, bool) {
	exp := func(b uint64) int { return int(b >> 23 & 0xff) }
	d, n := f32of(den), f32of(num)
	denDenorm := exp(den) == 0 && d != 0
	switch {
	case d == 0 || n == 0:
		return defaultNaN, false
	case exp(num)-exp(den) >= 96:
		// The quotient is near overflow.
		if uint32(which) == uint32(den) {
			return bitsF32(ldexp32(f32of(which), 64)), true
		}
		return which, true
	case denDenorm:
		return bitsF32(ldexp32(f32of(which), 64)), false
	case rcpDenorm32(d) && quotientDenorm32(n, d):
		// The published 2^64 would overflow.
		if uint32(which) == uint32(den) {
			return bitsF32(ldexp32(f32of(which), -64)), true
		}
		return which, true
	case rcpDenorm32(d):
		return bitsF32(ldexp32(f32of(which), -64)), false
	case quotientDenorm32(n, d):
		if uint32(which) == uint32(num) {
			return bitsF32(ldexp32(f32of(which), 64)), true
		}
		return which, true
	case exp(num) <= 23:
		return bitsF32(ldexp32(f32of(which), 64)), false
	}
	return which, false
}

func rcpDenorm32(d float32) bool {
	r := 1 / float64(d)
	return math.Abs(r) < smallestNormal32
}

func quotientDenorm32(n, d float32) bool {
	q := float64(n) / float64(d)
	return q != 0 && math.Abs(q) < smallestNormal32
}

func divScale64(which, den, num uint64) (uint64, bool) {
	exp := func(b uint64) int { return int(b >> 52 & 0x7ff) }
	d, n := f64of(den), f64of(num)
	small := func(x float64) bool { return x == 0 || math.Abs(x) < 0x1p-1022 }
	rcp := small(1 / d)
	quotient := small(n / d)
	switch {
	case d == 0 || n == 0:
		return defaultNaN64, false
	case exp(num)-exp(den) >= 768:
		if which == den {
			return bitsF64(ldexp64(f64of(which), 128)), true
		}
		return which, true
	case exp(den) == 0:
		return bitsF64(ldexp64(f64of(which), 128)), false
	case rcp && quotient:
		if which == den {
			return bitsF64(ldexp64(f64of(which), -128)), true
		}
		return which, true
	case rcp:
		return bitsF64(ldexp64(f64of(which), -128)), false
	case quotient:
		if which == num {
			return bitsF64(ldexp64(f64of(which), 128)), true
		}
		return which, true
	case exp(num) <= 53:
		return bitsF64(ldexp64(f64of(which), 128)), false
	}
	return which, false
}

// divFmas32 is a fused multiply-add whose result is scaled back.
func divFmas32(a, b, c uint64, scaled bool) uint64 {
	r := fma32(a, b, c)
	if !scaled || nan32(r) {
		return r
	}
	// Up where the numerator had been scaled down or the quotient is large.
	if math.Abs(float64(f32of(c))) >= 2 {
		return scaleFMA32(a, b, c, 64)
	}
	return scaleFMA32(a, b, c, -64)
}

// scaleFMA32 rounds once: (a*b + c) * 2^e.
func scaleFMA32(a, b, c uint64, e int32) uint64 {
	// Scaling the product and the addend before the sum is exact in float64.
	s := math.Ldexp(1, int(e))
	p, z := float64(f32of(a))*float64(f32of(b))*s, float64(f32of(c))*s
	return bitsF32(roundSum32(p, z))
}

// roundSum32 is p + z rounded once to float32.
func roundSum32(p, z float64) float32 {
	sum := p + z
	away := sum - p
	rest := (p - (sum - away)) + (z - away)
	b := math.Float64bits(sum)
	if rest != 0 && rest == rest && b&1 == 0 {
		if (rest > 0) == (sum > 0) {
			b++
		} else {
			b--
		}
		sum = math.Float64frombits(b)
	}
	return float32(sum)
}

func divFmas64(a, b, c uint64, scaled bool) uint64 {
	r := fma64(a, b, c)
	if !scaled || nan64(r) {
		return r
	}
	e := int32(-128)
	if math.Abs(f64of(c)) >= 2 {
		e = 128
	}
	if math.IsInf(f64of(r), 0) {
		return r
	}
	return bitsF64(exactFMA64(f64of(a), f64of(b), f64of(c), int(e)))
}

// divFixup gives the quotient of special cases, or the one computed. Sources
// are the quotient, the denominator and the numerator.
func (f floatFormat) divFixup(q, den, num uint64) uint64 {
	mask := f.sign<<1 - 1
	q, den, num = q&mask, den&mask, num&mask
	sign := (den ^ num) & f.sign
	ad, an := den&(f.sign-1), num&(f.sign-1)
	switch {
	case f.nan(num):
		return num | f.quiet
	case f.nan(den):
		return den | f.quiet
	case ad == 0 && an == 0, ad == f.exp && an == f.exp:
		return f.exp | f.quiet
	case ad == 0 || an == f.exp:
		return sign | f.exp
	case ad == f.exp || an == 0:
		return sign
	case f.nan(q):
		return sign | f.exp // the estimate overflowed
	}
	return sign | q&(f.sign-1)
}

// leading zeros and ones as the instructions define them: all ones where there
// is no such bit.

func ffbh32(a uint64) uint64 {
	if uint32(a) == 0 {
		return 0xffffffff
	}
	return uint64(bits.LeadingZeros32(uint32(a)))
}

func ffbl32(a uint64) uint64 {
	if uint32(a) == 0 {
		return 0xffffffff
	}
	return uint64(bits.TrailingZeros32(uint32(a)))
}

// ffbhSigned counts the bits that equal the sign.
func ffbhSigned32(a uint64) uint64 {
	x := uint32(a)
	if x == 0 || x == 0xffffffff {
		return 0xffffffff
	}
	return uint64(bits.LeadingZeros32(x ^ uint32(int32(x)>>31)))
}

// fp8 formats: E4M3 (no infinities; 0x7f is NaN) and E5M2.

func fp8of(b uint64) float32 {
	sign, exp, man := float32(1), int(b>>3&15), float32(b&7)
	if b&0x80 != 0 {
		sign = -1
	}
	switch {
	case b&0x7f == 0x7f:
		return float32(math.NaN())
	case exp == 0:
		return sign * man * 0x1p-9
	}
	return sign * float32(math.Ldexp(float64(1+man/8), exp-7))
}

func bf8of(b uint64) float32 { return f16of(b << 8) }
