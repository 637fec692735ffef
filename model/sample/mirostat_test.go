package sample

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Over several tokens a chain does what the paper's loop does: temperature,
// truncation by mu, and mu moved by the surprise of what was drawn.
func TestMirostatIsAsDefined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawSource(t)
		p := Params{Temperature: 0.5 + r.Float64(), TopK: 3, MinP: 0.5, Mirostat: Mirostat{
			Version: 1 + r.IntN(2), Tau: 0.5 + 4*r.Float64(), Eta: 0.05 + 0.5*r.Float64(),
		}}
		c := mustNew(t, p, 200)
		mu := 2 * p.Mirostat.Tau
		for range 20 {
			logits := normalLogits(r, 200)
			l := refTemperature(widen(logits), p.Temperature)
			kept := refMirostat2(l, mu)
			if p.Mirostat.Version == 1 {
				kept = refMirostat1(l, mu)
			}
			tok := mustSample(t, c, logits)
			if got, want := c.set.ids(), idsOf(kept); !slices.Equal(got, want) {
				t.Fatalf("%+v at mu %v keeps %v; want %v", p.Mirostat, mu, got, want)
			}
			if want := refProbs(kept)[tok.ID]; math.Abs(tok.Prob-want) > 1e-9 {
				t.Fatalf("token %d has probability %v; want %v", tok.ID, tok.Prob, want)
			}
			mu -= p.Mirostat.Eta * (-math.Log2(refProbs(l)[tok.ID]) - p.Mirostat.Tau)
			if math.Abs(c.mirostat.mu-mu) > 1e-9 {
				t.Fatalf("mu is %v; want %v", c.mirostat.mu, mu)
			}
		}
	})
}

// The mean surprise of a long text comes close to tau: what mirostat is for.
func TestMirostatReachesItsTarget(t *testing.T) {
	const vocab = 500
	r := rand.New(rand.NewPCG(5, 6))
	ranks := make([]float64, vocab)
	for i := range ranks {
		ranks[i] = math.Log(float64(i + 1))
	}
	for _, version := range []int{1, 2} {
		for _, tau := range []float64{4, 6} {
			c := mustNew(t, Params{Temperature: 1, Seed: 9, Mirostat: Mirostat{Version: version, Tau: tau}}, vocab)
			const n = 2000
			sum := 0.0
			logits := make([]float32, vocab)
			for range n {
				// Zipf's law with an exponent that changes from token to token.
				s := 0.9 + 0.4*r.Float64()
				for i := range logits {
					logits[i] = float32(-s * ranks[i])
				}
				id := mustSample(t, c, logits).ID
				lp, _, err := Logprobs(logits, id, 0)
				if err != nil {
					t.Fatal(err)
				}
				sum -= lp / math.Ln2
			}
			if mean := sum / n; math.Abs(mean-tau) > 0.02*tau {
				t.Errorf("mirostat %d: mean surprise %v bits; want %v", version, mean, tau)
			}
		}
	}
}

// Equally likely tokens have no exponent; all are kept.
func TestMirostatOfUniform(t *testing.T) {
	c := loaded(t, make([]float32, 150))
	m := mirostat{Mirostat{Version: 1}, 150, 3}
	m.truncate(c)
	if len(c.list) != 150 {
		t.Errorf("%d candidates are left; want 150", len(c.list))
	}
}
