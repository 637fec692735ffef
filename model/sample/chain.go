package sample

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// A Token is what a chain has chosen.
type Token struct {
	ID int32
	// Prob is the probability with which the chain chose it: 1 at temperature
	// zero.
	Prob float64
	// Logprob and Top are set if Params.Logprobs is. They are those of the
	// model, see [Logprobs].
	Logprob float64
	Top     []Logprob
}

// A Chain chooses the tokens of one sequence. It is not safe for concurrent
// use; chains share nothing, clones included.
type Chain struct {
	p        Params // filled
	vocab    int
	seed     int64
	random   rand.PCG
	bias     []edit // sorted by id; logit is what to add
	history  history
	penalty  penalties
	dry      dry
	mirostat mirostat

	// Scratch of Sample.
	edits []edit
	set   candidates
}

// New makes a chain for a vocabulary of that many tokens. piece gives the text
// of a token; it is needed for DRY with breakers, and may be nil otherwise.
func New(p Params, vocab int, piece func(id int32) string) (*Chain, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if vocab < 1 || vocab > math.MaxInt32 {
		return nil, fmt.Errorf("sample: a vocabulary of %d tokens", vocab)
	}
	if p.TopLogprobs > vocab {
		return nil, fmt.Errorf("sample: top_logprobs is %d; the vocabulary has %d tokens", p.TopLogprobs, vocab)
	}
	p = p.filled()
	c := &Chain{
		p:        p,
		vocab:    vocab,
		seed:     p.Seed,
		penalty:  newPenalties(p),
		dry:      dry{DRY: p.DRY, piece: piece},
		mirostat: mirostat{Mirostat: p.Mirostat, vocab: vocab},
	}
	if c.seed < 0 {
		c.seed = int64(rand.Uint64() >> 11) // exact as a number in JSON
	}
	for id, b := range p.LogitBias {
		if id < 0 || int(id) >= vocab {
			return nil, fmt.Errorf("sample: logit_bias of token %d; the vocabulary has %d tokens", id, vocab)
		}
		c.bias = append(c.bias, edit{id, float64(b)})
	}
	slices.SortFunc(c.bias, func(a, b edit) int { return int(a.id) - int(b.id) })

	c.history.keep = c.penalty.n
	if c.dry.on() {
		c.dry.Breakers = slices.DeleteFunc(slices.Clone(p.DRY.Breakers), func(b string) bool { return b == "" })
		if len(c.dry.Breakers) > 0 && piece == nil {
			return nil, errors.New("sample: DRY with sequence breakers needs the text of tokens; give New a piece function")
		}
		c.history.keep = wider(c.history.keep, p.DRY.PenaltyLastN)
	}
	c.Reset()
	return c, nil
}

// Seed returns the seed of the random stream: that of the settings, or the one
// that was drawn in its place.
func (c *Chain) Seed() int64 {
	return c.seed
}

// Reset forgets the sequence and starts the random stream anew.
func (c *Chain) Reset() {
	c.random.Seed(uint64(c.seed), 0)
	c.history.tokens = c.history.tokens[:0]
	c.penalty.seen = c.penalty.seen[:0]
	c.dry.text, c.dry.clear = "", 0
	c.mirostat.reset()
}

// Clone returns a chain that goes on as c would, random numbers included.
func (c *Chain) Clone() *Chain {
	d := *c
	d.history.tokens = slices.Clone(c.history.tokens)
	d.penalty.seen = slices.Clone(c.penalty.seen)
	d.dry.matches, d.dry.hits = nil, nil
	d.edits, d.set = nil, candidates{}
	return &d
}

// Accept adds a token to the sequence, of the prompt or a sampled one. Sample
// does not do so by itself. An id outside of the vocabulary, a placeholder, is
// ignored.
func (c *Chain) Accept(id int32) {
	if c.history.keep == 0 || id < 0 || int(id) >= c.vocab {
		return
	}
	c.penalty.add(&c.history, id)
	if c.dry.on() {
		c.dry.add(id)
	}
	c.history.add(id)
}

