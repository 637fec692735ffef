package model

import (
	"math"

	"gorun/gguf"
)

func init() {
	directs = append(directs,
		direct{"mimo2", makeMimo2, mimo2Direct, map[string]change{
			"sinks": fill("attn_sinks.weight", -100), "window": set("attention.sliding_window", gguf.Uint32(100)), "value scale": drop("attention.value_scale"),
			"RoPE of windows": set("rope.freq_base_swa", gguf.Float32(1e5)), "choice bias": fill("exp_probs_b.bias", 0), "dense layer": fill("ffn_down.weight", 0),
		}},
		direct{"afmoe", makeAFMoE, afMoEDirect, map[string]change{
			"gate": fill("attn_gate.weight", 0), "window": set("attention.sliding_window", gguf.Uint32(100)), "shared expert": fill("ffn_down_shexp.weight", 0),
			"norm after attention": fill("post_attention_norm.weight", 3), "weights norm": drop("expert_weights_norm"), "query norm": fill("attn_q_norm.weight", 3),
		}})
}

// makeMimo2 has windows in layers 0 and 2, with sinks and one KV head; values
// are narrower than keys.
func makeMimo2(m *tiny) {
	m.set("leading_dense_block_count", 1)
	makeExperts(m, 1)
	makeChoiceBias(m, 1)
	m.set("attention.head_count_kv", []int32{1, 2, 1, 2})
	m.set("attention.key_length", m.dim)
	m.set("attention.value_length", m.dim/2)
	m.set("attention.value_scale", 0.7)
	m.set("attention.sliding_window", 8)
	m.set("attention.sliding_window_pattern", []bool{true, false, true, false})
	m.set("rope.dimension_count", m.dim/2)
	m.set("rope.freq_base_swa", 50.0)
	m.eachLayer(func(i int, at string) {
		kv := 1 + i%2
		m.matrix(at+"attn_k", kv*m.dim, m.width)
		m.matrix(at+"attn_v", kv*m.dim/2, m.width)
		m.matrix(at+"attn_output", m.width, m.heads*m.dim/2)
		if i%2 == 0 {
			m.vector(at+"attn_sinks.weight", m.heads)
		}
	})
}

func mimo2Direct(m *tiny, tokens []int32) rows {
	x := m.embed(tokens)
	o := turn{dims: m.dim / 2, halves: true}
	for i := range m.layers {
		turned, may := *m, sees(causal)
		var sinks []float64
		l := m.layer(i)
		if i%2 == 0 {
			turned.base, may, sinks = 50, within(8), l.tensor("attn_sinks.weight")
		}
		q, k, v := l.qkv(l.rms("attn_norm", x))
		a := m.sinkAttention(turned.rope(q, o), turned.rope(k, o), v, may, sinks)
		x = x.plus(l.linear("attn_output", a).scaled(0.7))
		normed := l.rms("ffn_norm", x)
		if i == 0 {
			x = x.plus(l.swiglu(normed))
		} else {
			x = x.plus(l.experts(normed, biasedSigmoids))
		}
	}
	return m.logits(m.model().rms("output_norm", x))
}

// sinkAttention has values half as wide as keys, and sinks: a value of zero
// with a learned score.
func (m *tiny) sinkAttention(q, k, v rows, may sees, sinks []float64) rows {
	group, wide := len(q[0])/len(k[0]), m.dim/2
	return q.each(func(t int, q []float64) []float64 {
		var out []float64
		for h := range m.heads {
			sum, mean := 0.0, make([]float64, wide)
			if sinks != nil {
				sum = math.Exp(sinks[h])
			}
			for s := range k {
				if !may(t, s) {
					continue
				}
				score := 0.0
				for d := range m.dim {
					score += q[h*m.dim+d] * k[s][h/group*m.dim+d]
				}
				weight := math.Exp(score * m.scale())
				sum += weight
				for d := range mean {
					mean[d] += weight * v[s][h/group*wide+d]
				}
			}
			for _, v := range mean {
				out = append(out, v/sum)
			}
		}
		return out
	})
}

// makeAFMoE has one dense layer, and windows in three layers of four.
func makeAFMoE(m *tiny) {
	makeHeadNorms(m)
	m.set("leading_dense_block_count", 1)
	makeExperts(m, 1)
	makeShared(m, 1, m.hidden/2)
	makeChoiceBias(m, 1)
	m.set("expert_shared_count", 1)
	m.set("expert_weights_norm", true)
	m.set("expert_weights_scale", 2.5)
	m.set("attention.sliding_window", 8)
	m.eachLayer(func(_ int, at string) {
		m.matrix(at+"attn_gate", m.heads*m.dim, m.width)
		m.vector(at+"post_attention_norm.weight", m.width)
		m.vector(at+"post_ffw_norm.weight", m.width)
	})
}

func afMoEDirect(m *tiny, tokens []int32) rows {
	o := turn{dims: m.dim, halves: true}
	block := denseFirst(func(p part, x rows) rows { return p.experts(x, biasedSigmoids).scaled(2.5) })
	x := m.embed(tokens).scaled(math.Sqrt(float64(m.width)))
	for i := range m.layers {
		l := m.layer(i)
		normed := l.rms("attn_norm", x)
		q, k, v := l.qkv(normed)
		q, k = l.rmsHeads("attn_q_norm", q), l.rmsHeads("attn_k_norm", k)
		may := sees(causal)
		if i%4 != 3 {
			q, k, may = m.rope(q, o), m.rope(k, o), within(8)
		}
		gate := l.linear("attn_gate", normed).of(func(v float64) float64 { return 1 / (1 + math.Exp(-v)) })
		a := m.attention(q, k, v, may, m.scale()).times(gate)
		x = x.plus(l.rms("post_attention_norm", l.linear("attn_output", a)))
		x = x.plus(l.rms("post_ffw_norm", block(l, l.rms("ffn_norm", x))))
	}
	return m.logits(m.model().rms("output_norm", x))
}
