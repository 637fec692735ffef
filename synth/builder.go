package synth

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"gorun/gguf"
	"gorun/tensor"
)

// builder collects the metadata and tensors of a model.
type builder struct {
	shape   *shape
	options Options
	keys    gguf.Metadata
	tensors []content
}

// content is a tensor and what is in it.
type content struct {
	gguf.Tensor
	std    float64     // of a matrix
	values initializer // of a small f32 tensor, or nil
}

// An initializer fills a small tensor.
type initializer func(random *rand.Rand, values []float32)

// Sizes of activations; see the package comment.
const (
	embeddingStd = 0.25 // of the residual stream before the first layer
	attentionStd = 0.25 // of what attention adds to it
	forwardStd   = 1    // of what a feed-forward block adds
	scoreStd     = 3    // of attention scores
	logitStd     = 2

	// unitStd is the standard deviation of silu(a)*b for normal a and b.
	unitStd = 0.6
)

func (b *builder) set(name string, v gguf.Value)     { b.keys.Set(b.shape.arch+"."+name, v) }
func (b *builder) number(name string, n int)         { b.set(name, gguf.Uint32(uint32(n))) }
func (b *builder) float(name string, x float32)      { b.set(name, gguf.Float32(x)) }
func (b *builder) flag(name string, x bool)          { b.set(name, gguf.Bool(x)) }
func (b *builder) text(name string, x string)        { b.set(name, gguf.String(x)) }
func (b *builder) numbers(name string, list []int32) { b.set(name, gguf.Array(list)) }

// matrix adds a weight from rows of dims[0] values to dims[1] values; dims[2]
// is the number of such weights, if there are several. Of an input of unit size
// it makes an output of unit size.
func (b *builder) matrix(name string, dims ...int) { b.gain(name, 1, dims...) }

// gain adds a matrix that makes an output of the size gain.
func (b *builder) gain(name string, gain float64, dims ...int) {
	b.elements(name, gain/math.Sqrt(float64(dims[0])), dims...)
}

// elements adds a matrix whose elements have the standard deviation std.
func (b *builder) elements(name string, std float64, dims ...int) {
	b.add(name+".weight", fallback(b.options.Type, dims[0]), content{std: std}, dims)
}

// small adds an f32 tensor. Its name is complete.
func (b *builder) small(name string, values initializer, dims ...int) {
	b.add(name, tensor.F32, content{values: values}, dims)
}

// norm adds the weight of a normalization of n values.
func (b *builder) norm(name string, n int) { b.small(name+".weight", normal(1, 0.02), n) }

// bias adds a small bias of a projection.
func (b *builder) bias(name string, dims ...int) { b.small(name+".bias", normal(0, 0.1), dims...) }

func (b *builder) add(name string, t tensor.Type, c content, dims []int) {
	c.Tensor = gguf.Tensor{Name: name, Type: t}
	for _, n := range dims {
		c.Dims = append(c.Dims, int64(n))
	}
	row, err := t.RowSize(c.Dims[0])
	if err != nil {
		panic("synth: " + name + ": " + err.Error()) // fallback has chosen the type
	}
	c.Size = row * c.Rows()
	b.tensors = append(b.tensors, c)
}

// normal draws from a normal distribution.
func normal(mean, std float64) initializer {
	return func(random *rand.Rand, values []float32) {
		for i := range values {
			values[i] = float32(mean + std*random.NormFloat64())
		}
	}
}

// uniform draws between two numbers.
func uniform(low, high float64) initializer {
	return func(random *rand.Rand, values []float32) {
		for i := range values {
			values[i] = float32(low + (high-low)*random.Float64())
		}
	}
}

// fixed has the given values.
func fixed(list []float32) initializer {
	return func(_ *rand.Rand, values []float32) { copy(values, list) }
}

// block names a tensor of layer i.
func block(i int, part string) string { return fmt.Sprintf("blk.%d.%s", i, part) }

// random returns the random numbers of part i of a tensor.
func (b *builder) random(name string, i int) *rand.PCG {
	h := fnv.New64a()
	h.Write([]byte(name))
	// A step of the generator separates parts whose numbers are close.
	return rand.NewPCG(b.options.Seed, rand.NewPCG(h.Sum64(), uint64(i)).Uint64())
}

