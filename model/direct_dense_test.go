package model

import (
	"math"

	"gorun/gguf"
)

// directs are the architectures that TestDirect runs.
var directs = []direct{
	{"olmo2", makeOlmo2, olmo2Direct, map[string]change{
		"query norm": fill("attn_q_norm.weight", 3), "norm after attention": fill("post_attention_norm.weight", 3), "norm after FFN": fill("post_ffw_norm.weight", 3),
	}},
	{"olmo2/windows", makeOlmo3, olmo2Direct, map[string]change{
		"window": set("attention.sliding_window", gguf.Uint32(100)), "pattern": drop("attention.sliding_window_pattern"), "stretch of full layers": drop("rope.scaling.factor"),
	}},
	{"seed_oss", makeSeedOSS, llamaDirect(turn{dims: 16, halves: true}), map[string]change{
		"query bias": dropTensor("attn_q.bias"), "value bias": dropTensor("attn_v.bias"),
	}},
	{"glm4", makeGLM4, glm4Direct, map[string]change{
		"norm after attention": fill("post_attention_norm.weight", 3), "norm after FFN": fill("post_ffw_norm.weight", 3),
		"part of a head": drop("rope.dimension_count"), "query bias": dropTensor("attn_q.bias"),
	}},
	{"glm4/sections", makeGLM4V, glm4Direct, map[string]change{"sections": drop("rope.dimension_sections")}},
	{"hunyuan-dense", makeHunyuan, hunyuanDirect, map[string]change{
		"query norm": fill("attn_q_norm.weight", 3), "key norm": fill("attn_k_norm.weight", 3), "alpha": drop("rope.scaling.alpha"),
	}},
	{"ernie4_5", func(m *tiny) { m.biases("attn_q", "attn_v") }, llamaDirect(turn{dims: 16}), map[string]change{"query bias": dropTensor("attn_q.bias")}},
	{"exaone", makeFactors, llamaDirect(turn{dims: 16, halves: true}), map[string]change{"RoPE factors": dropTensor("rope_freqs.weight")}},
	{"exaone4", makeExaone4, exaone4Direct, map[string]change{
		"RoPE factors": dropTensor("rope_freqs.weight"), "key norm": fill("attn_k_norm.weight", 3), "norm after attention": fill("post_attention_norm.weight", 3),
	}},
	{"exaone4/windows", makeExaone4Windows, exaone4Direct, map[string]change{
		"window": set("attention.sliding_window", gguf.Uint32(100)), "no positions": drop("attention.sliding_window"),
		"pattern": set("attention.sliding_window_pattern", gguf.Uint32(3)),
	}},
	{"stablelm", makeStableLM, stablelmDirect, map[string]change{"part of a head": drop("rope.dimension_count"), "norm bias": dropTensor("attn_norm.bias")}},
	{"stablelm/12b", makeStableLM12, stablelmDirect, map[string]change{"query norm": fill("attn_q_norm.weight", 3), "part of a head": drop("rope.dimension_count")}},
	{"nemotron", makeNemotron, nemotronDirect, map[string]change{
		"FFN bias": dropTensor("ffn_up.bias"), "part of a head": drop("rope.dimension_count"), "norm bias": dropTensor("ffn_norm.bias"),
	}},
}

// makeOlmo2 has norms after branches only, and normalizes queries and keys as
// a whole.
func makeOlmo2(m *tiny) {
	m.drop("attn_norm.weight", "ffn_norm.weight")
	m.eachLayer(func(_ int, at string) {
		m.vector(at+"attn_q_norm.weight", m.heads*m.dim)
		m.vector(at+"attn_k_norm.weight", m.kvHeads*m.dim)
		m.vector(at+"post_attention_norm.weight", m.width)
		m.vector(at+"post_ffw_norm.weight", m.width)
	})
}

// makeOlmo3 adds windows; the layers that see all have a stretched RoPE.
func makeOlmo3(m *tiny) {
	makeOlmo2(m)
	m.set("attention.sliding_window", 8)
	m.set("attention.sliding_window_pattern", []bool{true, false, true, true})
	m.keys["rope.scaling.type"] = gguf.String("linear")
	m.set("rope.scaling.factor", 4.0)
}

