package sample

import "math"

// zipfRanks is how many of the likeliest tokens mirostat 1 looks at to estimate
// the exponent of Zipf's law; m in the paper.
const zipfRanks = 100

// mirostat is the feedback loop of one sequence.
type mirostat struct {
	Mirostat
	vocab int
	mu    float64 // the surprise that is allowed to the next token, in bits
}

func (m *mirostat) reset() {
	m.mu = 2 * m.Tau
}

// truncate drops the candidates that mu does not allow; the likeliest always
// is. It returns log2 of the sum of weights before, to tell the surprise of the
// token that is drawn.
func (m *mirostat) truncate(c *candidates) (bits float64) {
	c.weigh()
	bits = log(c.sum) / math.Ln2
	if m.Version == 1 {
		m.zipf(c)
		return bits
	}
	allowed := max(m.mu, c.surprise(c.max, bits))
	c.keep(func(d *candidate) bool { return c.surprise(d.logit, bits) <= allowed })
	return bits
}

// zipf keeps the k likeliest. Were probabilities to fall with the rank i as
// i^-s, then keeping k would make the surprise of the text mu bits.
func (m *mirostat) zipf(c *candidates) {
	ranks := c.rankBest(zipfRanks)
	if ranks < 2 {
		return
	}
	// s is the slope of the log probability over the log of the rank, fitted by
	// least squares to the steps between neighbours.
	var products, squares float64
	for i := 1; i < ranks; i++ {
		t := log(float64(i+1) / float64(i))
		b := c.list[i-1].logit - c.list[i].logit
		products += float64(t * b)
		squares += float64(t * t)
	}
	s := products / squares
	if s == 0 {
		return // all are equally likely, and the law says nothing
	}
	// k = (ε 2^mu / (1 - N^-ε))^(1/s) with ε = s-1, by way of its logarithm.
	logN := log(float64(m.vocab))
	x := float64((s - 1) * logN)
	ratio := (1 + float64(x/2)) / logN // where ε/(1 - N^-ε) would be 0/0
	if math.Abs(x) > 1e-6 {
		ratio = (s - 1) / (1 - exp(-x))
	}
	k := math.Round(exp((float64(m.mu*math.Ln2) + log(ratio)) / s))
	if k < float64(len(c.list)) {
		c.topK(max(int(k), 1))
	}
}

// surprise is -log2 of the probability of a candidate, where bits is log2 of
// the sum of weights.
func (c *candidates) surprise(logit, bits float64) float64 {
	return bits - (logit-c.max)/math.Ln2
}

// learn moves mu after a token of the given surprise.
func (m *mirostat) learn(surprise float64) {
	m.mu -= float64(m.Eta * (surprise - m.Tau))
}
