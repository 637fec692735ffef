package model

import (
	"math"
	"slices"

	"gorun/gguf"
)

// The mixtures have so many experts, of which a token uses two.
const tinyExperts = 6

var one = gguf.Uint32(1)

func init() {
	directs = append(directs,
		direct{"olmoe", makeOLMoE, olmoeDirect, map[string]change{"query norm": fill("attn_q_norm.weight", 3)}},
		direct{"granitemoe", makeGraniteMoE, graniteMoEDirect, map[string]change{
			"shared expert": fill("ffn_down_shexp.weight", 0), "residual scale": drop("residual_scale"), "embedding scale": drop("embedding_scale"),
		}},
		direct{"ernie4_5-moe", makeErnieMoE, ernieMoEDirect, map[string]change{
			"shared expert": fill("ffn_down_shexp.weight", 0), "choice bias": fill("exp_probs_b.bias", 0), "dense layer": fill("ffn_down.weight", 0),
		}},
		direct{"hunyuan-moe", makeHunyuanMoE, hunyuanMoEDirect, map[string]change{
			"shared expert": fill("ffn_down_shexp.weight", 0), "key norm": fill("attn_k_norm.weight", 3),
		}},
		direct{"bailingmoe", makeBailing, bailingDirect, map[string]change{
			"shared expert": fill("ffn_down_shexp.weight", 0), "weights scale": drop("expert_weights_scale"),
		}},
		direct{"deepseek", makeBailing, bailingDirect, map[string]change{"shared expert": fill("ffn_down_shexp.weight", 0)}},
		direct{"qwen3vlmoe", makeQwen3VLMoE, qwen3VLMoEDirect, map[string]change{"query norm": fill("attn_q_norm.weight", 3)}},
		direct{"bailingmoe2", makeBailing2, bailing2Direct, map[string]change{
			"shared expert": fill("ffn_down_shexp.weight", 0), "groups": drop("expert_group_count"), "choice bias": fill("exp_probs_b.bias", 0),
		}},
		direct{"exaone-moe", makeExaoneMoE, exaoneMoEDirect, map[string]change{
			"window": set("attention.sliding_window", gguf.Uint32(100)), "shared expert": fill("ffn_down_shexp.weight", 0), "RoPE factors": dropTensor("rope_freqs.weight"),
			"pattern": set("attention.sliding_window_pattern", gguf.Uint32(3)), "weights norm": drop("expert_weights_norm"),
		}},
		direct{"dots1", makeDots1, dots1Direct, map[string]change{
			"shared expert": fill("ffn_down_shexp.weight", 0), "weights norm": drop("expert_weights_norm"), "choice bias": fill("exp_probs_b.bias", 0),
			"gating": set("expert_gating_func", one), "dense layer": fill("ffn_down.weight", 0), "query norm": fill("attn_q_norm.weight", 3),
		}})
}

func makeOLMoE(m *tiny) {
	m.ownHeads()
	makeExperts(m, 0)
	m.oneLength()
	m.eachLayer(func(_ int, at string) {
		m.vector(at+"attn_q_norm.weight", m.heads*m.dim)
		m.vector(at+"attn_k_norm.weight", m.kvHeads*m.dim)
	})
}

func olmoeDirect(m *tiny, tokens []int32) rows {
	o := turn{dims: m.dim, halves: true}
	x := m.embed(tokens)
	for i := range m.layers {
		l := m.layer(i)
		q, k, v := l.qkv(l.rms("attn_norm", x))
		q, k = m.rope(l.rms("attn_q_norm", q), o), m.rope(l.rms("attn_k_norm", k), o)
		x = x.plus(l.linear("attn_output", m.attention(q, k, v, causal, m.scale())))
		x = x.plus(l.mixture(l.rms("ffn_norm", x), softmaxes, false))
	}
	return m.logits(m.model().rms("output_norm", x))
}

func makeGraniteMoE(m *tiny) {
	makeExperts(m, 0)
	m.oneLength()
	m.set("expert_shared_feed_forward_length", 40)
	makeShared(m, 0, 40)
	m.set("embedding_scale", 3.0)
	m.set("residual_scale", 0.5)
	m.set("logit_scale", 2.0)
	m.set("attention.scale", 0.125)
}