func olmo2Direct(m *tiny, tokens []int32) rows {
	_, three := m.keys["attention.sliding_window"]
	x := m.embed(tokens)
	for i := range m.layers {
		l := m.layer(i)
		o, may := turn{dims: m.dim, halves: true}, sees(causal)
		if three && i == 1 {
			o.stretch = 4
		} else if three {
			may = within(8)
		}
		q, k, v := l.qkv(x)
		q, k = m.rope(l.rms("attn_q_norm", q), o), m.rope(l.rms("attn_k_norm", k), o)
		a := l.linear("attn_output", m.attention(q, k, v, may, m.scale()))
		x = x.plus(l.rms("post_attention_norm", a))
		x = x.plus(l.rms("post_ffw_norm", l.swiglu(x)))
	}
	return m.logits(m.model().rms("output_norm", x))
}

func makeSeedOSS(m *tiny) {
	m.drop("ffn_norm.weight")
	m.eachLayer(func(_ int, at string) { m.vector(at+"post_attention_norm.weight", m.width) })
	m.biases("attn_q", "attn_k", "attn_v")
}

// makeGLM4 has norms around branches, RoPE over half a head, and gate and up
// in one matrix.
func makeGLM4(m *tiny) {
	m.drop("ffn_gate.weight")
	m.set("rope.dimension_count", m.dim/2)
	m.biases("attn_q", "attn_k", "attn_v")
	m.eachLayer(func(_ int, at string) {
		m.matrix(at+"ffn_up", 2*m.hidden, m.width)
		m.vector(at+"post_attention_norm.weight", m.width)
		m.vector(at+"post_ffw_norm.weight", m.width)
	})
}

func makeGLM4V(m *tiny) {
	makeGLM4(m)
	m.set("rope.dimension_sections", []int32{2, 1, 1, 0})
}

func glm4Direct(m *tiny, tokens []int32) rows {
	_, sections := m.keys["rope.dimension_sections"]
	o := turn{dims: m.dim / 2, halves: sections}
	x := m.embed(tokens)
	for i := range m.layers {
		l := m.layer(i)
		q, k, v := l.qkv(l.rms("attn_norm", x))
		a := m.attention(m.rope(q, o), m.rope(k, o), v, causal, m.scale())
		x = x.plus(l.rms("post_attention_norm", l.linear("attn_output", a)))
		both := l.linear("ffn_up", l.rms("ffn_norm", x))
		f := both.cols(0, m.hidden).of(silu).times(both.cols(m.hidden, 2*m.hidden))
		x = x.plus(l.rms("post_ffw_norm", l.linear("ffn_down", f)))
	}
	return m.logits(m.model().rms("output_norm", x))
}

// makeHeadNorms normalizes heads with shared weights.
func makeHeadNorms(m *tiny) {
	m.eachLayer(func(_ int, at string) {
		m.vector(at+"attn_q_norm.weight", m.dim)
		m.vector(at+"attn_k_norm.weight", m.dim)
	})
}

func makeHunyuan(m *tiny) {
	makeHeadNorms(m)
	m.set("rope.scaling.alpha", 8.0)
}

func hunyuanDirect(m *tiny, tokens []int32) rows {
	n := float64(m.dim)
	stretched := *m
	stretched.base *= math.Pow(8, n/(n-2))
	o := turn{dims: m.dim, halves: true}
	x := m.embed(tokens)
	for i := range m.layers {
		l := m.layer(i)
		q, k, v := l.qkv(l.rms("attn_norm", x))
		q, k = l.rmsHeads("attn_q_norm", stretched.rope(q, o)), l.rmsHeads("attn_k_norm", stretched.rope(k, o))
		x = x.plus(l.linear("attn_output", m.attention(q, k, v, causal, m.scale())))
		x = x.plus(l.swiglu(l.rms("ffn_norm", x)))
	}
	return m.logits(m.model().rms("output_norm", x))
}

