package model

// lfm2 describes LFM2 (Liquid AI, "LFM2 Technical Report"): most layers are
// gated short convolutions, the others are attention with normalized heads.
// Layers without KV heads are those of convolutions.
func lfm2(k *keys, o describeOptions) *Spec {
	s := qwen3(k, o)
	kernel := k.integer("shortconv.l_cache")
	kvHeads := k.perLayer("attention.head_count_kv", len(s.Layers), 0)
	window := k.integerOr("attention.sliding_window", 0)
	s.each(func(i int, l *Layer) {
		l.Attention.Window = window
		if kvHeads[i] == 0 {
			l.Conv = ShortConv{Kernel: kernel}
		}
	})
	return s
}

// lfm2moe describes LFM2's mixtures of experts.
func lfm2moe(k *keys, o describeOptions) *Spec {
	k.require("expert_count")
	k.require("expert_gating_func")
	s := lfm2(k, o)
	s.biasedExperts(o)
	return s
}
