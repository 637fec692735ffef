package tensor

// A super-block of the kind x = d * scale * level, with whole-number scales of
// groups of elements: q3_K, q6_K and iq4_xs.
type scaledBlock struct {
	levels  *scalar
	group   int       // elements that share a scale
	lo, hi  int       // range of a scale
	reaches []float32 // starts of the search for the scale of a group
}

// scaledFit is a choice of the scales of a super-block.
type scaledFit struct {
	d      uint16 // f16
	scales [16]int
	gain   float64 // sum of x^2 less the error
	xl, ll float64 // as of scalar.sums, over the whole block, for d = 1
}

// fit searches the scales of a super-block. First every group gets the scale
// that suits it best; the widest of them decides d. For that d, as rounded to
// f16, the whole-number scales next to the ones wanted are tried. Then d is
// replaced by the one that suits what came of that, and the last step is
// repeated.
func (b *scaledBlock) fit(x *[256]float32, weights []float32) scaledFit {
	var wanted [16]float32
	widest := float32(0)
	for at := 0; at < len(x); at += b.group {
		s := b.levels.scale(x[at:][:b.group], weights[at:][:b.group], b.reaches)
		wanted[at/b.group] = s
		if abs32(s) > abs32(widest) {
			widest = s
		}
	}
	best := b.round(x, weights, &wanted, scaleF16(widest/float32(b.lo)))
	for range 2 {
		if best.ll == 0 {
			break
		}
		next := b.round(x, weights, &wanted, scaleF16(float32(best.xl/best.ll)))
		if !(next.gain > best.gain) {
			break
		}
		best = next
	}
	return best
}

// round chooses the whole-number scales for a given d.
func (b *scaledBlock) round(x *[256]float32, weights []float32, wanted *[16]float32, d uint16) scaledFit {
	fit := scaledFit{d: d}
	step := F16ToF32(d)
	if step == 0 {
		return fit
	}
	for at := 0; at < len(x); at += b.group {
		g := at / b.group
		near := nearestInt(wanted[g]/step, b.lo, b.hi)
		var gain, xl, ll float32
		for k := max(near-1, b.lo); k <= min(near+1, b.hi); k++ {
			if k == 0 {
				continue // gains nothing
			}
			s := step * float32(k)
			kxl, kll := b.levels.sums(x[at:][:b.group], weights[at:][:b.group], 1/s)
			if kgain := float32(s * (kxl + kxl - float32(s*kll))); kgain > gain {
				gain, xl, ll, fit.scales[g] = kgain, float32(kxl*float32(k)), float32(kll*float32(k*k)), k
			}
		}
		fit.gain += float64(gain)
		fit.xl += float64(xl)
		fit.ll += float64(ll)
	}
	return fit
}

// encode writes the codes of all elements.
func (b *scaledBlock) encode(codes *[256]byte, x *[256]float32, fit *scaledFit) {
	for at := 0; at < len(x); at += b.group {
		b.levels.encode(codes[at:][:b.group], x[at:][:b.group], F16ToF32(fit.d)*float32(fit.scales[at/b.group]))
	}
}

// nearestInt rounds to the nearest integer within [lo, hi].
func nearestInt(v float32, lo, hi int) int {
	switch {
	case !(v > float32(lo)):
		return lo
	case v >= float32(hi):
		return hi
	case v < 0:
		return -int(0.5 - v)
	}
	return int(v + 0.5)
}
