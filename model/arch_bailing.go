package model

// bailingMoE describes Ling Lite and Plus ("Every FLOP Counts"): fine-grained
// experts and shared ones.
func bailingMoE(k *keys, _ describeOptions) *Spec {
	k.require("expert_count")
	s := transformer(k)
	s.sharedMixture(k, k.sharedHidden())
	return s
}

// bailingMoE2 describes Ling 2.0 and Ring (inclusionAI, "Every Activation
// Boosted"): heads normalized, experts chosen by sigmoids from some groups.
func bailingMoE2(k *keys, o describeOptions) *Spec {
	k.require("expert_count")
	k.require("expert_gating_func")
	s := qwen3(k, o)
	one := k.integerOr("expert_shared_feed_forward_length", k.integer("expert_feed_forward_length"))
	s.sharedMixture(k, k.integer("expert_shared_count")*one)
	s.biasedExperts(o)
	return s
}

// deepseek describes DeepSeekMoE 16B (Dai et al.), before latent attention.
func deepseek(k *keys, o describeOptions) *Spec { return bailingMoE(k, o) }

// sharedMixture reads mixtures in the way of DeepSeekMoE (Dai et al.): the
// weights of the chosen are normalized only if the file says so, and shared
// experts of hidden values stand beside them.
func (s *Spec) sharedMixture(k *keys, hidden int) {
	normalize := k.boolOr("expert_weights_norm", false)
	s.moe(func(_ int, e *Experts) { e.Routing.Normalize = normalize })
	s.sharedExpert(hidden, false)
}

// dots1 describes dots.llm1 (rednote, "dots.llm1 Technical Report"): heads
// normalized, experts chosen with a bias.
func dots1(k *keys, o describeOptions) *Spec {
	k.require("expert_count")
	s := qwen3(k, o)
	s.sharedMixture(k, k.sharedHidden())
	s.biasedExperts(o)
	return s
}
