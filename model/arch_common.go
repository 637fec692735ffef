package model

import (
	"fmt"
	"math"

	"gorun/compute"
	"gorun/gguf"
)

// transformer reads what nearly all architectures share: sizes, grouped-query
// attention with one RoPE for all layers, and a gated SiLU block that is a
// mixture of experts if the file counts experts. Descriptions change from
// there on.
func transformer(k *keys) *Spec {
	s := &Spec{
		Arch:           k.arch,
		Vocab:          k.vocabulary(),
		Width:          k.integer("embedding_length"),
		TrainedContext: k.integer("context_length"),
		Eps:            float32(k.floatOr("attention.layer_norm_rms_epsilon", 0)),
	}
	s.Bidirectional = !k.boolOr("attention.causal", true)
	s.Extra = k.integerOr("nextn_predict_layers", 0)
	layers := k.integer("block_count") - s.Extra
	if layers < 0 || layers > 4096 {
		k.fail(fmt.Errorf("key %q: %d layers", k.full("block_count"), layers))
		layers = 0
	}
	heads := k.perLayer("attention.head_count", layers, 0)
	kvHeads := k.perLayer("attention.head_count_kv", layers, 0)
	hidden := k.perLayer("feed_forward_length", layers, 0)
	experts := k.experts()
	leading := k.integerOr("leading_dense_block_count", 0)
	s.Layers = make([]Layer, layers)
	for i := range s.Layers {
		if kvHeads[i] == 0 {
			kvHeads[i] = heads[i]
		}
		dim := s.Width / max(heads[i], 1)
		a := Attention{
			Heads: heads[i], KVHeads: kvHeads[i],
			KDim: k.integerOr("attention.key_length", dim), VDim: k.integerOr("attention.value_length", dim),
		}
		a.Scale = float32(k.floatOr("attention.scale", 1/math.Sqrt(float64(max(a.KDim, 1)))))
		s.Layers[i] = Layer{
			Attention: a,
			FFN:       FFN{Block: Block{Hidden: hidden[i], Gated: true}, Experts: experts},
		}
		if i < leading {
			s.Layers[i].FFN.Experts = Experts{}
		}
	}
	if layers > 0 {
		s.Ropes = []Rope{k.rope(s.Layers[0].Attention.KDim)}
	}
	return s
}

// vocabulary is the number of tokens: the key, or the length of the list.
func (k *keys) vocabulary() int {
	if k.has("vocab_size") {
		return k.integer("vocab_size")
	}
	tokens, ok := k.meta.Get("tokenizer.ggml.tokens")
	if !ok {
		k.require("vocab_size")
	}
	return tokens.Len()
}

// rope reads the RoPE of a model whose heads have dim values.
func (k *keys) rope(dim int) Rope {
	r := Rope{Dims: k.integerOr("rope.dimension_count", dim), Base: k.floatOr("rope.freq_base", 10000)}
	kind := k.textOr("rope.scaling.type", "")
	factor := k.floatOr("rope.scaling.factor", 0)
	if !k.has("rope.scaling.type") {
		// Old files have this key alone.
		if factor = k.floatOr("rope.scale_linear", factor); factor != 0 {
			kind = "linear"
		}
	}
	magnitude := k.floatOr("rope.scaling.attn_factor", 1)
	r.Scaling = Scaling{Magnitude: magnitude, Factor: factor, OriginalContext: k.integerOr("rope.scaling.original_context_length", k.integer("context_length"))}
	if factor == 0 || factor == 1 {
		return r
	}
	switch kind {
	case "linear":
		r.Scaling.Kind = ScaleLinear
	case "yarn":
		r.Scaling.Kind = ScaleYarn
		r.Scaling.BetaFast = k.floatOr("rope.scaling.yarn_beta_fast", 32)
		r.Scaling.BetaSlow = k.floatOr("rope.scaling.yarn_beta_slow", 1)
		r.Scaling.Magnitude = magnitude * yarnMagnitude(factor)
	}
	return r
}

// yarnMagnitude is the temperature of the YaRN paper as a factor of queries
// and keys.
func yarnMagnitude(factor float64) float64 {
	if factor <= 1 {
		return 1
	}
	return 1 + 0.1*math.Log(factor)
}

// experts reads a mixture of experts with softmax gating, whose weights are
// normalized over the chosen.
func (k *keys) experts() Experts {
	e := Experts{
		Count:  k.integerOr("expert_count", 0),
		Used:   k.integerOr("expert_used_count", 0),
		Hidden: k.integerOr("expert_feed_forward_length", k.perLayer("feed_forward_length", 1, 0)[0]),
		Routing: compute.Routing{
			Used:      k.integerOr("expert_used_count", 0),
			Gating:    compute.Gating(k.integerOr("expert_gating_func", int(compute.GateSoftmax))),
			Normalize: k.boolOr("expert_weights_norm", true),
			Scale:     float32(k.expertScale()),
		},
	}
	if n := k.integerOr("expert_group_count", 0); n > 1 {
		e.Routing.Groups, e.Routing.GroupsUsed, e.Routing.GroupTop = n, k.integer("expert_group_used_count"), 2
	}
	return e
}

func (k *keys) expertScale() float64 {
	if v := k.floatOr("expert_weights_scale", 1); v != 0 {
		return v
	}
	return 1
}

// moe changes all mixtures of experts.
func (s *Spec) moe(change func(i int, e *Experts)) {
	s.each(func(i int, l *Layer) {
		if l.FFN.Experts.Count > 0 {
			change(i, &l.FFN.Experts)
		}
	})
}

// sharedExpert gives all mixtures a shared expert of hidden values.
func (s *Spec) sharedExpert(hidden int, gated bool) {
	s.moe(func(_ int, e *Experts) {
		e.Shared = Block{Hidden: hidden, Gated: true}
		e.SharedGate = gated
	})
}

// halves makes all RoPEs turn pairs (i, i+n/2).
func (s *Spec) halves() {
	for i := range s.Ropes {
		s.Ropes[i].Halves = true
	}
}

// each changes all layers.
func (s *Spec) each(change func(i int, l *Layer)) {
	for i := range s.Layers {
		change(i, &s.Layers[i])
	}
}

// windowed says which layers see a window only: the file has an array, or the
// length of a period whose last layer sees all.
func (k *keys) windowed(layers, period int) []bool {
	const name = "attention.sliding_window_pattern"
	if v, ok := k.meta.Get(k.full(name)); ok && v.Type() != gguf.TypeArray {
		period = k.integer(name)
	}
	return k.boolsPerLayer(name, layers, func(i int) bool { return period == 0 || (i+1)%period != 0 })
}

// windows gives the windowed layers a window and a RoPE.
func (s *Spec) windows(size int, windowed []bool, rope int) {
	s.each(func(i int, l *Layer) {
		if windowed[i] {
			l.Attention.Window, l.Attention.Rope = size, rope
		}
	})
}
