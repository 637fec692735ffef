package model

// qwen2 describes Qwen2 and Qwen2.5: biases on queries, keys and values.
func qwen2(k *keys, _ describeOptions) *Spec {
	s := transformer(k)
	s.halves()
	return s
}

// qwen3 describes Qwen3: each head of queries and keys is normalized.
func qwen3(k *keys, o describeOptions) *Spec {
	s := qwen2(k, o)
	s.each(func(_ int, l *Layer) { l.Attention.QKNorm = QKPerHead })
	return s
}

// qwen3moe describes Qwen3's mixtures of experts.
func qwen3moe(k *keys, o describeOptions) *Spec {
	k.require("expert_count")
	return qwen3(k, o)
}
