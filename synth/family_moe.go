package synth

import (
	"slices"

	"gorun/gguf"
)

// Values of expert_gating_func.
const gateSigmoid = 2

// minimaxM2 adds MiniMax-M2: queries and keys are normalized across heads.
func minimaxM2(b *builder, s *shape) {
	b.common(1)
	b.grouped()
	b.mixtureKeys()
	b.number("expert_gating_func", gateSigmoid)
	for i := range s.layers {
		b.norm(block(i, "attn_norm"), s.width)
		b.attention(i, s.heads, s.kvHeads)
		b.queryKeyNorms(i, s.heads*s.headDim, s.kvHeads*s.headDim)
		b.norm(block(i, "ffn_norm"), s.width)
		b.mixture(i, byChoiceBias)
	}
}

// glm4moe adds GLM-4.5: dense layers first, then a shared expert beside the
// mixture.
func glm4moe(b *builder, s *shape) {
	b.common(1)
	b.grouped()
	b.sharedMixtureKeys()
	for i := range s.layers + s.mtp {
		b.norm(block(i, "attn_norm"), s.width)
		b.attention(i, s.heads, s.kvHeads)
		b.bias(block(i, "attn_q"), s.heads*s.headDim)
		b.bias(block(i, "attn_k"), s.kvHeads*s.headDim)
		b.bias(block(i, "attn_v"), s.kvHeads*s.headDim)
		b.norm(block(i, "post_attention_norm"), s.width)
		b.denseOrShared(i)
		if i >= s.layers {
			b.nextToken(i)
			b.matrix(block(i, "nextn.embed_tokens"), s.width, s.vocab)
			b.matrix(block(i, "nextn.shared_head_head"), s.width, s.vocab)
		}
	}
}

// sharedMixtureKeys sets the keys of sigmoid-gated experts beside a shared
// one, as DeepSeek-V3 introduced them.
func (b *builder) sharedMixtureKeys() {
	e := b.shape.experts
	b.mixtureKeys()
	b.number("expert_shared_count", 1)
	b.number("leading_dense_block_count", e.dense)
	b.number("expert_gating_func", gateSigmoid)
	b.flag("expert_weights_norm", true)
	b.float("expert_weights_scale", e.scale)
}

// denseOrShared adds such experts to layer i, or a dense block if it is one of
// the first.
func (b *builder) denseOrShared(i int) {
	e := b.shape.experts
	if i < e.dense {
		b.dense(i, "", b.shape.hidden)
		return
	}
	b.mixture(i, byChoiceBias)
	b.dense(i, "_shexp", e.shared)
}

// step35 adds Step 3.5: in three of four layers attention has a window, a RoPE
// of its own, and half as many heads again; heads are gated.
func step35(b *builder, s *shape) {
	b.common(1)
	b.headSizes()
	b.sharedMixtureKeys()
	n := s.layers + s.mtp
	windowed := make([]bool, n)
	heads, kvHeads := make([]int32, n), make([]int32, n)
	routedLimits, denseLimits := make([]float32, n), make([]float32, n)
	for i := range n {
		heads[i], kvHeads[i] = int32(s.heads), int32(s.kvHeads)
		if windowed[i] = i%4 != 0; windowed[i] {
			heads[i] += heads[i] / 2
		}
	}
	for i := max(0, s.layers-2); i < s.layers; i++ {
		routedLimits[i] = 7
	}
	denseLimits[s.layers-1] = 16
	b.numbers("attention.head_count", heads)
	b.numbers("attention.head_count_kv", kvHeads)
	b.number("attention.sliding_window", s.window)
	b.set("attention.sliding_window_pattern", gguf.Array(windowed))
	b.float("rope.freq_base_swa", 10000)
	b.set("swiglu_clamp_exp", gguf.Array(routedLimits))
	b.set("swiglu_clamp_shexp", gguf.Array(denseLimits))
	// Layers without a window turn half of a head; the other half of the
	// factors is not used.
	factors := ropeFactors(s.headDim/2, float64(s.ropeBase), 2, 1, 32, 131072)
	b.small("rope_freqs.weight", fixed(append(factors, slices.Repeat([]float32{1}, s.headDim/4)...)), s.headDim/2)
	for i := range n {
		b.norm(block(i, "attn_norm"), s.width)
		b.attention(i, int(heads[i]), s.kvHeads)
		b.matrix(block(i, "attn_gate"), s.width, int(heads[i]))
		b.queryKeyNorms(i, s.headDim, s.headDim)
		b.norm(block(i, "ffn_norm"), s.width)
		if i < s.layers {
			b.denseOrShared(i)
		} else {
			b.dense(i, "", s.hidden)
			b.nextToken(i)
		}
	}
}

