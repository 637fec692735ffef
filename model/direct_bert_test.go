package model

import (
	"context"
	"math"
	"slices"
	"testing"

	"gorun/compute"
	"gorun/compute/cpu"
	"gorun/gguf"
)

// encoders are compared by their hidden states.
var encoders = []direct{
	{"bert", makeBERT, bertDirect, map[string]change{
		"positions": fill("position_embd.weight", 0), "token type": fill("token_types.weight", 0), "embedding norm": fill("token_embd_norm.bias", 3),
		"norm after attention": fill("attn_output_norm.weight", 3), "norm after FFN": fill("layer_output_norm.bias", 1), "FFN bias": dropTensor("ffn_up.bias"),
	}},
	{"nomic-bert", makeNomicBERT, bertDirect, map[string]change{"RoPE": set("rope.freq_base", gguf.Float32(3)), "token type": dropTensor("token_types.weight")}},
	{"eurobert", makeEuroBERT, euroBERTDirect, map[string]change{"RoPE": set("rope.freq_base", gguf.Float32(3)), "norm": fill("attn_norm.weight", 3)}},
}

func makeBERT(m *tiny) {
	makeNomicBERT(m)
	m.drop("ffn_gate.weight")
	m.vector("position_embd.weight", m.width, 256)
	m.biases("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down")
}

// makeNomicBERT has norms after sums and no output.
func makeNomicBERT(m *tiny) {
	m.drop("output.weight", "output_norm.weight", "attn_norm.weight", "ffn_norm.weight")
	m.set("attention.causal", false)
	m.keys["tokenizer.ggml.token_type_count"] = gguf.Uint32(2)
	m.vector("token_embd_norm.weight", m.width)
	m.vector("token_types.weight", m.width, 2)
	m.eachLayer(func(_ int, at string) {
		m.vector(at+"attn_output_norm.weight", m.width)
		m.vector(at+"layer_output_norm.weight", m.width)
	})
	m.layerNorms()
}

func all(_, _ int) bool { return true }

func erfGELU(v float64) float64 { return v / 2 * (1 + math.Erf(v/math.Sqrt2)) }

// bertDirect is BERT or, without learned positions, Nomic's.
func bertDirect(m *tiny, tokens []int32) rows {
	learned := m.model().has("position_embd.weight")
	o := turn{dims: m.dim, halves: true}
	x := m.embed(tokens).plus(m.model().lookUp("token_types.weight", make([]int32, len(tokens))))
	if learned {
		x = x.plus(m.model().lookUp("position_embd.weight", upTo(len(tokens))))
	}
	x = m.model().layerNorm("token_embd_norm", x)
	for i := range m.layers {
		l := m.layer(i)
		q, k, v := l.qkv(x)
		if !learned {
			q, k = m.rope(q, o), m.rope(k, o)
		}
		x = l.layerNorm("attn_output_norm", x.plus(l.linear("attn_output", m.attention(q, k, v, all, m.scale()))))
		var f rows
		if learned {
			f = l.linear("ffn_down", l.linear("ffn_up", x).of(erfGELU))
		} else {
			f = l.swiglu(x)
		}
		x = l.layerNorm("layer_output_norm", x.plus(f))
	}
	return x
}

func makeEuroBERT(m *tiny) {
	m.drop("output.weight")
	m.set("attention.causal", false)
}

func euroBERTDirect(m *tiny, tokens []int32) rows {
	o := turn{dims: m.dim, halves: true}
	x := m.embed(tokens)
	for i := range m.layers {
		l := m.layer(i)
		q, k, v := l.qkv(l.rms("attn_norm", x))
		x = x.plus(l.linear("attn_output", m.attention(m.rope(q, o), m.rope(k, o), v, all, m.scale())))
		x = x.plus(l.swiglu(l.rms("ffn_norm", x)))
	}
	return m.model().rms("output_norm", x)
}

