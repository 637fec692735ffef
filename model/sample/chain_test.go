package sample

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// texts are the tokens of a small vocabulary, some of which hold breakers or
// parts of them.
var texts = []string{"a", "b", "ab", " the", "\n", ":", "x:y", "*", "* *", "", "c", "d"}

func textOf(id int32) string {
	return texts[int(id)%len(texts)]
}

func mustNew(t rapid.TB, p Params, vocab int) *Chain {
	t.Helper()
	c, err := New(p, vocab, textOf)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustSample(t rapid.TB, c *Chain, logits []float32) Token {
	t.Helper()
	tok, err := c.Sample(logits)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// randomParams switches each step on or off, with sensible numbers.
func randomParams(r *rand.Rand) Params {
	some := func(low, high float64) float64 {
		if r.IntN(2) == 0 {
			return 0
		}
		return low + (high-low)*r.Float64()
	}
	p := Params{
		Temperature:        0.1 + 2*r.Float64(),
		DynamicTemperature: DynamicTemperature{some(0, 2), some(0.5, 2)},
		TopK:               int(some(1, 60)),
		TopP:               some(0.1, 1),
		MinP:               some(0, 0.3),
		Typical:            some(0.1, 1),
		TopNSigma:          some(0.5, 3),
		XTC:                XTC{0, some(0, 0.5)},
		RepeatPenalty:      some(0.5, 2),
		PresencePenalty:    some(-1, 1),
		FrequencyPenalty:   some(-1, 1),
		RepeatLastN:        r.IntN(40) - 1,
		DRY:                DRY{some(0, 2), some(1, 2), r.IntN(4), r.IntN(60) - 1, []string{"\n", "b *", "x:"}},
		LogitBias:          map[int32]float32{},
	}
	if r.IntN(3) == 0 {
		p.XTC.Probability = 1
	}
	for range r.IntN(4) {
		p.LogitBias[int32(r.IntN(50))] = float32(4 * r.NormFloat64())
	}
	return p
}

// refChain is the distribution from which a chain draws, made of the
// definitions of its steps in the documented order.
func refChain(p Params, logits []float32, tokens []int32) []float64 {
	l := widen(logits)
	for id, b := range p.LogitBias {
		l[id] += float64(b)
	}
	or := func(v, zero float64) float64 {
		if v == 0 {
			return zero
		}
		return v
	}
	p.RepeatPenalty = or(p.RepeatPenalty, 1)
	p.DRY.Base = or(p.DRY.Base, 1.75)
	if p.DRY.AllowedLength == 0 {
		p.DRY.AllowedLength = 2
	}
	l = refPenalties(l, p, tokens)
	l = refDRY(l, p.DRY, tokens, textOf)
	if p.TopNSigma > 0 {
		l = refTopNSigma(l, p.TopNSigma)
	}
	if p.TopK > 0 {
		l = refTopK(l, p.TopK)
	}
	l = refTypical(l, or(p.Typical, 2))
	l = refTopP(l, or(p.TopP, 2))
	l = refMinP(l, p.MinP)
	if p.XTC.Probability == 1 {
		l = refXTC(l, or(p.XTC.Threshold, 0.1))
	}
	t := refDynamic(l, p.Temperature, p.DynamicTemperature.Range, or(p.DynamicTemperature.Exponent, 1))
	return refProbs(refTemperature(l, t))
}

// The whole chain, with any settings and any history, draws from the
// distribution that the definitions give.
func TestChainIsAsDefined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawSource(t)
		p := randomParams(r)
		vocab := 50 + r.IntN(100)
		c := mustNew(t, p, vocab)
		var tokens []int32
		for range 1 + r.IntN(4) {
			for range r.IntN(50) {
				id := int32(r.IntN(4 + r.IntN(vocab-4)))
				tokens = append(tokens, id)
				c.Accept(id)
			}
			logits := normalLogits(r, vocab)
			tok := mustSample(t, c, logits)
			got := make([]float64, vocab)
			for _, d := range c.set.list {
				got[d.id] = d.weight / c.set.sum
			}
			want := refChain(p, logits, tokens)
			for i := range want {
				if math.Abs(got[i]-want[i]) > 1e-9 {
					t.Fatalf("%+v after %v: token %d has probability %v; want %v", p, tokens, i, got[i], want[i])
				}
			}
			if math.Abs(tok.Prob-want[tok.ID]) > 1e-9 || tok.Prob == 0 {
				t.Fatalf("token %d was drawn with probability %v; want %v", tok.ID, tok.Prob, want[tok.ID])
			}
		}
	})
}

