package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorun/synth"
	"gorun/tensor"
)

// TestSynthRuns makes a small model in every shape and runs it, or in a shape
// of each kind if the test is to be short. A layer has its real width, which
// takes gigabytes if many are written: where all are alike one will do, and
// they are of a type that is small and not slow.
func TestSynthRuns(t *testing.T) {
	alike := []string{"llama", "qwen3", "qwen3moe", "minimax-m2"}
	short := []string{"tiny", "tiny-moe", "gemma3-1b", "gpt-oss-20b", "qwen35-35b-a3b"}
	for _, shape := range synth.Shapes() {
		if testing.Short() && !slices.Contains(short, shape.Name) {
			continue
		}
		t.Run(shape.Name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "model.gguf")
			layers := "2"
			if slices.Contains(alike, shape.Arch) {
				layers = "1"
			}
			args := []string{"synth", path, "--like", shape.Name, "--type", "q2_K", "--layers", layers, "--vocab", "300"}
			if hasExperts(shape) {
				args = append(args, "--experts", "3")
			}
			if got := gorun("", args...); got.code != 0 || !strings.Contains(got.out, "parameters") {
				t.Fatalf("%+v", got)
			}
			got := gorun("", "run", path, "-p", "The cat", "-n", "2", "--temp", "0", "--ctx", "64", "--json")
			var r result
			if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != 0 {
				t.Fatalf("%v, %+v", err, got)
			}
			if len(r.Tokens) == 0 || r.PromptTokens != 7 {
				t.Errorf("%+v", r)
			}
		})
	}
}

func hasExperts(s synth.Shape) bool {
	_, err := synth.New(synth.Options{Like: s.Name, Experts: 3, Vocab: 300})
	return err == nil
}

// TestSynthLogits: logits keep their size, however many layers there are.
func TestSynthLogits(t *testing.T) {
	dir := t.TempDir()
	path, out := filepath.Join(dir, "model.gguf"), filepath.Join(dir, "logits")
	ids := file(t, "[256, 1, 2, 3, 400, 500, 600, 700]")
	for _, like := range []string{"tiny", "tiny-moe"} {
		for _, layers := range []string{"1", "60"} {
			if got := gorun("", "synth", path, "--like", like, "--layers", layers, "--vocab", "2048", "--force"); got.code != 0 {
				t.Fatalf("%+v", got)
			}
			if got := gorun("", "logits", path, "--tokens", ids, "--out", out); got.code != 0 {
				t.Fatalf("%+v", got)
			}
			data, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			logits := make([]float32, len(data)/4)
			tensor.Dequantize(tensor.F32, logits, data)
			var squares float64
			for _, x := range logits {
				squares += float64(x) * float64(x)
			}
			if std := math.Sqrt(squares / float64(len(logits))); !(std > 1.7 && std < 2.3) {
				t.Errorf("%s with %s layers: logits of a standard deviation of %.2f", like, layers, std)
			}
		}
	}
}

// TestSynthTypes runs the smallest shape in every type.
func TestSynthTypes(t *testing.T) {
	dir := t.TempDir()
	for _, typ := range tensor.Types() {
		if !typ.CanDequantize() {
			continue
		}
		path := filepath.Join(dir, typ.String())
		if got := gorun("", "synth", path, "--like", "tiny", "--type", typ.String()); got.code != 0 {
			t.Fatalf("%v: %+v", typ, got)
		}
		if got := gorun("", "run", path, "-p", "The cat", "-n", "4", "--temp", "0"); got.code != 0 || got.out == "" {
			t.Errorf("%v: %+v", typ, got)
		}
	}
}

