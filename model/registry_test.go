package model

import (
	"bytes"
	"strings"
	"testing"

	"gorun/gguf"
	"gorun/tensor"
)

// keys and shapes of a small file that runs.
var (
	smallKeys = map[string]gguf.Value{
		"general.architecture": gguf.String("llama"), "llama.vocab_size": gguf.Uint32(8), "llama.context_length": gguf.Uint32(16),
		"llama.embedding_length": gguf.Uint32(32), "llama.block_count": gguf.Uint32(1), "llama.feed_forward_length": gguf.Uint32(32),
		"llama.attention.head_count": gguf.Uint32(2), "llama.attention.layer_norm_rms_epsilon": gguf.Float32(1e-5),
	}
	smallTensors = map[string][]int64{
		"token_embd.weight": {32, 8}, "output_norm.weight": {32}, "blk.0.attn_norm.weight": {32}, "blk.0.ffn_norm.weight": {32},
		"blk.0.attn_q.weight": {32, 32}, "blk.0.attn_k.weight": {32, 32}, "blk.0.attn_v.weight": {32, 32}, "blk.0.attn_output.weight": {32, 32},
		"blk.0.ffn_gate.weight": {32, 32}, "blk.0.ffn_up.weight": {32, 32}, "blk.0.ffn_down.weight": {32, 32},
	}
)

// keyChanges replaces keys of the small file; nil drops one.
type keyChanges map[string]any

func smallFile(t *testing.T, changes keyChanges, shapes map[string][]int64) *gguf.File {
	t.Helper()
	w := gguf.NewWriter()
	for key, v := range smallKeys {
		if _, changed := changes[key]; !changed {
			w.Set(key, v)
		}
	}
	for key, v := range changes {
		if v != nil {
			w.Set(key, v.(gguf.Value))
		}
	}
	for name, dims := range shapes {
		x := gguf.Tensor{Name: name, Type: tensor.F32, Dims: dims}
		w.AddTensor(x, bytes.NewReader(make([]byte, 4*x.Elements())))
	}
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Read("test", bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// with are the shapes of the small file with one changed; no dims drop it.
func with(name string, dims ...int64) map[string][]int64 {
	all := map[string][]int64{}
	for n, d := range smallTensors {
		all[n] = d
	}
	if delete(all, name); dims != nil {
		all[name] = dims
	}
	return all
}

// TestFilesThatDoNotRun wants errors that name what is missing or wrong.
func TestFilesThatDoNotRun(t *testing.T) {
	if _, err := NewPlan(smallFile(t, nil, smallTensors), Options{}); err != nil {
		t.Fatalf("the whole file: %v", err)
	}
	for name, c := range map[string]struct {
		keys   keyChanges
		shapes map[string][]int64
		want   []string
	}{
		"no architecture":       {keyChanges{"general.architecture": nil}, smallTensors, []string{"general.architecture"}},
		"unknown architecture":  {keyChanges{"general.architecture": gguf.String("hal")}, smallTensors, []string{`"hal"`, "llama, "}},
		"missing key":           {keyChanges{"llama.embedding_length": nil}, smallTensors, []string{"llama.embedding_length"}},
		"key of a wrong type":   {keyChanges{"llama.block_count": gguf.String("x")}, smallTensors, []string{"llama.block_count"}},
		"absurd size":           {keyChanges{"llama.feed_forward_length": gguf.Uint64(1 << 40)}, smallTensors, []string{"llama.feed_forward_length", "1099511627776"}},
		"absurd layers":         {keyChanges{"llama.block_count": gguf.Uint32(99999)}, smallTensors, []string{"block_count"}},
		"no layers":             {keyChanges{"llama.block_count": gguf.Uint32(0)}, smallTensors, []string{"0 layers"}},
		"heads that do not fit": {keyChanges{"llama.attention.head_count": gguf.Uint32(3)}, smallTensors, []string{"attn_q"}},
		"no heads":              {keyChanges{"llama.attention.head_count": gguf.Uint32(0)}, smallTensors, []string{"heads"}},
		"KV heads":              {keyChanges{"llama.attention.head_count_kv": gguf.Uint32(3)}, smallTensors, []string{"2 query heads cannot share 3"}},
		"odd RoPE":              {keyChanges{"llama.rope.dimension_count": gguf.Uint32(5)}, smallTensors, []string{"RoPE"}},
		"experts":               {keyChanges{"llama.expert_count": gguf.Uint32(4), "llama.expert_used_count": gguf.Uint32(5)}, smallTensors, []string{"5 of 4 experts"}},
		"too few per layer":     {keyChanges{"llama.attention.head_count": gguf.Array([]uint32{})}, smallTensors, []string{"0 values for 1 layers"}},
		"missing tensor":        {nil, with("blk.0.ffn_up.weight"), []string{"blk.0.ffn_up.weight"}},
		"tensor of wrong shape": {nil, with("blk.0.ffn_up.weight", 32, 64), []string{"blk.0.ffn_up.weight", "[32 64]", "[32 32]"}},
		"tensor too many":       {nil, with("blk.0.attn_q_norm.weight", 16), []string{"blk.0.attn_q_norm.weight"}},
		"vocabulary only":       {nil, nil, []string{"no weights"}},
		"draft only": {
			keyChanges{"llama.block_count": gguf.Uint32(2), "llama.nextn_predict_layers": gguf.Uint32(1)},
			map[string][]int64{"blk.1.attn_norm.weight": {32}}, []string{"draft"},
		},
	} {
		_, err := NewPlan(smallFile(t, c.keys, c.shapes), Options{})
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q lacks %q", name, err, want)
			}
		}
	}
}

// TestPredictors leaves layers that predict further tokens out, whether their
// tensors are there or not.
func TestPredictors(t *testing.T) {
	extra := keyChanges{"llama.block_count": gguf.Uint32(2), "llama.nextn_predict_layers": gguf.Uint32(1)}
	for present, shapes := range map[bool]map[string][]int64{false: smallTensors, true: with("blk.1.nextn.eh_proj.weight", 64, 32)} {
		f := smallFile(t, extra, shapes)
		p, err := NewPlan(f, Options{})
		if err != nil || len(p.Spec.Layers) != 1 {
			t.Errorf("with predictors: %v", err)
			continue
		}
		if n, has := p.Spec.Predictors(f); n != 1 || has != present {
			t.Errorf("predictors %d, present %v; want 1, %v", n, has, present)
		}
	}
}
