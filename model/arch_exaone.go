package model

// exaone describes EXAONE 3 (LG AI Research): Llama with the RoPE of NeoX.
func exaone(k *keys, o describeOptions) *Spec {
	s := llama(k, o)
	s.halves()
	return s
}

// exaone4 describes EXAONE 4 ("EXAONE 4.0: Unified Large Language Models"):
// norms after each branch and none before, heads normalized. The 32B model has
// windows in three layers of four, and no positions in the others.
func exaone4(k *keys, o describeOptions) *Spec {
	s := exaone(k, o)
	window := 0
	if len(s.Layers) == 64 { // 32B; old files do not say
		window = 4096
	}
	window = k.integerOr("attention.sliding_window", window)
	s.each(func(_ int, l *Layer) {
		l.Norms = NormAfter
		l.Attention.QKNorm = QKPerHead
		if window > 0 {
			l.Attention.Rope = NoRope
		}
	})
	if window > 0 {
		s.windows(window, k.windowed(len(s.Layers), 4), 0)
	}
	return s
}

// exaoneMoE describes K-EXAONE ("K-EXAONE Technical Report"): windows as in
// EXAONE 4 with norms before branches, and a shared expert.
func exaoneMoE(k *keys, o describeOptions) *Spec {
	k.require("expert_count")
	k.require("expert_gating_func")
	s := exaone(k, o)
	s.each(func(_ int, l *Layer) { l.Attention.QKNorm, l.Attention.Rope = QKPerHead, NoRope })
	s.windows(k.integer("attention.sliding_window"), k.windowed(len(s.Layers), 4), 0)
	s.sharedMixture(k, k.integerOr("expert_shared_feed_forward_length", k.integer("expert_feed_forward_length")))
	s.biasedExperts(o)
	return s
}
