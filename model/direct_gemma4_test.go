package model

import (
	"math"

	"gorun/gguf"
)

func init() {
	directs = append(directs,
		direct{"gemma4", makeGemma4, gemma4Direct, map[string]change{
			"window": set("attention.sliding_window", gguf.Uint32(100)), "RoPE of windows": set("rope.freq_base_swa", gguf.Float32(1e5)),
			"RoPE of a part": dropTensor("rope_freqs.weight"), "scale of layers": dropTensor("layer_output_scale.weight"),
			"norm after FFN": fill("post_ffw_norm.weight", 3), "logit cap": drop("final_logit_softcapping"), "query norm": fill("attn_q_norm.weight", 3),
		}},
		direct{"gemma4/e2b", makeGemma4Small, gemma4Direct, map[string]change{
			"input of layers": fill("post_norm.weight", 0), "table": fill("per_layer_token_embd.weight", 0), "projection": fill("per_layer_proj_norm.weight", 0),
		}},
		direct{"gemma4/moe", makeGemma4MoE, gemma4Direct, map[string]change{
			"dense block": fill("post_ffw_norm_1.weight", 0), "experts": fill("post_ffw_norm_2.weight", 0), "norm of experts": fill("pre_ffw_norm_2.weight", 0.1),
			"router": fill("ffn_gate_inp.scale", 0), "scale of experts": dropTensor("ffn_down_exps.scale"),
		}})
}

// The windowed layers, 0 and 2, have two KV heads of 16 values; the others
// have one of 32, whose keys are its values.
const fullDim = 32

func makeGemma4(m *tiny) {
	m.drop("output.weight")
	m.set("attention.sliding_window", 8)
	m.set("attention.sliding_window_pattern", []bool{true, false, true, false})
	m.set("attention.key_length", fullDim)
	m.set("attention.value_length", fullDim)
	m.set("attention.key_length_swa", m.dim)
	m.set("attention.value_length_swa", m.dim)
	m.set("attention.head_count_kv", []int32{2, 1, 2, 1})
	m.set("rope.dimension_count", fullDim)
	m.set("rope.dimension_count_swa", m.dim)
	m.set("rope.freq_base_swa", 50.0)
	m.set("final_logit_softcapping", 5.0)
	m.set("embedding_length_per_layer_input", 0)
	m.vector("rope_freqs.weight", fullDim/2)
	m.eachLayer(func(i int, at string) {
		dim := m.dim
		if i%2 == 1 {
			dim = fullDim
			m.matrix(at+"attn_q", m.heads*dim, m.width)
			m.matrix(at+"attn_k", dim, m.width)
			m.drop(at + "attn_v.weight")
			m.matrix(at+"attn_output", m.width, m.heads*dim)
		}
		m.vector(at+"attn_q_norm.weight", dim)
		m.vector(at+"attn_k_norm.weight", dim)
		m.vector(at+"post_attention_norm.weight", m.width)
		m.vector(at+"post_ffw_norm.weight", m.width)
		m.vector(at+"layer_output_scale.weight", 1)
	})
}

// tinyInput is the width of the input that each layer has of its own.
const tinyInput = 8

// makeGemma4Small has inputs of layers; layers 2 and 3 use the keys and values
// of 0 and 1.
func makeGemma4Small(m *tiny) {
	makeGemma4(m)
	m.set("attention.shared_kv_layers", 2)
	m.set("embedding_length_per_layer_input", tinyInput)
	m.matrix("per_layer_token_embd", m.vocab, m.layers*tinyInput)
	m.matrix("per_layer_model_proj", m.layers*tinyInput, m.width)
	m.vector("per_layer_proj_norm.weight", tinyInput)
	m.eachLayer(func(i int, at string) {
		m.matrix(at+"inp_gate", tinyInput, m.width)
		m.matrix(at+"proj", m.width, tinyInput)
		m.vector(at+"post_norm.weight", m.width)
		if i == 3 {
			m.drop(at+"attn_k.weight", at+"attn_k_norm.weight")
		}
	})
}