// makeFactors divides frequencies.
func makeFactors(m *tiny) { m.vector("rope_freqs.weight", m.dim/2) }

func makeExaone4(m *tiny) {
	makeFactors(m)
	makeHeadNorms(m)
	m.drop("attn_norm.weight", "ffn_norm.weight")
	m.eachLayer(func(_ int, at string) {
		m.vector(at+"post_attention_norm.weight", m.width)
		m.vector(at+"post_ffw_norm.weight", m.width)
	})
}

// makeExaone4Windows has one layer that sees all, without positions.
func makeExaone4Windows(m *tiny) {
	makeExaone4(m)
	m.set("attention.sliding_window", 8)
	m.set("attention.sliding_window_pattern", 4)
}

func exaone4Direct(m *tiny, tokens []int32) rows {
	_, hybrid := m.keys["attention.sliding_window"]
	o := turn{dims: m.dim, halves: true, factors: m.model().tensor("rope_freqs.weight")}
	x := m.embed(tokens)
	for i := range m.layers {
		l := m.layer(i)
		q, k, v := l.qkv(x)
		q, k = l.rmsHeads("attn_q_norm", q), l.rmsHeads("attn_k_norm", k)
		full := hybrid && i%4 == 3
		may := sees(causal)
		if !full {
			q, k = m.rope(q, o), m.rope(k, o)
		}
		if hybrid && !full {
			may = within(8)
		}
		x = x.plus(l.rms("post_attention_norm", l.linear("attn_output", m.attention(q, k, v, may, m.scale()))))
		x = x.plus(l.rms("post_ffw_norm", l.swiglu(x)))
	}
	return m.logits(m.model().rms("output_norm", x))
}

func makeStableLM(m *tiny) {
	m.layerNorms()
	m.biases("attn_q", "attn_k", "attn_v")
	m.set("rope.dimension_count", 4)
}

// makeStableLM12 has parallel branches, and norms of heads with weights for
// each.
func makeStableLM12(m *tiny) {
	m.drop("ffn_norm.weight")
	m.layerNorms()
	m.set("rope.dimension_count", 4)
	m.eachLayer(func(_ int, at string) {
		m.vector(at+"attn_q_norm.weight", m.dim, m.heads)
		m.vector(at+"attn_k_norm.weight", m.dim, m.kvHeads)
	})
}

func stablelmDirect(m *tiny, tokens []int32) rows {
	o := turn{dims: 4, halves: true}
	x := m.embed(tokens)
	for i := range m.layers {
		l := m.layer(i)
		normed := l.layerNorm("attn_norm", x)
		q, k, v := l.qkv(normed)
		if l.has("attn_q_norm.weight") {
			q, k = l.norm("attn_q_norm", q, m.dim, true), l.norm("attn_k_norm", k, m.dim, true)
		}
		x = x.plus(l.linear("attn_output", m.attention(m.rope(q, o), m.rope(k, o), v, causal, m.scale())))
		if l.has("ffn_norm.weight") {
			normed = l.layerNorm("ffn_norm", x)
		}
		x = x.plus(l.swiglu(normed))
	}
	return m.logits(m.model().layerNorm("output_norm", x))
}

func makeNemotron(m *tiny) {
	m.drop("ffn_gate.weight")
	m.layerNorms()
	m.biases("ffn_up", "ffn_down", "attn_output")
	m.set("rope.dimension_count", m.dim/2)
}

func nemotronDirect(m *tiny, tokens []int32) rows {
	o := turn{dims: m.dim / 2, halves: true}
	x := m.embed(tokens)
	for i := range m.layers {
		l := m.layer(i)
		q, k, v := l.qkv(l.layerNorm("attn_norm", x))
		x = x.plus(l.linear("attn_output", m.attention(m.rope(q, o), m.rope(k, o), v, causal, m.scale())))
		x = x.plus(l.linear("ffn_down", l.linear("ffn_up", l.layerNorm("ffn_norm", x)).of(squaredReLU)))
	}
	return m.logits(m.model().layerNorm("output_norm", x))
}
