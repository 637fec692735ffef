package main

import (
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"gorun/perplexity"
)

type perplexityCommand struct {
	Model  string `arg:"" optional:"" help:"Model file (GGUF). Default: the embedded model."`
	File   string `placeholder:"FILE" help:"Text; - is standard input."`
	Chunk  int    `name:"chunk" short:"c" default:"512" placeholder:"N" help:"Tokens of a chunk."`
	Chunks int    `placeholder:"N" help:"Most chunks. Default: the whole text."`
	KLBase string `name:"kl-base" placeholder:"FILE" help:"Write log probabilities to the file, or with --kl compare with those in it."`
	KL     bool   `name:"kl" help:"Compare with --kl-base: Kullback-Leibler divergence and agreement of the likeliest token."`
	JSON   bool   `name:"json" help:"Print JSON."`
	engineFlags
}

func (perplexityCommand) Help() string {
	return `Measures as llama-perplexity does: the second half of each chunk is scored.
With --kl the text comes from the base file, and --file is not read.

Examples:
  gorun perplexity model-f16.gguf --file wiki.txt -c 512 --kl-base f16.logits
  gorun perplexity model-q4.gguf --file wiki.txt --kl-base f16.logits --kl
  gorun perplexity model.gguf --file wiki.txt --kv all      every type of the KV cache in turn`
}

// perplexityReport is the JSON of a perplexity.
type perplexityReport struct {
	Perplexity  float64             `json:"perplexity"`
	Error       float64             `json:"error"`
	Chunk       int                 `json:"chunk"`
	Chunks      int                 `json:"chunks"`
	Predictions int                 `json:"predictions"`
	KL          *perplexity.Summary `json:"kl,omitempty"`
}

func (c *perplexityCommand) Run(s *streams, in *interrupts) (err error) {
	if c.KL && c.KLBase == "" {
		return usagef("--kl compares with --kl-base FILE: give one")
	}
	if c.File == "" && !c.KL {
		return usagef("give a text with --file")
	}
	if c.Chunk < 4 || c.Chunks < 0 {
		return usagef("-c %d --chunks %d: want chunks of at least 4 tokens", c.Chunk, c.Chunks)
	}
	if c.KV == allTypes {
		if c.Ctx == 0 {
			c.Ctx = c.Chunk
		}
		return c.perplexities(s, in)
	}
	ctx, done := in.context()
	defer done()
	base, closeBase, err := c.openBase()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeBase()) }()
	if base != nil {
		c.Chunk = base.Size
	}
	if c.Ctx == 0 {
		c.Ctx = c.Chunk
	}
	m, err := c.load(ctx, c.Model, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	chunks, err := c.chunks(m, base, s)
	if err != nil {
		return named(c.Model, err)
	}

	var loss perplexity.Mean
	var divergence perplexity.Divergence
	score := func(logits []float32, next int32) error {
		loss.Add(perplexity.LogLoss(logits, next))
		return nil
	}
	switch {
	case base != nil:
		score = func(logits []float32, next int32) error {
			log, err := base.Next()
			if err == nil {
				divergence.Add(log, logits, next)
				loss.Add(perplexity.LogLoss(logits, next))
			}
			return err
		}
	case c.KLBase != "":
		add, finish, err := c.createBase(chunks, m.Spec().Vocab)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, finish()) }()
		score = func(logits []float32, next int32) error {
			loss.Add(perplexity.LogLoss(logits, next))
			return add(logits)
		}
	}
	bar := s.progress("perplexity", false)
	err = perplexity.Run(ctx, m.Model, chunks, func(_, _ int, logits []float32, next int32) error {
		bar.set(int64(loss.N()+1), int64(chunks.Len()*chunks.Scored()))
		return score(logits, next)
	})
	bar.clear()
	if err != nil {
		return err
	}
	r := perplexityReport{Chunk: chunks.Size, Chunks: chunks.Len(), Predictions: loss.N()}
	r.Perplexity, r.Error = loss.Perplexity()
	if base != nil {
		sum := divergence.Summary()
		r.KL = &sum
	}
	if c.JSON {
		return writeJSON(s.out, r)
	}
	return r.print(s)
}

// openBase opens the base to compare with, if there is one.
func (c *perplexityCommand) openBase() (*perplexity.BaseReader, func() error, error) {
	if !c.KL {
		return nil, func() error { return nil }, nil
	}
	f, err := os.Open(c.KLBase)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	base, err := perplexity.NewBaseReader(f, info.Size())
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", c.KLBase, err), f.Close())
	}
	return base, f.Close, nil
}

// createBase begins to write a base.
func (c *perplexityCommand) createBase(chunks perplexity.Chunks, vocab int) (add func([]float32) error, finish func() error, err error) {
	f, err := os.Create(c.KLBase)
	if err != nil {
		return nil, nil, err
	}
	w, err := perplexity.NewBaseWriter(f, chunks, vocab)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return w.Add, func() error { return errors.Join(w.Flush(), f.Close()) }, nil
}

func (c *perplexityCommand) chunks(m *loadedModel, base *perplexity.BaseReader, s *streams) (perplexity.Chunks, error) {
	if base != nil {
		if v := m.Spec().Vocab; v != base.Vocab {
			return perplexity.Chunks{}, fmt.Errorf("the vocabulary has %d tokens, that of %s %d", v, c.KLBase, base.Vocab)
		}
		return base.Chunks, nil
	}
	text, err := readText(c.File, s)
	if err != nil {
		return perplexity.Chunks{}, err
	}
	tok, err := m.Tokenizer()
	if err != nil {
		return perplexity.Chunks{}, err
	}
	return perplexity.Cut(tok, text, c.Chunk, c.Chunks)
}

func (r perplexityReport) print(s *streams) error {
	t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "perplexity\t%.4f ± %.4f\n", r.Perplexity, r.Error)
	fmt.Fprintf(t, "predictions\t%d, in %d chunks of %d tokens\n", r.Predictions, r.Chunks, r.Chunk)
	if k := r.KL; k != nil {
		fmt.Fprintf(t, "base perplexity\t%.4f\n", k.BasePPL)
		fmt.Fprintf(t, "mean KL\t%.3g ± %.2g nats\n", k.MeanKL, k.MeanKLError)
		fmt.Fprintf(t, "median KL\t%.3g, 99th percentile %.3g, most %.3g\n", k.MedianKL, k.P99KL, k.MaxKL)
		fmt.Fprintf(t, "same top token\t%.2f %%\n", 100*k.Top1)
	}
	return t.Flush()
}
