package tokenizer

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"gorun/gguf"
)

// spm encodes as SentencePiece does with a BPE model.
type spm struct {
	v           *vocabulary
	fallback    *fallback
	priorities  []uint32 // by token
	spacePrefix bool     // a space is put before a text
	cutter      cutter
	cache       *cache
}

const keySpacePrefix = "tokenizer.ggml.add_space_prefix"

func makeSPM(t *Tokenizer, meta *gguf.Metadata) error {
	if t.scores == nil {
		return fmt.Errorf("%s is missing", keyScores)
	}
	t.specials = noSpecials()
	t.bos, t.eos, t.unk = 1, 2, 0
	t.addBOS = true
	t.setPieces(unescape)
	e := &spm{v: &t.vocabulary, priorities: make([]uint32, len(t.texts)), spacePrefix: true, cache: newCache()}
	if err := readFlag(meta, keySpacePrefix, &e.spacePrefix); err != nil {
		return err
	}
	t.spacePrefix = e.spacePrefix
	for id, score := range t.scores {
		e.priorities[id] = priority(score)
		e.cutter.learn(t.texts[id])
	}
	e.fallback = &fallback{bytes: t.byteTokens(), unknown: &t.unk}
	t.encoder = e
	return nil
}

// priority turns a score into a number that is lower the higher the score is.
func priority(score float32) uint32 {
	bits := math.Float32bits(score + 0) // + 0 makes -0 equal to 0
	if bits>>31 != 0 {
		return bits
	}
	return ^bits &^ (1 << 31)
}

func (e *spm) encode(ids []int32, text string, atStart bool) ([]int32, error) {
	text = strings.ReplaceAll(text, " ", escapedSpace)
	if e.spacePrefix && atStart {
		text = escapedSpace + text
	}
	var m merger
	encodeWord := func(ids []int32, word string) ([]int32, error) { return e.word(&m, ids, word) }
	var err error
	for len(text) > 0 {
		var word string
		word, text = e.cutter.next(text)
		if ids, err = e.cache.encode(ids, word, encodeWord); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// word appends the ids of a word.
func (e *spm) word(m *merger, ids []int32, word string) ([]int32, error) {
	m.reset()
	for i := 0; i < len(word); {
		_, n := utf8.DecodeRuneInString(word[i:])
		m.add(i+n, e.token(word[i:i+n]))
		i += n
	}
	m.run(func(left, right *symbol) (uint32, int32) {
		if int(right.end-left.start) > e.v.maxLen {
			return never, none
		}
		id := e.token(word[left.start:right.end])
		if id == none {
			return never, none
		}
		return e.priorities[id], id
	})
	var err error
	for i := int32(0); i != none; i = m.symbols[i].next {
		s := &m.symbols[i]
		if s.id != none {
			ids = append(ids, s.id)
		} else if ids, err = e.fallback.encode(ids, word[s.start:s.end]); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// token returns the token that text may become, or none.
func (e *spm) token(text string) int32 {
	id := e.v.find(text)
	if id != none && (e.v.special(id) || e.v.types[id] == Byte) {
		return none
	}
	return id
}
