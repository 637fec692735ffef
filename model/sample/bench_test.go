package sample

import (
	"math/rand/v2"
	"testing"
)

// One token at the largest vocabularies there are.
func BenchmarkSample(b *testing.B) {
	const vocab = 200_000
	r := rand.New(rand.NewPCG(1, 2))
	logits := make([]float32, vocab)
	for i := range logits {
		logits[i] = float32(3 * r.NormFloat64())
	}
	penalties := Defaults()
	penalties.RepeatPenalty = 1.1
	penalties.DRY.Multiplier = 0.8
	logprobs := Defaults()
	logprobs.Logprobs, logprobs.TopLogprobs = true, 5
	for _, c := range []struct {
		name string
		p    Params
	}{
		{"defaults", Defaults()},
		{"greedy", Params{}},
		{"penalties", penalties},
		{"logprobs", logprobs},
		{"temperature", Params{Temperature: 1}},
		{"min-p", Params{Temperature: 1, MinP: 0.05}},
		{"top-p", Params{Temperature: 1, TopP: 0.95}},
		{"typical", Params{Temperature: 1, Typical: 0.95}},
		{"top-n-sigma", Params{Temperature: 1, TopNSigma: 1}},
		{"mirostat 1", Params{Temperature: 1, Mirostat: Mirostat{Version: 1}}},
		{"mirostat 2", Params{Temperature: 1, Mirostat: Mirostat{Version: 2}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			chain := mustNew(b, c.p, vocab)
			for range 500 {
				chain.Accept(int32(r.IntN(vocab)))
			}
			mustSample(b, chain, logits)
			b.ReportAllocs()
			for b.Loop() {
				chain.Accept(mustSample(b, chain, logits).ID)
			}
		})
	}
}

func BenchmarkStopper(b *testing.B) {
	s := NewStopper([]string{"\nUser:", "<|end|>", "\n\n\n"})
	b.SetBytes(16)
	for b.Loop() {
		s.Write("the quick brown ")
	}
}
