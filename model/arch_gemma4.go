package model

// gemma4 describes the text model of Gemma 4 (Google DeepMind's model card and
// reference implementation). Full layers have heads of another size than
// windowed ones, whose keys may be their values, and a RoPE over a part of
// them, which the file's factors say. The small models give each layer an
// input of its own, and their last layers use keys and values of earlier ones;
// the mixture has its experts beside a dense block.
func gemma4(k *keys, o describeOptions) *Spec {
	k.require("attention.sliding_window_pattern")
	s := gemma(k, o)
	if len(s.Layers) == 0 {
		return s
	}
	s.LogitCap = float32(k.floatOr("final_logit_softcapping", 0))
	s.LayerInput = k.integerOr("embedding_length_per_layer_input", 0)
	keyDim, valueDim := k.integer("attention.key_length_swa"), k.integer("attention.value_length_swa")
	s.ropeFactors(o, "rope_freqs.weight")
	s.Ropes = append(s.Ropes, Rope{Dims: k.integerOr("rope.dimension_count_swa", s.Ropes[0].Dims), Base: k.floatOr("rope.freq_base_swa", 10000), Halves: true})
	windowed := k.windowed(len(s.Layers), 0)
	s.windows(k.integer("attention.sliding_window"), windowed, 1)
	own := len(s.Layers) - k.integerOr("attention.shared_kv_layers", 0)
	s.each(func(i int, l *Layer) {
		l.Norms = NormBoth
		l.OutScale = o.Tensor(layerTensor(i, "layer_output_scale.weight"))
		a := &l.Attention
		a.QKNorm, a.ValueNorm, a.Scale = QKPerHead, true, 1
		a.KeyAsValue = !o.Tensor(layerTensor(i, "attn_v.weight"))
		if windowed[i] {
			a.KDim, a.VDim = keyDim, valueDim
		}
		if i >= own {
			// The last two layers with keys are a windowed and a full one.
			a.KVBack, a.KeyAsValue = i-(own-1), false
			if windowed[i] {
				a.KVBack++
			}
		}
		if !o.Tensor(layerTensor(i, "ffn_gate_inp.weight")) {
			l.FFN.Experts = Experts{}
		}
		l.FFN.Beside = l.FFN.Experts.Count > 0
		l.FFN.Experts.Unit = l.FFN.Unit
	})
	return s
}
