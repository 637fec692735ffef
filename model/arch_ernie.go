package model

// ernie45 describes the dense models of ERNIE 4.5 (Baidu, "ERNIE 4.5 Technical
// Report"): the shape of Llama.
func ernie45(k *keys, _ describeOptions) *Spec { return transformer(k) }

// ernie45MoE describes ERNIE 4.5's mixtures: dense layers first, a bias for
// the choice of experts, a shared one.
func ernie45MoE(k *keys, o describeOptions) *Spec {
	k.require("expert_count")
	s := transformer(k)
	step := max(k.integerOr("interleave_moe_layer_step", 1), 1)
	s.each(func(i int, l *Layer) {
		if (i+1)%step != 0 {
			l.FFN.Experts = Experts{}
		}
	})
	s.biasedExperts(o)
	if n := k.integerOr("expert_shared_feed_forward_length", 0); n > 0 {
		s.sharedExpert(n, false)
	}
	return s
}
