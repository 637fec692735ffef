package tensor

import "math"

// A super-block of the kind x = d*scale*q - dmin*min, with whole-number scales
// and mins of groups of elements, none of them negative: q2_K, q4_K, q5_K.
type offsetBlock struct {
	group   int       // elements that share a scale and a min
	top     int32     // q is 0 to top
	most    int       // largest scale and min
	reaches []float32 // starts of the search in a group: steps from its least to its largest element
}

// offsetFit is a choice of the scales and mins of a super-block.
type offsetFit struct {
	d, dmin      uint16 // f16
	scales, mins [16]int
	err          float64
	normal       normal // equations for the best d and dmin
}

// fit searches the scales and mins of a super-block in the way that
// scaledBlock.fit does.
func (b *offsetBlock) fit(x *[256]float32, weights []float32) offsetFit {
	var scales, mins [16]float32
	var widest, lowest float32
	for at := 0; at < len(x); at += b.group {
		g := at / b.group
		lo, hi := extent(x[at:][:b.group])
		lo = min(lo, 0) // so that no min need be negative
		scale, base := b.line(x[at:][:b.group], weights[at:][:b.group], lo, hi, 0)
		scales[g], mins[g] = scale, -base
		widest, lowest = max(widest, scales[g]), max(lowest, mins[g])
	}
	best := b.round(x, weights, &scales, &mins, scaleF16(widest/float32(b.most)), scaleF16(lowest/float32(b.most)))
	for range 2 {
		d, dmin, ok := best.normal.solve()
		if !ok {
			break
		}
		next := b.round(x, weights, &scales, &mins, scaleF16(d), scaleF16(dmin))
		if !(next.err < best.err) {
			break
		}
		best = next
	}
	return best
}

// line searches the line base + scale*q that suits one group best, of those
// whose base is at most the given one. lo is at most the least element and hi
// is the largest; the first lines tried begin at lo.
func (b *offsetBlock) line(x, weights []float32, lo, hi, most float32) (scale, base float32) {
	if !(hi-lo > 0x1p-100) {
		return 0, lo
	}
	var best float32
	try := func(origin, inverse float32) {
		q := b.sums(x, weights, lo, origin, inverse)
		if s, offset, gain := q.line(most - lo); gain > best {
			best, scale, base = gain, s, lo+offset
		}
	}
	for _, reach := range b.reaches {
		try(lo, reach/(hi-lo))
	}
	for range 2 {
		if scale > 0 {
			try(base, 1/scale)
		}
	}
	return scale, base
}

// extent returns the least and the largest element.
func extent(x []float32) (lo, hi float32) {
	lo, hi = x[0], x[0]
	for _, f := range x {
		if f < lo {
			lo = f
		}
		if f > hi {
			hi = f
		}
	}
	return lo, hi
}

// lineSums are the weighted sums that the best line through points (q, y)
// follows from.
type lineSums struct{ w, y, q, qq, yq float32 }

// sums takes y = x-base, and for q what is nearest on the line that begins at
// origin and has the inverse slope given.
func (b *offsetBlock) sums(x, weights []float32, base, origin, inverse float32) (s lineSums) {
	weights = weights[:len(x)]
	for i, f := range x {
		q := nearestUpTo(float32((f-origin)*inverse), b.top)
		w, y := weights[i], f-base
		wq := float32(w * q)
		s.w += w
		s.y += float32(w * y)
		s.q += wq
		s.qq += float32(wq * q)
		s.yq += float32(wq * y)
	}
	return s
}

// nearestUpTo rounds to the nearest of the whole numbers from 0 to top, ties to
// even. Added to 1.5*2^23, where floats are one apart, a value is rounded; the
// order of such floats is that of their bits as integers, so integers can be
// compared, which takes no branch.
func nearestUpTo(v float32, top int32) float32 {
	const zero = 3 << 22
	const zeroBits = 0x4b400000
	bits := int32(math.Float32bits(v + zero))
	return math.Float32frombits(uint32(min(max(bits, zeroBits), zeroBits+top))) - zero
}

