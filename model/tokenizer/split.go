package tokenizer

import "unicode/utf8"

// A stage cuts text into pieces, which the next stage cuts further.
type stage func(s string, emit func(string))

// match cuts at every match of the rules, of which the first that matches
// counts. What is between matches is a piece, too.
func match(rules ...rule) stage {
	return func(s string, emit func(string)) {
		gap := 0 // where text without match begins
		for i := 0; i < len(s); {
			end := -1
			for _, r := range rules {
				if end = r(s, i); end > 0 {
					break
				}
			}
			if end < 0 {
				_, n := utf8.DecodeRuneInString(s[i:])
				i += n
				continue
			}
			if gap < i {
				emit(s[gap:i])
			}
			emit(s[i:end])
			i, gap = end, end
		}
		if gap < len(s) {
			emit(s[gap:])
		}
	}
}

// preTokenizer cuts text into words.
type preTokenizer struct {
	names  []string // in tokenizer.ggml.pre
	stages []stage

	characters   bool // symbols are characters, spaces are ▁; otherwise bytes
	ignoreMerges bool // a word that is a token is not merged
	addBOS       bool // unless the file says otherwise
	alwaysBOS    bool // whatever the file says
}

// split calls emit with the words of text in order. They add up to text.
func (p *preTokenizer) split(text string, emit func(string)) {
	for i := len(p.stages) - 1; i >= 0; i-- {
		cut, next := p.stages[i], emit
		emit = func(s string) { cut(s, next) }
	}
	emit(text)
}
