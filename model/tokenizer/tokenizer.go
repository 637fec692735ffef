package tokenizer

import (
	"errors"
	"fmt"
	"math"

	"gorun/gguf"
)

// ErrNoVocabulary is returned by New for a model file without a vocabulary.
var ErrNoVocabulary = errors.New("the model file has no vocabulary")

// Tokenizer is the tokenizer of one model.
type Tokenizer struct {
	vocabulary
	specials
	parseAll  matcher // special and user-defined tokens
	parseUser matcher // user-defined tokens only
	encoder   encoder
}

// An encoder turns a stretch of text without special tokens into ids.
type encoder interface {
	// encode appends the ids of text to ids. atStart says that the text
	// begins a message or follows a special token.
	encode(ids []int32, text string, atStart bool) ([]int32, error)
}

// Options say how Encode treats special tokens.
type Options struct {
	// AddSpecial adds the tokens that the model file asks for around a text:
	// BOS and EOS, or CLS and SEP.
	AddSpecial bool
	// ParseSpecial recognizes control tokens such as <|im_end|> in the text.
	// Without it they are ordinary text, as what a user wrote must be.
	// User-defined tokens are recognized in any case.
	ParseSpecial bool
}

// New makes the tokenizer that the metadata of a model file describe. It
// returns ErrNoVocabulary if there is none.
func New(meta *gguf.Metadata) (*Tokenizer, error) {
	model, ok, err := meta.String(keyModel)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	if !ok || model == "no_vocab" || model == "none" {
		return nil, fmt.Errorf("tokenizer: %w", ErrNoVocabulary)
	}
	t, err := build(meta, model)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	return t, nil
}

func build(meta *gguf.Metadata, model string) (*Tokenizer, error) {
	make, ok := models[model]
	if !ok {
		return nil, fmt.Errorf("%s is %q, which is not supported (known: %s)", keyModel, model, sortedNames(models))
	}
	t := &Tokenizer{}
	if err := t.vocabulary.read(meta); err != nil {
		return nil, err
	}
	if err := make(t, meta); err != nil {
		return nil, err
	}
	if err := t.specials.read(meta, &t.vocabulary); err != nil {
		return nil, err
	}
	t.setStripping(meta)
	t.parseAll = newMatcher(&t.vocabulary, Control, UserDefined, Unknown)
	t.parseUser = newMatcher(&t.vocabulary, UserDefined)
	return t, nil
}

// models are the values of tokenizer.ggml.model. Each function sets the encoder,
// the pieces of the vocabulary and the defaults of the special tokens.
var models = map[string]func(*Tokenizer, *gguf.Metadata) error{
	"llama":  makeSPM,
	"bert":   makeWordPiece,
	"gpt2":   makeBPE,
	"gemma4": makeBPE,
}

// Encode returns the ids of text. It fails only if the vocabulary has neither
// tokens for all bytes nor an unknown token, or if text has more than 682 MiB.
func (t *Tokenizer) Encode(text string, o Options) ([]int32, error) {
	if len(text) > math.MaxInt32/len(escapedSpace) {
		return nil, fmt.Errorf("tokenizer: a text of %d bytes is too long", len(text))
	}
	m := &t.parseUser
	if o.ParseSpecial {
		m = &t.parseAll
	}
	ids := make([]int32, 0, len(text)/3+2)
	if o.AddSpecial && t.addBOS {
		ids = append(ids, t.bos)
	}
	atStart := true
	var err error
	for len(text) > 0 {
		plain, special, rest := m.next(text)
		if len(plain) > 0 {
			if ids, err = t.encoder.encode(ids, plain, atStart); err != nil {
				return nil, fmt.Errorf("tokenizer: %w", err)
			}
			atStart = false
		}
		if special != none {
			ids = append(ids, special)
			atStart = true
		}
		text = rest
	}
	if o.AddSpecial {
		ids = append(ids, t.after...)
	}
	return ids, nil
}
