package jinja

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// specialCasing lists the characters whose upper or title case is more than
// one character: character, upper, title. Go's case tables hold single
// characters only. The facts are Unicode's SpecialCasing.txt.
const specialCasing = `ß SS Ss
ŉ ʼN ʼN
ǰ J̌ J̌
ΐ Ϊ́ Ϊ́
ΰ Ϋ́ Ϋ́
և ԵՒ Եւ
ẖ H̱ H̱
ẗ T̈ T̈
ẘ W̊ W̊
ẙ Y̊ Y̊
ẚ Aʾ Aʾ
ὐ Υ̓ Υ̓
ὒ Υ̓̀ Υ̓̀
ὔ Υ̓́ Υ̓́
ὖ Υ̓͂ Υ̓͂
ᾀ ἈΙ ᾈ
ᾁ ἉΙ ᾉ
ᾂ ἊΙ ᾊ
ᾃ ἋΙ ᾋ
ᾄ ἌΙ ᾌ
ᾅ ἍΙ ᾍ
ᾆ ἎΙ ᾎ
ᾇ ἏΙ ᾏ
ᾈ ἈΙ ᾈ
ᾉ ἉΙ ᾉ
ᾊ ἊΙ ᾊ
ᾋ ἋΙ ᾋ
ᾌ ἌΙ ᾌ
ᾍ ἍΙ ᾍ
ᾎ ἎΙ ᾎ
ᾏ ἏΙ ᾏ
ᾐ ἨΙ ᾘ
ᾑ ἩΙ ᾙ
ᾒ ἪΙ ᾚ
ᾓ ἫΙ ᾛ
ᾔ ἬΙ ᾜ
ᾕ ἭΙ ᾝ
ᾖ ἮΙ ᾞ
ᾗ ἯΙ ᾟ
ᾘ ἨΙ ᾘ
ᾙ ἩΙ ᾙ
ᾚ ἪΙ ᾚ
ᾛ ἫΙ ᾛ
ᾜ ἬΙ ᾜ
ᾝ ἭΙ ᾝ
ᾞ ἮΙ ᾞ
ᾟ ἯΙ ᾟ
ᾠ ὨΙ ᾨ
ᾡ ὩΙ ᾩ
ᾢ ὪΙ ᾪ
ᾣ ὫΙ ᾫ
ᾤ ὬΙ ᾬ
ᾥ ὭΙ ᾭ
ᾦ ὮΙ ᾮ
ᾧ ὯΙ ᾯ
ᾨ ὨΙ ᾨ
ᾩ ὩΙ ᾩ
ᾪ ὪΙ ᾪ
ᾫ ὫΙ ᾫ
ᾬ ὬΙ ᾬ
ᾭ ὭΙ ᾭ
ᾮ ὮΙ ᾮ
ᾯ ὯΙ ᾯ
ᾲ ᾺΙ Ὰͅ
ᾳ ΑΙ ᾼ
ᾴ ΆΙ Άͅ
ᾶ Α͂ Α͂
ᾷ Α͂Ι ᾼ͂
ᾼ ΑΙ ᾼ
ῂ ῊΙ Ὴͅ
ῃ ΗΙ ῌ
ῄ ΉΙ Ήͅ
ῆ Η͂ Η͂
ῇ Η͂Ι ῌ͂
ῌ ΗΙ ῌ
ῒ Ϊ̀ Ϊ̀
ΐ Ϊ́ Ϊ́
ῖ Ι͂ Ι͂
ῗ Ϊ͂ Ϊ͂
ῢ Ϋ̀ Ϋ̀
ΰ Ϋ́ Ϋ́
ῤ Ρ̓ Ρ̓
ῦ Υ͂ Υ͂
ῧ Ϋ͂ Ϋ͂
ῲ ῺΙ Ὼͅ
ῳ ΩΙ ῼ
ῴ ΏΙ Ώͅ
ῶ Ω͂ Ω͂
ῷ Ω͂Ι ῼ͂
ῼ ΩΙ ῼ
ﬀ FF Ff
ﬁ FI Fi
ﬂ FL Fl
ﬃ FFI Ffi
ﬄ FFL Ffl
ﬅ ST St
ﬆ ST St
ﬓ ՄՆ Մն
ﬔ ՄԵ Մե
ﬕ ՄԻ Մի
ﬖ ՎՆ Վն
ﬗ ՄԽ Մխ`

type casing struct{ upper, title string }

var special = sync.OnceValue(func() map[rune]casing {
	m := map[rune]casing{}
	for line := range strings.Lines(specialCasing) {
		f := strings.Fields(line)
		r, _ := utf8.DecodeRuneInString(f[0])
		m[r] = casing{f[1], f[2]}
	}
	return m
})

// upper is Python's str.upper.
func upper(t string) string {
	if isASCII(t) {
		return strings.ToUpper(t)
	}
	var b strings.Builder
	for _, r := range t {
		if c, ok := special()[r]; ok {
			b.WriteString(c.upper)
		} else {
			b.WriteRune(unicode.ToUpper(r))
		}
	}
	return b.String()
}

// lower is Python's str.lower.
func lower(t string) string {
	if !strings.ContainsAny(t, "\u0130\u03a3") {
		return strings.ToLower(t)
	}
	runes := []rune(t)
	var b strings.Builder
	for i, r := range runes {
		lowerRune(&b, runes, i, r)
	}
	return b.String()
}

func lowerRune(b *strings.Builder, runes []rune, i int, r rune) {
	switch {
	case r == 0x130: // I with dot: i and a combining dot
		b.WriteString("i\u0307")
	case r == 0x3a3 && finalSigma(runes, i):
		b.WriteRune(0x3c2)
	default:
		b.WriteRune(unicode.ToLower(r))
	}
}

// finalSigma says whether a capital sigma ends a word.
func finalSigma(runes []rune, i int) bool {
	j := i - 1
	for j >= 0 && caseIgnorable(runes[j]) {
		j--
	}
	if j < 0 || !cased(runes[j]) {
		return false
	}
	j = i + 1
	for j < len(runes) && caseIgnorable(runes[j]) {
		j++
	}
	return j == len(runes) || !cased(runes[j])
}

func caseIgnorable(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) || strings.ContainsRune("'.:\u00b7\u2018\u2019\u2024\u2027", r)
}

func cased(r rune) bool {
	return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r)
}

// titleRune writes the title case of a word's first character.
func titleRune(b *strings.Builder, r rune) {
	if c, ok := special()[r]; ok {
		b.WriteString(c.title)
		return
	}
	b.WriteRune(unicode.ToTitle(r))
}

// title is Python's str.title.
func title(t string) string {
	runes := []rune(t)
	var b strings.Builder
	inWord := false
	for i, r := range runes {
		if inWord {
			lowerRune(&b, runes, i, r)
		} else {
			titleRune(&b, r)
		}
		inWord = cased(r)
	}
	return b.String()
}

// capitalize is Python's str.capitalize.
func capitalize(t string) string {
	runes := []rune(t)
	var b strings.Builder
	for i, r := range runes {
		if i == 0 {
			titleRune(&b, r)
		} else {
			lowerRune(&b, runes, i, r)
		}
	}
	return b.String()
}

// swapCase is Python's str.swapcase.
func swapCase(t string) string {
	runes := []rune(t)
	var b strings.Builder
	for i, r := range runes {
		switch {
		case unicode.IsUpper(r):
			lowerRune(&b, runes, i, r)
		case unicode.IsLower(r):
			b.WriteString(upper(string(r)))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isASCII(t string) bool {
	for i := range len(t) {
		if t[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
