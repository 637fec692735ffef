package sample

import "math"

// The steps that drop unlikely candidates. Each keeps one or more.

// topNSigma keeps the logits that are at least max - n σ, where σ is the
// standard deviation of all logits but those of -Inf.
func (c *candidates) topNSigma(n float64) {
	size := float64(len(c.list))
	var sum, squares float64
	for i := range c.list {
		sum += c.list[i].logit
	}
	mean := sum / size
	for i := range c.list {
		d := c.list[i].logit - mean
		squares += float64(d * d)
	}
	floor := c.top() - float64(n*math.Sqrt(squares/size))
	c.keep(func(d *candidate) bool { return d.logit >= floor })
}

// topK keeps the k largest logits.
func (c *candidates) topK(k int) {
	if k < len(c.list) {
		c.list = c.list[:c.rankBest(k)]
	}
}

// typical keeps the candidates whose surprise -ln p is closest to the entropy,
// the fewest whose probability is at least p. Among equals the likelier comes
// first.
func (c *candidates) typical(p float64) {
	h, logSum := c.entropy()
	middle := c.max + logSum - h // the logit of surprise h
	closer := func(a, b *candidate) bool {
		x, y := math.Abs(a.logit-middle), math.Abs(b.logit-middle)
		if x != y {
			return x < y
		}
		return better(a, b)
	}
	c.takeMass(closer, p)
}

// topP keeps the largest logits, the fewest whose probability is at least p.
func (c *candidates) topP(p float64) {
	c.weigh()
	c.takeMass(better, p)
}

// takeMass keeps the first candidates in an order, the fewest whose probability
// is at least p.
func (c *candidates) takeMass(before order, p float64) {
	want := float64(p * c.sum)
	have := 0.0
	n := c.rank(before, func(d *candidate) bool {
		have += d.weight
		return have >= want
	})
	c.list = c.list[:n]
}

// minP keeps the candidates that are at least p times as likely as the
// likeliest.
func (c *candidates) minP(p float64) {
	floor := c.top() + log(p)
	c.keep(func(d *candidate) bool { return d.logit >= floor })
}