// Sample chooses a token. It neither changes logits nor keeps it.
func (c *Chain) Sample(logits []float32) (Token, error) {
	if len(logits) != c.vocab {
		return Token{}, fmt.Errorf("sample: %d logits for a vocabulary of %d tokens", len(logits), c.vocab)
	}
	c.edit(logits)
	greedy := c.p.Temperature == 0
	k := 0 // all
	switch {
	case greedy:
		k = 1
	case c.mirostat.Version == 0 && c.p.TopNSigma <= 0:
		k = c.p.TopK
	}
	if err := c.set.load(logits, c.edits, k); err != nil {
		return Token{}, err
	}
	var t Token
	if greedy {
		t = Token{ID: c.set.list[0].id, Prob: 1}
	} else {
		t = c.draw()
	}
	if c.p.Logprobs {
		var err error
		if t.Logprob, t.Top, err = Logprobs(logits, t.ID, c.p.TopLogprobs); err != nil {
			return Token{}, err
		}
	}
	return t, nil
}

// edit does the steps that change single logits: bias, penalties, DRY.
func (c *Chain) edit(logits []float32) {
	c.dry.find(&c.history)
	c.edits = c.edits[:0]
	// Three lists, each sorted by id, are merged.
	bias, seen, hits := c.bias, c.penalty.seen, c.dry.hits
	for len(bias)+len(seen)+len(hits) > 0 {
		id := int32(math.MaxInt32)
		if len(bias) > 0 {
			id = bias[0].id
		}
		if len(seen) > 0 {
			id = min(id, seen[0].id)
		}
		if len(hits) > 0 {
			id = min(id, hits[0].id)
		}
		v := float64(logits[id])
		if len(bias) > 0 && bias[0].id == id {
			v += bias[0].logit
			bias = bias[1:]
		}
		if len(seen) > 0 && seen[0].id == id {
			v = c.penalty.apply(v, seen[0].n)
			seen = seen[1:]
		}
		if len(hits) > 0 && hits[0].id == id {
			v -= c.dry.penalty(hits[0].n)
			hits = hits[1:]
		}
		c.edits = append(c.edits, edit{id, v})
	}
}

// draw does the steps from the candidates on.
func (c *Chain) draw() Token {
	set := &c.set
	var bits float64
	if c.mirostat.Version == 0 {
		c.truncate()
		set.temperature(c.p.DynamicTemperature.follow(c.p.Temperature, set))
	} else {
		set.temperature(c.p.DynamicTemperature.follow(c.p.Temperature, set))
		bits = c.mirostat.truncate(set)
	}
	d := set.list[set.draw(c.uniform())]
	if c.mirostat.Version != 0 {
		c.mirostat.learn(set.surprise(d.logit, bits))
	}
	return Token{ID: d.id, Prob: d.weight / set.sum}
}

// truncate does the steps that drop candidates.
func (c *Chain) truncate() {
	p, set := &c.p, &c.set
	if p.TopNSigma > 0 {
		set.topNSigma(p.TopNSigma)
	}
	if p.TopK > 0 {
		set.topK(p.TopK)
	}
	if p.Typical < 1 {
		set.typical(p.Typical)
	}
	if p.TopP < 1 {
		set.topP(p.TopP)
	}
	if p.MinP > 0 {
		set.minP(p.MinP)
	}
	// The coin is tossed even if it decides nothing, so that each token takes
	// equally many random numbers.
	if p.XTC.Probability > 0 && c.uniform() < p.XTC.Probability {
		set.xtc(p.XTC.Threshold)
	}
}

// uniform returns the next random number, from 0 up to but not including 1.
func (c *Chain) uniform() float64 {
	return float64(c.random.Uint64()>>11) / (1 << 53)
}
