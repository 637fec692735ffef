package tensor

// A scalar quantizer rounds to the nearest of a few levels. The levels are
// whole numbers from -128 to 127, so the limits between them are multiples of
// one half: the quantizer divides that range into cells of width one half, and
// all values in a cell round to the same level. Midway they go up.
type scalar struct {
	level [cells]float32
	code  [cells]byte // of the level in the format
}

const cells = 512

// newScalar makes a quantizer from the levels in the order of their codes. Of
// equal levels the first code is used.
func newScalar(levels []float32) *scalar {
	s := new(scalar)
	for c := range s.level {
		center := float64((float64(c-cells/2) + 0.5) / 2)
		best := 0
		for code, level := range levels {
			if abs64(center-float64(level)) < abs64(center-float64(levels[best])) {
				best = code
			}
		}
		s.level[c], s.code[c] = levels[best], byte(best)
	}
	return s
}

// uniformScalar has the levels lo to hi with the codes from 0.
func uniformScalar(lo, hi int) *scalar {
	levels := make([]float32, hi-lo+1)
	for i := range levels {
		levels[i] = float32(lo + i)
	}
	return newScalar(levels)
}

func abs64(x float64) float64 {
	if x < 0 {
		return -x
	}
	return x
}

func abs32(x float32) float32 {
	if x < 0 {
		return -x
	}
	return x
}

// cell returns the cell of a value, the outermost ones for what is beyond. It
// is valid as an index without a check after & (cells-1).
func cell(v float32) uint {
	t := v + v + cells/2
	if !(t > 0) {
		return 0
	}
	if t > cells-1 {
		return cells - 1
	}
	return uint(t)
}

// sums adds up what the best scale for given levels follows from: the products
// of x and level, and the squares of level. inverse is one over the scale by
// which the levels are chosen.
func (s *scalar) sums(x, weights []float32, inverse float32) (xl, ll float32) {
	weights = weights[:len(x)]
	for i, f := range x {
		l := s.level[cell(float32(f*inverse))&(cells-1)]
		wl := float32(weights[i] * l)
		xl += float32(wl * f)
		ll += float32(wl * l)
	}
	return xl, ll
}

// scale searches the scale with the least error. Each reach is a start: the
// scale that takes the element of the largest magnitude there. What comes of
// the best is then refined twice, by choosing levels for the scale and the
// scale for the levels in turn.
//
// The error is the sum of x^2 less xl^2/ll, so the largest xl^2/ll wins. It is
// computed as xl*(xl/ll), which does not overflow.
func (s *scalar) scale(x, weights []float32, reaches []float32) float32 {
	most := extreme(x)
	if abs32(most) < 0x1p-100 {
		return 0 // no format has scales for that
	}
	var best, scale float32
	try := func(inverse float32) {
		if xl, ll := s.sums(x, weights, inverse); ll > 0 {
			if gain := float32(xl * float32(xl/ll)); gain > best {
				best, scale = gain, xl/ll
			}
		}
	}
	for _, reach := range reaches {
		try(reach / most)
	}
	for range 2 {
		if scale != 0 {
			try(1 / scale)
		}
	}
	return scale
}

// encode writes the codes of the levels for a scale.
func (s *scalar) encode(codes []byte, x []float32, scale float32) {
	codes = codes[:len(x)]
	inverse := invert(scale)
	for i, f := range x {
		codes[i] = s.code[cell(float32(f*inverse))&(cells-1)]
	}
}

// invert returns 1/scale, and 0 for a scale that no format can hold.
func invert(scale float32) float32 {
	if abs32(scale) < 0x1p-120 {
		return 0
	}
	return 1 / scale
}

// scaleF16 returns a scale as f16, the largest finite one if it is beyond that.
func scaleF16(scale float32) uint16 { return F32ToF16(min(max(scale, -65504), 65504)) }

// ones are the weights where there are none.
var ones = func() (w [maxBlock]float32) {
	for i := range w {
		w[i] = 1
	}
	return w
}()

// orOnes returns equal weights if there are none.
func orOnes(weights []float32) []float32 {
	if weights == nil {
		return ones[:]
	}
	return weights
}
