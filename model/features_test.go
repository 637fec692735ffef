package model

import (
	"bytes"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"gorun/gguf"
	"gorun/tensor"
)

// change alters a copy of a golden file: a key is dropped or set, a tensor is
// dropped or filled with one value (f32) or zero bytes.
type change struct {
	key    string
	value  *gguf.Value
	tensor string // its name, or the end of it for all layers
	fill   *float32
}

func drop(key string) change              { return change{key: key} }
func set(key string, v gguf.Value) change { return change{key: key, value: &v} }
func dropTensor(name string) change       { return change{tensor: name} }
func fill(name string, v float32) change  { return change{tensor: name, fill: &v} }

// features lists what each architecture has of its own, by what takes it out.
// Each must change the logits: what does not is not computed.
var features = map[string]map[string]change{
	"llama-yarn.q8_0":      {"YaRN": drop("rope.scaling.type")},
	"llama-ropefreqs.q8_0": {"RoPE factors": dropTensor("rope_freqs.weight")},
	"llama-experts.q4_0":   {"experts used": set("expert_used_count", gguf.Uint32(1))},
	"qwen2.q8_0":           {"biases": dropTensor("attn_q.bias"), "value bias": dropTensor("attn_v.bias")},
	"qwen3.q8_0":           {"query norm": fill("attn_q_norm.weight", 3), "key norm": fill("attn_k_norm.weight", 3)},
	"mistral3.q8_0":        {"temperature": drop("attention.temperature_scale"), "YaRN": drop("rope.scaling.type")},
	"granite.q8_0": {
		"embedding scale": drop("embedding_scale"), "residual scale": drop("residual_scale"),
		"attention scale": drop("attention.scale"), "logit scale": drop("logit_scale"),
	},
	"phi3.q8_0": {"magnitude": drop("rope.scaling.attn_factor"), "long factors": dropTensor("rope_factors_long.weight")},
	"gemma2.q8_0": {
		"score cap": set("attn_logit_softcapping", gguf.Float32(1)), "logit cap": drop("final_logit_softcapping"),
		"window":    set("attention.sliding_window", gguf.Uint32(1000)),
		"post norm": fill("post_attention_norm.weight", 3), "post FFN norm": fill("post_ffw_norm.weight", 3),
	},
	"gemma3.q8_0": {
		"RoPE of windows": set("rope.freq_base_swa", gguf.Float32(1e6)), "linear scaling": drop("rope.scaling.factor"),
		"window": set("attention.sliding_window", gguf.Uint32(1000)), "query norm": fill("attn_q_norm.weight", 3),
	},
	"command-r.q8_0":        {"logit scale": set("logit_scale", gguf.Float32(1))},
	"starcoder2.q8_0":       {"FFN bias": dropTensor("ffn_down.bias"), "norm bias": dropTensor("attn_norm.bias")},
	"qwen2moe-experts.q4_0": {"gate of the shared expert": fill("ffn_gate_inp_shexp.weight", 0), "shared expert": fill("ffn_down_shexp.weight", 0)},
	"minimax-m2-experts.q4_0": {
		"gating": set("expert_gating_func", gguf.Uint32(1)), "choice bias": fill("exp_probs_b.bias", 0), "query norm": fill("attn_q_norm.weight", 3),
	},
	"step35-experts.q4_0": {
		"clamps": drop("swiglu_clamp_exp"), "shared clamps": drop("swiglu_clamp_shexp"), "RoPE of windows": set("rope.freq_base_swa", gguf.Float32(1e6)),
		"RoPE factors": dropTensor("rope_freqs.weight"), "window": set("attention.sliding_window", gguf.Uint32(1000)),
		"weights scale": drop("expert_weights_scale"), "head gate": fill("attn_gate.weight", 0), "choice bias": fill("exp_probs_b.bias", 0),
		"shared expert": fill("ffn_down_shexp.weight", 0),
	},
	"gpt-oss-experts.q4_0": {
		"sinks": fill("attn_sinks.weight", -100), "window": set("attention.sliding_window", gguf.Uint32(1000)), "YaRN": drop("rope.scaling.type"),
		"gate bias": dropTensor("ffn_gate_exps.bias"), "up bias": dropTensor("ffn_up_exps.bias"), "down bias": dropTensor("ffn_down_exps.bias"),
		"router bias": dropTensor("ffn_gate_inp.bias"), "output bias": dropTensor("attn_output.bias"),
	},
	"glm4moe-experts.q4_0": {
		"weights scale": drop("expert_weights_scale"), "choice bias": fill("exp_probs_b.bias", 0), "query bias": dropTensor("attn_q.bias"),
		"part of a head": set("rope.dimension_count", gguf.Uint32(64)), "shared expert": fill("ffn_down_shexp.weight", 0),
	},
	"deepseek2-experts.q4_0": {
		"weights scale": drop("expert_weights_scale"), "weights norm": drop("expert_weights_norm"), "gating": drop("expert_gating_func"),
		"latent norm": fill("attn_kv_a_norm.weight", 3), "query norm": fill("attn_q_a_norm.weight", 3), "shared expert": fill("ffn_down_shexp.weight", 0),
	},
	"qwen35.q8_0": {
		"decay": fill("ssm_a", -9), "step bias": fill("ssm_dt.bias", 5), "convolution": fill("ssm_conv1d.weight", 1), "head norm": fill("ssm_norm.weight", 3),
		"gate": fill("attn_gate.weight", 0), "beta": fill("ssm_beta.weight", 0), "alpha": fill("ssm_alpha.weight", 0), "query norm": fill("attn_q_norm.weight", 3),
	},
	"qwen35moe-experts.q4_0": {"gate of the shared expert": fill("ffn_gate_inp_shexp.weight", 0), "shared expert": fill("ffn_down_shexp.weight", 0)},
	"qwen3next-experts.q4_0": {"beta and alpha": fill("ssm_ba.weight", 0), "decay": fill("ssm_a", -9)},
}

