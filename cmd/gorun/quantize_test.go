package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gorun/gguf"
	"gorun/quantize"
	"gorun/tensor"
)

// A model of the golden set.
const goldenLlama = golden + "llama-ropefreqs.q8_0.gguf"

func TestQuantize(t *testing.T) {
	float := filepath.Join(t.TempDir(), "f16.gguf")
	if got := gorun("", "quantize", goldenLlama, float, "f16"); got.code != 0 || got.err != "" {
		t.Fatalf("%+v", got)
	}
	out := filepath.Join(t.TempDir(), "out.gguf")
	got := gorun("", "quantize", float, out, "Q4_K_M", "--keep", `blk\.0\.attn_q=q8_0`, "--keep", `attn_q,x|attn_k=f32`, "-t", "2", "--json")
	var r quantizeReport
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != 0 || got.err != "" {
		t.Fatalf("%v, %+v", err, got)
	}
	f, err := gguf.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var bytes int64
	for i, x := range f.Tensors() {
		if e := r.Tensors[i]; e.Name != x.Name || e.To != x.Type.String() || e.After != x.Size {
			t.Errorf("%+v is told of %v with %d bytes", e, x, x.Size)
		}
		bytes += x.Size
	}
	if r.After != bytes || r.Before <= bytes || r.Recipe != "Q4_K_M" || !r.Written || r.Bits < 4 || r.Bits > 16 {
		t.Errorf("%d bytes in the file, report %+v", bytes, r)
	}
	for name, want := range map[string]tensor.Type{
		"blk.0.attn_q.weight": tensor.Q8_0, "blk.0.attn_k.weight": tensor.F32, "blk.0.ffn_up.weight": tensor.Q4_K, "output_norm.weight": tensor.F32,
	} {
		if x, ok := f.Tensor(name); !ok || x.Type != want {
			t.Errorf("%v, want %v", x, want)
		}
	}
	if got := gorun("", "logits", out, "--tokens", golden+"llama-ropefreqs.q8_0.json", "--out", filepath.Join(t.TempDir(), "l")); got.code != 0 {
		t.Errorf("the new model does not run: %+v", got)
	}
}

func TestQuantizeDryRun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.gguf")
	got := gorun("", "quantize", goldenLlama, out, "Q8_0", "--dry-run")
	if got.code != 0 || !strings.Contains(got.out, "q8_0 kept") || !strings.Contains(got.out, "bits a weight") {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a dry run wrote the file")
	}
}

func TestQuantizeErrors(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.gguf")
	for name, c := range map[string]struct {
		args  []string
		code  int
		words []string
	}{
		"type":          {[]string{goldenLlama, out, "Q9_X"}, exitUsage, []string{`"Q9_X"`, "Q4_K_M", "MXFP4_MOE"}},
		"pattern":       {[]string{goldenLlama, out, "Q8_0", "--keep", "x"}, exitUsage, []string{"--keep x", "PATTERN=TYPE"}},
		"no match":      {[]string{goldenLlama, out, "Q8_0", "--keep", "xyz=q4_0"}, exitError, []string{"xyz=q4_0", "no tensor"}},
		"threads":       {[]string{goldenLlama, out, "Q8_0", "-t", "-1"}, exitUsage, []string{"--threads -1"}},
		"no model":      {[]string{out, out, "Q8_0"}, exitError, []string{out}},
		"requantize":    {[]string{goldenLlama, out, "Q4_0"}, exitError, []string{goldenLlama, "q8_0 already", "--allow-requantize"}},
		"itself":        {[]string{goldenLlama, goldenLlama, "Q8_0"}, exitError, []string{goldenLlama, "the model that is read"}},
		"no such place": {[]string{goldenLlama, filepath.Join(out, "x"), "Q8_0"}, exitError, []string{out}},
	} {
		got := gorun("", append([]string{"quantize"}, c.args...)...)
		if got.code != c.code || got.out != "" {
			t.Errorf("%s: %+v", name, got)
		}
		for _, word := range c.words {
			if !strings.Contains(got.err, word) {
				t.Errorf("%s: error %q lacks %q", name, got.err, word)
			}
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: there is a file", name)
		}
	}
	if got := gorun("", "quantize", goldenLlama, out, "Q4_0", "--allow-requantize"); got.code != 0 {
		t.Errorf("%+v", got)
	}
}

func TestQuantizeHelpListsTheTypes(t *testing.T) {
	got := gorun("", "quantize", "--help")
	for _, r := range quantize.Recipes() {
		if !strings.Contains(got.out, r.Name) {
			t.Errorf("the help lacks %s", r.Name)
		}
	}
}
