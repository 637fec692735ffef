package tokenizer

import (
	"unicode"
	"unicode/utf8"
)

// caseWord is a word whose capitals come first, with letters that have no case
// and marks anywhere, and maybe a contraction behind it:
//
//	P?A*B+C?|P?A+B*C?
//
// where P is prefix, A is [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], B is
// [\p{Ll}\p{Lm}\p{Lo}\p{M}] and C is end, which may be nil. Characters that are
// not in letters are in neither A nor B.
func caseWord(letters set, end rule) rule {
	a := and(in(upper|caseless|mark), letters)
	b := and(in(lower|caseless|mark), letters)
	return func(s string, i int) int {
		after := prefix.one(s, i)
		stop := -1
		if after > 0 {
			stop = capitalsThenLower(s, after, a, b)
		}
		if stop < 0 {
			stop = capitalsThenLower(s, i, a, b)
		}
		if stop < 0 && after > 0 {
			stop = capitals(s, after, a, b)
		}
		if stop < 0 {
			stop = capitals(s, i, a, b)
		}
		if stop > 0 && stop < len(s) && end != nil {
			stop = max(stop, end(s, stop))
		}
		return stop
	}
}

// capitalsThenLower is A*B+. As many characters as possible belong to A; if no
// B follows them, the last of them that is in B, too, is the end.
func capitalsThenLower(s string, i int, a, b set) int {
	last := -1
	for {
		next := a.one(s, i)
		if next < 0 {
			break
		}
		if b.one(s, i) > 0 {
			last = next
		}
		i = next
	}
	if stop := b.all(s, i); stop > i {
		return stop
	}
	return last
}

// capitals is A+B*.
func capitals(s string, i int, a, b set) int {
	stop := a.all(s, i)
	if stop == i {
		return -1
	}
	return b.all(s, stop)
}

// wordsWithSpaces is [^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+, words
// with single spaces between them.
func wordsWithSpaces(s string, i int) int {
	start := max(i, prefix.one(s, i))
	stop := -1
	for {
		// The first letter of all has no space before it.
		if stop > 0 {
			start = max(stop, blank.one(s, stop))
		}
		next := anyLetter.one(s, start)
		if next < 0 {
			return stop
		}
		stop = anyMark.all(s, next)
	}
}

// threeDigits is [0-9][0-9][0-9].
func threeDigits(s string, i int) int {
	if i+3 > len(s) {
		return -1
	}
	for k := i; k < i+3; k++ {
		if s[k] < '0' || s[k] > '9' {
			return -1
		}
	}
	return i + 3
}

// trailingSpaces is \s+$.
func trailingSpaces(s string, emit func(string)) {
	end := len(s)
	for end > 0 {
		r, n := utf8.DecodeLastRuneInString(s[:end])
		if classOf(r)&space == 0 {
			break
		}
		end -= n
	}
	if end > 0 {
		emit(s[:end])
	}
	if end < len(s) {
		emit(s[end:])
	}
}

// digitGroups is \d{1,3}(?=(?:\d{3})*\b): groups of three digits from the right,
// of numbers that no letter follows.
func digitGroups(s string, emit func(string)) {
	gap := 0
	for i := 0; i < len(s); {
		var ends []int // of the digits from i on
		for end := i; ; ends = append(ends, end) {
			if end = decimals.one(s, end); end < 0 {
				break
			}
		}
		n := len(ends)
		if n == 0 {
			_, size := utf8.DecodeRuneInString(s[i:])
			i += size
			continue
		}
		end := ends[n-1]
		if wordChars.one(s, end) < 0 {
			if gap < i {
				emit(s[gap:i])
			}
			for k := (n-1)%3 + 1; k <= n; k += 3 {
				emit(s[i:ends[k-1]])
				i = ends[k-1]
			}
			gap = end
		}
		i = end
	}
	if gap < len(s) {
		emit(s[gap:])
	}
}

// wordChars is \w.
var wordChars = or(in(letter|mark|digit), func(r rune, _ class) bool {
	return unicode.In(r, unicode.Nl, unicode.Other_Alphabetic, unicode.Pc)
})
