package synth

import "fmt"

// shape is a named shape: the sizes of a model and the family that it belongs
// to.
type shape struct {
	name, about string
	family      func(b *builder, s *shape)
	arch        string // general.architecture

	vocab, context, width, layers int

	heads, kvHeads, headDim int
	hidden                  int // of dense feed-forward blocks
	tied                    bool
	eps                     float32 // of norms
	ropeBase                float32
	ropeDims                int     // rope.dimension_count; 0: all of a head, without a key
	ropeFactor              float32 // by which a longer context divides positions; 0: none
	window                  int

	experts experts
	delta   delta
	latent  latent
	mtp     int // blocks that predict further tokens, in the real model
}

// experts are the sizes of a mixture. count 0: none.
type experts struct {
	count, used, hidden int
	shared              int // hidden size of the shared expert
	dense               int // leading layers without a mixture
	scale               float32
}

// delta are the sizes of a gated delta net.
type delta struct {
	keyHeads, valueHeads, dim, kernel int
	interval                          int // every so many layers one has attention
}

// latent are the sizes of multi-head latent attention.
type latent struct {
	qRank, rank, noPE, valueDim int
}

// Shape is the name of a shape and what it is.
type Shape struct {
	Name  string `json:"name"`
	Arch  string `json:"architecture"`
	About string `json:"about"`
}

// Shapes lists the shapes that New knows.
func Shapes() []Shape {
	list := make([]Shape, len(shapes))
	for i, s := range shapes {
		list[i] = Shape{s.name, s.arch, s.about}
	}
	return list
}

// sized returns the shape with the sizes that options change.
func (s shape) sized(o Options) (*shape, error) {
	if o.Layers < 0 || o.Layers > maxLayers {
		return nil, fmt.Errorf("%d layers: want 1 to %d", o.Layers, maxLayers)
	}
	if o.Layers > 0 {
		s.layers = o.Layers
		// Fewer layers should still have one of each kind.
		s.delta.interval = min(s.delta.interval, s.layers)
		s.experts.dense = min(s.experts.dense, s.layers-1)
	}
	if o.Experts != 0 {
		if s.experts.count == 0 {
			return nil, fmt.Errorf("%s has no experts to count", s.name)
		}
		if o.Experts < 1 || o.Experts > maxExperts {
			return nil, fmt.Errorf("%d experts: want 1 to %d", o.Experts, maxExperts)
		}
		s.experts.count, s.experts.used = o.Experts, min(s.experts.used, o.Experts)
	}
	if o.Vocab != 0 {
		if o.Vocab < minVocab || o.Vocab > maxVocab {
			return nil, fmt.Errorf("a vocabulary of %d: want %d to %d", o.Vocab, minVocab, maxVocab)
		}
		s.vocab = o.Vocab
	}
	if o.Routing.Exponent != 0 && s.experts.count == 0 {
		return nil, fmt.Errorf("%s has no experts to route to", s.name)
	}
	if !o.MTP {
		s.mtp = 0
	} else if s.mtp == 0 {
		return nil, fmt.Errorf("%s has no blocks that predict further tokens", s.name)
	}
	return &s, nil
}

const (
	maxLayers  = 1024
	maxExperts = 4096
	maxVocab   = 1 << 20
)