// common sets the keys that all architectures have, and adds the tensors
// around the layers. The embedding is multiplied by embedScale when it is used.
func (b *builder) common(embedScale float64) {
	s := b.shape
	b.number("context_length", s.context)
	b.number("embedding_length", s.width)
	b.number("block_count", s.layers+s.mtp)
	if s.mtp > 0 {
		b.number("nextn_predict_layers", s.mtp)
	}
	if s.hidden > 0 {
		b.number("feed_forward_length", s.hidden)
	}
	b.float("attention.layer_norm_rms_epsilon", s.eps)
	b.float("rope.freq_base", s.ropeBase)

	stored := embeddingStd / embedScale
	b.elements("token_embd", stored, s.width, s.vocab)
	head := logitStd / math.Sqrt(float64(s.width))
	if s.tied {
		// What the head lacks or has too much, the norm before it makes up for.
		b.small("output_norm.weight", normal(head/stored, 0.02*head/stored), s.width)
		return
	}
	b.norm("output_norm", s.width)
	b.elements("output", head, s.width, s.vocab)
}

// grouped sets the keys of grouped-query attention.
func (b *builder) grouped() {
	s := b.shape
	b.number("attention.head_count", s.heads)
	b.number("attention.head_count_kv", s.kvHeads)
	b.headSizes()
}

// headSizes sets the keys of heads and their RoPE.
func (b *builder) headSizes() {
	s := b.shape
	b.number("attention.key_length", s.headDim)
	b.number("attention.value_length", s.headDim)
	if s.ropeDims > 0 {
		b.number("rope.dimension_count", s.ropeDims)
	}
}

// attention adds the projections of grouped-query attention to layer i.
func (b *builder) attention(i, heads, kvHeads int) {
	s := b.shape
	b.gain(block(i, "attn_q"), scoreStd, s.width, heads*s.headDim)
	b.matrix(block(i, "attn_k"), s.width, kvHeads*s.headDim)
	b.matrix(block(i, "attn_v"), s.width, kvHeads*s.headDim)
	b.gain(block(i, "attn_output"), attentionStd, heads*s.headDim, s.width)
}

// queryKeyNorms adds norms of queries and keys.
func (b *builder) queryKeyNorms(i, queries, keys int) {
	b.small(block(i, "attn_q_norm.weight"), normal(scoreStd, 0.02*scoreStd), queries)
	b.norm(block(i, "attn_k_norm"), keys)
}

// dense adds a gated feed-forward block; suffix is "" or "_shexp".
func (b *builder) dense(i int, suffix string, hidden int) {
	s := b.shape
	b.matrix(block(i, "ffn_gate"+suffix), s.width, hidden)
	b.matrix(block(i, "ffn_up"+suffix), s.width, hidden)
	b.gain(block(i, "ffn_down"+suffix), forwardStd/unitStd, hidden, s.width)
}

// mixtureKeys sets the keys of a mixture of experts.
func (b *builder) mixtureKeys() {
	e := b.shape.experts
	b.number("expert_count", e.count)
	b.number("expert_used_count", e.used)
	b.number("expert_feed_forward_length", e.hidden)
	if e.shared > 0 {
		b.number("expert_shared_feed_forward_length", e.shared)
	}
}

// mixture adds experts and their router to layer i. The results of the chosen
// experts are averaged, which makes their sum smaller than one of them.
func (b *builder) mixture(i int, by choice) {
	s, e := b.shape, b.shape.experts
	b.router(i, by)
	b.matrix(block(i, "ffn_gate_exps"), s.width, e.hidden, e.count)
	b.matrix(block(i, "ffn_up_exps"), s.width, e.hidden, e.count)
	average := math.Sqrt(1 / float64(e.used))
	if e.scale > 0 {
		average *= float64(e.scale)
	}
	b.gain(block(i, "ffn_down_exps"), forwardStd/unitStd/average, e.hidden, s.width, e.count)
}

// nextToken adds what an MTP block has beside a layer.
func (b *builder) nextToken(i int) {
	w := b.shape.width
	b.matrix(block(i, "nextn.eh_proj"), 2*w, w)
	b.norm(block(i, "nextn.enorm"), w)
	b.norm(block(i, "nextn.hnorm"), w)
	b.norm(block(i, "nextn.shared_head_norm"), w)
}
