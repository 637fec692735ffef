package model

import "math"

// hunyuanDense describes Tencent's Hunyuan 0.5B to 7B: heads are normalized
// after they have been rotated, and long contexts come from a larger base of
// the RoPE ("NTK-aware", by alpha), which most files have multiplied already.
func hunyuanDense(k *keys, o describeOptions) *Spec {
	s := llama(k, o)
	s.halves()
	s.each(func(_ int, l *Layer) { l.Attention.QKNorm = QKRotated })
	alpha := k.floatOr("rope.scaling.alpha", 0)
	for i := range s.Ropes {
		if n := float64(s.Layers[0].Attention.KDim); alpha > 0 && n > 2 {
			s.Ropes[i].Base *= math.Pow(alpha, n/(n-2))
		}
	}
	return s
}

// hunyuanMoE describes Hunyuan-A13B: Hunyuan with a shared expert beside the
// chosen.
func hunyuanMoE(k *keys, o describeOptions) *Spec {
	k.require("expert_count")
	s := hunyuanDense(k, o)
	s.sharedExpert(k.integerOr("expert_shared_feed_forward_length", k.perLayer("feed_forward_length", 1, 0)[0]), false)
	return s
}
