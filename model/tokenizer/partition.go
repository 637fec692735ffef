package tokenizer

import (
	"slices"
	"sort"
	"strings"

	"gorun/gguf"
)

// matcher finds tokens that are taken out of a text before anything else
// happens to it: the leftmost, and of those that begin there the longest.
//
// The tokens are sorted, so those that begin with the bytes read so far are a
// range, which each further byte narrows. Finding a token takes time in
// proportion to its length, and a text with no first bytes of tokens is only
// looked through.
type matcher struct {
	tokens []specialToken // by text
	ranges [256][2]int32  // of tokens that begin with a byte
}

type specialToken struct {
	text           string
	id             int32
	lstrip, rstrip bool // it swallows white space before, behind
}

func newMatcher(v *vocabulary, types ...Type) matcher {
	var m matcher
	for id, text := range v.texts {
		if text != "" && slices.Contains(types, v.types[id]) {
			s := v.stripping[int32(id)]
			m.tokens = append(m.tokens, specialToken{text, int32(id), s.left, s.right})
		}
	}
	slices.SortFunc(m.tokens, func(a, b specialToken) int { return strings.Compare(a.text, b.text) })
	for i, t := range m.tokens {
		r := &m.ranges[t.text[0]]
		if r[1] == 0 {
			r[0] = int32(i)
		}
		r[1] = int32(i) + 1
	}
	return m
}

// next returns the text before the first token, the token, and the text after
// it. If there is no token, everything is plain.
func (m *matcher) next(text string) (plain string, id int32, rest string) {
	if len(m.tokens) == 0 {
		return text, none, ""
	}
	for i := range len(text) {
		if m.ranges[text[i]][1] == 0 {
			continue
		}
		if t := m.longest(text[i:]); t != nil {
			plain, rest = text[:i], text[i+len(t.text):]
			if t.lstrip {
				plain = strings.TrimRight(plain, asciiSpace)
			}
			if t.rstrip {
				rest = strings.TrimLeft(rest, asciiSpace)
			}
			return plain, t.id, rest
		}
	}
	return text, none, ""
}

const asciiSpace = " \t\n\v\f\r"

// longest returns the longest token that text begins with, or nil.
func (m *matcher) longest(text string) *specialToken {
	var best *specialToken
	lo, hi := int(m.ranges[text[0]][0]), int(m.ranges[text[0]][1])
	for n := 1; lo < hi; n++ {
		// All of tokens[lo:hi] begin with text[:n].
		if t := &m.tokens[lo]; len(t.text) == n {
			best = t
			lo++
		}
		if n == len(text) {
			break
		}
		in := m.tokens[lo:hi]
		from := sort.Search(len(in), func(i int) bool { return in[i].text[n] >= text[n] })
		to := sort.Search(len(in), func(i int) bool { return in[i].text[n] > text[n] })
		lo, hi = lo+from, lo+to
	}
	return best
}

// stripping says that a token swallows the white space beside it.
type stripping struct{ left, right bool }

// setStripping marks the tokens that swallow white space. Files do not say
// which do; they are known by the name of the model.
func (t *Tokenizer) setStripping(meta *gguf.Metadata) {
	text := func(key string) string {
		s, _, _ := meta.String(key) // what is no string names no model
		return s
	}
	name := strings.ToLower(text("general.name"))
	pre, arch := text(keyPre), text("general.architecture")
	contains := func(s string, parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
	}
	t.stripping = map[int32]stripping{}
	switch {
	case contains(pre, "jina-v2-de", "jina-v2-es", "jina-v2-code"), contains(arch, "nomic-bert-moe", "jina-bert-v3"):
		t.stripping[t.find("<mask>")] = stripping{left: true}
	case contains(name, "phi-3", "phi3"):
		for id, typ := range t.types {
			switch typ {
			case Control, Unknown, UserDefined:
				t.stripping[int32(id)] = stripping{right: true}
			}
		}
		t.stripping[t.find("</s>")] = stripping{right: true}
		for _, s := range []string{"<unk>", "<s>", "<|endoftext|>"} {
			delete(t.stripping, t.find(s))
		}
	case contains(name, "modern-bert"):
		t.stripping[t.find("[MASK]")] = stripping{left: true}
	}
}
