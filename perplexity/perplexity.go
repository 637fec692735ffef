// Package perplexity measures how well a model predicts a text, and how far
// its predictions are from those of another run.
//
// The method is that of llama-perplexity, so that figures compare: the text is
// tokenized once, with the BOS token if the model asks for one, and cut into
// chunks of as many tokens as the context has. The first token of each chunk is
// replaced by BOS (if the model asks for one), and predictions in the second
// half of the chunk are scored.
package perplexity

import (
	"context"
	"fmt"
	"math"

	"gorun/model"
	"gorun/model/tokenizer"
)

// Chunks is a text cut into chunks.
type Chunks struct {
	Size   int     // tokens of a chunk
	Tokens []int32 // of all chunks
}

// Len is the number of chunks.
func (c Chunks) Len() int { return len(c.Tokens) / c.Size }

// Chunk is the tokens of the i-th chunk, as they are in the text.
func (c Chunks) Chunk(i int) []int32 { return c.Tokens[i*c.Size:][:c.Size] }

// first is the first position in a chunk that is scored.
func (c Chunks) first() int { return c.Size / 2 }

// Scored is the number of predictions that are scored in a chunk: the last
// token predicts nothing that is known.
func (c Chunks) Scored() int { return c.Size - 1 - c.first() }

// Cut cuts a text into chunks of size tokens; most, if positive, limits their
// number.
func Cut(tok *tokenizer.Tokenizer, text string, size, most int) (Chunks, error) {
	if size < 4 {
		return Chunks{}, fmt.Errorf("chunks of %d tokens: want at least 4", size)
	}
	ids, err := tok.Encode(text, tokenizer.Options{AddSpecial: true})
	if err != nil {
		return Chunks{}, err
	}
	n := len(ids) / size
	if most > 0 {
		n = min(n, most)
	}
	if n == 0 {
		return Chunks{}, fmt.Errorf("the text has %d tokens, less than one chunk of %d", len(ids), size)
	}
	return Chunks{size, ids[:n*size]}, nil
}

// Score sees each scored prediction in turn: the logits after token pos of a
// chunk, and the token that follows. It keeps nothing of logits.
type Score func(chunk, pos int, logits []float32, next int32) error

// Run computes all chunks. The model's context must hold a chunk.
func Run(ctx context.Context, m *model.Model, c Chunks, score Score) error {
	tok, err := m.Tokenizer()
	if err != nil {
		return err
	}
	for i := range c.Len() {
		if err := runChunk(ctx, m, tok, c, i, score); err != nil {
			return fmt.Errorf("chunk %d: %w", i, err)
		}
	}
	return nil
}

func runChunk(ctx context.Context, m *model.Model, tok *tokenizer.Tokenizer, c Chunks, i int, score Score) error {
	text := c.Chunk(i)
	input := append([]int32(nil), text...)
	if bos, ok := tok.BOS(); ok && tok.AddBOS() {
		input[0] = bos
	}
	seq := m.NewSequence()
	defer seq.Free()
	first, last := c.first(), c.Size-1
	if err := m.Forward(ctx, []model.Run{{Seq: seq, Tokens: input[:first], Want: model.NoLogits}}, nil); err != nil {
		return err
	}
	return m.Forward(ctx, []model.Run{{Seq: seq, Tokens: input[first:last], Want: model.AllLogits}}, func(_, at int, logits []float32) error {
		pos := first + at
		return score(i, pos, logits, text[pos+1])
	})
}

// Mean is a running mean with its standard error.
type Mean struct {
	n           int
	sum, square float64
}

// Add counts a value.
func (m *Mean) Add(v float64) {
	m.n++
	m.sum += v
	m.square += v * v
}

// N is the number of values.
func (m *Mean) N() int { return m.n }

// Value is the mean.
func (m *Mean) Value() float64 { return m.sum / float64(m.n) }

// Error is the standard error of the mean.
func (m *Mean) Error() float64 {
	if m.n < 2 {
		return 0
	}
	mean := m.Value()
	return math.Sqrt(max(0, m.square/float64(m.n)-mean*mean) / float64(m.n-1))
}

// Perplexity is exp of the mean of negative log likelihoods, and its error.
func (m *Mean) Perplexity() (value, err float64) {
	value = math.Exp(m.Value())
	return value, value * m.Error()
}

// logSumExp is the logarithm of the sum of exponentials.
func logSumExp(logits []float32) float64 {
	top := math.Inf(-1)
	for _, l := range logits {
		top = max(top, float64(l))
	}
	sum := 0.0
	for _, l := range logits {
		sum += math.Exp(float64(l) - top)
	}
	return top + math.Log(sum)
}

// LogLoss is the negative log likelihood of a token.
func LogLoss(logits []float32, token int32) float64 {
	return logSumExp(logits) - float64(logits[token])
}
