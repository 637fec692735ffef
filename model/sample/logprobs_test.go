package sample

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestLogprobsAreLogOfSoftmax(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawSource(t)
		logits := normalLogits(r, 1+r.IntN(100))
		id := int32(r.IntN(len(logits)))
		n := r.IntN(len(logits) + 1)
		l := widen(logits)
		probs, ids := refProbs(l), refLikeliest(l)
		lp, top, err := Logprobs(logits, id, n)
		if err != nil {
			t.Fatal(err)
		}
		if want := math.Log(probs[id]); lp != want && math.Abs(lp-want) > 1e-12 {
			t.Fatalf("log probability %v; want %v", lp, want)
		}
		if want := min(n, len(ids)); len(top) != want {
			t.Fatalf("%d likeliest tokens; want %d", len(top), want)
		}
		for i, got := range top {
			if want := math.Log(probs[ids[i]]); int(got.ID) != ids[i] || math.Abs(got.Logprob-want) > 1e-12 {
				t.Fatalf("number %d is %+v; want token %d, %v", i, got, ids[i], want)
			}
		}
	})
}

// Those of a token are the model's, whatever the chain does.
func TestSampleTellsLogprobs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	logits := normalLogits(r, 100)
	p := Defaults()
	p.Logprobs, p.TopLogprobs, p.RepeatPenalty = true, 3, 2
	c := mustNew(t, p, 100)
	for range 20 {
		got := mustSample(t, c, logits)
		c.Accept(got.ID)
		lp, top, err := Logprobs(logits, got.ID, 3)
		if err != nil || got.Logprob != lp || !slices.Equal(got.Top, top) {
			t.Fatalf("%+v; want %v, %v (error %v)", got, lp, top, err)
		}
	}
}

func TestLogprobsRefuses(t *testing.T) {
	for _, id := range []int32{-1, 2} {
		if _, _, err := Logprobs([]float32{1, 2}, id, 1); err == nil {
			t.Errorf("token %d of 2 gives no error", id)
		}
	}
	if _, _, err := Logprobs([]float32{1, float32(math.NaN())}, 0, 0); err == nil {
		t.Error("NaN gives no error")
	}
	if _, _, err := Logprobs(nil, 0, 0); err == nil {
		t.Error("no logits give no error")
	}
}