// line returns the line offset + scale*q with the least error, of those whose
// offset is at most the given one, and by how much its error is below that of
// y = 0.
func (s *lineSums) line(most float32) (scale, offset, gain float32) {
	det := float32(s.w*s.qq) - float32(s.q*s.q)
	switch {
	case s.qq == 0:
		return 0, 0, 0
	case det > float32(1e-5*float32(s.w*s.qq)):
		scale = (float32(s.w*s.yq) - float32(s.q*s.y)) / det
		offset = (float32(s.qq*s.y) - float32(s.q*s.yq)) / det
	default: // a single q; any line through it will do
		offset = min(s.y/s.w, most)
	}
	if offset >= most {
		offset = most
		scale = (s.yq - float32(offset*s.q)) / s.qq
	}
	// 2*scale*yq + 2*offset*y - scale^2*qq - offset^2*w - 2*scale*offset*q
	gain = float32(scale*(s.yq+s.yq-float32(scale*s.qq)-float32(2*offset*s.q))) +
		float32(offset*(s.y+s.y-float32(offset*s.w)))
	return scale, offset, gain
}

// round chooses the whole-number scales and mins for given d and dmin.
func (b *offsetBlock) round(x *[256]float32, weights []float32, scales, mins *[16]float32, d, dmin uint16) offsetFit {
	fit := offsetFit{d: d, dmin: dmin}
	step, minStep := F16ToF32(d), F16ToF32(dmin)
	for at := 0; at < len(x); at += b.group {
		g := at / b.group
		group, w := x[at:][:b.group], weights[at:][:b.group]
		scale, min := b.near(scales[g], step), b.near(mins[g], minStep)
		best := float32(-1)
		for k := max(scale-1, 0); k <= scale+1 && k <= b.most; k++ {
			m := min
			for range 2 { // the second time with the min that suits the levels of the first
				err, shift := b.errorOf(group, w, step*float32(k), minStep*float32(m))
				if best < 0 || err < best {
					best, fit.scales[g], fit.mins[g] = err, k, m
				}
				better := b.near(float32(minStep*float32(m))+shift, minStep)
				if better == m {
					break
				}
				m = better
			}
		}
		fit.err += float64(best)
		s, m := float32(fit.scales[g]), float32(fit.mins[g])
		q := b.sums(group, w, 0, -float32(minStep*m), invert(step*s))
		fit.normal.add(&q, s, m)
	}
	return fit
}

// near returns the whole number of steps that is nearest to v.
func (b *offsetBlock) near(v, step float32) int {
	return nearestInt(float32(v*invert(step)), 0, b.most)
}

// errorOf returns the error of a group for a scale and a min, and by how much
// the min should grow for the levels chosen.
func (b *offsetBlock) errorOf(x, weights []float32, scale, min float32) (err, shift float32) {
	weights = weights[:len(x)]
	inverse := invert(scale)
	var sum, total float32
	for i, f := range x {
		y := f + min
		e := float32(scale*nearestUpTo(float32(y*inverse), b.top)) - y
		we := float32(weights[i] * e)
		err += float32(we * e)
		sum += we
		total += weights[i]
	}
	if total > 0 {
		shift = sum / total
	}
	return err, shift
}

// encode writes q of all elements.
func (b *offsetBlock) encode(codes *[256]byte, x *[256]float32, fit *offsetFit) {
	step, minStep := F16ToF32(fit.d), F16ToF32(fit.dmin)
	for i, f := range x {
		g := i / b.group
		scale, min := step*float32(fit.scales[g]), float32(minStep*float32(fit.mins[g]))
		codes[i] = byte(nearestUpTo(float32((f+min)*invert(scale)), b.top))
	}
}

// normal are the equations for the d and dmin of a super-block with the least
// error, given all q, scales s and mins m: the sums of products of a = s*q, of
// m, and of x.
type normal struct{ aa, am, mm, xa, xm float64 }

// add adds a group; its y are x.
func (n *normal) add(q *lineSums, s, m float32) {
	n.aa += float64(float32(s*s) * q.qq)
	n.am += float64(float32(s*m) * q.q)
	n.mm += float64(float32(m*m) * q.w)
	n.xa += float64(s * q.yq)
	n.xm += float64(m * q.y)
}

// solve reports whether there is a solution that the format can hold.
func (n *normal) solve() (d, dmin float32, ok bool) {
	if n.aa == 0 {
		return 0, 0, false
	}
	if n.mm == 0 {
		return float32(n.xa / n.aa), 0, n.xa > 0
	}
	det := float64(n.aa*n.mm) - float64(n.am*n.am)
	if !(det > 0) {
		return 0, 0, false
	}
	d = float32((float64(n.xa*n.mm) - float64(n.xm*n.am)) / det)
	dmin = float32((float64(n.xa*n.am) - float64(n.xm*n.aa)) / det)
	return d, dmin, d > 0 && dmin >= 0
}
