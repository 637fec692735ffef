package model

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"gorun/compute"
	"gorun/compute/cpu"
	"gorun/compute/strict"
	"gorun/tensor"
)

// The goldens were computed by llama.cpp on the same weights, dequantized to
// float32, with a float32 KV cache. gelu models went through its table of
// float16 values, and agree less closely.
const (
	maxError     = 1e-10
	maxGELUError = 1e-6
)

var goldens = []struct {
	name string
	gelu bool
}{
	{"llama.q8_0", false},
	{"llama-yarn.q8_0", false},
	{"llama-ropefreqs.q8_0", false},
	{"llama-experts.q4_0", false},
	{"qwen2.q8_0", false},
	{"qwen3.q8_0", false},
	{"qwen3moe-experts.q4_0", false},
	{"mistral3.q8_0", false},
	{"granite.q8_0", false},
	{"smollm3.q8_0", false},
	{"phi3.q8_0", false},
	{"gemma2.q8_0", true},
	{"gemma3.q8_0", true},
	{"command-r.q8_0", false},
	{"starcoder2.q8_0", true},
	{"qwen2moe-experts.q4_0", false},
	{"qwen35.q8_0", false},
	{"qwen35moe-experts.q4_0", false},
	{"qwen3next-experts.q4_0", false},
	{"minimax-m2-experts.q4_0", false},
	{"step35-experts.q4_0", false},
	{"gpt-oss-experts.q4_0", false},
	{"glm4moe-experts.q4_0", false},
	{"deepseek2-experts.q4_0", false},
}

// goldenFile finds a file among the project's own goldens, or among all of
// them in a folder that is not part of the project.
func goldenFile(t testing.TB, name string) string {
	for _, dir := range []string{"../testdata/golden", "../../shared/data/golden"} {
		if path := filepath.Join(dir, name); exists(path) {
			return path
		}
	}
	t.Skipf("%s is neither in testdata/golden nor in ../shared/data/golden", name)
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// golden is a model, its input and the exact output.
type golden struct {
	path   string
	tokens []int32
	want   []float32
}

func loadGolden(t testing.TB, name string) golden {
	g := golden{path: goldenFile(t, name+".gguf")}
	text, err := os.ReadFile(goldenFile(t, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var input struct{ Tokens []int32 }
	if err := json.Unmarshal(text, &input); err != nil || len(input.Tokens) == 0 {
		t.Fatalf("%s: no tokens: %v", name, err)
	}
	g.tokens = input.Tokens
	raw, err := os.ReadFile(goldenFile(t, name+".logits.f32"))
	if err != nil {
		t.Fatal(err)
	}
	g.want = make([]float32, len(raw)/4)
	copy(floatBytes(g.want), raw)
	return g
}

// openGolden runs a golden with a float32 KV cache in small blocks.
func openGolden(t testing.TB, g golden, dev compute.Device, sequences int) *Model {
	t.Helper()
	m, err := Open(context.Background(), g.path, Options{
		Context: 256, KV: &KVTypes{tensor.F32, tensor.F32}, KVBlock: 4, Device: dev, Sequences: sequences,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// cpuDevice is the reference.
func cpuDevice(t testing.TB, threads int) compute.Device {
	dev, err := cpu.NewReference(threads)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	return dev
}

// strictDevice is the reference behind the strict backend.
func strictDevice(t testing.TB) *strict.Device {
	dev, err := strict.Wrap(cpuDevice(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	return dev
}

// logitsOf feeds tokens in chunks to a new sequence and returns all logits.
func logitsOf(t testing.TB, m *Model, tokens []int32, chunk int) []float32 {
	t.Helper()
	seq := m.NewSequence()
	defer seq.Free()
	var all []float32
	for done := 0; done < len(tokens); {
		n := min(chunk, len(tokens)-done)
		err := m.Forward(context.Background(), []Run{{seq, tokens[done : done+n], AllLogits}}, func(_, _ int, logits []float32) error {
			all = append(all, logits...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		done += n
	}
	return all
}

// normalizedError is the sum of squared differences over the sum of squares.
func normalizedError(got, want []float32) float64 {
	var diff, sum float64
	for i, w := range want {
		d := float64(got[i]) - float64(w)
		diff += d * d
		sum += float64(w) * float64(w)
	}
	return diff / sum
}

// differ describes the first place where two runs are not bit for bit equal.
func differ(a, b []float32) string {
	if len(a) != len(b) {
		return fmt.Sprintf("%d and %d values", len(a), len(b))
	}
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return fmt.Sprintf("value %d: %v and %v", i, a[i], b[i])
		}
	}
	return ""
}

func TestGolden(t *testing.T) {
	for _, c := range goldens {
		t.Run(c.name, func(t *testing.T) {
			g := loadGolden(t, c.name)
			m := openGolden(t, g, cpuDevice(t, 2), 1)
			one := logitsOf(t, m, g.tokens, len(g.tokens))
			if len(one) != len(g.want) {
				t.Fatalf("%d logits, want %d", len(one), len(g.want))
			}
			limit := maxError
			if c.gelu {
				limit = maxGELUError
			}
			e := normalizedError(one, g.want)
			t.Logf("normalized error %.2g", e)
			if !(e < limit) {
				t.Errorf("normalized error %.3g, want below %g", e, limit)
			}
			for _, chunk := range []int{1, 7} {
				if d := differ(one, logitsOf(t, m, g.tokens, chunk)); d != "" {
					t.Errorf("chunks of %d: %s", chunk, d)
				}
			}
			t.Run("strict", func(t *testing.T) {
				m := openGolden(t, g, strictDevice(t), 1)
				for _, chunk := range []int{len(g.tokens), 1, 7} {
					if d := differ(one, logitsOf(t, m, g.tokens, chunk)); d != "" {
						t.Errorf("chunks of %d: %s", chunk, d)
					}
				}
			})
		})
	}
}
