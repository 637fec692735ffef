package model

import (
	"math"

	"gorun/compute"
)

// mimo2 describes MiMo-V2-Flash (Xiaomi, "MiMo-V2-Flash Technical Report"):
// windowed layers with sinks, KV heads and a RoPE base of their own, values
// narrower than keys, experts chosen by sigmoids with a bias.
func mimo2(k *keys, o describeOptions) *Spec {
	k.require("expert_count")
	k.require("attention.sliding_window_pattern")
	s := transformer(k)
	s.halves()
	if len(s.Ropes) > 0 {
		s.Ropes = append(s.Ropes, Rope{Dims: s.Ropes[0].Dims, Base: k.floatOr("rope.freq_base_swa", 10000), Halves: true})
	}
	s.windows(k.integer("attention.sliding_window"), k.windowed(len(s.Layers), 0), 1)
	s.each(func(i int, l *Layer) {
		l.Attention.OutScale = float32(k.floatOr("attention.value_scale", 0))
		l.Attention.Sinks = o.Tensor(layerTensor(i, "attn_sinks.weight"))
		if !o.Tensor(layerTensor(i, "ffn_gate_inp.weight")) {
			l.FFN.Experts = Experts{}
		}
	})
	s.moe(func(_ int, e *Experts) { e.Routing.Gating = compute.GateSigmoid })
	s.biasedExperts(o)
	return s
}

// afMoE describes Arcee's Trinity ("Arcee Trinity Large Technical Report"):
// norms before and after each branch, gated attention, windows with RoPE in
// three layers of four and no positions in the others, a scaled embedding.
func afMoE(k *keys, o describeOptions) *Spec {
	k.require("expert_count")
	s := qwen3(k, o)
	s.EmbedScale = float32(math.Sqrt(float64(s.Width)))
	s.each(func(i int, l *Layer) {
		l.Norms = NormBoth
		l.Attention.Gate = GateOwn
		if (i+1)%4 == 0 {
			l.Attention.Rope = NoRope
		}
	})
	if window := k.integerOr("attention.sliding_window", 0); window > 0 {
		windowed := k.windowed(len(s.Layers), 4)
		s.each(func(i int, l *Layer) {
			if windowed[i] {
				l.Attention.Window = window
			}
		})
	}
	s.moe(func(_ int, e *Experts) {
		if !k.has("expert_gating_func") {
			e.Routing.Gating = compute.GateSigmoid
		}
		e.Routing.Normalize = k.boolOr("expert_weights_norm", false)
	})
	s.biasedExperts(o)
	if n := k.integerOr("expert_shared_count", 0); n > 0 {
		s.sharedExpert(n*k.integer("expert_feed_forward_length"), false)
	}
	return s
}
