package model

import (
	"math"

	"gorun/compute"
)

// biasedExperts makes routers choose with the bias of DeepSeek-V3, if the file
// has it.
func (s *Spec) biasedExperts(o describeOptions) {
	s.moe(func(i int, e *Experts) { e.Bias = o.Tensor(layerTensor(i, "exp_probs_b.bias")) })
}

// minimaxM2 describes MiniMax-M2: queries and keys are normalized across all
// heads, experts gated by sigmoids.
func minimaxM2(k *keys, o describeOptions) *Spec {
	k.require("expert_count")
	s := transformer(k)
	s.halves()
	experts := k.experts()
	s.each(func(_ int, l *Layer) {
		l.Attention.QKNorm = QKWhole
		l.FFN.Experts = experts // there are no dense layers, whatever the file counts
	})
	s.biasedExperts(o)
	return s
}

// glm4moe describes GLM-4.5: dense layers first, then sigmoid-gated experts
// and a shared one.
func glm4moe(k *keys, o describeOptions) *Spec {
	k.require("expert_count")
	s := transformer(k)
	s.halves()
	s.each(func(i int, l *Layer) {
		if o.Tensor(layerTensor(i, "attn_q_norm.weight")) {
			l.Attention.QKNorm = QKPerHead
		}
	})
	s.biasedExperts(o)
	s.sharedExpert(k.sharedHidden(), false)
	return s
}

// sharedHidden is the hidden size of all shared experts together.
func (k *keys) sharedHidden() int {
	if n := k.integerOr("expert_shared_feed_forward_length", 0); n > 0 {
		return n
	}
	return k.integerOr("expert_shared_count", 1) * k.integer("expert_feed_forward_length")
}

// gptOSS describes gpt-oss: sinks, windows in every other layer, and experts
// with biases and a clamped unit of their own.
func gptOSS(k *keys, _ describeOptions) *Spec {
	k.require("expert_count")
	s := transformer(k)
	s.halves()
	window := k.integer("attention.sliding_window")
	s.each(func(i int, l *Layer) {
		l.Attention.Sinks = true
		if i%2 == 0 {
			l.Attention.Window = window
		}
	})
	s.moe(func(_ int, e *Experts) {
		e.Unit = compute.Gated{F: compute.QuickGELU, GateLimit: 7, UpLimit: 7, UpBias: 1}
		e.Routing.Gating, e.Routing.Normalize = compute.GateSoftmaxSelected, false
	})
	return s
}

// step35 describes Step 3.5: full and windowed layers with head counts and a
// RoPE of their own, gated heads, clamped units.
func step35(k *keys, o describeOptions) *Spec {
	s := transformer(k)
	if len(s.Layers) == 0 {
		return s
	}
	full := s.Ropes[0]
	windowRope := Rope{Dims: full.Dims, Base: k.floatOr("rope.freq_base_swa", 10000), Halves: true}
	full.Dims, full.Halves = full.Dims/2, true
	s.Ropes = []Rope{full, windowRope}
	if o.Tensor("rope_freqs.weight") {
		s.Ropes[0].Factors = "rope_freqs.weight"
	}
	windowed := k.boolsPerLayer("attention.sliding_window_pattern", len(s.Layers), func(int) bool { return false })
	expClamp, denseClamp := k.floatsPerLayer("swiglu_clamp_exp", len(s.Layers)), k.floatsPerLayer("swiglu_clamp_shexp", len(s.Layers))
	shared := k.integerOr("expert_shared_feed_forward_length", 0)
	s.each(func(i int, l *Layer) {
		l.Attention.Gate = GatePerHead
		if windowed[i] {
			l.Attention.Rope, l.Attention.Window = 1, k.integer("attention.sliding_window")
		}
		if o.Tensor(layerTensor(i, "attn_q_norm.weight")) {
			l.Attention.QKNorm = QKPerHead
		}
		l.FFN.Unit = clamped(denseClamp[i])
		if !o.Tensor(layerTensor(i, "ffn_gate_inp.weight")) {
			l.FFN.Experts = Experts{}
			return
		}
		e := &l.FFN.Experts
		e.Unit = clamped(expClamp[i])
		if !k.has("expert_gating_func") {
			e.Routing.Gating = compute.GateSigmoid
		}
		if o.Tensor(layerTensor(i, "ffn_gate_shexp.weight")) {
			e.Shared = Block{Hidden: shared, Gated: true, Unit: clamped(denseClamp[i])}
		}
	})
	s.biasedExperts(o)
	return s
}

// clamped is a SiLU unit with both factors limited; a limit of (nearly) zero
// is none.
func clamped(limit float64) compute.Gated {
	if limit <= 1e-6 {
		return compute.Gated{}
	}
	return compute.Gated{Limit: float32(limit), UpLimit: float32(limit)}
}

// deepseek2 describes DeepSeek-V2, V3 and R1 with latent attention in its
// absorbed form.
func deepseek2(k *keys, o describeOptions) *Spec {
	s := transformer(k)
	headK := k.integer("attention.key_length_mla")
	l := Latent{
		QRank: k.integerOr("attention.q_lora_rank", 0), Rank: k.integer("attention.kv_lora_rank"),
		RoPE: k.integer("rope.dimension_count"), VDim: k.integer("attention.value_length_mla"),
	}
	l.NoPE = headK - l.RoPE
	if l.NoPE <= 0 || l.Rank <= 0 {
		k.fail(errLatent(k, headK))
	}
	scale := 1 / math.Sqrt(float64(max(headK, 1)))
	if m := k.floatOr("rope.scaling.yarn_log_multiplier", 0); m != 0 && len(s.Ropes) > 0 && s.Ropes[0].Scaling.Kind == ScaleYarn {
		// The factor of cosine and sine cancels; scores are scaled instead.
		magnitude := 1 + m*math.Log(s.Ropes[0].Scaling.Factor)
		scale *= magnitude * magnitude
		s.Ropes[0].Scaling.Magnitude = 1
	}
	s.each(func(_ int, layer *Layer) {
		a := &layer.Attention
		a.Latent, a.KVHeads, a.KDim, a.VDim, a.Scale = l, 1, l.Rank+l.RoPE, l.Rank, float32(scale)
	})
	if !k.has("expert_gating_func") {
		s.moe(func(_ int, e *Experts) { e.Routing.Gating = compute.GateSoftmax })
	}
	if !k.has("expert_weights_norm") {
		s.moe(func(_ int, e *Experts) { e.Routing.Normalize = false })
	}
	s.biasedExperts(o)
	s.moe(func(_ int, e *Experts) {
		if !e.Bias { // V2 rates groups by their best expert
			e.Routing.GroupTop = min(e.Routing.GroupTop, 1)
		}
	})
	if k.integerOr("expert_shared_count", 0) > 0 {
		s.sharedExpert(k.integer("expert_shared_count")*k.integer("expert_feed_forward_length"), false)
	}
	return s
}
