package model

import (
	"math"
	"slices"

	"gorun/gguf"
)

// The mixtures have so many experts, of which a token uses two.
const tinyExperts, tinyUsed = 6, 2

var one = gguf.Uint32(1)

// makeExperts replaces the blocks of layers from first on by mixtures.
func makeExperts(m *tiny, first int) {
	m.set("expert_count", tinyExperts)
	m.set("expert_used_count", tinyUsed)
	hidden := m.hidden / 2
	m.set("expert_feed_forward_length", hidden)
	m.eachLayer(func(i int, at string) {
		if i < first {
			return
		}
		m.drop(at+"ffn_gate.weight", at+"ffn_up.weight", at+"ffn_down.weight")
		m.matrix(at+"ffn_gate_inp", tinyExperts, m.width)
		m.vector(at+"ffn_gate_exps.weight", m.width, hidden, tinyExperts)
		m.vector(at+"ffn_up_exps.weight", m.width, hidden, tinyExperts)
		m.vector(at+"ffn_down_exps.weight", hidden, m.width, tinyExperts)
	})
}

// makeShared adds an expert that all tokens go through.
func makeShared(m *tiny, first, hidden int) {
	m.eachLayer(func(i int, at string) {
		if i < first {
			return
		}
		m.matrix(at+"ffn_gate_shexp", hidden, m.width)
		m.matrix(at+"ffn_up_shexp", hidden, m.width)
		m.matrix(at+"ffn_down_shexp", m.width, hidden)
	})
}

// A gate makes of router logits what experts are chosen by, and what their
// results count.
type gate func(p part, logits []float64) (choice, weight []float64)

func softmax(x []float64) []float64 {
	sum, top, y := 0.0, slices.Max(x), make([]float64, len(x))
	for i, v := range x {
		y[i] = math.Exp(v - top)
		sum += y[i]
	}
	for i := range y {
		y[i] /= sum
	}
	return y
}

func softmaxes(_ part, logits []float64) (choice, weight []float64) {
	weight = softmax(logits)
	return weight, weight
}

// biasedSoftmaxes and biasedSigmoids choose with a bias that does not count.
func biasedSoftmaxes(p part, logits []float64) (choice, weight []float64) {
	weight = softmax(logits)
	return zip(weight, p.tensor("exp_probs_b.bias"), func(a, b float64) float64 { return a + b }), weight
}

func biasedSigmoids(p part, logits []float64) (choice, weight []float64) {
	weight = rows{logits}.of(func(v float64) float64 { return 1 / (1 + math.Exp(-v)) })[0]
	return zip(weight, p.tensor("exp_probs_b.bias"), func(a, b float64) float64 { return a + b }), weight
}

// experts is a mixture whose weights are brought to a sum of one.
func (p part) experts(x rows, g gate) rows { return p.mixture(x, g, true) }

// mixture is a mixture of experts.
func (p part) mixture(x rows, g gate, normalize bool) rows {
	logits := p.linear("ffn_gate_inp", x)
	expert := func(name string, id int, x rows) rows {
		w := p.tensor(name + ".weight")
		n := len(w) / tinyExperts
		return product(w[id*n:][:n], x)
	}
	return x.each(func(t int, in []float64) []float64 {
		choice, weight := g(p, logits[t])
		ids := make([]int, tinyExperts)
		for i := range ids {
			ids[i] = i
		}
		slices.SortFunc(ids, func(a, b int) int {
			if choice[a] > choice[b] {
				return -1
			}
			return 1
		})
		sum := 1.0
		if normalize {
			sum = weight[ids[0]] + weight[ids[1]]
		}
		out := rows{make([]float64, p.width)}
		for _, id := range ids[:tinyUsed] {
			x := rows{in}
			y := expert("ffn_down_exps", id, expert("ffn_gate_exps", id, x).of(silu).times(expert("ffn_up_exps", id, x)))
			out = out.plus(y.scaled(weight[id] / sum))
		}
		return out[0]
	})
}

// shared is the expert that all tokens go through.
func (p part) shared(x rows) rows {
	return p.linear("ffn_down_shexp", p.linear("ffn_gate_shexp", x).of(silu).times(p.linear("ffn_up_shexp", x)))
}
