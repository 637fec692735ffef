package model

import "gorun/compute"

// commandR describes Cohere's Command R: attention and FFN side by side,
// layer norms without bias. The Plus models normalize heads as well.
func commandR(k *keys, o describeOptions) *Spec {
	s := layerNormed(k)
	s.LogitScale = float32(k.float("logit_scale"))
	s.each(func(_ int, l *Layer) {
		l.Parallel = true
		if o.Tensor("blk.0.attn_q_norm.weight") {
			l.Attention.QKNorm = QKPerHead
		}
	})
	return s
}

// cohere2 describes Command R7B and Command A ("Command A: An
// Enterprise-Ready Large Language Model"): windows with RoPE in three layers
// of four, and no positions in the others.
func cohere2(k *keys, o describeOptions) *Spec {
	s := commandR(k, o)
	s.each(func(_ int, l *Layer) { l.Attention.Rope = NoRope })
	s.windows(k.integer("attention.sliding_window"), k.windowed(len(s.Layers), 4), 0)
	return s
}

// starcoder2 describes StarCoder2: layer norms and biases throughout, and a
// plain GELU block.
func starcoder2(k *keys, _ describeOptions) *Spec {
	s := layerNormed(k)
	s.halves()
	s.plain(compute.GELU)
	return s
}
