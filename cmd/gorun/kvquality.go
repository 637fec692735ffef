package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"text/tabwriter"

	"gorun/internal/units"
	"gorun/kvtier"
	"gorun/perplexity"
	"gorun/tensor"
)

// allTypes in place of a type of the KV cache asks for all of them.
const allTypes = "all"

// kvQuality is what a type of the KV cache costs and gives.
type kvQuality struct {
	Type     string `json:"type"`
	PerToken int64  `json:"bytes_per_token"`
	// Perplexity on a text, and how much more that is than with f32.
	Perplexity float64 `json:"perplexity,omitempty"`
	Error      float64 `json:"error,omitempty"`
	Increase   float64 `json:"increase,omitempty"`
	// Of normally distributed heads of the model's length: squared error over
	// the square, and cosine.
	SquaredError float64 `json:"squared_error,omitempty"`
	Cosine       float64 `json:"cosine,omitempty"`
	// Speed of writing tokens.
	TokensPerSecond float64 `json:"tokens_per_second,omitempty"`
}

// perplexities measures every type on the text.
func (c *perplexityCommand) perplexities(s *streams, in *interrupts) error {
	if c.KL || c.KLBase != "" {
		return usagef("--kv all compares types with each other: leave --kl and --kl-base out")
	}
	var list []kvQuality
	for _, t := range kvtier.Types() {
		q, err := c.perplexityOf(t, s, in)
		if err != nil {
			return err
		}
		if len(list) > 0 {
			q.Increase = q.Perplexity/list[0].Perplexity - 1
		}
		list = append(list, q)
	}
	if c.JSON {
		return writeJSON(s.out, list)
	}
	t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "kv\ta token\tperplexity\tagainst %s\n", list[0].Type)
	for _, q := range list {
		fmt.Fprintf(t, "%s\t%v\t%.4f ± %.4f\t%+.3f %%\n", q.Type, units.Size(q.PerToken), q.Perplexity, q.Error, 100*q.Increase)
	}
	return t.Flush()
}

func (c *perplexityCommand) perplexityOf(typ tensor.Type, s *streams, in *interrupts) (q kvQuality, err error) {
	ctx, done := in.context()
	defer done()
	one := *c
	one.KV = typ.String()
	m, err := one.load(ctx, one.Model, s)
	if err != nil {
		return q, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	chunks, err := one.chunks(m, nil, s)
	if err != nil {
		return q, named(one.Model, err)
	}
	var loss perplexity.Mean
	bar := s.progress("perplexity with "+one.KV, false)
	err = perplexity.Run(ctx, m.Model, chunks, func(_, _ int, logits []float32, next int32) error {
		bar.set(int64(loss.N()+1), int64(chunks.Len()*chunks.Scored()))
		loss.Add(perplexity.LogLoss(logits, next))
		return nil
	})
	bar.clear()
	q = kvQuality{Type: one.KV, PerToken: m.Plan().Geometry.BytesPerToken()}
	q.Perplexity, q.Error = loss.Perplexity()
	return q, err
}

// qualities times writing tokens with every type, beside what it does to
// normally distributed heads.
func (c *benchCommand) qualities(s *streams, in *interrupts, depth, tokens int) error {
	var list []kvQuality
	for _, t := range kvtier.Types() {
		q, err := c.qualityOf(t, s, in, depth, tokens)
		if err != nil {
			return err
		}
		list = append(list, q)
	}
	if c.JSON {
		return writeJSON(s.out, list)
	}
	t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "kv\ta token\tsquared error\tcosine\ttokens/s at depth %d\n", depth)
	for _, q := range list {
		fmt.Fprintf(t, "%s\t%v\t%.3g\t%.5f\t%.2f\n", q.Type, units.Size(q.PerToken), q.SquaredError, q.Cosine, q.TokensPerSecond)
	}
	return t.Flush()
}

func (c *benchCommand) qualityOf(typ tensor.Type, s *streams, in *interrupts, depth, tokens int) (q kvQuality, err error) {
	ctx, done := in.context()
	defer done()
	one := *c
	one.KV, one.Ctx = typ.String(), depth+tokens+1
	m, err := one.load(ctx, one.Model, s)
	if err != nil {
		return q, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	g := m.Plan().Geometry
	q = kvQuality{Type: one.KV, PerToken: g.BytesPerToken()}
	for _, l := range g.Layers {
		if l.Holds() {
			q.SquaredError, q.Cosine = errorOf(l.KType, l.KDim)
			break
		}
	}
	b := newBencher(ctx, m.Model, c, s.progress("bench with "+one.KV, false))
	defer b.seq.Free()
	if err := b.generate(tokens, depth); err != nil {
		return q, err
	}
	b.bar.clear()
	if len(b.results) > 0 {
		q.TokensPerSecond = b.results[0].Speed.Median
	}
	return q, nil
}

// errorOf is what a type does to normally distributed heads of n values.
func errorOf(t tensor.Type, n int) (squared, cosine float64) {
	r := rand.New(rand.NewPCG(1, 2))
	padded := (n + t.BlockSize() - 1) / t.BlockSize() * t.BlockSize()
	x, y, coded := make([]float32, padded), make([]float32, padded), make([]byte, padded/t.BlockSize()*t.BlockBytes())
	var diff, dot, xx, yy float64
	for range 2000 {
		for i := range n {
			x[i] = float32(r.NormFloat64())
		}
		if tensor.Quantize(t, coded, x) != nil {
			return math.NaN(), math.NaN() // normal values fit every type
		}
		tensor.Dequantize(t, y, coded)
		for i := range n {
			a, b := float64(x[i]), float64(y[i])
			diff, dot, xx, yy = diff+(a-b)*(a-b), dot+a*b, xx+a*a, yy+b*b
		}
	}
	return diff / xx, dot / math.Sqrt(xx*yy)
}
