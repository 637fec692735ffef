package synth

import (
	"context"
	"fmt"
	"io"
	"strings"

	"gorun/gguf"
	"gorun/tensor"
)

// Options say what model to make.
type Options struct {
	Like string      // name of a shape
	Type tensor.Type // of matrices

	// Sizes that replace those of the shape, where they are not 0.
	Layers, Experts, Vocab int

	Routing Routing
	Seed    uint64
	// MTP adds the blocks that predict further tokens, if the shape has any.
	MTP bool
	// HeaderOnly leaves all weights zero, as a hole in the file: it has its
	// full length and takes hardly any space.
	HeaderOnly bool
	// Progress, if not nil, is called while weights are written.
	Progress func(done, total int64)
}

// Model is a model that can be written.
type Model struct {
	options Options
	builder *builder
}

// New works out the metadata and the tensor table of a model.
func New(o Options) (*Model, error) {
	if err := checkType(o.Type); err != nil {
		return nil, fmt.Errorf("synth: %w", err)
	}
	var names []string
	for _, s := range shapes {
		if names = append(names, s.name); s.name != o.Like {
			continue
		}
		sized, err := s.sized(o)
		if err != nil {
			return nil, fmt.Errorf("synth: %w", err)
		}
		return build(sized, o), nil
	}
	return nil, fmt.Errorf("synth: there is no shape %q, but %s", o.Like, strings.Join(names, ", "))
}

func build(s *shape, o Options) *Model {
	b := &builder{shape: s, options: o}
	b.keys.Set("general.architecture", gguf.String(s.arch))
	b.keys.Set("general.type", gguf.String("model"))
	b.keys.Set("general.name", gguf.String("synthetic "+s.name))
	b.keys.Set("general.description", gguf.String("Random weights in the shape of "+s.about))
	s.family(b, s)
	tokenizer(&b.keys, s.vocab)
	b.keys.Set("general.quantization_version", gguf.Uint32(2))
	return &Model{options: o, builder: b}
}

// Tensors is the number of tensors.
func (m *Model) Tensors() int { return len(m.builder.tensors) }

// Parameters is the number of weights.
func (m *Model) Parameters() (n int64) {
	for _, t := range m.builder.tensors {
		n += t.Elements()
	}
	return n
}

// Bytes is the size of all weights.
func (m *Model) Bytes() (n int64) {
	for _, t := range m.builder.tensors {
		n += t.Size
	}
	return n
}

// WriteFile writes the model to a file, replacing what is there. The name
// appears when the file is complete: an error or the end of ctx leaves nothing.
func (m *Model) WriteFile(ctx context.Context, path string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := gguf.NewWriter()
	w.CopyMetadata(&m.builder.keys)
	var data io.Reader
	if !m.options.HeaderOnly {
		data = m.builder.stream(ctx, m.Bytes())
	}
	for _, t := range m.builder.tensors {
		if data == nil {
			w.AddTensor(t.Tensor, nil)
			continue
		}
		w.AddTensor(t.Tensor, io.LimitReader(data, t.Size))
	}
	return w.WriteFile(path)
}
