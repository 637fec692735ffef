package model

import (
	"fmt"
	"slices"
	"strings"

	"gorun/gguf"
)

// An architecture describes the models of one general.architecture.
type architecture func(k *keys, o describeOptions) *Spec

// describeOptions are the facts beside the file that a description may depend
// on.
type describeOptions struct {
	// Context is the context length that the user asked for, or 0: some
	// models use another RoPE beyond their original context.
	Context int
	// Tensor reports whether the file has a tensor.
	Tensor func(name string) bool
}

var architectures = map[string]architecture{
	"afmoe":         afMoE,
	"mimo2":         mimo2,
	"arcee":         arcee,
	"baichuan":      baichuan,
	"bailingmoe":    bailingMoE,
	"bailingmoe2":   bailingMoE2,
	"chatglm":       chatGLM,
	"deepseek":      deepseek,
	"exaone-moe":    exaoneMoE,
	"minicpm":       miniCPM,
	"qwen2vl":       qwen2,
	"qwen3vl":       qwen3,
	"qwen3vlmoe":    qwen3moe,
	"starcoder":     gpt2,
	"bert":          bert,
	"cohere2":       cohere2,
	"command-r":     commandR,
	"deepseek2":     deepseek2,
	"dots1":         dots1,
	"ernie4_5":      ernie45,
	"ernie4_5-moe":  ernie45MoE,
	"eurobert":      euroBERT,
	"exaone":        exaone,
	"exaone4":       exaone4,
	"falcon":        falcon,
	"gemma":         gemma,
	"gemma2":        gemma2,
	"gemma3":        gemma3,
	"gemma4":        gemma4,
	"glm4":          glm4,
	"glm4moe":       glm4moe,
	"gpt-oss":       gptOSS,
	"gpt2":          gpt2,
	"gptneox":       gptNeoX,
	"granite":       granite,
	"granitemoe":    graniteMoE,
	"hunyuan-dense": hunyuanDense,
	"hunyuan-moe":   hunyuanMoE,
	"internlm2":     internLM2,
	"lfm2":          lfm2,
	"lfm2moe":       lfm2moe,
	"llama":         llama,
	"minimax-m2":    minimaxM2,
	"mistral3":      mistral3,
	"nemotron":      nemotron,
	"nomic-bert":    nomicBERT,
	"olmo2":         olmo2,
	"olmoe":         olmoe,
	"phi2":          phi2,
	"phi3":          phi3,
	"qwen":          qwen,
	"qwen2":         qwen2,
	"qwen2moe":      qwen2moe,
	"qwen3":         qwen3,
	"qwen35":        qwen35,
	"qwen35moe":     qwen35moe,
	"qwen3moe":      qwen3moe,
	"qwen3next":     qwen3next,
	"seed_oss":      seedOSS,
	"smollm3":       smollm3,
	"stablelm":      stablelm,
	"starcoder2":    starcoder2,
	"step35":        step35,
}

// Architectures lists what this build can run, in alphabetical order.
func Architectures() []string {
	names := make([]string, 0, len(architectures))
	for name := range architectures {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Describe makes the description of a file's model. context is the context
// length that the user asked for, or 0.
func Describe(f *gguf.File, context int) (*Spec, error) {
	arch, ok, err := f.Metadata().String("general.architecture")
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("the file lacks the key %q", "general.architecture")
	}
	describe, known := architectures[arch]
	if !known {
		return nil, fmt.Errorf("architecture %q is not supported: this build runs %s", arch, strings.Join(Architectures(), ", "))
	}
	k := &keys{meta: f.Metadata(), arch: arch}
	spec := describe(k, describeOptions{Context: context, Tensor: func(name string) bool {
		_, ok := f.Tensor(name)
		return ok
	}})
	if k.err == nil {
		k.fail(spec.check())
	}
	if k.err != nil {
		return nil, fmt.Errorf("architecture %s: %w", arch, k.err)
	}
	return spec, nil
}

// check refuses descriptions that no forward pass could follow.
func (s *Spec) check() error {
	if s.Vocab <= 0 || s.Width <= 0 || len(s.Layers) == 0 {
		return fmt.Errorf("a vocabulary of %d, a width of %d and %d layers make no model", s.Vocab, s.Width, len(s.Layers))
	}
	for i, l := range s.Layers {
		a := l.Attention
		if s.Bidirectional && (a.Window > 0 || l.Delta.ValueHeads > 0 || l.Conv.Kernel > 0) {
			return fmt.Errorf("layer %d: gorun cannot let every token see all others in a layer with a window or a recurrence", i)
		}
		if e := l.FFN.Experts; e.Count > 0 && (e.Used <= 0 || e.Used > e.Count || e.Hidden <= 0) {
			return fmt.Errorf("layer %d: %d of %d experts of %d", i, e.Used, e.Count, e.Hidden)
		} else if r := e.Routing; r.Groups > 0 && (e.Count%r.Groups != 0 || r.GroupsUsed <= 0 || r.GroupsUsed > r.Groups || e.Count/r.Groups*r.GroupsUsed < e.Used) {
			return fmt.Errorf("layer %d: %d of %d experts in %d of %d groups", i, e.Used, e.Count, r.GroupsUsed, r.Groups)
		} else if e.Count == 0 && l.FFN.Hidden <= 0 {
			return fmt.Errorf("layer %d: a feed-forward block of %d", i, l.FFN.Hidden)
		}
		if d := l.Delta; d.ValueHeads > 0 {
			if d.KeyHeads <= 0 || d.ValueHeads%d.KeyHeads != 0 || d.KeyDim <= 0 || d.ValueDim <= 0 || d.Kernel < 2 {
				return fmt.Errorf("layer %d: a delta net of %d value heads of %d, %d key heads of %d, kernel %d",
					i, d.ValueHeads, d.ValueDim, d.KeyHeads, d.KeyDim, d.Kernel)
			}
			continue
		}
		if n := l.Conv.Kernel; n > 0 {
			if n == 1 {
				return fmt.Errorf("layer %d: a convolution of one token", i)
			}
			continue
		}
		switch {
		case a.Heads <= 0 || a.KVHeads <= 0 || a.Heads%a.KVHeads != 0:
			return fmt.Errorf("layer %d: %d query heads cannot share %d KV heads", i, a.Heads, a.KVHeads)
		case a.KDim <= 0 || a.VDim <= 0:
			return fmt.Errorf("layer %d: heads of %d and %d values", i, a.KDim, a.VDim)
		}
		if a.KVBack > i || a.KVBack < 0 {
			return fmt.Errorf("layer %d takes keys and values from layer %d", i, i-a.KVBack)
		}
		if a.Rope != NoRope {
			if n := s.Ropes[a.Rope].Dims; n <= 0 || n%2 != 0 || n > a.KDim {
				return fmt.Errorf("layer %d: RoPE over %d of %d values of a head", i, n, a.KDim)
			}
		}
	}
	return nil
}
