package model

// qwen2 describes Qwen2 and Qwen2.5: biases on queries, keys and values.
func qwen2(k *keys, _ describeOptions) *Spec {
	s := transformer(k)
	s.halves()
	return s
}

// seedOSS describes ByteDance's Seed-OSS: the shape of Qwen2.
func seedOSS(k *keys, o describeOptions) *Spec { return qwen2(k, o) }

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

// qwen2moe describes Qwen1.5 and Qwen2 mixtures: the weights of the chosen
// experts are not normalized, and a shared expert has a gate.
func qwen2moe(k *keys, o describeOptions) *Spec {
	k.require("expert_count")
	s := qwen2(k, o)
	s.moe(func(_ int, e *Experts) { e.Routing.Normalize = false })
	s.sharedExpert(k.integer("expert_shared_feed_forward_length"), true)
	return s
}

// qwen35 describes Qwen3.5: most layers are gated delta nets, every few are
// attention with an output gate.
func qwen35(k *keys, o describeOptions) *Spec {
	s := qwen3(k, o)
	d := Delta{
		KeyHeads: k.integer("ssm.group_count"), ValueHeads: k.integer("ssm.time_step_rank"),
		KeyDim: k.integer("ssm.state_size"), Kernel: k.integer("ssm.conv_kernel"),
	}
	d.ValueDim = k.integer("ssm.inner_size") / max(d.ValueHeads, 1)
	interval := max(k.integerOr("full_attention_interval", 4), 1)
	recurrent := k.boolsPerLayer("attention.recurrent_layers", len(s.Layers), func(i int) bool { return (i+1)%interval != 0 })
	s.each(func(i int, l *Layer) {
		l.Attention.Gate = GateFull
		if recurrent[i] {
			l.Delta = d
		}
	})
	return s
}

// qwen35moe describes Qwen3.5's mixtures of experts.
func qwen35moe(k *keys, o describeOptions) *Spec {
	k.require("expert_count")
	s := qwen35(k, o)
	s.sharedExpert(k.integer("expert_shared_feed_forward_length"), true)
	return s
}

// qwen3next describes Qwen3-Next: Qwen3.5's mixture with value heads grouped
// by key head.
func qwen3next(k *keys, o describeOptions) *Spec {
	s := qwen35moe(k, o)
	s.each(func(_ int, l *Layer) { l.Delta.Grouped, l.Delta.Fused = true, true })
	return s
}

// qwen describes the first Qwen ("Qwen Technical Report"), whose files count
// gate and up together as the length of a block.
func qwen(k *keys, o describeOptions) *Spec {
	s := qwen2(k, o)
	s.each(func(_ int, l *Layer) { l.FFN.Hidden /= 2 })
	return s
}
