package synth

// qwen3 adds Qwen3, dense or a mixture.
func qwen3(b *builder, s *shape) {
	b.common(1)
	b.grouped()
	if s.experts.count > 0 {
		b.mixtureKeys()
	}
	for i := range s.layers {
		b.norm(block(i, "attn_norm"), s.width)
		b.attention(i, s.heads, s.kvHeads)
		b.queryKeyNorms(i, s.headDim, s.headDim)
		b.norm(block(i, "ffn_norm"), s.width)
		if s.experts.count > 0 {
			b.mixture(i, byScale)
		} else {
			b.dense(i, "", s.hidden)
		}
	}
}

// qwen35 adds Qwen3.5 and Qwen3-Next: delta nets, and attention in every few
// layers.
func qwen35(b *builder, s *shape) {
	b.common(1)
	b.grouped()
	if s.experts.count > 0 {
		b.mixtureKeys()
	}
	d := s.delta
	if s.arch != "qwen3next" {
		b.numbers("rope.dimension_sections", []int32{11, 11, 10, 0})
	}
	b.number("full_attention_interval", d.interval)
	b.number("ssm.conv_kernel", d.kernel)
	b.number("ssm.state_size", d.dim)
	b.number("ssm.group_count", d.keyHeads)
	b.number("ssm.time_step_rank", d.valueHeads)
	b.number("ssm.inner_size", d.valueHeads*d.dim)
	for i := range s.layers + s.mtp {
		b.norm(block(i, "attn_norm"), s.width)
		if i < s.layers && (i+1)%d.interval != 0 {
			b.deltaNet(i)
		} else {
			b.gatedAttention(i)
		}
		b.norm(block(i, "post_attention_norm"), s.width)
		if s.experts.count > 0 {
			b.mixture(i, byScale)
			b.small(block(i, "ffn_gate_inp_shexp.weight"), normal(0, 0.02), s.width)
			b.dense(i, "_shexp", s.experts.shared)
		} else {
			b.dense(i, "", s.hidden)
		}
		if i >= s.layers {
			b.nextToken(i)
		}
	}
}

// gatedAttention adds attention whose queries come with a gate.
func (b *builder) gatedAttention(i int) {
	s := b.shape
	b.matrix(block(i, "attn_q"), s.width, 2*s.heads*s.headDim)
	b.matrix(block(i, "attn_k"), s.width, s.kvHeads*s.headDim)
	b.matrix(block(i, "attn_v"), s.width, s.kvHeads*s.headDim)
	b.gain(block(i, "attn_output"), attentionStd, s.heads*s.headDim, s.width)
	b.queryKeyNorms(i, s.headDim, s.headDim)
}

// deltaNet adds a gated delta net. Its states forget by 0.5 to 25 percent a
// token.
func (b *builder) deltaNet(i int) {
	s, d := b.shape, b.shape.delta
	keys, values := d.keyHeads*d.dim, d.valueHeads*d.dim
	b.matrix(block(i, "attn_qkv"), s.width, 2*keys+values)
	b.matrix(block(i, "attn_gate"), s.width, values)
	b.small(block(i, "ssm_conv1d.weight"), normal(0, 0.5), d.kernel, 2*keys+values)
	b.small(block(i, "ssm_dt.bias"), uniform(-4, -2), d.valueHeads)
	b.small(block(i, "ssm_a"), uniform(-2, -0.25), d.valueHeads)
	if s.arch == "qwen3next" {
		b.matrix(block(i, "ssm_ba"), s.width, 2*d.valueHeads)
	} else {
		b.matrix(block(i, "ssm_beta"), s.width, d.valueHeads)
		b.matrix(block(i, "ssm_alpha"), s.width, d.valueHeads)
	}
	b.norm(block(i, "ssm_norm"), d.dim)
	b.gain(block(i, "ssm_out"), attentionStd, values, s.width)
}