// hiddenOf are the hidden states of texts that are computed together.
func hiddenOf(t *testing.T, m *Model, texts ...[]int32) []float32 {
	t.Helper()
	var runs []Run
	for _, text := range texts {
		seq := m.NewSequence()
		defer seq.Free()
		runs = append(runs, Run{seq, text, AllHidden})
	}
	var states []float32
	err := m.Forward(context.Background(), runs, func(_, _ int, hidden []float32) error {
		states = append(states, hidden...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return states
}

func TestDirectEncoders(t *testing.T) {
	for _, d := range encoders {
		t.Run(d.name, func(t *testing.T) {
			m := d.newTiny()
			g := golden{path: m.write(t)}
			text, other := directTokens(24), directTokens(24)[3:20]
			want := slices.Concat(d.forward(m, text).narrow(), d.forward(m, other).narrow())
			open := func(dev compute.Device, path string) *Model { return openGolden(t, golden{path: path}, dev, 3) }
			reference := cpuDevice(t, 2)
			model := open(reference, g.path)
			got := hiddenOf(t, model, text, other)
			if e := normalizedError(got, want); !(e < maxError) {
				t.Fatalf("normalized error %.3g", e)
			}
			if d := differ(got, slices.Concat(hiddenOf(t, model, text), hiddenOf(t, model, other))); d != "" {
				t.Errorf("each text alone: %s", d)
			}
			if d := differ(got, hiddenOf(t, open(strictDevice(t), g.path), text, other)); d != "" {
				t.Errorf("strict: %s", d)
			}
			fast, err := cpu.New(2)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { fast.Close() })
			if e := normalizedError(hiddenOf(t, open(fast, g.path), text, other), want); !(e < 1e-4) {
				t.Errorf("fast: normalized error %.3g", e)
			}
			for feature, c := range d.features {
				moved := hiddenOf(t, open(reference, c.apply(t, g.path)), text, other)
				if e := math.Sqrt(normalizedError(moved, got)); !(e > 1e-3) {
					t.Errorf("without %s the states move by a part of %.2g only", feature, e)
				}
			}
			checkVector(t, model, text, got)
		})
	}
}

// checkVector holds the pooled vector to the states that it is made of.
func checkVector(t *testing.T, m *Model, text []int32, states []float32) {
	t.Helper()
	for _, p := range []Pooling{PoolMean, PoolFirst} {
		v, err := m.Embed(context.Background(), text, p, true)
		if err != nil {
			t.Fatal(err)
		}
		pooled, square := make([]float64, len(v)), 0.0
		for i := range pooled {
			for j := range text {
				if p == PoolMean || j == 0 {
					pooled[i] += float64(states[j*len(v)+i])
				}
			}
			square += pooled[i] * pooled[i]
		}
		for i, w := range pooled {
			if w /= math.Sqrt(square); math.Abs(float64(v[i])-w) > 1e-6 {
				t.Fatalf("pooling %d, value %d: %v, want %v", p, i, v[i], w)
			}
		}
	}
}

// TestEncoderRefuses wants errors for what no encoder can do.
func TestEncoderRefuses(t *testing.T) {
	m := openGolden(t, golden{path: encoders[0].newTiny().write(t)}, cpuDevice(t, 1), 1)
	seq := m.NewSequence()
	defer seq.Free()
	forward := func(tokens []int32, want Wanted) error {
		return m.Forward(context.Background(), []Run{{seq, tokens, want}}, func(int, int, []float32) error { return nil })
	}
	if err := forward([]int32{1}, LastLogits); err == nil {
		t.Error("logits of an encoder: no error")
	}
	if err := forward([]int32{1, 2}, AllHidden); err != nil {
		t.Error(err)
	}
	if err := forward([]int32{3}, AllHidden); err == nil {
		t.Error("a text that goes on: no error")
	}
	f, err := gguf.Open(encoders[0].newTiny().write(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := NewPlan(f, Options{Context: 257}); err == nil {
		t.Error("a context beyond the learned positions: no error")
	}
	if p, err := NewPlan(f, Options{Batch: 16}); err != nil || p.Options.Batch != 256 {
		t.Errorf("a plan for whole texts: %+v, %v", p.Options, err)
	}
}