func makeGemma4MoE(m *tiny) {
	makeGemma4(m)
	shapes := map[string][]int64{}
	for _, name := range []string{"ffn_gate", "ffn_up", "ffn_down"} {
		m.eachLayer(func(_ int, at string) { shapes[at+name+".weight"] = m.shapes[at+name+".weight"] })
	}
	makeExperts(m, 0)
	for name, shape := range shapes {
		m.shapes[name] = shape
	}
	m.eachLayer(func(_ int, at string) {
		m.vector(at+"ffn_gate_inp.scale", m.width)
		m.vector(at+"ffn_down_exps.scale", tinyExperts)
		for _, norm := range []string{"post_ffw_norm_1", "pre_ffw_norm_2", "post_ffw_norm_2"} {
			m.vector(at+norm+".weight", m.width)
		}
	})
}

func gemma4Direct(m *tiny, tokens []int32) rows {
	x := m.embed(tokens).scaled(math.Sqrt(float64(m.width)))
	top := m.model()
	var inputs rows
	if top.has("per_layer_token_embd.weight") {
		inputs = top.lookUp("per_layer_token_embd.weight", tokens).scaled(math.Sqrt(tinyInput))
		projected := top.linear("per_layer_model_proj", x).scaled(1 / math.Sqrt(float64(m.width)))
		inputs = inputs.plus(top.norm("per_layer_proj_norm", projected, tinyInput, false)).scaled(math.Sqrt(0.5))
	}
	var keys, values [4]rows
	for i := range m.layers {
		windowed := *m
		windowed.base = 50
		o, may := turn{dims: m.dim, halves: true}, within(8)
		if i%2 == 1 {
			windowed.base, windowed.dim = m.base, fullDim
			o, may = turn{dims: fullDim, halves: true, factors: top.tensor("rope_freqs.weight")}, causal
		}
		l := part{&windowed, layerTensor(i, "")}
		normed := l.rms("attn_norm", x)
		q := l.rope(l.rmsHeads("attn_q_norm", l.linear("attn_q", normed)), o)
		if shared := inputs != nil && i >= 2; shared {
			keys[i], values[i] = keys[i-2], values[i-2]
		} else {
			k := l.linear("attn_k", normed)
			v := k
			if i%2 == 0 {
				v = l.linear("attn_v", normed)
			}
			keys[i], values[i] = l.rope(l.rmsHeads("attn_k_norm", k), o), l.unit(v, l.dim)
		}
		x = x.plus(l.rms("post_attention_norm", l.linear("attn_output", l.attention(q, keys[i], values[i], may, 1))))
		x = x.plus(l.rms("post_ffw_norm", l.gemma4Block(x)))
		if inputs != nil {
			gated := l.linear("inp_gate", x).of(tanhGELU).times(inputs.cols(i*tinyInput, (i+1)*tinyInput))
			x = x.plus(l.rms("post_norm", l.linear("proj", gated)))
		}
		x = x.scaled(l.tensor("layer_output_scale.weight")[0])
	}
	return m.logits(top.rms("output_norm", x)).of(func(v float64) float64 { return 5 * math.Tanh(v/5) })
}

// unit is a norm without weights.
func (p part) unit(x rows, n int) rows {
	plain := *p.tiny
	plain.weights = map[string][]float32{"1.weight": {1}}
	return part{&plain, ""}.norm("1", x, n, false)
}

// gemma4Block is a dense block, perhaps with a mixture beside it.
func (p part) gemma4Block(x rows) rows {
	dense := p.geglu(p.rms("ffn_norm", x))
	if !p.has("ffn_gate_inp.weight") {
		return dense
	}
	scale := p.tensor("ffn_gate_inp.scale")
	router := p.unit(x, p.width).each(func(_ int, x []float64) []float64 {
		return zip(x, scale, func(a, b float64) float64 { return a * b / math.Sqrt(float64(p.width)) })
	})
	logits, factors := p.linear("ffn_gate_inp", router), p.tensor("ffn_down_exps.scale")
	in := p.rms("pre_ffw_norm_2", x)
	experts := in.each(func(t int, in []float64) []float64 {
		weight := softmax(logits[t])
		first, second := twoLargest(weight)
		out := rows{make([]float64, p.width)}
		for _, id := range []int{first, second} {
			hidden := p.expert("ffn_gate_exps", id, rows{in}).of(tanhGELU).times(p.expert("ffn_up_exps", id, rows{in}))
			out = out.plus(p.expert("ffn_down_exps", id, hidden).scaled(factors[id] * weight[id] / (weight[first] + weight[second])))
		}
		return out[0]
	})
	return p.rms("post_ffw_norm_1", dense).plus(p.rms("post_ffw_norm_2", experts))
}
