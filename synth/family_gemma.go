package synth

import "math"

// gemma3 adds Gemma 3: norms around each branch, a window in five of six
// layers. The embedding is multiplied by the root of the width.
func gemma3(b *builder, s *shape) {
	b.common(math.Sqrt(float64(s.width)))
	b.grouped()
	b.number("attention.sliding_window", s.window)
	if s.ropeFactor > 0 {
		b.text("rope.scaling.type", "linear")
		b.float("rope.scaling.factor", s.ropeFactor)
	}
	for i := range s.layers {
		b.norm(block(i, "attn_norm"), s.width)
		b.attention(i, s.heads, s.kvHeads)
		b.queryKeyNorms(i, s.headDim, s.headDim)
		b.norm(block(i, "post_attention_norm"), s.width)
		b.norm(block(i, "ffn_norm"), s.width)
		b.dense(i, "", s.hidden)
		b.norm(block(i, "post_ffw_norm"), s.width)
	}
}