func TestFeaturesMatter(t *testing.T) {
	const tokens = 40 // beyond the windows of all goldens
	for name, list := range features {
		t.Run(name, func(t *testing.T) {
			g := loadGolden(t, name)
			g.tokens = g.tokens[:tokens]
			dev := cpuDevice(t, 2)
			vocab := len(g.want) / 96
			want := g.want[:tokens*vocab]
			for feature, c := range list {
				changed := golden{path: c.apply(t, g.path), tokens: g.tokens}
				got := logitsOf(t, openGolden(t, changed, dev, 1), g.tokens, tokens)
				if e := math.Sqrt(normalizedError(got, want)); !(e > 1e-3) {
					t.Errorf("without %s the logits move by a part of %.2g only", feature, e)
				}
			}
		})
	}
}

// apply writes the altered copy.
func (c change) apply(t *testing.T, path string) string {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	arch, _, err := f.Metadata().String("general.architecture")
	if err != nil {
		t.Fatal(err)
	}
	w := gguf.NewWriter()
	found := false
	for key, v := range f.Metadata().All() {
		if c.key != "" && key == arch+"."+c.key {
			found = true
			if c.value == nil {
				continue
			}
			v = *c.value
		}
		w.Set(key, v)
	}
	for _, x := range f.Tensors() {
		raw, err := io.ReadAll(f.Section(x))
		if err != nil {
			t.Fatal(err)
		}
		if c.tensor != "" && (x.Name == c.tensor || strings.HasSuffix(x.Name, "."+c.tensor)) {
			found = true
			if c.fill == nil {
				continue
			}
			clear(raw)
			if values := make([]float32, x.Elements()); x.Type == tensor.F32 {
				for i := range values {
					values[i] = *c.fill
				}
				raw = floatBytes(values)
			} else if *c.fill != 0 {
				t.Fatalf("%s is %v: it can be filled with zero only", x.Name, x.Type)
			}
		}
		w.AddTensor(x, bytes.NewReader(raw))
	}
	if !found {
		t.Fatalf("%s has neither the key %q nor the tensor %q", path, c.key, c.tensor)
	}
	out := filepath.Join(t.TempDir(), "changed.gguf")
	if err := w.WriteFile(out); err != nil {
		t.Fatal(err)
	}
	return out
}
