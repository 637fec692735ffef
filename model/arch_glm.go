package model

// glm4 describes GLM-4 0414 (Z.ai): norms before and after each branch, RoPE
// over a part of each head. Files of GLM-4.1V, which have sections of
// positions for images, pair the halves of that part; for text the sections
// are one.
func glm4(k *keys, _ describeOptions) *Spec {
	s := transformer(k)
	if sections := k.perLayer("rope.dimension_sections", 2, 0); sections[0] > 0 && sections[1] > 0 {
		s.halves()
	}
	s.each(func(_ int, l *Layer) { l.Norms = NormBoth })
	return s
}

// chatGLM describes ChatGLM3 and GLM-4 9B (Zeng et al., "ChatGLM: A Family of
// Large Language Models"): RoPE over a part of each head, biases on queries,
// keys and values.
func chatGLM(k *keys, _ describeOptions) *Spec { return transformer(k) }
