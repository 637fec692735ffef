package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// A cutter cuts text that is written with ▁ into words. Two characters that are
// next to each other in no token are never joined, so the text left of such a
// place and the text right of it can be encoded one by one. Nearly always the
// character before a ▁ is such a place.
type cutter struct {
	joined map[rune]bool // characters that come before ▁ in some token
}

// learn takes note of a token.
func (c *cutter) learn(token string) {
	for from := 0; ; {
		i := strings.Index(token[from:], escapedSpace)
		if i < 0 {
			return
		}
		from += i
		if from > 0 {
			r, _ := utf8.DecodeLastRuneInString(token[:from])
			if c.joined == nil {
				c.joined = map[rune]bool{}
			}
			c.joined[r] = true
		}
		from += len(escapedSpace)
	}
}

// next returns the first word of text, which is not empty, and the rest.
func (c *cutter) next(text string) (word, rest string) {
	for from := 1; from < len(text); {
		i := strings.Index(text[from:], escapedSpace)
		if i < 0 {
			break
		}
		from += i
		if r, _ := utf8.DecodeLastRuneInString(text[:from]); !c.joined[r] {
			return text[:from], text[from:]
		}
		from += len(escapedSpace)
	}
	return text, ""
}
