package tokenizer

import (
	"fmt"
	"math"

	"gorun/gguf"
)

// Keys of the vocabulary.
const (
	keyModel  = "tokenizer.ggml.model"
	keyPre    = "tokenizer.ggml.pre"
	keyTokens = "tokenizer.ggml.tokens"
	keyScores = "tokenizer.ggml.scores"
	keyTypes  = "tokenizer.ggml.token_type"
	keyMerges = "tokenizer.ggml.merges"
)

// Type says what a token stands for.
type Type uint8

// The types of tokens, numbered as in the file.
const (
	Undefined   Type = iota // as Normal
	Normal                  // a piece of text
	Unknown                 // text that the vocabulary cannot express
	Control                 // not text: beginning, end, turns of a chat
	UserDefined             // text that is always one token
	Unused                  // as Normal
	Byte                    // one byte, written <0x00> to <0xFF>
)

func (t Type) String() string {
	switch t {
	case Normal:
		return "normal"
	case Unknown:
		return "unknown"
	case Control:
		return "control"
	case UserDefined:
		return "user-defined"
	case Unused:
		return "unused"
	case Byte:
		return "byte"
	}
	return "undefined"
}

// none is no token.
const none int32 = -1

// vocabulary is the list of tokens. Empty tokens, which pad some vocabularies,
// exist as ids but cannot be looked up.
type vocabulary struct {
	texts  []string // as written in the file
	pieces []string // what they decode to
	scores []float32
	types  []Type
	ids    map[string]int32
	maxLen int // bytes of the longest text

	stripping   map[int32]stripping
	spacePrefix bool // Encode puts a space before a text
}

func (v *vocabulary) read(meta *gguf.Metadata) error {
	texts, ok, err := meta.Strings(keyTokens)
	if err != nil {
		return err
	}
	if !ok || len(texts) == 0 {
		return fmt.Errorf("%s is missing or empty", keyTokens)
	}
	if len(texts) > math.MaxInt32/2 {
		return fmt.Errorf("%s has %d elements, too many", keyTokens, len(texts))
	}
	v.texts = texts
	v.ids = make(map[string]int32, len(texts))
	for i, s := range texts {
		if s == "" {
			continue
		}
		if first, ok := v.ids[s]; ok {
			return fmt.Errorf("%s: %q occurs twice, as %d and %d", keyTokens, s, first, i)
		}
		v.ids[s] = int32(i)
		v.maxLen = max(v.maxLen, len(s))
	}
	if err := v.readTypes(meta); err != nil {
		return err
	}
	return v.readScores(meta)
}

func (v *vocabulary) readTypes(meta *gguf.Metadata) error {
	v.types = make([]Type, len(v.texts))
	types, ok, err := meta.Ints(keyTypes)
	if err != nil {
		return err
	}
	if !ok {
		for i := range v.types {
			v.types[i] = Normal
		}
		return nil
	}
	if len(types) != len(v.texts) {
		return fmt.Errorf("%s has %d elements, but there are %d tokens", keyTypes, len(types), len(v.texts))
	}
	for i, x := range types {
		if x < 0 || x > int64(Byte) {
			return fmt.Errorf("%s: token %d (%q) has the unknown type %d", keyTypes, i, v.texts[i], x)
		}
		v.types[i] = Type(x)
	}
	return nil
}

func (v *vocabulary) readScores(meta *gguf.Metadata) error {
	scores, ok, err := meta.Floats(keyScores)
	if err != nil || !ok {
		return err
	}
	if len(scores) != len(v.texts) {
		return fmt.Errorf("%s has %d elements, but there are %d tokens", keyScores, len(scores), len(v.texts))
	}
	v.scores = make([]float32, len(scores))
	for i, x := range scores {
		if math.IsNaN(x) {
			return fmt.Errorf("%s: token %d (%q) has no number", keyScores, i, v.texts[i])
		}
		v.scores[i] = float32(x)
	}
	return nil
}

// special tells whether a token stands for no text. Such tokens are kept out of
// what ordinary text becomes, so that a user cannot write them.
func (v *vocabulary) special(id int32) bool { return v.types[id] == Control || v.types[id] == Unknown }

// find returns the token of that text, or none.
func (v *vocabulary) find(text string) int32 {
	if id, ok := v.ids[text]; ok {
		return id
	}
	return none
}

// has tells whether id is in the vocabulary.
func (v *vocabulary) has(id int32) bool { return id >= 0 && int(id) < len(v.texts) }