func TestGreedyTakesTheLowestOfTheLargest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		level := rapid.Custom(func(t *rapid.T) float32 { return float32(rapid.IntRange(-3, 3).Draw(t, "level")) })
		logits := rapid.SliceOfN(level, 1, 50).Draw(t, "logits")
		p := randomParams(drawSource(t))
		p.Temperature, p.LogitBias = 0, nil
		p.Mirostat.Version = rapid.IntRange(0, 2).Draw(t, "mirostat")
		c := mustNew(t, p, len(logits))
		want := Token{ID: int32(slices.Index(logits, slices.Max(logits))), Prob: 1}
		before := c.random
		if got := mustSample(t, c, logits); got.ID != want.ID || got.Prob != 1 {
			t.Fatalf("%v gives %+v; want %+v", logits, got, want)
		}
		if c.random != before {
			t.Fatal("greedy took a random number")
		}
	})
}

// Zero Params are greedy; they and the defaults are legal.
func TestZeroAndDefaults(t *testing.T) {
	logits := []float32{1, 3, 2}
	if tok := mustSample(t, mustNew(t, Params{}, 3), logits); tok.ID != 1 {
		t.Errorf("zero Params chose %d; want 1", tok.ID)
	}
	mustSample(t, mustNew(t, Defaults(), 3), logits)
}

// A token takes one random number, two with XTC, whatever the candidates are.
func TestRandomNumbersPerToken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawSource(t)
		p := randomParams(r)
		p.XTC.Probability = rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "xtc")
		p.Mirostat.Version = rapid.IntRange(0, 2).Draw(t, "mirostat")
		c := mustNew(t, p, 60)
		want := c.random
		want.Uint64()
		if p.XTC.Probability > 0 && p.Mirostat.Version == 0 {
			want.Uint64()
		}
		mustSample(t, c, normalLogits(r, 60))
		if c.random != want {
			t.Fatalf("%+v took another count of random numbers", p)
		}
	})
}

// A sequence is sampled from logits that depend on the tokens before, as those
// of a model do.
type sequence struct {
	chain  *Chain
	logits []float32
	tokens []int32
}

func (s *sequence) step(t rapid.TB) {
	state := uint64(1)
	for _, id := range s.tokens {
		state = state*31 + uint64(id)
	}
	r := rand.New(rand.NewPCG(state, 0))
	for i := range s.logits {
		s.logits[i] = 0
		for range 4 {
			s.logits[i] += float32(3 * (r.Float32() - 0.5))
		}
	}
	tok := mustSample(t, s.chain, s.logits)
	s.chain.Accept(tok.ID)
	s.tokens = append(s.tokens, tok.ID)
}

// The same seed gives the same tokens, alone or among others in any order,
// from the start, after Reset, and in a clone.
func TestSameSeedSameTextInAnyBatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawSource(t)
		const length = 30
		var alone, batch []*sequence
		for range 1 + r.IntN(4) {
			p := randomParams(r)
			p.Seed = r.Int64()
			p.Mirostat.Version = r.IntN(3)
			p.LogitBias = nil
			start := func() *sequence {
				return &sequence{chain: mustNew(t, p, 40), logits: make([]float32, 40)}
			}
			s := start()
			for range length {
				s.step(t)
			}
			alone, batch = append(alone, s), append(batch, start())
		}
		for busy := slices.Clone(batch); len(busy) > 0; {
			i := r.IntN(len(busy))
			switch s := busy[i]; r.IntN(8) {
			case 0:
				s.chain = s.chain.Clone()
			case 1:
				other := s.chain.Clone()
				for range r.IntN(5) {
					other.Accept(mustSample(t, other, s.logits).ID)
				}
			case 2:
				if len(s.tokens) < 5 {
					s.chain.Reset()
					s.tokens = nil
				}
			default:
				if s.step(t); len(s.tokens) == length {
					busy = slices.Delete(busy, i, i+1)
				}
			}
		}
		for i := range alone {
			if !slices.Equal(alone[i].tokens, batch[i].tokens) {
				t.Fatalf("sequence %d: alone %v, in a batch %v", i, alone[i].tokens, batch[i].tokens)
			}
		}
	})
}

