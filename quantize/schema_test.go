package quantize

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gorun/gguf"
	"gorun/tensor"
)

// schemas has, for some large models and each recipe of llama-quantize, the
// tensors that do not get the recipe's main type.
var schemas = filepath.Join("..", "..", "shared", "data", "schemas")

// A schema is one file: the model's hyperparameters, and tensor types by
// recipe.
type schema struct {
	numbers map[string]int
	types   map[string]map[string]string
	names   map[string]bool // of all tensors that the file mentions
}

func readSchema(t *testing.T, path string) *schema {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := &schema{map[string]int{}, map[string]map[string]string{}, map[string]bool{}}
	var section map[string]string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 0 || strings.HasPrefix(lines.Text(), "# Model"):
		case fields[0] == "#":
			for _, pair := range fields[1:] {
				name, number, _ := strings.Cut(strings.TrimSuffix(pair, ","), "=")
				var n int
				if _, err := fmt.Sscan(number, &n); err != nil {
					t.Fatalf("%s: %q: %v", path, pair, err)
				}
				s.numbers[name] = n
			}
		case fields[0][0] == '[':
			section = map[string]string{"": fields[1]}
			s.types[strings.Trim(fields[0], "[]")] = section
		default:
			section[fields[0]] = fields[1]
			s.names[fields[0]] = true
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return s
}

// shapes of tensors that do not follow from the hyperparameters of a schema:
// the length of a row, by model and the part of the name after the layer.
var shapes = map[string]map[string]int64{
	"deepseek-v3.1":               {"attn_k_b": 128, "attn_q_b": 1536, "ffn_down_exps": 2048, "ffn_down_shexp": 2048},
	"glm-4.6v":                    {"ffn_down_exps": 1408, "ffn_down_shexp": 1408},
	"gpt-oss-120b":                {"attn_output": 4096},
	"nemotron-nano-3-30b-a3b":     {"attn_output": 4096, "ffn_down_exps": 1856, "ffn_down_shexp": 3712, "ssm_out": 4096},
	"qwen3-coder-next":            {"attn_output": 4096, "ffn_down_exps": 512, "ffn_down_shexp": 512, "ssm_out": 4096},
	"qwen3.5-27b":                 {"attn_output": 6144, "ssm_out": 6144},
	"qwen3.5-397b-a17b":           {"attn_output": 8192, "ffn_down_exps": 1024, "ffn_down_shexp": 1024, "ssm_out": 8192},
	"step-3.5-flash":              {"attn_output": 8192, "ffn_down_exps": 1280, "ffn_down_shexp": 1280},
	"gemma-3-4b-it":               {"attn_output": 2048},
	"qwen3-0.6b":                  {"attn_output": 2048},
	"qwen3-14b":                   {"attn_output": 5120},
	"meta-llama-3.1-70b-instruct": {"attn_output": 8192},
}

// tensors makes the tensors that the schema mentions.
func (s *schema) tensors(model string) []gguf.Tensor {
	var list []gguf.Tensor
	for name := range s.names {
		part := strings.TrimSuffix(name[strings.LastIndex(strings.TrimSuffix(name, ".weight"), ".")+1:], ".weight")
		row := int64(s.numbers["n_embd"])
		if part == "ffn_down" {
			row = int64(s.numbers["n_ff"])
		}
		if n, ok := shapes[model][part]; ok {
			row = n
		}
		dims := []int64{row, 64}
		if strings.HasSuffix(part, "_exps") || part == "attn_k_b" {
			dims = append(dims, 4)
		}
		list = append(list, gguf.Tensor{Name: name, Type: tensor.F16, Dims: dims})
	}
	return list
}

func (s *schema) hyperparameters(model string) *hyperparameters {
	h := &hyperparameters{
		layers: s.numbers["n_layer"], experts: s.numbers["n_expert"], heads: s.numbers["n_head"], keyHeads: s.numbers["n_head_kv"],
		outputIsEmbedding: !s.names[outputName],
	}
	if strings.Contains(model, "llama") {
		h.arch = "llama"
	}
	return h
}

// The type of each tensor of a dozen models, under each recipe that gorun has,
// is the one that llama-quantize chooses.
func TestSchemas(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(schemas, "*.schema"))
	if len(files) == 0 {
		t.Skipf("no schemas in %s", schemas)
	}
	for _, path := range files {
		model := strings.TrimSuffix(filepath.Base(path), ".schema")
		t.Run(model, func(t *testing.T) {
			s := readSchema(t, path)
			tensors := s.tensors(model)
			tested := 0
			for _, r := range recipes {
				want, ok := s.types[r.Name]
				if !ok {
					continue
				}
				tested++
				got := r.choose(tensors, s.hyperparameters(model))
				wrong := 0
				for _, x := range tensors {
					w, listed := want[x.Name]
					if !listed {
						w = want[""]
					}
					if got[x.Name].String() != w {
						if wrong++; wrong <= 5 {
							t.Errorf("%v: %s %v is %v, want %s", r, x.Name, x.Dims, got[x.Name], w)
						}
					}
				}
			}
			if tested < 20 {
				t.Errorf("only %d recipes are in the file", tested)
			}
		})
	}
}
