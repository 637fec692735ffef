package synth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Routing says how popular experts are. The zero value lets chance decide, by
// which all are nearly alike.
type Routing struct {
	// Exponent is that of Zipf's law: the expert of rank r is chosen in
	// proportion to 1/r^Exponent, as far as one choice of each expert per
	// token allows. 0: chance decides.
	Exponent float64
}

// UnmarshalText reads "zipf:1.2".
func (r *Routing) UnmarshalText(text []byte) error {
	number, ok := strings.CutPrefix(string(text), "zipf:")
	v, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(v >= 0 && v <= 10) {
		return fmt.Errorf("routing %q: want zipf:S with an exponent S from 0 to 10", text)
	}
	r.Exponent = v
	return nil
}

// choice is what a router's choice of experts can be moved by.
type choice int

const (
	byScale      choice = iota // by the length of its rows alone
	byLogitBias                // by the bias of its projection
	byChoiceBias               // by a bias added to sigmoids for the choice
)

// most is the largest share of tokens that an expert may take part in. A logit
// without bias is as often negative as positive, so no length of a row gets an
// expert chosen by more than half of them.
func (c choice) most() float64 {
	if c == byScale {
		return 0.45
	}
	return 0.97
}

// router adds the router of layer i. Its logits have a standard deviation of
// about 1. With Zipf's law the ranks of experts differ from layer to layer.
func (b *builder) router(i int, by choice) {
	s, e := b.shape, b.shape.experts
	weights := normal(0, 1/math.Sqrt(float64(s.width)))
	offsets := normal(0, 0)
	if b.options.Routing.Exponent > 0 {
		ranks := rand.New(b.random(block(i, "ranks"), 0)).Perm(e.count)
		reach := reaches(e.count, e.used, b.options.Routing.Exponent, by.most())
		if by == byScale {
			weights = rowsOf(s.width, ranks, reach)
		} else {
			offsets = by.offsets(ranks, reach)
		}
	}
	b.small(block(i, "ffn_gate_inp.weight"), weights, s.width, e.count)
	switch by {
	case byLogitBias:
		b.small(block(i, "ffn_gate_inp.bias"), offsets, e.count)
	case byChoiceBias:
		b.small(block(i, "exp_probs_b.bias"), offsets, e.count)
	}
}

// reaches returns for each rank how many standard deviations above its mean a
// logit must be to be chosen, so that choices follow Zipf's law.
func reaches(count, used int, exponent, most float64) []float64 {
	reach := popularity(count, used, exponent, most)
	for rank, p := range reach {
		reach[rank] = math.Sqrt2 * math.Erfinv(1-2*max(p, 1e-6))
	}
	return reach
}

// popularity returns for each rank the share of tokens that choose it: in
// proportion to rank^-exponent but at most most, and used in all. Where that is
// not possible, because nearly all experts are used, all shares are most.
func popularity(count, used int, exponent, most float64) []float64 {
	shares := make([]float64, count)
	set := func(factor float64) (sum float64) {
		for i := range shares {
			shares[i] = min(most, factor*math.Pow(float64(i+1), -exponent))
			sum += shares[i]
		}
		return sum
	}
	low, high := 0.0, math.Pow(float64(count), exponent)
	for range 100 {
		if middle := (low + high) / 2; set(middle) < float64(used) {
			low = middle
		} else {
			high = middle
		}
	}
	set(low)
	return shares
}

// rowsOf gives each expert rows of a length such that its logits exceed a
// common threshold as often as its rank wants. The longest give logits of a
// standard deviation of 2.
func rowsOf(width int, ranks []int, reach []float64) initializer {
	longest := reach[0]
	return func(random *rand.Rand, values []float32) {
		for expert, rank := range ranks {
			std := 2 * longest / reach[rank] / math.Sqrt(float64(width))
			normal(0, std)(random, values[expert*width:][:width])
		}
	}
}

// offsets gives each expert a bias that lifts it over a common threshold as
// often as its rank wants.
func (c choice) offsets(ranks []int, reach []float64) initializer {
	return func(_ *rand.Rand, values []float32) {
		for expert, rank := range ranks {
			offset := -reach[rank]
			if c == byChoiceBias {
				offset = 1 - 1/(1+math.Exp(-reach[rank]))
			}
			values[expert] = float32(offset)
		}
	}
}