// These tokens are the same on every processor.
func TestTextOfASeed(t *testing.T) {
	h := fnv.New64a()
	for version := range 3 {
		p := Defaults()
		p.Seed = 42
		p.RepeatPenalty = 1.1
		p.DRY.Multiplier = 0.8
		p.Typical = 0.97
		p.TopNSigma = 2
		p.DynamicTemperature.Range = 0.3
		p.XTC.Probability = 0.3
		p.Mirostat.Version = version
		s := &sequence{chain: mustNew(t, p, 500), logits: make([]float32, 500)}
		for range 200 {
			s.step(t)
		}
		fmt.Fprintln(h, s.tokens)
	}
	if got, want := h.Sum64(), uint64(0xf47f9a3668e333e1); got != want {
		t.Errorf("the tokens hash to %#x; want %#x", got, want)
	}
}

func TestSeedIsReported(t *testing.T) {
	logits := make([]float32, 1000)
	random := mustNew(t, Params{Temperature: 1, Seed: -1}, 1000)
	if random.Seed() < 0 {
		t.Fatalf("random seed %d", random.Seed())
	}
	if other := mustNew(t, Params{Seed: -1}, 1000); other.Seed() == random.Seed() {
		t.Errorf("two random seeds are both %d", other.Seed())
	}
	again := mustNew(t, Params{Temperature: 1, Seed: random.Seed()}, 1000)
	for range 20 {
		if a, b := mustSample(t, random, logits).ID, mustSample(t, again, logits).ID; a != b {
			t.Fatalf("seed %d gave %d, then %d", random.Seed(), a, b)
		}
	}
	if c := mustNew(t, Params{Seed: 7}, 10); c.Seed() != 7 {
		t.Errorf("seed 7 is reported as %d", c.Seed())
	}
}

func TestBadLogits(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, p := range []Params{
		{},
		Defaults(),
		{Temperature: 1},
		{Temperature: 1, TopNSigma: 1},
		{Temperature: 1, TopK: 2, Mirostat: Mirostat{Version: 1}},
		{Temperature: 1, Mirostat: Mirostat{Version: 2}},
		{Temperature: 1, LogitBias: map[int32]float32{2: 1}},
		{Temperature: 1, RepeatPenalty: 2, RepeatLastN: 5, Logprobs: true},
	} {
		p.Seed = 1
		c := mustNew(t, p, 5)
		c.Accept(2)
		before := c.random
		for _, bad := range []float32{nan, inf} {
			for at := range 5 {
				for _, other := range []float32{0, -inf} {
					logits := slices.Repeat([]float32{other}, 5)
					logits[at] = bad
					_, err := c.Sample(logits)
					want := fmt.Sprintf("logit of token %d is %v", at, bad)
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%+v, logits %v: error %v; want %q in it", p, logits, err, want)
					}
				}
			}
		}
		if _, err := c.Sample(slices.Repeat([]float32{-inf}, 5)); !errors.Is(err, ErrNoToken) {
			t.Errorf("%+v: all logits -Inf: error %v", p, err)
		}
		if _, err := c.Sample(make([]float32, 4)); err == nil {
			t.Errorf("%+v: 4 logits for 5 tokens: no error", p)
		}
		if c.random != before {
			t.Errorf("%+v: errors took random numbers", p)
		}
		one := slices.Repeat([]float32{-inf}, 5)
		one[3] = -1000
		if tok := mustSample(t, c, one); tok.ID != 3 || tok.Prob != 1 {
			t.Errorf("%+v: only token 3 is allowed, got %+v", p, tok)
		}
	}
}