func graniteMoEDirect(m *tiny, tokens []int32) rows {
	o := turn{dims: m.dim}
	x := m.embed(tokens).scaled(3)
	for i := range m.layers {
		l := m.layer(i)
		q, k, v := l.qkv(l.rms("attn_norm", x))
		a := m.attention(m.rope(q, o), m.rope(k, o), v, causal, 0.125)
		x = x.plus(l.linear("attn_output", a).scaled(0.5))
		normed := l.rms("ffn_norm", x)
		x = x.plus(l.experts(normed, softmaxes).plus(l.shared(normed)).scaled(0.5))
	}
	return m.logits(m.model().rms("output_norm", x)).scaled(0.5)
}

// makeErnieMoE has one dense layer, then mixtures.
func makeErnieMoE(m *tiny) {
	m.set("leading_dense_block_count", 1)
	m.set("interleave_moe_layer_step", 1)
	makeExperts(m, 1)
	m.set("expert_shared_feed_forward_length", 40)
	makeShared(m, 1, 40)
	makeChoiceBias(m, 1)
}

// makeChoiceBias gives routers a bias for the choice.
func makeChoiceBias(m *tiny, first int) {
	m.eachLayer(func(i int, at string) {
		if i >= first {
			m.vector(at+"exp_probs_b.bias", tinyExperts)
		}
	})
}

// denseFirst is a block that is a mixture if the layer has a router.
func denseFirst(mixture func(p part, x rows) rows) func(p part, x rows) rows {
	return func(p part, x rows) rows {
		if !p.has("ffn_gate_inp.weight") {
			return p.swiglu(x)
		}
		return mixture(p, x).plus(p.shared(x))
	}
}

func ernieMoEDirect(m *tiny, tokens []int32) rows {
	return m.llama(m.embed(tokens), turn{dims: m.dim}, denseFirst(func(p part, x rows) rows { return p.experts(x, biasedSoftmaxes) }))
}

func makeHunyuanMoE(m *tiny) {
	makeExperts(m, 0)
	makeHeadNorms(m)
	m.set("feed_forward_length", m.hidden/2)
	makeShared(m, 0, m.hidden/2)
}

func hunyuanMoEDirect(m *tiny, tokens []int32) rows {
	o := turn{dims: m.dim, halves: true}
	x := m.embed(tokens)
	for i := range m.layers {
		l := m.layer(i)
		q, k, v := l.qkv(l.rms("attn_norm", x))
		q, k = l.rmsHeads("attn_q_norm", m.rope(q, o)), l.rmsHeads("attn_k_norm", m.rope(k, o))
		x = x.plus(l.linear("attn_output", m.attention(q, k, v, causal, m.scale())))
		normed := l.rms("ffn_norm", x)
		x = x.plus(l.experts(normed, softmaxes).plus(l.shared(normed)))
	}
	return m.logits(m.model().rms("output_norm", x))
}

func makeBailing(m *tiny) {
	makeExperts(m, 0)
	m.set("expert_shared_count", 2)
	m.set("expert_weights_scale", 2.5)
	makeShared(m, 0, m.hidden)
}

func bailingDirect(m *tiny, tokens []int32) rows {
	return m.llama(m.embed(tokens), turn{dims: m.dim}, func(p part, x rows) rows {
		return p.mixture(x, softmaxes, false).scaled(2.5).plus(p.shared(x))
	})
}

// makeDots1 has one dense layer, then mixtures with two shared experts.
func makeDots1(m *tiny) {
	m.ownHeads()
	m.set("leading_dense_block_count", 1)
	makeExperts(m, 1)
	makeHeadNorms(m)
	m.set("expert_shared_count", 2)
	m.set("expert_weights_norm", true)
	m.set("expert_gating_func", 2)
	makeShared(m, 1, m.hidden)
	makeChoiceBias(m, 1)
}

func dots1Direct(m *tiny, tokens []int32) rows {
	return m.qwen3(tokens, denseFirst(func(p part, x rows) rows { return p.experts(x, biasedSigmoids) }))
}

func makeQwen3VLMoE(m *tiny) {
	makeQwen3VL(m)
	makeExperts(m, 0)
}

func qwen3VLMoEDirect(m *tiny, tokens []int32) rows {
	return m.qwen3(tokens, func(p part, x rows) rows { return p.experts(x, softmaxes) })
}

