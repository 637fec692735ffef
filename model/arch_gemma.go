package model

import (
	"math"

	"gorun/compute"
)

// gemma describes the first Gemma ("Gemma: Open Models Based on Gemini
// Research and Technology"): a scaled embedding and GELU.
func gemma(k *keys, _ describeOptions) *Spec {
	s := transformer(k)
	s.halves()
	s.EmbedScale = float32(math.Sqrt(float64(s.Width)))
	s.each(func(_ int, l *Layer) { l.FFN.Unit.F = compute.GELU })
	return s
}

// windowedGemma reads what Gemma 2 and 3 share: norms before and after each
// branch, and sliding windows in most layers.
func windowedGemma(k *keys, o describeOptions, windowed func(layer int) bool) *Spec {
	s := gemma(k, o)
	s.LogitCap = float32(k.floatOr("final_logit_softcapping", 0))
	window := k.integer("attention.sliding_window")
	s.each(func(i int, l *Layer) {
		l.Norms = NormBoth
		l.Attention.Cap = float32(k.floatOr("attn_logit_softcapping", 0))
		if windowed(i) {
			l.Attention.Window = window
		}
	})
	return s
}

// scaleByWidth sets the scale of scores to that of heads of Width/Heads
// values, which the largest models of the family kept.
func (s *Spec) scaleByWidth() {
	s.each(func(_ int, l *Layer) {
		l.Attention.Scale = float32(1 / math.Sqrt(float64(s.Width)/float64(l.Attention.Heads)))
	})
}

// gemma2 describes Gemma 2: windows in every other layer, capped scores.
func gemma2(k *keys, o describeOptions) *Spec {
	s := windowedGemma(k, o, func(layer int) bool { return layer%2 == 0 })
	if len(s.Layers) == 46 { // 27B
		s.scaleByWidth()
	}
	return s
}

// gemma3 describes Gemma 3: five layers of six have a window and a RoPE of
// their own, which is not stretched; heads are normalized.
func gemma3(k *keys, o describeOptions) *Spec {
	windowed := func(layer int) bool { return layer%6 != 5 }
	s := windowedGemma(k, o, windowed)
	if len(s.Layers) == 62 { // 27B
		s.scaleByWidth()
	}
	if len(s.Ropes) > 0 {
		s.Ropes = append(s.Ropes, Rope{Dims: s.Ropes[0].Dims, Base: k.floatOr("rope.freq_base_swa", 10000), Halves: true})
	}
	s.each(func(i int, l *Layer) {
		l.Attention.QKNorm = QKPerHead
		if windowed(i) {
			l.Attention.Rope = 1
		}
	})
	return s
}
