package tokenizer

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The regular expressions of pre-tokenizers are written here as rules, which
// do without backtracking. A rule returns where its match of s[i:] ends, or -1.
// Invalid bytes count as U+FFFD, a symbol.
type rule func(s string, i int) int

// A set is a set of characters.
type set func(r rune, c class) bool

var (
	anySpace  = in(space)
	anyLetter = in(letter)
	anyMark   = in(mark)
	decimals  = in(digit)
)

// in is [..] of classes.
func in(c class) set { return func(_ rune, x class) bool { return x&c != 0 } }

// notIn is [^..] of classes.
func notIn(c class) set { return func(_ rune, x class) bool { return x&c == 0 } }

// of is [..] of single characters.
func of(chars string) set {
	return func(r rune, _ class) bool { return strings.ContainsRune(chars, r) }
}

// between is [..] of ranges, each given by its first and last character.
func between(ends string) set {
	t := new(unicode.RangeTable)
	runes := []rune(ends)
	for i := 0; i < len(runes); i += 2 {
		lo, hi := runes[i], runes[i+1]
		if hi <= 0xFFFF {
			t.R16 = append(t.R16, unicode.Range16{Lo: uint16(lo), Hi: uint16(hi), Stride: 1})
		} else {
			t.R32 = append(t.R32, unicode.Range32{Lo: uint32(lo), Hi: uint32(hi), Stride: 1})
		}
	}
	slices.SortFunc(t.R16, func(a, b unicode.Range16) int { return cmp.Compare(a.Lo, b.Lo) })
	var ascii [utf8.RuneSelf]bool
	for r := range ascii {
		ascii[r] = unicode.Is(t, rune(r))
	}
	return func(r rune, _ class) bool {
		if r < utf8.RuneSelf {
			return ascii[r]
		}
		return unicode.Is(t, r)
	}
}

// or is the union of sets.
func or(a, b set) set { return func(r rune, c class) bool { return a(r, c) || b(r, c) } }

// not is the complement of a set.
func not(a set) set { return func(r rune, c class) bool { return !a(r, c) } }

// and is the intersection of sets.
func and(a, b set) set { return func(r rune, c class) bool { return a(r, c) && b(r, c) } }

// one returns where the character at i ends if it is in the set, or -1.
func (in set) one(s string, i int) int {
	if i == len(s) {
		return -1
	}
	r, n := rune(s[i]), 1
	if r >= utf8.RuneSelf {
		r, n = utf8.DecodeRuneInString(s[i:])
	}
	if !in(r, classOf(r)) {
		return -1
	}
	return i + n
}

// all returns where the characters from i on that are in the set end.
func (in set) all(s string, i int) int {
	for {
		end := in.one(s, i)
		if end < 0 {
			return i
		}
		i = end
	}
}

// run is body+.
func run(body set) rule {
	return func(s string, i int) int {
		if end := body.all(s, i); end > i {
			return end
		}
		return -1
	}
}

// single is body.
func single(body set) rule { return body.one }

// word is prefix?body+.
func word(prefix, body set) rule {
	return func(s string, i int) int {
		if start := prefix.one(s, i); start > 0 {
			if end := body.all(s, start); end > start {
				return end
			}
		}
		if end := body.all(s, i); end > i {
			return end
		}
		return -1
	}
}

// then is first tail*.
func then(first rule, tail set) rule {
	return func(s string, i int) int {
		end := first(s, i)
		if end > 0 {
			end = tail.all(s, end)
		}
		return end
	}
}

// thenOne is first tail?.
func thenOne(first rule, tail set) rule {
	return func(s string, i int) int {
		end := first(s, i)
		if end > 0 {
			end = max(end, tail.one(s, end))
		}
		return end
	}
}

// upTo is body{1,n}.
func upTo(n int, body set) rule {
	return func(s string, i int) int {
		end := body.one(s, i)
		for k := 1; k < n && end > 0; k++ {
			next := body.one(s, end)
			if next < 0 {
				break
			}
			end = next
		}
		return end
	}
}

// pair is first rest+, both of them required.
func pair(first, rest set) rule {
	return func(s string, i int) int {
		if start := first.one(s, i); start > 0 {
			if end := rest.all(s, start); end > start {
				return end
			}
		}
		return -1
	}
}

// lines is \s*[\r\n]+: white space up to the last line end in it.
func lines(s string, i int) int {
	end := -1
	for {
		next := anySpace.one(s, i)
		if next < 0 {
			return end
		}
		if s[i] == '\n' || s[i] == '\r' {
			end = next
		}
		i = next
	}
}

// spacesBefore is \s+(?!\S): white space, but the last of it only at the end.
func spacesBefore(s string, i int) int {
	start, last := i, i
	for {
		next := anySpace.one(s, i)
		if next < 0 {
			break
		}
		last, i = i, next
	}
	if i == len(s) {
		last = i
	}
	if last == start {
		return -1
	}
	return last
}

// contraction is 's|'t|'re|'ve|'m|'ll|'d.
func contraction(s string, i int) int {
	if s[i] != '\'' {
		return -1
	}
	for _, x := range []string{"s", "t", "re", "ve", "m", "ll", "d"} {
		if strings.HasPrefix(s[i+1:], x) {
			return i + 1 + len(x)
		}
	}
	return -1
}

// anyContraction is (?i:'s|'t|'re|'ve|'m|'ll|'d). The long s is an s, too.
func anyContraction(s string, i int) int {
	if s[i] != '\'' {
		return -1
	}
	rest := s[i+1:]
	for _, x := range []string{"s", "t", "re", "ve", "m", "ll", "d"} {
		if len(rest) >= len(x) && strings.EqualFold(rest[:len(x)], x) {
			return i + 1 + len(x)
		}
	}
	if strings.HasPrefix(rest, "ſ") {
		return i + 1 + len("ſ")
	}
	return -1
}
