package sample

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// The definitions of the samplers, written out over whole vocabularies: a
// distribution is a slice of logits, where -Inf is a token that was dropped.
// Nothing here is shared with the package.

var negInf = math.Inf(-1)

// refProbs is softmax.
func refProbs(l []float64) []float64 {
	top := slices.Max(l)
	sum := 0.0
	for _, v := range l {
		sum += math.Exp(v - top)
	}
	p := make([]float64, len(l))
	for i, v := range l {
		p[i] = math.Exp(v-top) / sum
	}
	return p
}

// refOrder lists the tokens that are left by ascending key, then id.
func refOrder(l []float64, key func(i int) float64) []int {
	var ids []int
	for i, v := range l {
		if v != negInf {
			ids = append(ids, i)
		}
	}
	slices.SortStableFunc(ids, func(a, b int) int { return cmp.Compare(key(a), key(b)) })
	return ids
}

func refLikeliest(l []float64) []int {
	return refOrder(l, func(i int) float64 { return -l[i] })
}

// refOnly drops all but some tokens.
func refOnly(l []float64, ids []int) []float64 {
	out := slices.Repeat([]float64{negInf}, len(l))
	for _, i := range ids {
		out[i] = l[i]
	}
	return out
}

func refTopK(l []float64, k int) []float64 {
	ids := refLikeliest(l)
	return refOnly(l, ids[:min(k, len(ids))])
}

// refMass keeps the shortest prefix of ids whose probability reaches p.
func refMass(l []float64, ids []int, p float64) []float64 {
	probs, have := refProbs(l), 0.0
	for n, i := range ids {
		if have += probs[i]; have >= p {
			return refOnly(l, ids[:n+1])
		}
	}
	return l
}

func refTopP(l []float64, p float64) []float64 {
	return refMass(l, refLikeliest(l), p)
}

func refMinP(l []float64, p float64) []float64 {
	probs := refProbs(l)
	return refWhere(l, func(i int) bool { return probs[i] >= p*slices.Max(probs) })
}

func refWhere(l []float64, ok func(i int) bool) []float64 {
	var ids []int
	for i, v := range l {
		if v != negInf && ok(i) {
			ids = append(ids, i)
		}
	}
	return refOnly(l, ids)
}

// refEntropy is in nats.
func refEntropy(l []float64) float64 {
	h := 0.0
	for _, p := range refProbs(l) {
		if p > 0 {
			h -= p * math.Log(p)
		}
	}
	return h
}

func refTypical(l []float64, p float64) []float64 {
	probs, h := refProbs(l), refEntropy(l)
	ids := refOrder(l, func(i int) float64 { return math.Abs(-math.Log(probs[i]) - h) })
	return refMass(l, ids, p)
}

func refTopNSigma(l []float64, n float64) []float64 {
	var left []float64
	for _, v := range l {
		if v != negInf {
			left = append(left, v)
		}
	}
	// The variance as the mean squared difference of pairs, halved.
	pairs := 0.0
	for _, a := range left {
		for _, b := range left {
			pairs += (a - b) * (a - b)
		}
	}
	sigma := math.Sqrt(pairs/2) / float64(len(left))
	return refWhere(l, func(i int) bool { return l[i] >= slices.Max(l)-n*sigma })
}

func refXTC(l []float64, threshold float64) []float64 {
	probs := refProbs(l)
	var above []int
	for _, i := range refLikeliest(l) {
		if probs[i] >= threshold {
			above = append(above, i)
		}
	}
	return refWhere(l, func(i int) bool {
		n := slices.Index(above, i)
		return n < 0 || n == len(above)-1
	})
}

func refTemperature(l []float64, t float64) []float64 {
	out := make([]float64, len(l))
	for i, v := range l {
		out[i] = v / t
	}
	return out
}

func refDynamic(l []float64, t, span, exponent float64) float64 {
	left := 0
	for _, v := range l {
		if v != negInf {
			left++
		}
	}
	if left < 2 {
		return t
	}
	low, high := math.Max(0, t-span), t+span
	return low + (high-low)*math.Pow(refEntropy(l)/math.Log(float64(left)), exponent)
}

