package model

import "math"

// frequencies returns the angle by which each pair of a head turns per
// position. factors, if any, divide them.
func (r Rope) frequencies(factors []float32) []float64 {
	freqs := make([]float64, r.Dims/2)
	for i := range freqs {
		f := math.Pow(r.Base, -2*float64(i)/float64(r.Dims))
		if factors != nil {
			f /= float64(factors[i])
		}
		switch r.Scaling.Kind {
		case ScaleLinear:
			f /= r.Scaling.Factor
		case ScaleYarn:
			// Fast pairs keep their frequency, slow ones are stretched, those
			// between are blended ("NTK-by-parts" of the YaRN paper).
			keep := 1 - ramp(float64(i), r.yarnBound(math.Floor, r.Scaling.BetaFast), r.yarnBound(math.Ceil, r.Scaling.BetaSlow))
			f = f/r.Scaling.Factor*(1-keep) + f*keep
		}
		freqs[i] = f
	}
	return freqs
}

// yarnBound is the pair that turns the given number of times over the
// original context, rounded and clamped to the pairs there are.
func (r Rope) yarnBound(round func(float64) float64, rotations float64) float64 {
	dims := float64(r.Dims)
	pair := dims * math.Log(float64(r.Scaling.OriginalContext)/(rotations*2*math.Pi)) / (2 * math.Log(r.Base))
	return min(max(round(pair), 0), dims-1)
}

// ramp rises from 0 at low to 1 at high.
func ramp(x, low, high float64) float64 {
	return min(max((x-low)/max(high-low, 0.001), 0), 1)
}

// fillTable writes cosine and sine of each pair at a position.
func fillTable(table []float32, freqs []float64, magnitude float64, pos int) {
	for i, f := range freqs {
		sin, cos := math.Sincos(float64(pos) * f)
		table[2*i], table[2*i+1] = float32(cos*magnitude), float32(sin*magnitude)
	}
}

// factor is the temperature's factor of a query at pos.
func (t Temperature) factor(pos int) float32 {
	return float32(1 + t.Scale*math.Log(1+float64(pos/t.Length)))
}
