package model

import "gorun/compute"

// gpt2 describes GPT-2 (Radford et al.): learned positions, which are all
// there is of positions.
func gpt2(k *keys, _ describeOptions) *Spec {
	s := layerNormed(k)
	s.Positions = s.TrainedContext
	s.plain(compute.GELU)
	s.each(func(_ int, l *Layer) { l.Attention.Rope = NoRope })
	return s
}

// gptNeoX describes GPT-NeoX and Pythia (Black et al.; Biderman et al.):
// branches side by side, unless the file says otherwise, each with a norm of
// its own.
func gptNeoX(k *keys, _ describeOptions) *Spec {
	s := layerNormed(k)
	s.halves()
	s.plain(compute.ErfGELU)
	parallel := k.boolOr("use_parallel_residual", true)
	s.each(func(_ int, l *Layer) { l.Parallel, l.OwnNorm = parallel, parallel })
	return s
}

// falcon describes Falcon 7B, 40B and 180B (Almazrouei et al.): branches side
// by side, with one norm or, in the larger models, two.
func falcon(k *keys, o describeOptions) *Spec {
	s := layerNormed(k)
	s.halves()
	s.plain(compute.ErfGELU)
	s.each(func(i int, l *Layer) {
		l.Parallel, l.OwnNorm = true, o.Tensor(layerTensor(i, "attn_norm_2.weight"))
	})
	return s
}