// TestSynthPlans plans every full shape from its header, and compares the KV
// of a token with what the shape's layers, heads and head sizes come to.
func TestSynthPlans(t *testing.T) {
	perToken := map[string]int64{ // as f16
		"tiny": 1 * 64 * 4, "tiny-moe": 2 * 2 * 64 * 4, "llama-1b": 16 * 8 * 64 * 4, "llama-8b": 32 * 8 * 128 * 4, "llama-70b": 80 * 8 * 128 * 4,
		"qwen3-0.6b": 28 * 8 * 128 * 4, "qwen3-14b": 40 * 8 * 128 * 4, "qwen3-30b-a3b": 48 * 4 * 128 * 4,
		"qwen3-next-80b-a3b": 12 * 2 * 256 * 4, "qwen35-27b": 64 << 10, "qwen35-35b-a3b": 20 << 10,
		"qwen35-122b-a10b": 12 * 2 * 256 * 4, "qwen35-397b-a17b": 15 * 2 * 256 * 4,
		"minimax-m2-229b": 248 << 10, "step35": 45 * 8 * 128 * 4, "gpt-oss-20b": 24 * 8 * 64 * 4, "gpt-oss-120b": 36 * 8 * 64 * 4,
		"glm-4.6v": 46 * 8 * 128 * 4, "deepseek-v3.1": 61 * (512 + 64) * 2, "gemma3-1b": 26 * 256 * 4, "gemma3-4b": 34 * 4 * 256 * 4,
	}
	// Of a sequence: for each recurrent layer three inputs of the convolution
	// and a matrix for each value head, as f32.
	state := func(layers, channels, heads, dim int64) int64 { return 4 * layers * (3*channels + heads*dim*dim) }
	states := map[string]int64{
		"qwen35-27b": state(48, 10240, 48, 128), "qwen35-35b-a3b": state(30, 8192, 32, 128), "qwen35-122b-a10b": state(36, 12288, 64, 128),
		"qwen35-397b-a17b": state(45, 12288, 64, 128), "qwen3-next-80b-a3b": state(36, 8192, 32, 128),
	}
	for _, shape := range synth.Shapes() {
		path := filepath.Join(t.TempDir(), "model.gguf")
		if got := gorun("", "synth", path, "--like", shape.Name, "--header-only"); got.code != 0 {
			t.Fatalf("%s: %+v", shape.Name, got)
		}
		got := gorun("", "plan", path, "--json", "--memory", "4TiB")
		var r planReport
		if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != 0 {
			t.Fatalf("%s: %v, %+v", shape.Name, err, got)
		}
		if r.PerToken != perToken[shape.Name] || r.Arch != shape.Arch {
			t.Errorf("%s: %d bytes a token, not %d", shape.Name, r.PerToken, perToken[shape.Name])
		}
		if r.State != states[shape.Name] {
			t.Errorf("%s: a state of %d bytes, not %d", shape.Name, r.State, states[shape.Name])
		}
	}
}

func TestSynthReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.gguf")
	got := gorun("", "synth", path, "--like", "tiny-moe", "--routing", "zipf:1", "--seed", "7", "--json")
	var r synthReport
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != 0 || got.err != "" {
		t.Fatalf("%v, %+v", err, got)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if r.Path != path || r.Bytes != info.Size() || r.Tensors != 27 || r.Parameters < 3e6 || r.Type != "q4_K" {
		t.Errorf("%+v", r)
	}

	// A file that exists stays, unless its end is wanted.
	for _, c := range []struct {
		flag string
		code int
	}{{"--no-force", exitUsage}, {"--json", exitError}, {"--force", 0}} {
		if got := gorun("", "synth", path, "--like", "tiny", c.flag); got.code != c.code {
			t.Errorf("%s: %+v", c.flag, got)
		}
	}
	if after, err := os.Stat(path); err != nil || after.Size() >= info.Size() {
		t.Errorf("not replaced: %v, %v", after, err)
	}
}

func TestSynthErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.gguf")
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"--like", "gpt-5"}, exitUsage, "minimax-m2-229b"},
		{[]string{"--like", "tiny", "--type", "q9_9"}, exitUsage, "q9_9"},
		{[]string{"--like", "tiny", "--type", "i32"}, exitUsage, "i32"},
		{[]string{"--like", "tiny", "--experts", "4"}, exitUsage, "no experts"},
		{[]string{"--like", "tiny", "--vocab", "10"}, exitUsage, "vocabulary"},
		{[]string{"--like", "tiny-moe", "--routing", "even"}, exitUsage, "zipf:S"},
		{nil, exitUsage, "--like"},
	} {
		if got := gorun("", append([]string{"synth", path}, c.args...)...); got.code != c.code || !strings.Contains(got.err, c.text) {
			t.Errorf("%v: code %d, want %d with %q:\n%s", c.args, got.code, c.code, c.text, got.err)
		}
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("a file was written: %v", err)
	}
	if got := gorun("", "synth", filepath.Join(path, "no", "dir"), "--like", "tiny"); got.code != exitError {
		t.Errorf("%+v", got)
	}
}
