package model

import (
	"errors"
	"math"

	"gorun/compute"
)

// llama describes Llama 1 to 3, Mistral, Mixtral and the many models with
// their shape. Llama 3.1 divides RoPE frequencies by a tensor of factors.
func llama(k *keys, o describeOptions) *Spec {
	s := transformer(k)
	s.ropeFactors(o, "rope_freqs.weight")
	return s
}

// ropeFactors makes all RoPEs use the tensor, if the file has it.
func (s *Spec) ropeFactors(o describeOptions, tensor string) {
	if !o.Tensor(tensor) {
		return
	}
	for i := range s.Ropes {
		s.Ropes[i].Factors = tensor
	}
}

// mistral3 describes Mistral 3: Llama whose queries grow sharper with their
// position.
func mistral3(k *keys, o describeOptions) *Spec {
	s := llama(k, o)
	t := Temperature{Scale: k.floatOr("attention.temperature_scale", 0), Length: k.integerOr("attention.temperature_length", 0)}
	if t.Scale != 0 && t.Length == 0 {
		k.require("attention.temperature_length")
	}
	s.each(func(_ int, l *Layer) { l.Attention.Temperature = t })
	return s
}

// granite describes IBM Granite 3: Llama with four multipliers.
func granite(k *keys, o describeOptions) *Spec {
	s := llama(k, o)
	s.EmbedScale = float32(k.floatOr("embedding_scale", 1))
	s.ResidualScale = float32(k.floatOr("residual_scale", 1))
	if v := k.floatOr("logit_scale", 1); v != 0 {
		s.LogitScale = float32(1 / v)
	}
	return s
}

// smollm3 describes SmolLM3: Llama without positions in every fourth layer
// (Yang et al., "RoPE to NoPE and Back Again").
func smollm3(k *keys, o describeOptions) *Spec {
	s := llama(k, o)
	s.each(func(i int, l *Layer) {
		if (i+1)%4 == 0 {
			l.Attention.Rope = NoRope
		}
	})
	return s
}

// graniteMoE describes IBM Granite's mixtures of experts.
func graniteMoE(k *keys, o describeOptions) *Spec {
	k.require("expert_count")
	s := granite(k, o)
	if n := k.integerOr("expert_shared_feed_forward_length", 0); n > 0 {
		s.sharedExpert(n, false)
	}
	return s
}

// arcee describes Arcee's AFM: Llama with squared ReLU in place of a gate.
func arcee(k *keys, o describeOptions) *Spec {
	s := llama(k, o)
	s.plain(compute.SquaredReLU)
	return s
}

// internLM2 describes InternLM2 and 2.5 ("InternLM2 Technical Report"): the
// shape of Llama.
func internLM2(k *keys, _ describeOptions) *Spec { return transformer(k) }

// baichuan describes Baichuan 7B and Baichuan2 7B ("Baichuan 2: Open
// Large-scale Language Models"): the shape of Llama. The 13B models have
// another way of telling positions.
func baichuan(k *keys, _ describeOptions) *Spec {
	s := transformer(k)
	if len(s.Layers) == 40 {
		k.fail(errors.New("the 13B models use ALiBi, which gorun does not compute"))
	}
	return s
}

// miniCPM describes MiniCPM 1 and 2 (Hu et al.): Llama with multipliers, which
// old files do not have.
func miniCPM(k *keys, o describeOptions) *Spec {
	s := llama(k, o)
	s.longRope(o)
	s.EmbedScale = float32(k.floatOr("embedding_scale", 12))
	s.ResidualScale = float32(k.floatOr("residual_scale", 1.4/math.Sqrt(float64(max(len(s.Layers), 1)))))
	s.LogitScale = float32(1 / k.floatOr("logit_scale", float64(s.Width)/256))
	return s
}