// makeBailing2 has three groups of two experts, of which one is chosen from.
func makeBailing2(m *tiny) {
	makeDots1(m)
	m.fused()
	m.set("expert_weights_scale", 2.5)
	m.set("expert_group_count", 3)
	m.set("expert_group_used_count", 1)
}

func bailing2Direct(m *tiny, tokens []int32) rows {
	return m.qwen3(tokens, denseFirst(func(p part, x rows) rows { return p.experts(x, bestGroup).scaled(2.5) }))
}

// bestGroup chooses from the pair of experts with the largest sum.
func bestGroup(p part, logits []float64) (choice, weight []float64) {
	choice, weight = biasedSigmoids(p, logits)
	best := 0
	for g := range tinyExperts / 2 {
		if choice[2*g]+choice[2*g+1] > choice[2*best]+choice[2*best+1] {
			best = g
		}
	}
	for i := range choice {
		if i/2 != best {
			choice[i] = math.Inf(-1)
		}
	}
	return choice, weight
}

// makeExaoneMoE has windows in three layers of four.
func makeExaoneMoE(m *tiny) {
	makeFactors(m)
	makeHeadNorms(m)
	m.set("leading_dense_block_count", 1)
	makeExperts(m, 1)
	makeShared(m, 1, m.hidden/2)
	makeChoiceBias(m, 1)
	m.set("expert_gating_func", 2)
	m.set("expert_weights_norm", true)
	m.set("expert_weights_scale", 2.5)
	m.set("attention.sliding_window", 8)
	m.set("attention.sliding_window_pattern", 4)
}

func exaoneMoEDirect(m *tiny, tokens []int32) rows {
	o := turn{dims: m.dim, halves: true, factors: m.model().tensor("rope_freqs.weight")}
	block := denseFirst(func(p part, x rows) rows { return p.experts(x, biasedSigmoids).scaled(2.5) })
	x := m.embed(tokens)
	for i := range m.layers {
		l := m.layer(i)
		q, k, v := l.qkv(l.rms("attn_norm", x))
		q, k = l.rmsHeads("attn_q_norm", q), l.rmsHeads("attn_k_norm", k)
		may := sees(causal)
		if i%4 != 3 {
			q, k, may = m.rope(q, o), m.rope(k, o), within(8)
		}
		x = x.plus(l.linear("attn_output", m.attention(q, k, v, may, m.scale())))
		x = x.plus(block(l, l.rms("ffn_norm", x)))
	}
	return m.logits(m.model().rms("output_norm", x))
}

// makeExperts replaces the blocks of layers from first on by mixtures.
func makeExperts(m *tiny, first int) {
	m.set("expert_count", tinyExperts)
	m.set("expert_used_count", 2)
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

// oneLength makes the length of blocks that of experts.
func (m *tiny) oneLength() {
	m.set("feed_forward_length", m.hidden/2)
	delete(m.keys, "expert_feed_forward_length")
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
	return x.each(func(t int, in []float64) []float64 {
		choice, weight := g(p, logits[t])
		first, second := twoLargest(choice)
		sum := 1.0
		if normalize {
			sum = weight[first] + weight[second]
		}
		out := rows{make([]float64, p.width)}
		for _, id := range []int{first, second} {
			hidden := p.expert("ffn_gate_exps", id, rows{in}).of(silu).times(p.expert("ffn_up_exps", id, rows{in}))
			out = out.plus(p.expert("ffn_down_exps", id, hidden).scaled(weight[id] / sum))
		}
		return out[0]
	})
}

// expert is the product with the matrix of an expert.
func (p part) expert(name string, id int, x rows) rows {
	w := p.tensor(name + ".weight")
	n := len(w) / tinyExperts
	return product(w[id*n:][:n], x)
}

func twoLargest(x []float64) (first, second int) {
	x = slices.Clone(x)
	first = slices.Index(x, slices.Max(x))
	x[first] = math.Inf(-1)
	return first, slices.Index(x, slices.Max(x))
}

// shared is the expert that all tokens go through.
func (p part) shared(x rows) rows {
	return p.linear("ffn_down_shexp", p.linear("ffn_gate_shexp", x).of(silu).times(p.linear("ffn_up_shexp", x)))
}
