package synth

import "math"

// llama adds Llama 1 to 3.
func llama(b *builder, s *shape) {
	b.common(1)
	b.number("vocab_size", s.vocab)
	b.grouped()
	if s.ropeBase == 500000 {
		b.small("rope_freqs.weight", fixed(ropeFactors(s.headDim, float64(s.ropeBase), 8, 1, 4, 8192)), s.headDim/2)
	}
	for i := range s.layers {
		b.norm(block(i, "attn_norm"), s.width)
		b.attention(i, s.heads, s.kvHeads)
		b.norm(block(i, "ffn_norm"), s.width)
		b.dense(i, "", s.hidden)
	}
}

// ropeFactors are the divisors of RoPE frequencies with which Llama 3.1
// stretches a context of original tokens: none for waves shorter than
// original/high, factor for those longer than original/low.
func ropeFactors(dims int, base, factor, low, high, original float64) []float32 {
	factors := make([]float32, dims/2)
	for i := range factors {
		wave := 2 * math.Pi * math.Pow(base, float64(2*i)/float64(dims))
		smooth := min(max((original/wave-low)/(high-low), 0), 1)
		factors[i] = float32(1 / ((1-smooth)/factor + smooth))
	}
	return factors
}