// gptOSS adds gpt-oss: biases everywhere, sinks, a window in every other layer.
func gptOSS(b *builder, s *shape) {
	b.common(1)
	b.grouped()
	b.mixtureKeys()
	b.number("attention.sliding_window", s.window)
	b.text("rope.scaling.type", "yarn")
	b.float("rope.scaling.factor", 32)
	b.number("rope.scaling.original_context_length", 4096)
	e := s.experts
	for i := range s.layers {
		b.norm(block(i, "attn_norm"), s.width)
		b.attention(i, s.heads, s.kvHeads)
		b.bias(block(i, "attn_q"), s.heads*s.headDim)
		b.bias(block(i, "attn_k"), s.kvHeads*s.headDim)
		b.bias(block(i, "attn_v"), s.kvHeads*s.headDim)
		b.bias(block(i, "attn_output"), s.width)
		b.small(block(i, "attn_sinks.weight"), normal(0, 1), s.heads)
		b.norm(block(i, "post_attention_norm"), s.width)
		b.mixture(i, byLogitBias)
		b.bias(block(i, "ffn_gate_exps"), e.hidden, e.count)
		b.bias(block(i, "ffn_up_exps"), e.hidden, e.count)
		b.bias(block(i, "ffn_down_exps"), s.width, e.count)
	}
}

// deepseek2 adds DeepSeek-V3: latent attention, the projections of keys and
// values split by head for its absorbed form.
func deepseek2(b *builder, s *shape) {
	b.common(1)
	b.number("vocab_size", s.vocab)
	b.sharedMixtureKeys()
	l := s.latent
	key := l.noPE + s.ropeDims
	b.number("attention.head_count", s.heads)
	b.number("attention.head_count_kv", s.kvHeads)
	b.number("attention.q_lora_rank", l.qRank)
	b.number("attention.kv_lora_rank", l.rank)
	b.number("attention.key_length", l.rank+s.ropeDims)
	b.number("attention.value_length", l.rank)
	b.number("attention.key_length_mla", key)
	b.number("attention.value_length_mla", l.valueDim)
	b.number("rope.dimension_count", s.ropeDims)
	b.text("rope.scaling.type", "yarn")
	b.float("rope.scaling.factor", 40)
	b.number("rope.scaling.original_context_length", 4096)
	b.float("rope.scaling.yarn_log_multiplier", 0.1)
	for i := range s.layers {
		b.norm(block(i, "attn_norm"), s.width)
		b.matrix(block(i, "attn_q_a"), s.width, l.qRank)
		b.norm(block(i, "attn_q_a_norm"), l.qRank)
		b.matrix(block(i, "attn_q_b"), l.qRank, s.heads*key)
		b.matrix(block(i, "attn_kv_a_mqa"), s.width, l.rank+s.ropeDims)
		b.norm(block(i, "attn_kv_a_norm"), l.rank)
		b.matrix(block(i, "attn_k_b"), l.noPE, l.rank, s.heads)
		b.matrix(block(i, "attn_v_b"), l.rank, l.valueDim, s.heads)
		b.gain(block(i, "attn_output"), attentionStd, s.heads*l.valueDim, s.width)
		b.norm(block(i, "ffn_norm"), s.width)
		b.denseOrShared(i)
	}
}
