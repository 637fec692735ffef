package synth

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"gorun/gguf"
	"gorun/tensor"
)

// TestShapes compares the number of parameters with what is published.
func TestShapes(t *testing.T) {
	published := map[string]float64{ // in billions
		"tiny": 0.00059, "tiny-moe": 0.0038, "llama-1b": 1.04, "llama-8b": 8.03, "llama-70b": 70.6,
		"qwen3-0.6b": 0.596, "qwen3-14b": 14.8, "qwen3-30b-a3b": 30.5, "qwen3-next-80b-a3b": 79.7,
		"qwen35-27b": 26.9, "qwen35-35b-a3b": 34.7, "qwen35-122b-a10b": 122, "qwen35-397b-a17b": 396,
		"minimax-m2-229b": 228.7, "step35": 196.9, "gpt-oss-20b": 20.9, "gpt-oss-120b": 116.8,
		"glm-4.6v": 106.9, "deepseek-v3.1": 671, "gemma3-1b": 1.0, "gemma3-4b": 3.88,
	}
	for _, s := range Shapes() {
		m, err := New(Options{Like: s.Name, Type: tensor.Q4_K})
		if err != nil {
			t.Fatal(err)
		}
		got := float64(m.Parameters()) / 1e9
		if want := published[s.Name]; math.Abs(got/want-1) > 0.005 {
			t.Errorf("%s: %.4g billion parameters, not %g", s.Name, got, want)
		}
		delete(published, s.Name)
	}
	if len(published) > 0 {
		t.Errorf("no shapes %v", published)
	}
}

// write writes a small model and returns the bytes of its file.
func write(t *testing.T, o Options) []byte {
	t.Helper()
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := m.WriteFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestSameSeedSameBytes(t *testing.T) {
	o := Options{Like: "qwen3-0.6b", Type: tensor.Q4_K, Layers: 2, Vocab: 5000, Seed: 3}
	one := write(t, o)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, threads := range []int{1, 3} {
		runtime.GOMAXPROCS(threads)
		if !bytes.Equal(write(t, o), one) {
			t.Errorf("%d threads: other bytes", threads)
		}
	}
	if o.Seed++; bytes.Equal(write(t, o), one) {
		t.Error("another seed: the same bytes")
	}
}

// TestNoTensorRepeats looks for tensors, and parts of one, that begin alike.
func TestNoTensorRepeats(t *testing.T) {
	data := write(t, Options{Like: "qwen3-0.6b", Type: tensor.Q8_0, Layers: 2, Vocab: 5000})
	f, err := gguf.Read("model", bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, x := range f.Tensors() {
		for at := int64(0); at+32 <= x.Size; at += partBytes / 34 * 34 {
			start := string(data[x.Offset+at:][:32])
			if other, ok := seen[start]; ok {
				t.Errorf("%s at %d is like %s", x.Name, at, other)
			}
			seen[start] = x.Name
		}
	}
}

func TestHeaderOnly(t *testing.T) {
	dir := t.TempDir()
	var sizes []int64
	var tables [][]gguf.Tensor
	for _, only := range []bool{false, true} {
		m, err := New(Options{Like: "tiny-moe", Type: tensor.Q4_K, HeaderOnly: only})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "model.gguf")
		if err := m.WriteFile(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		f, err := gguf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		sizes, tables = append(sizes, f.Parts()[0].Size), append(tables, f.Tensors())
		if len(f.Tensors()) != m.Tensors() {
			t.Errorf("%d tensors, not %d", len(f.Tensors()), m.Tensors())
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if sizes[0] != sizes[1] || len(tables[0]) != len(tables[1]) {
		t.Errorf("with weights %d bytes, without %d", sizes[0], sizes[1])
	}
}

func TestCancel(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	o := Options{Like: "qwen3-0.6b", Type: tensor.Q4_K, Layers: 2, Progress: func(done, total int64) {
		if done > total/2 {
			cancel()
		}
	}}
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.WriteFile(ctx, filepath.Join(dir, "model.gguf")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("%v, left behind: %v", err, left)
	}
}

func TestProgress(t *testing.T) {
	var last, all int64
	o := Options{Like: "tiny", Type: tensor.Q4_0, Progress: func(done, total int64) {
		if done <= last {
			t.Errorf("%d after %d", done, last)
		}
		last, all = done, total
	}}
	write(t, o)
	if last != all || all == 0 {
		t.Errorf("%d of %d", last, all)
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		o    Options
		text string
	}{
		{Options{Like: "nonsense"}, "qwen35-27b"},
		{Options{Like: "tiny", Type: tensor.I32}, "i32"},
		{Options{Like: "tiny", Layers: -1}, "-1 layers"},
		{Options{Like: "tiny", Layers: 5000}, "5000 layers"},
		{Options{Like: "tiny", Experts: 4}, "no experts"},
		{Options{Like: "tiny-moe", Experts: -4}, "-4 experts"},
		{Options{Like: "tiny", Vocab: 100}, "vocabulary of 100"},
		{Options{Like: "tiny", Vocab: 1 << 30}, "vocabulary"},
		{Options{Like: "tiny", Routing: Routing{1}}, "no experts"},
		{Options{Like: "tiny", MTP: true}, "further tokens"},
	} {
		if _, err := New(c.o); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.text)
		}
	}
}

// TestFewLayersHaveAllKinds: a cut model still has attention beside delta
// nets, and experts after dense layers.
func TestFewLayersHaveAllKinds(t *testing.T) {
	for name, parts := range map[string][]string{
		"qwen35-35b-a3b": {"ssm_a", "attn_k.weight", "ffn_down_exps.weight"},
		"step35":         {"ffn_down.weight", "ffn_down_exps.weight"},
		"deepseek-v3.1":  {"ffn_down.weight", "ffn_down_exps.weight"},
	} {
		m, err := New(Options{Like: name, Type: tensor.Q4_K, Layers: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			found := false
			for _, x := range m.builder.tensors {
				found = found || strings.HasSuffix(x.Name, part)
			}
			if !found {
				t.Errorf("%s with two layers has no %s", name, part)
			}
		}
	}
}

func TestMTP(t *testing.T) {
	for _, s := range shapes {
		if s.mtp == 0 {
			continue
		}
		m, err := New(Options{Like: s.name, Type: tensor.Q4_K, Layers: 4, MTP: true})
		if err != nil {
			t.Fatal(err)
		}
		k := &m.builder.keys
		blocks, _, _ := k.Uint(s.arch + ".block_count")
		extra, _, _ := k.Uint(s.arch + ".nextn_predict_layers")
		projections := 0
		for _, x := range m.builder.tensors {
			if strings.HasSuffix(x.Name, "nextn.eh_proj.weight") {
				projections++
			}
		}
		if int(extra) != s.mtp || int(blocks) != 4+s.mtp || projections != s.mtp {
			t.Errorf("%s: %d blocks, %d of them further, %d projections", s.name, blocks, extra, projections)
		}
	}
}
