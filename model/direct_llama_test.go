package model

import (
	"math"

	"gorun/gguf"
)

// Llamas with small differences.
func init() {
	pairs, halves := turn{dims: 16}, turn{dims: 16, halves: true}
	directs = append(directs,
		direct{"internlm2", func(*tiny) {}, llamaDirect(pairs), nil},
		direct{"baichuan", func(*tiny) {}, llamaDirect(pairs), nil},
		direct{"qwen", makeQwen, llamaDirect(halves), map[string]change{"bias": dropTensor("attn_qkv.bias")}},
		direct{"arcee", makeArcee, arceeDirect, map[string]change{"RoPE factors": dropTensor("rope_freqs.weight")}},
		direct{"gemma", func(m *tiny) { m.drop("output.weight") }, gemmaDirect, map[string]change{"RoPE": set("rope.freq_base", gguf.Float32(3))}},
		direct{"cohere2", makeCohere2, cohere2Direct, map[string]change{
			"logit scale": set("logit_scale", gguf.Float32(1)), "window": set("attention.sliding_window", gguf.Uint32(100)),
			"pattern": set("attention.sliding_window_pattern", gguf.Uint32(3)),
		}})
}

// makeQwen has fused projections; the file counts gate and up as one length.
func makeQwen(m *tiny) {
	m.ownHeads()
	m.fused()
	m.biases("attn_qkv")
	m.set("feed_forward_length", 2*m.hidden)
}

func makeArcee(m *tiny) {
	makeFactors(m)
	m.drop("ffn_gate.weight")
}

func arceeDirect(m *tiny, tokens []int32) rows {
	return m.llama(m.embed(tokens), turn{dims: m.dim}, func(p part, x rows) rows {
		return p.linear("ffn_down", p.linear("ffn_up", x).of(squaredReLU))
	})
}

func gemmaDirect(m *tiny, tokens []int32) rows {
	x := m.embed(tokens).scaled(math.Sqrt(float64(m.width)))
	return m.llama(x, turn{dims: m.dim, halves: true}, part.geglu)
}

// geglu is the gated block of Gemma.
func (p part) geglu(x rows) rows {
	return p.linear("ffn_down", p.linear("ffn_gate", x).of(tanhGELU).times(p.linear("ffn_up", x)))
}

func makeCohere2(m *tiny) {
	m.drop("output.weight", "ffn_norm.weight")
	m.set("attention.layer_norm_epsilon", m.eps)
	m.set("attention.sliding_window", 8)
	m.set("logit_scale", 0.25)
	m.set("attention.sliding_window_pattern", 4)
}

// cohere2Direct has branches side by side; the fourth layer sees all, without
// positions.
func cohere2Direct(m *tiny, tokens []int32) rows {
	o := turn{dims: m.dim}
	x := m.embed(tokens)
	for i := range m.layers {
		l := m.layer(i)
		normed := l.layerNorm("attn_norm", x)
		q, k, v := l.qkv(normed)
		may := sees(causal)
		if i%4 != 3 {
			q, k, may = m.rope(q, o), m.rope(k, o), within(8)
		}
		x = x.plus(l.linear("attn_output", m.attention(q, k, v, may, m.scale()))).plus(l.swiglu(normed))
	}
	return m.logits(m.model().layerNorm("output_norm", x)).scaled(0.25)
}
