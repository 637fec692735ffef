package sample

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Drawn often enough, tokens come as often as their probabilities say: a
// chi-square test at a level of 1 in 1000. Seeds are fixed, so it passes always
// or never.
func TestDrawsFollowTheDistribution(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	logits := normalLogits(r, 40)
	history := []int32{1, 2, 3, 1, 2, 3, 7, 8, 1, 2}
	for name, p := range map[string]Params{
		"temperature":         {Temperature: 1},
		"hot":                 {Temperature: 3},
		"cold":                {Temperature: 0.4},
		"dynamic temperature": {Temperature: 1, DynamicTemperature: DynamicTemperature{Range: 0.8}},
		"top-k":               {Temperature: 1, TopK: 7},
		"top-p":               {Temperature: 1, TopP: 0.8},
		"min-p":               {Temperature: 1, MinP: 0.05},
		"typical":             {Temperature: 1, Typical: 0.7},
		"top-n-sigma":         {Temperature: 2, TopNSigma: 1},
		"xtc":                 {Temperature: 1, XTC: XTC{Probability: 1, Threshold: 0.05}},
		"penalties":           {Temperature: 1, RepeatPenalty: 1.5, FrequencyPenalty: 0.3, PresencePenalty: 0.2, RepeatLastN: 8},
		"dry":                 {Temperature: 1, DRY: DRY{Multiplier: 2, PenaltyLastN: -1}},
		"bias":                {Temperature: 1, LogitBias: map[int32]float32{0: 3, 5: -2}},
		"defaults":            Defaults(),
	} {
		t.Run(name, func(t *testing.T) {
			p.Seed = 2024
			chiSquare(t, p, logits, history, refChain(p, logits, history))
		})
	}
	t.Run("xtc by chance", func(t *testing.T) {
		p := Params{Temperature: 1, Seed: 5, XTC: XTC{Probability: 0.3, Threshold: 0.05}}
		without := refChain(p, logits, nil)
		p.XTC.Probability = 1
		want := refChain(p, logits, nil)
		for i := range want {
			want[i] = 0.3*want[i] + 0.7*without[i]
		}
		p.XTC.Probability = 0.3
		chiSquare(t, p, logits, nil, want)
	})
}

func chiSquare(t *testing.T, p Params, logits []float32, history []int32, want []float64) {
	t.Helper()
	c := mustNew(t, p, len(logits))
	for _, id := range history {
		c.Accept(id)
	}
	const n = 20_000
	seen := make([]float64, len(logits))
	for range n {
		seen[mustSample(t, c, logits).ID]++
	}
	// Tokens that are expected fewer than 5 times count as one.
	var x, rare, rareSeen float64
	cells := 0
	add := func(expected, seen float64) {
		x += (seen - expected) * (seen - expected) / expected
		cells++
	}
	for i, q := range want {
		switch e := n * q; {
		case e == 0 && seen[i] > 0:
			t.Fatalf("token %d is impossible and came %v times", i, seen[i])
		case e < 5:
			rare += e
			rareSeen += seen[i]
		default:
			add(e, seen[i])
		}
	}
	if rare > 0 {
		add(rare, rareSeen)
	}
	if cells < 2 {
		t.Fatal("the distribution has one outcome, and tests nothing")
	}
	// The quantile of chi-square, as Wilson and Hilferty approximate it; 3.09 is
	// that of the normal distribution.
	df := float64(cells - 1)
	limit := df * math.Pow(1-2/(9*df)+3.09*math.Sqrt(2/(9*df)), 3)
	if x > limit {
		t.Errorf("chi-square is %.1f with %v degrees of freedom; want %.1f or less", x, df, limit)
	}
}
