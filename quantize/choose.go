package quantize

import (
	"cmp"
	"slices"
	"strings"

	"gorun/gguf"
	"gorun/tensor"
)

// hyperparameters are what the choice of types depends on besides names and
// shapes.
type hyperparameters struct {
	arch              string
	layers            int
	experts           int
	heads, keyHeads   int // of the first layer
	outputIsEmbedding bool
}

// grouping is the number of query heads that share a key head.
func (h *hyperparameters) grouping() int {
	if h.keyHeads == 0 {
		return 0
	}
	return h.heads / h.keyHeads
}

// seventyB holds for the Llama models of that size, and Qwen2's, whose values
// are so small that more bits for them cost nothing.
func (h *hyperparameters) seventyB() bool {
	return h.layers == 80 && h.heads != h.keyHeads && (h.arch == "llama" || h.arch == "qwen2")
}

func readHyperparameters(f *gguf.File) (*hyperparameters, error) {
	m := f.Metadata()
	arch, _, err := m.String("general.architecture")
	if err != nil {
		return nil, err
	}
	h := &hyperparameters{arch: arch}
	for _, p := range []struct {
		key string
		to  *int
	}{
		{"block_count", &h.layers},
		{"expert_count", &h.experts},
		{"attention.head_count", &h.heads},
		{"attention.head_count_kv", &h.keyHeads},
	} {
		if *p.to, err = firstUint(m, arch+"."+p.key); err != nil {
			return nil, err
		}
	}
	if _, ok := m.Get(arch + ".attention.head_count_kv"); !ok {
		h.keyHeads = h.heads
	}
	_, untied := f.Tensor(outputName)
	h.outputIsEmbedding = !untied
	return h, nil
}

// firstUint reads a number that some models have one of for each layer. It is
// 0 if there is none.
func firstUint(m *gguf.Metadata, key string) (int, error) {
	if v, ok := m.Get(key); ok && v.Type() == gguf.TypeArray {
		list, _, err := m.Uints(key)
		if err != nil || len(list) == 0 {
			return 0, err
		}
		return int(list[0]), nil
	}
	n, _, err := m.Uint(key)
	return int(n), err
}

// choose returns the type of each tensor that is converted, by name.
func (r *Recipe) choose(tensors []gguf.Tensor, h *hyperparameters) map[string]tensor.Type {
	// Layers are counted by role, in the order of their numbers.
	ordered := slices.Clone(tensors)
	slices.SortFunc(ordered, func(a, b gguf.Tensor) int {
		return cmp.Or(cmp.Compare(layerOf(a.Name), layerOf(b.Name)), strings.Compare(a.Name, b.Name))
	})
	count, total := map[role]int{}, map[role]int{}
	for _, t := range ordered {
		total[roleOf(t.Name)]++
	}
	types := map[string]tensor.Type{}
	for _, t := range ordered {
		if !converts(t) {
			continue
		}
		role := roleOf(t.Name)
		l := layer{count[role], h.layers, h}
		switch {
		case role == value: // not all layers need have attention
			l.n = total[role]
		case h.experts > 1: // a layer may have several such tensors, or none
			l.i = max(layerOf(t.Name), 0)
		}
		count[role]++
		types[t.Name] = r.typeOf(t, role, l)
	}
	return types
}

// typeOf is the type of a tensor of a role, one that the shape allows.
func (r *Recipe) typeOf(t gguf.Tensor, role role, l layer) tensor.Type {
	if r.Type.BlockSize() == 1 {
		return r.Type
	}
	if r.matrix != none && (len(t.Dims) < 3 || t.Dims[2] == 1) {
		return fitting(r.matrix, t.Dims[0])
	}
	return fitting(r.byRole(t, role, l), t.Dims[0])
}

func (r *Recipe) byRole(t gguf.Tensor, role role, l layer) tensor.Type {
	switch role {
	case output:
		return r.outputType(t.Dims[0])
	case embedding:
		switch {
		case l.model.outputIsEmbedding && r.tied != none:
			return r.tied
		case l.model.outputIsEmbedding:
			return r.outputType(t.Dims[0])
		case r.embedding != none:
			return r.embedding
		}
		return r.Type
	case value:
		return r.valueType(l)
	case key:
		if picked := r.apply(r.key, l); picked != r.Type || r.plainEight || l.model.experts != 8 {
			return picked
		}
		return tensor.Q8_0
	case query:
		return r.apply(r.query, l)
	case attnOutput:
		return r.apply(r.attnOutput, l)
	case gate:
		return r.apply(r.gate, l)
	case down:
		return r.apply(r.down, l)
	}
	return r.Type
}

// apply returns what a rule picks, or else the type of the recipe.
func (r *Recipe) apply(rule rule, l layer) tensor.Type {
	if rule != nil {
		if t := rule(l); t != none {
			return t
		}
	}
	return r.Type
}

// outputType is the type of the output. It has a great influence for its size.
func (r *Recipe) outputType(row int64) tensor.Type {
	switch {
	case r.output != none:
		return r.output
	case row%int64(r.Type.BlockSize()) != 0 || r.Type == tensor.Q8_0:
		return tensor.Q8_0
	}
	return tensor.Q6_K
}

// valueType is the type of values. They are small and sensitive.
func (r *Recipe) valueType(l layer) tensor.Type {
	t := r.apply(r.value, l)
	if l.model.seventyB() && (t == tensor.Q3_K || t == tensor.Q4_K) {
		t = tensor.Q5_K
	}
	if l.model.experts == 8 && !r.plainEight { // next to the experts their size does not count
		t = tensor.Q8_0
	}
	return t
}

// substitutes of the types of blocks of 256, for rows that are not a multiple
// of that: the next better one of blocks of 32.
var substitutes = map[tensor.Type]tensor.Type{
	tensor.Q2_K:   tensor.Q4_0,
	tensor.Q3_K:   tensor.Q4_0,
	tensor.IQ4_XS: tensor.IQ4_NL,
	tensor.Q4_K:   tensor.Q5_0,
	tensor.Q5_K:   tensor.Q5_1,
	tensor.Q6_K:   tensor.Q8_0,
}

// fitting returns t, or a type in its place that has whole blocks in a row.
func fitting(t tensor.Type, row int64) tensor.Type {
	fits := func(t tensor.Type) bool { return row%int64(t.BlockSize()) == 0 }
	if fits(t) {
		return t
	}
	if s, ok := substitutes[t]; ok && fits(s) {
		return s
	}
	return tensor.F16
}
