package tokenizer

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"gorun/gguf"
)

// bpe encodes by merges in a fixed order.
type bpe struct {
	v        *vocabulary
	pre      *preTokenizer
	pairs    pairTable
	fallback *fallback
	cutter   cutter           // with ▁ only
	extra    map[string]int32 // symbols that merges make but that are no tokens
	cache    *cache
}

func makeBPE(t *Tokenizer, meta *gguf.Metadata) error {
	pre, err := findPreTokenizer(meta)
	if err != nil {
		return err
	}
	t.specials = noSpecials()
	t.addBOS, t.alwaysBOS = pre.addBOS, pre.alwaysBOS
	e := &bpe{v: &t.vocabulary, pre: pre, cache: newCache(), fallback: &fallback{unknown: &t.unk}}
	if pre.characters {
		t.setPieces(unescape)
		e.fallback.bytes = t.byteTokens()
	} else {
		t.setPieces(unmap)
		e.fallback.bytes = t.mappedBytes()
	}
	merges, ok, err := meta.Strings(keyMerges)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%s is missing", keyMerges)
	}
	if err := e.readMerges(merges); err != nil {
		return err
	}
	if pre.characters {
		for _, text := range t.texts {
			e.cutter.learn(text)
		}
		for text := range e.extra {
			e.cutter.learn(text)
		}
	}
	e.setInvalid()
	t.encoder = e
	return nil
}

// setInvalid has bytes without a token become U+FFFD, provided that there are
// tokens for that.
func (e *bpe) setInvalid() {
	ids, err := e.encode(nil, replacement, false)
	if err == nil {
		e.fallback.invalid = ids
	}
}

// readMerges reads merges, each written as two symbols with a space between
// them. What they make need not be a token; it is then no more than a step on
// the way to one, or is taken apart again.
func (e *bpe) readMerges(merges []string) error {
	e.pairs = newPairTable(len(merges))
	var both []byte
	for rank, text := range merges {
		// A symbol may begin with a space, where bytes are not mapped.
		i := -1
		if len(text) > 1 {
			i = strings.IndexByte(text[1:], ' ') + 1
		}
		if i <= 0 || i == len(text)-1 {
			return fmt.Errorf("%s: element %d, %q, is not two symbols with a space between them", keyMerges, rank, text)
		}
		left, right := text[:i], text[i+1:]
		both = append(append(both[:0], left...), right...)
		id, ok := e.v.ids[string(both)]
		if !ok {
			id = e.symbol(string(both))
		}
		e.pairs.add(e.symbol(left), e.symbol(right), int32(rank), id)
	}
	return nil
}

// symbol returns the token of text, or a number beyond all tokens.
func (e *bpe) symbol(text string) int32 {
	if id := e.v.find(text); id != none {
		return id
	}
	id, ok := e.extra[text]
	if !ok {
		if e.extra == nil {
			e.extra = map[string]int32{}
		}
		id = int32(len(e.v.texts) + len(e.extra))
		e.extra[text] = id
	}
	return id
}

// bpeRun is the state of one call.
type bpeRun struct {
	*bpe
	merger merger
	mapped []byte
}

func (e *bpe) encode(ids []int32, text string, _ bool) ([]int32, error) {
	r := &bpeRun{bpe: e}
	if e.pre.characters {
		text = strings.ReplaceAll(text, " ", escapedSpace)
	}
	var err error
	e.pre.split(text, func(word string) {
		if err == nil {
			ids, err = r.cutWord(ids, word)
		}
	})
	return ids, err
}

// cutWord encodes what a pre-tokenizer takes for a word. Those that leave lines
// whole are cut further.
func (r *bpeRun) cutWord(ids []int32, word string) ([]int32, error) {
	if !r.pre.characters {
		return r.cache.encode(ids, word, r.byteWord)
	}
	var err error
	for len(word) > 0 && err == nil {
		var part string
		part, word = r.cutter.next(word)
		ids, err = r.cache.encode(ids, part, r.characterWord)
	}
	return ids, err
}

// byteWord appends the ids of a word whose symbols are bytes.
func (r *bpeRun) byteWord(ids []int32, word string) ([]int32, error) {
	if r.pre.ignoreMerges && len(word) <= r.v.maxLen {
		r.mapped = appendMapped(r.mapped[:0], word)
		if id, ok := r.v.ids[string(r.mapped)]; ok && !r.v.special(id) {
			return append(ids, id), nil
		}
	}
	r.merger.reset()
	for i := range len(word) {
		r.merger.add(i+1, r.fallback.bytes[word[i]])
	}
	return r.merge(ids, word)
}

// characterWord appends the ids of a word whose symbols are characters.
func (r *bpeRun) characterWord(ids []int32, word string) ([]int32, error) {
	// Newlines make tokens that no merges lead to.
	if strings.Trim(word, "\n") == "" {
		if id := r.v.find(word); id != none && !r.v.special(id) {
			return append(ids, id), nil
		}
	}
	r.merger.reset()
	for i := 0; i < len(word); {
		_, n := utf8.DecodeRuneInString(word[i:])
		id := r.v.find(word[i : i+n])
		if x, ok := r.extra[word[i:i+n]]; ok {
			id = x
		}
		r.merger.add(i+n, id)
		i += n
	}
	return r.merge(ids, word)
}

func (r *bpeRun) merge(ids []int32, word string) ([]int32, error) {
	r.merger.run(func(left, right *symbol) (uint32, int32) { return r.pairs.find(left.id, right.id) })
	var err error
	for i := int32(0); i != none; i = r.merger.symbols[i].next {
		s := &r.merger.symbols[i]
		if r.v.has(s.id) && !r.v.special(s.id) {
			ids = append(ids, s.id)
		} else if ids, err = r.fallback.encode(ids, word[s.start:s.end]); err != nil {
			return nil, err
		}
	}
	return ids, nil
}