func TestBiasBans(t *testing.T) {
	c := mustNew(t, Params{LogitBias: map[int32]float32{1: float32(negInf), 0: 2}}, 3)
	if tok := mustSample(t, c, []float32{0, 9, 1}); tok.ID != 0 {
		t.Errorf("chose %d; want 0", tok.ID)
	}
	c = mustNew(t, Params{LogitBias: map[int32]float32{0: float32(negInf)}}, 1)
	if _, err := c.Sample([]float32{1}); !errors.Is(err, ErrNoToken) {
		t.Errorf("the only token is banned: error %v", err)
	}
}

func TestSampleLeavesLogitsAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawSource(t)
		c := mustNew(t, randomParams(r), 60)
		for range 20 {
			c.Accept(int32(r.IntN(8)))
		}
		logits := normalLogits(r, 60)
		before := slices.Clone(logits)
		mustSample(t, c, logits)
		if !slices.Equal(logits, before) {
			t.Fatal("Sample changed the logits")
		}
	})
}

func TestExtremeSettings(t *testing.T) {
	logits := []float32{math.MaxFloat32, -math.MaxFloat32, 0, 1e-45, float32(negInf)}
	for _, p := range []Params{
		{Temperature: math.SmallestNonzeroFloat64},
		{Temperature: math.MaxFloat64},
		{Temperature: 1, TopP: math.SmallestNonzeroFloat64, MinP: math.SmallestNonzeroFloat64},
		{Temperature: 1, MinP: 1, Typical: math.SmallestNonzeroFloat64},
		{Temperature: 1, TopNSigma: math.MaxFloat64},
		{Temperature: 1, TopNSigma: math.SmallestNonzeroFloat64},
		{Temperature: 1, DynamicTemperature: DynamicTemperature{Range: 1, Exponent: math.MaxFloat64}},
		{Temperature: 1, DynamicTemperature: DynamicTemperature{Range: math.MaxFloat64}},
		{Temperature: 1, XTC: XTC{Probability: 1, Threshold: math.SmallestNonzeroFloat64}},
		{Temperature: 1, DRY: DRY{Multiplier: math.MaxFloat64, Base: math.MaxFloat64, PenaltyLastN: -1}},
		{Temperature: 1, Mirostat: Mirostat{Version: 1, Tau: math.MaxFloat64, Eta: math.MaxFloat64}},
		{Temperature: 1, Mirostat: Mirostat{Version: 2, Tau: math.SmallestNonzeroFloat64, Eta: math.MaxFloat64}},
		{Temperature: 1e-300, Mirostat: Mirostat{Version: 1}},
		{Temperature: 1e-300, Mirostat: Mirostat{Version: 2}},
	} {
		c := mustNew(t, p, len(logits))
		for range 200 {
			tok := mustSample(t, c, logits)
			if logits[tok.ID] == float32(negInf) || !(tok.Prob > 0 && tok.Prob <= 1) {
				t.Fatalf("%+v chose %+v", p, tok)
			}
			c.Accept(tok.ID)
		}
	}
}

func TestOneTokenVocabulary(t *testing.T) {
	for version := range 3 {
		p := Defaults()
		p.Mirostat.Version = version
		if tok := mustSample(t, mustNew(t, p, 1), []float32{-3}); tok.ID != 0 || tok.Prob != 1 {
			t.Errorf("mirostat %d: %+v", version, tok)
		}
	}
}

// A token costs no allocation once scratch has grown.
func TestNoAllocationPerToken(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	logits := normalLogits(r, 5000)
	penalties := Defaults()
	penalties.RepeatPenalty = 1.1
	penalties.DRY = DRY{Multiplier: 1, PenaltyLastN: 100}
	full := Params{Temperature: 1, Typical: 0.9, TopP: 0.9, MinP: 0.01, XTC: XTC{Probability: 0.5}, TopNSigma: 3}
	for _, p := range []Params{
		Defaults(), {}, penalties, full,
		{Temperature: 1, Mirostat: Mirostat{Version: 1}},
		{Temperature: 1, Mirostat: Mirostat{Version: 2}},
	} {
		c := mustNew(t, p, len(logits))
		step := func() { c.Accept(mustSample(t, c, logits).ID) }
		for range 300 {
			step()
		}
		if n := testing.AllocsPerRun(100, step); n != 0 {
			t.Errorf("%+v: %v allocations a token", p, n)
		}
	}
}
