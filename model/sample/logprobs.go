package sample

import (
	"fmt"
)

// A Logprob is the natural logarithm of the probability of a token.
type Logprob struct {
	ID      int32
	Logprob float64
}

// Logprobs returns the log probability of a token in the distribution that the
// logits stand for, and those of the n likeliest tokens, likeliest first. It is
// -Inf for a token whose logit is; those are not among the likeliest, which may
// therefore be fewer than n.
func Logprobs(logits []float32, id int32, n int) (float64, []Logprob, error) {
	if id < 0 || int(id) >= len(logits) {
		return 0, nil, fmt.Errorf("sample: log probability of token %d, but there are %d logits", id, len(logits))
	}
	var best candidates
	if err := best.load(logits, nil, max(n, 1)); err != nil {
		return 0, nil, err
	}
	best.rankBest(len(best.list))
	top := best.list[0].logit
	sum := 0.0
	for _, v := range logits {
		sum += exp(float64(v) - top)
	}
	total := top + log(sum)
	if n <= 0 {
		return float64(logits[id]) - total, nil, nil
	}
	list := make([]Logprob, len(best.list))
	for i, d := range best.list {
		list[i] = Logprob{d.id, d.logit - total}
	}
	return float64(logits[id]) - total, list, nil
}
