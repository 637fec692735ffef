package model

// olmo2 describes OLMo 2 and 3 (Ai2): norms after each branch and none before
// ("2 OLMo 2 Furious"), queries and keys normalized across all heads. OLMo 3
// has windows in three layers of four; what stretches the RoPE of the others
// leaves theirs as it was.
func olmo2(k *keys, _ describeOptions) *Spec {
	s := transformer(k)
	s.halves()
	s.each(func(_ int, l *Layer) {
		l.Norms = NormAfter
		l.Attention.QKNorm = QKWhole
	})
	if window := k.integerOr("attention.sliding_window", 0); window > 0 && len(s.Ropes) > 0 {
		s.Ropes = append(s.Ropes, Rope{Dims: s.Ropes[0].Dims, Base: s.Ropes[0].Base, Halves: true})
		s.windows(window, k.windowed(len(s.Layers), 4), 1)
	}
	return s
}

// olmoe describes OLMoE (Muennighoff et al.): queries and keys normalized
// across all heads, the weights of the chosen experts as the softmax has them.
func olmoe(k *keys, _ describeOptions) *Spec {
	k.require("expert_count")
	s := transformer(k)
	s.halves()
	s.each(func(_ int, l *Layer) { l.Attention.QKNorm = QKWhole })
	s.moe(func(_ int, e *Experts) { e.Routing.Normalize = false })
	return s
}
