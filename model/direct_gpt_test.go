package model

import "gorun/gguf"

// GPT-2 and its successors with layer norms and plain blocks.
func init() {
	directs = append(directs,
		direct{"gpt2", makeGPT2, gptDirect(gpt{activation: tanhGELU}), map[string]change{
			"positions": fill("position_embd.weight", 0), "norm bias": dropTensor("ffn_norm.bias"), "bias": dropTensor("attn_qkv.bias"),
		}},
		direct{"starcoder", makeStarCoder, gptDirect(gpt{activation: tanhGELU}), map[string]change{"positions": fill("position_embd.weight", 0)}},
		direct{"gptneox", makeNeoX, gptDirect(gpt{activation: erfGELU, rope: 4, parallel: true}), map[string]change{
			"parallel": set("use_parallel_residual", gguf.Bool(false)), "part of a head": drop("rope.dimension_count"),
		}},
		direct{"gptneox/sequential", makeNeoXSequential, gptDirect(gpt{activation: erfGELU, rope: 4}), map[string]change{"sequential": drop("use_parallel_residual")}},
		direct{"falcon", makeFalcon, gptDirect(gpt{activation: erfGELU, rope: 16, parallel: true}), map[string]change{"norm bias": dropTensor("attn_norm.bias")}},
		direct{"falcon/40b", makeFalcon40, gptDirect(gpt{activation: erfGELU, rope: 16, parallel: true}), map[string]change{"norm bias": dropTensor("attn_norm_2.bias")}},
		direct{"phi2", makePhi2, gptDirect(gpt{activation: tanhGELU, rope: 8, parallel: true}), map[string]change{
			"part of a head": drop("rope.dimension_count"), "FFN bias": dropTensor("ffn_up.bias"),
		}})
}

func makeGPT(m *tiny) {
	m.fused()
	m.drop("ffn_gate.weight")
	m.layerNorms()
	m.biases("attn_qkv", "attn_output", "ffn_up", "ffn_down")
}

func makeGPT2(m *tiny) {
	makeGPT(m)
	m.drop("output.weight")
	m.vector("position_embd.weight", m.width, 256)
}

// makeStarCoder has one KV head for all.
func makeStarCoder(m *tiny) {
	m.kvHeads = 1
	m.set("attention.head_count_kv", 1)
	makeGPT(m)
	m.vector("position_embd.weight", m.width, 256)
}

func makeNeoX(m *tiny) {
	makeGPT(m)
	m.set("rope.dimension_count", 4)
	m.set("use_parallel_residual", true)
}

func makeNeoXSequential(m *tiny) {
	makeNeoX(m)
	m.set("use_parallel_residual", false)
}

func makeFalcon(m *tiny) {
	m.fused()
	m.drop("ffn_gate.weight", "ffn_norm.weight")
	m.layerNorms()
}

// makeFalcon40 has a norm for each branch; attn_norm is that of the FFN.
func makeFalcon40(m *tiny) {
	makeFalcon(m)
	m.eachLayer(func(_ int, at string) {
		m.vector(at+"attn_norm_2.weight", m.width)
		m.vector(at+"attn_norm_2.bias", m.width)
	})
}

func makePhi2(m *tiny) {
	makeGPT(m)
	m.drop("ffn_norm.weight", "ffn_norm.bias")
	m.set("rope.dimension_count", 8)
	m.vector("output.bias", m.vocab)
}

// gpt is how the models differ.
type gpt struct {
	activation func(float64) float64
	rope       int // values of a head that turn; 0: learned positions
	parallel   bool
}

func gptDirect(g gpt) func(m *tiny, tokens []int32) rows {
	return func(m *tiny, tokens []int32) rows {
		x := m.embed(tokens)
		if g.rope == 0 {
			x = x.plus(m.model().lookUp("position_embd.weight", upTo(len(tokens))))
		}
		for i := range m.layers {
			l := m.layer(i)
			attn, ffn := "attn_norm", "ffn_norm"
			if l.has("attn_norm_2.weight") {
				attn, ffn = "attn_norm_2", "attn_norm"
			} else if !l.has("ffn_norm.weight") {
				ffn = "attn_norm"
			}
			q, k, v := l.qkv(l.layerNorm(attn, x))
			if o := (turn{dims: g.rope, halves: true}); g.rope > 0 {
				q, k = m.rope(q, o), m.rope(k, o)
			}
			y := x.plus(l.linear("attn_output", m.attention(q, k, v, causal, m.scale())))
			if !g.parallel {
				x = y
			}
			x = y.plus(l.linear("ffn_down", l.linear("ffn_up", l.layerNorm(ffn, x)).of(g.activation)))
		}
		return m.logits(m.model().layerNorm("output_norm", x))
	}
}

// upTo counts from 0.
func upTo(n int) []int32 {
	positions := make([]int32, n)
	for i := range positions {
		positions[i] = int32(i)
	}
	return positions
}
