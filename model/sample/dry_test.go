package sample

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Texts that repeat a lot, with breakers inside of tokens and across their
// borders, and a chain that is reset now and then.
func TestDRYIsAsDefined(t *testing.T) {
	vocab := len(texts)
	rapid.Check(t, func(t *rapid.T) {
		d := DRY{
			Multiplier:    1,
			Base:          1.5,
			AllowedLength: rapid.IntRange(1, 3).Draw(t, "allowed"),
			PenaltyLastN:  rapid.IntRange(-1, 40).Draw(t, "window"),
			Breakers:      rapid.SliceOfDistinct(rapid.SampledFrom([]string{"", "\n", "b *", "ab:", "the", "bab"}), rapid.ID[string]).Draw(t, "breakers"),
		}
		c := mustNew(t, Params{DRY: d}, vocab)
		// Phrases that come again and again.
		phrase := rapid.SliceOfN(rapid.Int32Range(0, int32(vocab-1)), 1, 5)
		phrases := rapid.SliceOfN(phrase, 1, 3).Draw(t, "phrases")
		tokens := slices.Concat(rapid.SliceOfN(rapid.SampledFrom(phrases), 1, 25).Draw(t, "text")...)
		reset := rapid.IntRange(0, len(tokens)).Draw(t, "reset")
		for i, id := range tokens {
			if i == reset {
				c.Reset()
			}
			c.Accept(id)
		}
		if reset < len(tokens) {
			tokens = tokens[reset:]
		}
		want := refDRY(make([]float64, vocab), d, tokens, textOf)
		got := make([]float64, vocab)
		c.dry.find(&c.history)
		for _, h := range c.dry.hits {
			got[h.id] -= c.dry.penalty(h.n)
		}
		for id := range want {
			if math.Abs(got[id]-want[id]) > 1e-9*math.Abs(want[id]) {
				t.Fatalf("%+v after %v: token %d gets %v; want %v", d, tokens, id, got[id], want[id])
			}
		}
	})
}

// The example of the idea: what follows the second "a b c" must not be what
// followed the first.
func TestDRYByExample(t *testing.T) {
	const a, b, c, x, newline = 0, 1, 10, 11, 4
	for _, test := range []struct {
		name    string
		tokens  []int32
		penalty float64
	}{
		{"a run of three", []int32{a, b, c, x, a, b, c}, 0.8 * 1.75},
		{"a run of two", []int32{b, c, x, b, c}, 0.8},
		{"a run too short", []int32{c, x, c}, 0},
		{"a breaker in the run", []int32{a, newline, c, x, a, newline, c}, 0},
		{"a breaker before the run", []int32{newline, b, c, x, newline, b, c}, 0.8},
		{"runs that overlap", []int32{x, x, x, x}, 0.8 * 1.75},
		{"the longer of two runs", []int32{a, b, c, x, newline, b, c, x, newline, a, b, c}, 0.8 * 1.75},
	} {
		chain := mustNew(t, Params{DRY: DRY{Multiplier: 0.8, PenaltyLastN: -1, Breakers: []string{"\n"}}}, 12)
		for _, id := range test.tokens {
			chain.Accept(id)
		}
		mustSample(t, chain, make([]float32, 12))
		got := 0.0
		for _, e := range chain.edits {
			if e.id != x {
				t.Errorf("%s: token %d gets %v", test.name, e.id, e.logit)
				continue
			}
			got = -e.logit
		}
		if math.Abs(got-test.penalty) > 1e-12 {
			t.Errorf("%s: penalty %v; want %v", test.name, got, test.penalty)
		}
	}
}

// Half a breaker before Reset is forgotten with the rest.
func TestResetForgetsText(t *testing.T) {
	chain := mustNew(t, Params{DRY: DRY{Multiplier: 1, PenaltyLastN: -1, Breakers: []string{"abb"}}}, 12)
	chain.Accept(0) // a
	chain.Reset()
	for range 3 {
		chain.Accept(1) // b
	}
	mustSample(t, chain, make([]float32, 12))
	if len(chain.edits) != 1 || chain.edits[0] != (edit{1, -1}) {
		t.Errorf("edits are %v; want token 1 at -1", chain.edits)
	}
}