// refPenalties looks at the last tokens of a sequence.
func refPenalties(l []float64, p Params, tokens []int32) []float64 {
	if p.RepeatLastN >= 0 {
		tokens = tokens[max(0, len(tokens)-p.RepeatLastN):]
	}
	out := slices.Clone(l)
	for i := range out {
		n := 0
		for _, t := range tokens {
			if int(t) == i {
				n++
			}
		}
		if n == 0 {
			continue
		}
		if out[i] > 0 {
			out[i] /= p.RepeatPenalty
		} else {
			out[i] *= p.RepeatPenalty
		}
		out[i] -= float64(n)*p.FrequencyPenalty + p.PresencePenalty
	}
	return out
}

// refDRY tries all runs at all places.
func refDRY(l []float64, d DRY, tokens []int32, piece func(int32) string) []float64 {
	// stop[i]: a breaker ends in the text of token i.
	text := ""
	stop := make([]bool, len(tokens))
	for i, t := range tokens {
		start := len(text)
		text += piece(t)
		for end := start + 1; end <= len(text); end++ {
			for _, b := range d.Breakers {
				if b != "" && end >= len(b) && text[end-len(b):end] == b {
					stop[i] = true
				}
			}
		}
	}
	if d.PenaltyLastN >= 0 {
		from := max(0, len(tokens)-d.PenaltyLastN)
		tokens, stop = tokens[from:], stop[from:]
	}
	longest := map[int32]int{}
	for n := 1; n <= len(tokens) && !stop[len(tokens)-n]; n++ {
		run := tokens[len(tokens)-n:]
		for at := 0; at+n < len(tokens); at++ {
			if slices.Equal(tokens[at:at+n], run) {
				longest[tokens[at+n]] = n
			}
		}
	}
	out := slices.Clone(l)
	for t, n := range longest {
		if n < d.AllowedLength || containsAny(piece(t), d.Breakers) {
			continue
		}
		out[t] -= math.Min(d.Multiplier*math.Pow(d.Base, float64(n-d.AllowedLength)), math.MaxFloat32)
	}
	return out
}

func containsAny(text string, list []string) bool {
	for _, b := range list {
		for i := 0; b != "" && i+len(b) <= len(text); i++ {
			if text[i:i+len(b)] == b {
				return true
			}
		}
	}
	return false
}

// refMirostat1 is the truncation of the first algorithm of the paper.
func refMirostat1(l []float64, mu float64) []float64 {
	probs := refProbs(l)
	ids := refLikeliest(l)
	var tb, tt float64
	for i := 0; i+1 < min(100, len(ids)); i++ {
		t := math.Log(float64(i+2) / float64(i+1))
		b := math.Log(probs[ids[i]] / probs[ids[i+1]])
		tb += t * b
		tt += t * t
	}
	s := tb / tt
	eps := s - 1
	k := math.Pow(eps*math.Pow(2, mu)/(1-math.Pow(float64(len(l)), -eps)), 1/s)
	return refTopK(l, int(math.Max(1, math.Min(math.Round(k), float64(len(ids))))))
}

func refMirostat2(l []float64, mu float64) []float64 {
	probs := refProbs(l)
	out := refWhere(l, func(i int) bool { return -math.Log2(probs[i]) <= mu })
	if slices.Max(out) == negInf {
		return refTopK(l, 1)
	}
	return out
}

// normalLogits are continuous, so that no two are alike and nothing lies on a
// border; about one in ten is -Inf.
func normalLogits(r *rand.Rand, n int) []float32 {
	l := make([]float32, n)
	spread := 0.5 + 4*r.Float64()
	for i := range l {
		l[i] = float32(r.NormFloat64() * spread)
		if i > 0 && r.IntN(10) == 0 {
			l[i] = float32(negInf)
		}
	}
	return l
}

func widen(l []float32) []float64 {
	out := make([]float64, len(l))
	for i, v := range l {
		out[i] = float64(v)
	}
	return out
}
