package tensor

import "math"

// quantizeMXFP4 takes the exponent that the MX specification prescribes: the
// one that puts the largest element between 4 and 8, where 6 is the largest
// level. With weights the exponents next to it are tried too.
func quantizeMXFP4(dst []byte, src, weights []float32) {
	x, y := (*[32]float32)(src), (*[17]byte)(dst)
	e := mxExponent(abs32(extreme(x[:])))
	var codes [32]byte
	if weights != nil {
		best := mxEncode(&codes, x, weights, halfE8M0(e))
		for _, other := range [...]byte{e + 1, max(e, 1) - 1} {
			if err := mxEncode(&codes, x, weights, halfE8M0(other)); err < best {
				best, e = err, other
			}
		}
	}
	mxEncode(&codes, x, ones[:], halfE8M0(e))
	y[0] = e
	packNibbles((*[16]byte)(y[1:]), &codes)
}

// mxExponent returns the scale, as e8m0, for a block whose largest magnitude
// is given.
func mxExponent(most float32) byte {
	if most == 0 {
		return 0
	}
	_, exponent := math.Frexp(float64(most)) // most is from 2^(exponent-1) up to 2^exponent
	return byte(max(exponent-1-2+127, 0))
}

// mxEncode quantizes to x = d*e2m1 and returns the weighted squared error. A
// value midway between two levels gets the smaller.
func mxEncode(codes *[32]byte, x *[32]float32, weights []float32, d float32) (err float32) {
	var limits [7]float32
	for i := range limits {
		limits[i] = (e2m1[i] + e2m1[i+1]) / 2 * d
	}
	weights = weights[:len(x)]
	for i, f := range x {
		most, code := abs32(f), byte(0)
		for _, limit := range limits {
			if most > limit {
				code++
			}
		}
		e := most - float32(d*e2m1[code])
		err += float32(weights[i] * float32(e*e))
		if f < 0 && code != 0 {
			code |= 8
		}
		codes[i] = code
	}
	return err
}
