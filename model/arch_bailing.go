package model

// bailingMoE describes Ling Lite and Plus ("Every FLOP Counts"): fine-grained
// experts and shared ones.
func bailingMoE(k *keys, _ describeOptions) *Spec {
	k.require("expert_count")
	s := transformer(k)
	s.sharedMixture(k)
	return s
}

// sharedMixture reads mixtures in the way of DeepSeekMoE (Dai et al.): the
// weights of the chosen are normalized only if the file says so, and shared
// experts stand beside them.
func (s *Spec) sharedMixture(k *keys) {
	normalize := k.boolOr("expert_weights_norm", false)
	s.moe(func(_ int, e *Experts) { e.Routing.Normalize = normalize })
	s.sharedExpert(k.sharedHidden(), false)
}

// dots1 describes dots.llm1 (rednote, "dots.llm1 Technical Report"): heads
// normalized, experts chosen with a bias.
func dots1(k *keys, o describeOptions) *Spec {
	k.require("expert_count")
	s := qwen3(k, o)
	s.sharedMixture(k)
	s.biasedExperts(o)
	return s
}
