package model

func init() {
	directs = append(directs,
		direct{"lfm2", makeLFM2, lfm2Direct, map[string]change{
			"convolution": fill("shortconv.conv.weight", 1), "query norm": fill("attn_q_norm.weight", 3), "output norm": fill("token_embd_norm.weight", 2),
		}},
		direct{"lfm2moe", makeLFM2MoE, lfm2Direct, map[string]change{
			"choice bias": fill("exp_probs_b.bias", 0), "gating": set("expert_gating_func", one), "leading dense layers": fill("ffn_down.weight", 0),
		}})
}

// makeLFM2 has attention in layers 1 and 3. The files call the norm before
// the output that of the embedding.
func makeLFM2(m *tiny) {
	makeHeadNorms(m)
	m.set("attention.head_count_kv", []int32{0, 2, 0, 2})
	m.set("shortconv.l_cache", 3)
	m.drop("output_norm.weight", "output.weight")
	m.vector("token_embd_norm.weight", m.width)
	for _, i := range []int{0, 2} {
		at := layerTensor(i, "")
		for _, part := range []string{"attn_q", "attn_k", "attn_v", "attn_output", "attn_q_norm", "attn_k_norm"} {
			m.drop(at + part + ".weight")
		}
		m.matrix(at+"shortconv.in_proj", 3*m.width, m.width)
		m.vector(at+"shortconv.conv.weight", 3, m.width)
		m.matrix(at+"shortconv.out_proj", m.width, m.width)
	}
}

// makeLFM2MoE has experts after two dense layers, chosen by sigmoids with a
// bias.
func makeLFM2MoE(m *tiny) {
	makeLFM2(m)
	m.set("leading_dense_block_count", 2)
	makeExperts(m, 2)
	m.set("expert_gating_func", 2)
	makeChoiceBias(m, 2)
}

func lfm2Direct(m *tiny, tokens []int32) rows {
	o := turn{dims: m.dim, halves: true}
	x := m.embed(tokens)
	for i := range m.layers {
		l := m.layer(i)
		normed := l.rms("attn_norm", x)
		if i%2 == 0 {
			x = x.plus(l.shortConv(normed))
		} else {
			q, k, v := l.qkv(normed)
			q, k = m.rope(l.rmsHeads("attn_q_norm", q), o), m.rope(l.rmsHeads("attn_k_norm", k), o)
			x = x.plus(l.linear("attn_output", m.attention(q, k, v, causal, m.scale())))
		}
		normed = l.rms("ffn_norm", x)
		if l.has("ffn_gate_inp.weight") {
			x = x.plus(l.experts(normed, biasedSigmoids))
		} else {
			x = x.plus(l.swiglu(normed))
		}
	}
	return m.logits(m.model().rms("token_embd_norm", x))
}

// shortConv is c * conv(b * x).
func (p part) shortConv(x rows) rows {
	all := p.linear("shortconv.in_proj", x)
	b, c, v := all.cols(0, p.width), all.cols(p.width, 2*p.width), all.cols(2*p.width, 3*p.width)
	in, kernel := b.times(v), p.tensor("shortconv.conv.weight")
	out := in.each(func(t int, _ []float64) []float64 {
		y := make([]float64, p.width)
		for i := range y {
			for back := range min(3, t+1) {
				y[i] += kernel[3*i+2-back] * in[t-back][i]
			}
		}
		return y
	})
	return p.linear("shortconv.out_proj", c.times(out))
}
