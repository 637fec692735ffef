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
		direct{"qwen2vl", makeQwenBiases, llamaDirect(halves), map[string]change{"query bias": dropTensor("attn_q.bias")}},
		direct{"qwen3vl", makeQwen3VL, qwen3Direct, map[string]change{"query norm": fill("attn_q_norm.weight", 3)}},
		direct{"chatglm", makeChatGLM, chatGLMDirect, map[string]change{"bias": dropTensor("attn_qkv.bias"), "part of a head": drop("rope.dimension_count")}},
		direct{"minicpm", makeMiniCPM, miniCPMDirect, map[string]change{
			"logit scale": drop("logit_scale"), "residual scale": drop("residual_scale"), "embedding scale": drop("embedding_scale"),
			"long RoPE": dropTensor("rope_factors_long.weight"),
		}},
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

// sections are of images' positions; those of text are one.
func makeQwenBiases(m *tiny) {
	m.biases("attn_q", "attn_k", "attn_v")
	m.set("rope.dimension_sections", []int32{2, 3, 3, 0})
}

func makeQwen3VL(m *tiny) {
	makeHeadNorms(m)
	m.set("rope.dimension_sections", []int32{3, 3, 2, 0})
}

func qwen3Direct(m *tiny, tokens []int32) rows {
	return m.qwen3(tokens, part.swiglu)
}

// qwen3 is Llama with normalized heads and a block of choice.
func (m *tiny) qwen3(tokens []int32, block func(part, rows) rows) rows {
	o := turn{dims: m.dim, halves: true}
	x := m.embed(tokens)
	for i := range m.layers {
		l := m.layer(i)
		q, k, v := l.qkv(l.rms("attn_norm", x))
		q, k = m.rope(l.rmsHeads("attn_q_norm", q), o), m.rope(l.rmsHeads("attn_k_norm", k), o)
		x = x.plus(l.linear("attn_output", m.attention(q, k, v, causal, m.scale())))
		x = x.plus(block(l, l.rms("ffn_norm", x)))
	}
	return m.logits(m.model().rms("output_norm", x))
}

// makeChatGLM joins projections, and gate and up; half of a head turns.
func makeChatGLM(m *tiny) {
	m.fused()
	m.biases("attn_qkv")
	m.drop("ffn_gate.weight")
	m.eachLayer(func(_ int, at string) { m.matrix(at+"ffn_up", 2*m.hidden, m.width) })
	m.set("rope.dimension_count", m.dim/2)
}

func chatGLMDirect(m *tiny, tokens []int32) rows {
	return m.llama(m.embed(tokens), turn{dims: m.dim / 2}, func(p part, x rows) rows {
		both := p.linear("ffn_up", x)
		return p.linear("ffn_down", both.cols(0, p.hidden).of(silu).times(both.cols(p.hidden, 2*p.hidden)))
	})
}

// makeMiniCPM has other multipliers than those of old files, and factors for
// a context beyond the original one.
func makeMiniCPM(m *tiny) {
	m.set("embedding_scale", 3.0)
	m.set("residual_scale", 0.5)
	m.set("logit_scale", 2.0)
	m.keys["rope.scaling.type"] = gguf.String("longrope")
	m.set("rope.scaling.original_context_length", 64)
	m.vector("rope_factors_short.weight", m.dim/2)
	m.vector("rope_factors_long.weight", m.dim/2)
}

func miniCPMDirect(m *tiny, tokens []int32) rows {
	o := turn{dims: m.dim, factors: m.model().tensor("rope_factors_long.weight")}
	x := m.embed(tokens).scaled(3)
	for i := range m.layers {
		l := m.layer(i)
		q, k, v := l.qkv(l.rms("attn_norm", x))
		a := m.attention(m.rope(q, o), m.rope(k, o), v, causal, m.scale())
		x = x.plus(l.linear("attn_output", a).scaled(0.5))
		x = x.plus(l.swiglu(l.rms("ffn_norm", x)).scaled(0.5))
	}
	return m.logits(m.model().rms("output_norm", x)).scaled(0.5)
}
