package model

import "gorun/compute"

// encoder reads what BERT and its kin share (Devlin et al.): every token sees
// all others, the norm comes after the sum, and so there is none at the end.
func encoder(k *keys, o describeOptions) *Spec {
	s := layerNormed(k)
	s.Bidirectional = true
	s.EmbedNorm = true
	if o.Tensor("token_types.weight") {
		v, _, err := k.meta.Uint("tokenizer.ggml.token_type_count")
		k.fail(err)
		s.TokenTypes = max(int(v), 1)
	}
	s.each(func(_ int, l *Layer) { l.Norms = NormOfSum })
	return s
}

// bert describes BERT and embedding models of its shape (MiniLM, BGE, E5,
// Arctic): learned positions, a GELU block without gate.
func bert(k *keys, o describeOptions) *Spec {
	s := encoder(k, o)
	s.Positions = s.TrainedContext
	s.plain(compute.ErfGELU)
	s.each(func(_ int, l *Layer) { l.Attention.Rope = NoRope })
	return s
}

// nomicBERT describes Nomic Embed ("Nomic Embed: Training a Reproducible Long
// Context Text Embedder"): BERT with RoPE and gated SiLU blocks.
func nomicBERT(k *keys, o describeOptions) *Spec {
	s := encoder(k, o)
	s.halves()
	return s
}

// euroBERT describes EuroBERT ("EuroBERT: Scaling Multilingual Encoders for
// European Languages"): Llama as an encoder.
func euroBERT(k *keys, _ describeOptions) *Spec {
	s := transformer(k)
	s.halves()
	s.Bidirectional = true
	return s
}
