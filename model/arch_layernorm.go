package model

import "gorun/compute"

// layerNormed is a transformer with layer norms, whose biases the file may
// have.
func layerNormed(k *keys) *Spec {
	s := transformer(k)
	s.Norm, s.Eps = LayerNorm, float32(k.float("attention.layer_norm_epsilon"))
	return s
}

// plain makes all feed-forward blocks have no gate.
func (s *Spec) plain(f compute.Activation) {
	s.each(func(_ int, l *Layer) {
		l.FFN.Gated = false
		l.FFN.Unit.F = f
	})
}

// stablelm describes StableLM and StableLM 2 (Stability AI): RoPE over a part
// of each head. The 12B model has parallel branches and normalizes heads.
func stablelm(k *keys, o describeOptions) *Spec {
	s := layerNormed(k)
	s.halves()
	s.each(func(i int, l *Layer) {
		l.Parallel = !o.Tensor(layerTensor(i, "ffn_norm.weight"))
		if o.Tensor(layerTensor(i, "attn_q_norm.weight")) {
			l.Attention.QKNorm = QKPerHead
		}
	})
	return s
}

// nemotron describes Nemotron-4 and Minitron (NVIDIA, "Nemotron-4 15B
// Technical Report"): squared ReLU without a gate (So et al., "Primer"), RoPE
// over a part of each head.
func nemotron(k *keys, _ describeOptions) *Spec {
	s := layerNormed(k)
	s.halves()
	s.plain(compute.SquaredReLU)
	return s
}
