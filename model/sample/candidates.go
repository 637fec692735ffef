package sample

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrNoToken says that every logit is -Inf: there is nothing to choose.
var ErrNoToken = errors.New("sample: all logits are -Inf, no token is left to choose")

// A candidate is a token that may still be chosen.
type candidate struct {
	id     int32
	logit  float64
	weight float64 // e^(logit-max), see candidates.weigh
}

// candidates are the tokens that the steps so far have left, in no particular
// order. All logits are finite.
type candidates struct {
	list []candidate
	// The probability of a candidate is weight/sum, once weigh has been called.
	max, sum float64
	weighed  bool
}

// An edit is a logit that the first steps have changed.
type edit struct {
	id    int32
	logit float64
}

// load takes the k largest logits, the lowest ids among equals, or all for k=0.
// edits are sorted by id and take the place of the logits they name.
func (c *candidates) load(logits []float32, edits []edit, k int) error {
	c.list = c.list[:0]
	c.weighed = false
	if k <= 0 || k > len(logits) {
		k = len(logits)
	}
	// A logit that is not above floor is of no interest. Most are not, and this
	// one comparison also lets NaN and +Inf through to be reported.
	floor := math.Inf(-1)
	next, edited := 0, -1
	if len(edits) > 0 {
		edited = int(edits[0].id)
	}
	for i, raw := range logits {
		v := float64(raw)
		if i == edited {
			v = edits[next].logit
			next++
			if next < len(edits) {
				edited = int(edits[next].id)
			}
		}
		if v <= floor {
			continue
		}
		if v-v != 0 {
			return badLogit(i, v)
		}
		c.list = append(c.list, candidate{id: int32(i), logit: v})
		if k == len(logits) {
			continue
		}
		// The list is a heap with its worst on top, once it is full.
		switch n := len(c.list); {
		case n == k:
			heapify(c.list, worse)
			floor = c.list[0].logit
		case n > k:
			c.list[0] = c.list[k]
			c.list = c.list[:k]
			siftDown(c.list, 0, worse)
			floor = c.list[0].logit
		}
	}
	if len(c.list) == 0 {
		return ErrNoToken
	}
	return nil
}

func badLogit(id int, v float64) error {
	return fmt.Errorf("sample: the logit of token %d is %v; want a finite number, or -Inf for a token that is ruled out", id, v)
}

// top returns the largest logit.
func (c *candidates) top() float64 {
	top := c.list[0].logit
	for i := range c.list {
		top = max(top, c.list[i].logit)
	}
	return top
}

// weigh brings weights, max and sum up to date. Dropping candidates does not
// make weights wrong; max may then belong to one that is gone.
func (c *candidates) weigh() {
	if !c.weighed {
		c.max = c.top()
		for i := range c.list {
			c.list[i].weight = exp(c.list[i].logit - c.max)
		}
		c.weighed = true
	}
	c.sum = 0
	for i := range c.list {
		c.sum += c.list[i].weight
	}
}

// entropy returns the entropy of the candidates in nats, and the logarithm of
// their sum: the log probability of one is logit - max - logSum.
func (c *candidates) entropy() (h, logSum float64) {
	c.weigh()
	logSum = log(c.sum)
	for i := range c.list {
		d := &c.list[i]
		h -= float64(d.weight / c.sum * (d.logit - c.max - logSum))
	}
	return max(h, 0), logSum
}

// keep drops the candidates for which ok is false.
func (c *candidates) keep(ok func(d *candidate) bool) {
	n := 0
	for i := range c.list {
		if ok(&c.list[i]) {
			c.list[n] = c.list[i]
			n++
		}
	}
	c.list = c.list[:n]
}

// rank brings the first candidates in an order to the front of the list, up to
// and including the one that is enough, and returns how many they are. The
// others stay behind them. Where few are asked for, this is much less work than
// sorting.
func (c *candidates) rank(before order, enough func(d *candidate) bool) int {
	h := c.list
	heapify(h, before)
	for n := len(h) - 1; n >= 0; n-- {
		// The first of the heap moves behind its end.
		h[0], h[n] = h[n], h[0]
		siftDown(h[:n], 0, before)
		if enough(&h[n]) {
			slices.Reverse(h)
			return len(h) - n
		}
	}
	slices.Reverse(h)
	return len(h)
}

// rankBest is rank for the n largest logits.
func (c *candidates) rankBest(n int) int {
	i := 0
	return c.rank(better, func(*candidate) bool { i++; return i == n })
}

// draw returns the index of the candidate at the fraction u of the sum of
// weights, 0 ≤ u < 1.
func (c *candidates) draw(u float64) int {
	c.weigh()
	rest := float64(u * c.sum)
	last := 0
	for i := range c.list {
		w := c.list[i].weight
		if w == 0 {
			continue
		}
		if rest < w {
			return i
		}
		rest -= w
		last = i
	}
	return last // rounding has left a little
}
