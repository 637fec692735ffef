package perplexity

import (
	"math"
	"slices"
)

// Divergence collects how predictions differ from those of a base.
type Divergence struct {
	kl        []float64
	Base, Own Mean // negative log likelihoods of the text
	agree     int
}

// Add counts a prediction: log probabilities of the base, logits, and the
// token that follows.
func (d *Divergence) Add(base []float64, logits []float32, next int32) {
	sum := logSumExp(logits)
	kl, bestBase, best := 0.0, 0, 0
	for i, b := range base {
		if p := math.Exp(b); p > 0 {
			kl += p * (b - (float64(logits[i]) - sum))
		}
		if b > base[bestBase] {
			bestBase = i
		}
		if logits[i] > logits[best] {
			best = i
		}
	}
	d.kl = append(d.kl, kl)
	if best == bestBase {
		d.agree++
	}
	d.Base.Add(-base[next])
	d.Own.Add(sum - float64(logits[next]))
}

// Summary is what a divergence comes to, in nats.
type Summary struct {
	Predictions  int     `json:"predictions"`
	MeanKL       float64 `json:"mean_kl"`
	MeanKLError  float64 `json:"mean_kl_error"`
	MedianKL     float64 `json:"median_kl"`
	P99KL        float64 `json:"p99_kl"`
	MaxKL        float64 `json:"max_kl"`
	Top1         float64 `json:"top1_agreement"`
	BasePPL      float64 `json:"base_perplexity"`
	PPL          float64 `json:"perplexity"`
	LogLossDelta float64 `json:"log_loss_delta"`
}

// Summary sums up.
func (d *Divergence) Summary() Summary {
	var mean Mean
	for _, kl := range d.kl {
		mean.Add(kl)
	}
	sorted := slices.Sorted(slices.Values(d.kl))
	s := Summary{Predictions: len(d.kl), MeanKL: mean.Value(), MeanKLError: mean.Error()}
	if n := len(sorted); n > 0 {
		s.MedianKL = (sorted[(n-1)/2] + sorted[n/2]) / 2
		s.P99KL = sorted[min(n-1, n*99/100)]
		s.MaxKL = sorted[n-1]
		s.Top1 = float64(d.agree) / float64(n)
	}
	s.BasePPL, _ = d.Base.Perplexity()
	s.PPL, _ = d.Own.Perplexity()
	s.LogLossDelta = d.Own.Value() - d.Base.Value()
	return s
}
