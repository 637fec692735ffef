package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// A cutter cuts text that is written with ▁ into words. Two characters that are
// next to each other in no token are never joined, so the text left of such a
// place and the text right of it can be encoded one by one. Nearly always the
// places before a ▁ and around a line end are such. Short words make the cache
// useful and keep the heap of the merger small.
type cutter struct {
	joined map[[2]rune]bool // neighbours in tokens, at places that place accepts
}

// place tells whether text may be cut between the characters a and b, if no
// token has them next to each other.
func place(a, b rune) bool { return b == '▁' || b == '\n' || a == '\n' }

// learn takes note of a token.
func (c *cutter) learn(token string) {
	if strings.LastIndex(token, escapedSpace) <= 0 && !strings.Contains(token, "\n") {
		return
	}
	if c.joined == nil {
		c.joined = map[[2]rune]bool{}
	}
	a, n := utf8.DecodeRuneInString(token)
	for _, b := range token[n:] {
		if place(a, b) {
			c.joined[[2]rune{a, b}] = true
		}
		a = b
	}
}

// next returns the first word of text, which is not empty, and the rest.
func (c *cutter) next(text string) (word, rest string) {
	a, n := utf8.DecodeRuneInString(text)
	for i, b := range text[n:] {
		if place(a, b) && !c.joined[[2]rune{a, b}] {
			return text[:n+i], text[n+i:]
		}
		a = b
	}
	return text, ""
}
