package model

import "gorun/compute"

// phi3 describes Phi-3 and Phi-4: Llama with fused projections, and two sets
// of RoPE factors, for contexts up to the original one and beyond (Ding et
// al., "LongRoPE").
func phi3(k *keys, o describeOptions) *Spec {
	s := transformer(k)
	s.halves()
	s.longRope(o)
	return s
}

// longRope uses one of two sets of RoPE factors, if the file has them.
func (s *Spec) longRope(o describeOptions) {
	context := o.Context
	if context == 0 {
		context = s.TrainedContext
	}
	factors := "rope_factors_short.weight"
	if len(s.Ropes) > 0 && context > s.Ropes[0].Scaling.OriginalContext {
		factors = "rope_factors_long.weight"
	}
	s.ropeFactors(o, factors)
}

// phi2 describes Phi-1, 1.5 and 2 (Microsoft): branches side by side, RoPE
// over a part of each head, biases throughout.
func phi2(k *keys, _ describeOptions) *Spec {
	s := layerNormed(k)
	s.halves()
	s.plain(compute.GELU)
	s.each(func(_ int, l *Layer) { l.Parallel = true })
	return s
}
