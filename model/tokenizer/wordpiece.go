package tokenizer

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"gorun/gguf"
)

// wordPiece encodes as BERT does.
type wordPiece struct {
	v                   *vocabulary
	unknown             *int32
	lower, stripAccents bool
	cache               *cache
}

// maxWordRunes is the length of the longest word that is looked up in the
// vocabulary; longer ones are unknown. BERT sets it, files do not say it.
const maxWordRunes = 100

func makeWordPiece(t *Tokenizer, meta *gguf.Metadata) error {
	t.specials = noSpecials()
	t.bos, t.unk, t.sep, t.pad, t.mask = 101, 100, 102, 0, 103
	t.pairs, t.addBOS, t.addSEP = true, true, true
	t.setPieces(unescape)
	e := &wordPiece{v: &t.vocabulary, unknown: &t.unk, lower: true, cache: newCache()}
	if err := readFlag(meta, "tokenizer.ggml.normalizer.lowercase", &e.lower); err != nil {
		return err
	}
	e.stripAccents = e.lower
	if err := readFlag(meta, "tokenizer.ggml.normalizer.strip_accents", &e.stripAccents); err != nil {
		return err
	}
	// A word begins with a space, also the first.
	t.spacePrefix = true
	t.encoder = e
	return nil
}

// encode cuts text at white space; what is between depends on nothing else.
func (e *wordPiece) encode(ids []int32, text string, _ bool) ([]int32, error) {
	var r wordPieceRun
	r.wordPiece = e
	var err error
	for text != "" && err == nil {
		end := not(anySpace).all(text, 0)
		if end > 0 {
			ids, err = e.cache.encode(ids, text[:end], r.chunk)
		}
		text = text[anySpace.all(text, end):]
	}
	return ids, err
}

// wordPieceRun is the state of one call.
type wordPieceRun struct {
	*wordPiece
	word  []byte // after ▁
	runes int
	ids   []int32
	err   error
}

// chunk appends the ids of a text without white space: a word, or several where
// it contains punctuation or Chinese characters, each of which is a word.
func (r *wordPieceRun) chunk(ids []int32, text string) ([]int32, error) {
	r.ids, r.err = ids, nil
	r.begin()
	if r.stripAccents {
		text = norm.NFD.String(text)
	}
	for _, c := range text {
		switch {
		case c == 0, c == utf8.RuneError, unicode.In(c, unicode.Cc, unicode.Cf, unicode.Co),
			r.stripAccents && unicode.Is(unicode.Mn, c):
			continue
		case isPunctuation(c), isChinese(c):
			r.flush()
			r.add(c)
			r.flush()
		default:
			r.add(c)
		}
	}
	r.flush()
	return r.ids, r.err
}

func (r *wordPieceRun) begin() {
	r.word = append(r.word[:0], escapedSpace...)
	r.runes = 0
}

func (r *wordPieceRun) add(c rune) {
	if r.lower {
		c = unicode.ToLower(c)
	}
	r.runes++
	if r.runes <= maxWordRunes {
		r.word = utf8.AppendRune(r.word, c)
	}
}

// flush encodes the word, if there is one, and begins the next.
func (r *wordPieceRun) flush() {
	if r.runes == 0 || r.err != nil {
		return
	}
	n := len(r.ids)
	for rest := r.word; len(rest) > 0; {
		id, size := none, 0
		if r.runes <= maxWordRunes {
			id, size = r.longest(rest)
		}
		if id == none {
			r.ids = r.ids[:n]
			if *r.unknown == none {
				r.err = fmt.Errorf("%q is not in the vocabulary, which has no unknown token", r.word[len(escapedSpace):])
			} else {
				r.ids = append(r.ids, *r.unknown)
			}
			break
		}
		r.ids = append(r.ids, id)
		rest = rest[size:]
	}
	r.begin()
}

// longest returns the longest token that word begins with, and its length.
func (r *wordPieceRun) longest(word []byte) (int32, int) {
	for end := min(len(word), r.v.maxLen); end > 0; end-- {
		if end < len(word) && !utf8.RuneStart(word[end]) {
			continue
		}
		if id, ok := r.v.ids[string(word[:end])]; ok && !r.v.special(id) {
			return id, end
		}
	}
	return none, 0
}

// isPunctuation tells what BERT takes for punctuation: all of ASCII that is
// neither letter nor digit, too.
func isPunctuation(c rune) bool {
	if c < utf8.RuneSelf {
		return strings.ContainsRune("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", c)
	}
	return classOf(c)&punct != 0
}

// isChinese tells characters of scripts that put no spaces between words.
func isChinese(c rune) bool { return c >= 0x3400 && unicode.Is(chinese, c) }

var chinese = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x3400, Hi: 0x4DBF, Stride: 1},
		{Lo: 0x4E00, Hi: 0x9FFF, Stride: 1},
		{Lo: 0xF900, Hi: 0xFAFF, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x20000, Hi: 0x2A6DF, Stride: 1},
		{Lo: 0x2A700, Hi: 0x2B73F, Stride: 1},
		{Lo: 0x2B740, Hi: 0x2B81F, Stride: 1},
		{Lo: 0x2B920, Hi: 0x2CEAF, Stride: 1}, // BERT means 0x2B820
		{Lo: 0x2F800, Hi: 0x2FA1F, Stride: 1},
	},
}
