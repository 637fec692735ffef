package model

import "gorun/gguf"

// directs are the architectures that TestDirect runs.
var directs = []direct{
	{"olmo2", makeOlmo2, olmo2Direct, map[string]change{
		"query norm": fill("attn_q_norm.weight", 3), "norm after attention": fill("post_attention_norm.weight", 3), "norm after FFN": fill("post_ffw_norm.weight", 3),
	}},
	{"olmo2/windows", makeOlmo3, olmo2Direct, map[string]change{
		"window": set("attention.sliding_window", gguf.Uint32(100)), "pattern": drop("attention.sliding_window_pattern"), "stretch of full layers": drop("rope.scaling.factor"),
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
	m.set("attention.sliding_window_pattern", []bool{true, false, true})
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
