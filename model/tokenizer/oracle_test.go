package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
)

// The regular expressions of pre-tokenizers as the models' tokenizer.json files
// have them, a list for each sequence. They differ in two things: (?i:s) is
// written out, since engines disagree on the long s, and so is \b.
const (
	anyCase   = `'(?:[sSſ]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])`
	reGPT2    = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	reLines   = `|\s*[\r\n]+|\s+(?!\S)|\s+`
	reSigns   = `| ?[^\s\p{L}\p{N}]+[\r\n]*` + reLines
	reWord    = `[^\r\n\p{L}\p{N}]?\p{L}+`
	reLlama3  = anyCase + `|` + reWord + `|\p{N}{1,3}` + reSigns
	reQwen2   = anyCase + `|` + reWord + `|\p{N}` + reSigns
	reUpper   = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
	reLower   = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
	reCased   = `[^\r\n\p{L}\p{N}]?` + reUpper + `*` + reLower + `+`
	reCapital = `[^\r\n\p{L}\p{N}]?` + reUpper + `+` + reLower + `*`
	reSlash   = `| ?[^\s\p{L}\p{N}]+[\r\n/]*` + reLines
	reCases   = reCased + `(?:` + anyCase + `)?|` + reCapital + `(?:` + anyCase + `)?`
	reGPT4o   = reCases + `|\p{N}{1,3}` + reSlash
	reASCII   = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"
	reMarked  = `[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+`
	reAsian   = "[一-龥\u0800-一가-\uD7FF]+"
	reBloom   = ` ?[^(\s|.,!?…。，、।۔،)]+`
	reNotWord = `(?![\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}Ⓐ-ⓩ])`
	reHanOut  = `-[\p{Han}]]`
)

// outside takes Chinese characters out of a set.
func outside(set string) string { return strings.TrimSuffix(set, "]") + reHanOut }

var expressions = map[string][]string{
	"default": {"[\\p{P}\\$\\+<=>\\^~\\|]+", reGPT2, `\p{N}+`, `[0-9][0-9][0-9]`},
	"gpt-2":   {reGPT2},
	// Also command-r.
	"starcoder":  {`\p{N}`, reGPT2},
	"falcon":     {"[\\p{P}\\$\\+<=>\\^~\\|`]+", reGPT2, `[0-9][0-9][0-9]`},
	"llama-bpe":  {reLlama3},
	"dbrx":       {reLlama3},
	"qwen2":      {reQwen2},
	"laguna":     {`[^\n]+|[\n]+`, reQwen2},
	"minicpm5":   {`\p{N}{1,3}`, anyCase + `|` + reWord + `|\p{N}+` + reSigns},
	"qwen35":     {anyCase + `|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*` + reLines},
	"ufakzeka":   {reWord + `|\p{N}` + reSigns},
	"seed-coder": {anyCase + `|` + reWord + `|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+` + reLines},
	"exaone-moe": {anyCase + `|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+`},
	"bailingmoe": {`'(?:[sSſdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|` + reWord + `|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+`},
	"gpt-4o":     {reGPT4o},
	"minimax-m2": {reGPT4o},

	"granite-embed-multi-97m": {reGPT4o},

	"tekken":   {reCased + `|` + reCapital + `|\p{N}` + reSlash},
	"tiny_aya": {`\d{1,3}(?=(?:\d{3})*` + reNotWord + `)`, reGPT4o},
	"youtu": {
		`[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+`,
		reCases + `|\p{N}` + reSlash,
	},
	"kimi-k2": {`\p{Han}+|` +
		`[^\r\n\p{L}\p{N}]?` + outside(reUpper) + `*` + outside(reLower) + `+(?:` + anyCase + `)?|` +
		`[^\r\n\p{L}\p{N}]?` + outside(reUpper) + `+` + outside(reLower) + `*(?:` + anyCase + `)?|` +
		`\p{N}{1,3}` + reSigns},
	"deepseek-llm": {
		"[\r\n]",
		`\s?` + "[A-Za-z\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-\u01BF\u01C4-\u0293\u0295-\u02AF\u0370-" +
			"\u0373\u0376-\u0377\u037B-\u037D\u037F\u0386\u0388-\u038A\u038C\u038E-\u03A1\u03A3-\u03F5\u03F7-" +
			"\u0481\u048A-\u052F\u0531-\u0556\u10A0-\u10C5\u13A0-\u13F5\u13F8-\u13FD\u1C90-\u1CBA\u1CBD-\u1CBF" +
			"\u1D00-\u1D2B\u1D6B-\u1D77\u1D79-\u1D9A\u1E00-\u1F15\u1F18-\u1F1D\u1F20-\u1F45\u1F48-\u1F4D\u1F50-" +
			"\u1F57\u1F59\u1F5B\u1F5D\u1F5F-\u1F7D\u1F80-\u1FB4\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6-\u1FCC" +
			"\u1FD0-\u1FD3\u1FD6-\u1FDB\u1FE0-\u1FEC\u1FF2-\u1FF4\u1FF6-\u1FFC\u2102\u2107\u210A-\u2113\u2115" +
			"\u2119-\u211D\u2124\u2126\u2128\u212A-\u212D\u212F-\u2134\u2139\u213C-\u213F\u2145-\u2149\u214E" +
			"\u2183-\u2184\u2C00-\u2C7B\u2C7E-\u2CE4\u2CEB-\u2CEE\u2CF2-\u2CF3\uA640-\uA66D\uA680-\uA69B\uA722-" +
			"\uA76F\uA771-\uA787\uA78B-\uA78E\uAB70-\uABBF\uFB00-\uFB06\uFB13-\uFB17\uFF21-\uFF3A\uFF41-\uFF5A" +
			"\U00010400-\U0001044F\U000104B0-\U000104D3\U000104D8-\U000104FB\U00010C80-\U00010CB2\U00010CC0-" +
			"\U00010CF2\U000118A0-\U000118DF\U0001E900-\U0001E943]+",
		"\\s?[!-/:-~！-／：-～‘-‟\u3000-。]+",
		`\s+$`,
		reAsian,
		`\p{N}+`,
	},
	"deepseek-coder": {"[\r\n]", `\s?\p{L}+`, `\s?\p{P}+`, reAsian, `\p{N}`},
	"deepseek-v3":    {`\p{N}{1,3}`, `[一-龥぀-ゟ゠-ヿ]+`, reASCII + `|` + reMarked + `| ?[\p{P}\p{S}]+[\r\n]*` + reLines},
	"spark2_5": {`\p{N}{1,3}`, `[一-龥぀-ゟ゠-ヿ]+`,
		reASCII + `|` + reMarked + `| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+`, `\p{N}`},
	"bloom":      {reBloom},
	"viking":     {reBloom, `\p{N}`},
	"gemma4":     {`[^\n]+|[\n]+`},
	"sarvam-moe": {`[^\n]+|[\n]+`},
}

// TestExpressionsComplete holds that no pre-tokenizer is without a test.
func TestExpressionsComplete(t *testing.T) {
	for _, p := range preTokenizers {
		if !slices.ContainsFunc(p.names, func(name string) bool { return expressions[name] != nil }) {
			t.Errorf("%s has no regular expression", p.names[0])
		}
	}
}

// TestPreTokenizers holds that the rules split as the regular expressions do.
func TestPreTokenizers(t *testing.T) {
	n := 3000
	if testing.Short() {
		n = 300
	}
	for name, list := range expressions {
		t.Run(name, func(t *testing.T) {
			p := preTokenizersByName[name]
			if p == nil {
				t.Fatal("unknown")
			}
			var compiled []*regexp2.Regexp
			for _, x := range list {
				compiled = append(compiled, regexp2.MustCompile(x))
			}
			r := rand.New(rand.NewPCG(1, 2))
			for range n {
				compareSplit(t, p, compiled, randomText(r))
				if t.Failed() {
					return
				}
			}
		})
	}
}

func compareSplit(t *testing.T, p *preTokenizer, list []*regexp2.Regexp, text string) {
	t.Helper()
	var got []string
	p.split(text, func(s string) { got = append(got, s) })
	want := []string{text}
	for _, re := range list {
		var next []string
		for _, s := range want {
			next = append(next, splitRegexp(t, re, s)...)
		}
		want = next
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q:\n got %q\nwant %q", text, got, want)
	}
}

// splitRegexp cuts s at all matches; what is between is kept.
func splitRegexp(t *testing.T, re *regexp2.Regexp, s string) []string {
	t.Helper()
	var at []int // of characters, invalid bytes among them
	for i := range s {
		at = append(at, i)
	}
	at = append(at, len(s))
	matches, err := re.FindAllRunesIndex([]rune(s), -1)
	if err != nil {
		t.Fatal(err)
	}
	var pieces []string
	last := 0
	for _, m := range append(matches, []int{len(at) - 1, len(at) - 1}) {
		for _, x := range [][2]int{{last, m[0]}, {m[0], m[1]}} {
			if x[0] < x[1] {
				pieces = append(pieces, s[at[x[0]]:at[x[1]]])
			}
		}
		last = m[1]
	}
	return pieces
}

// parts are what random texts are made of, one group for each class of
// characters that some pre-tokenizer tells from others.
var parts = [][]string{
	{"a", "b", "z", "the", "é", "ж", "ß", "ſ", "ﬁ", "ａ", "ω"},
	{"A", "Z", "HTML", "É", "Ж", "ǅ", "Ａ", "Ω", "K"},
	{"中", "文", "々", "〇", "あ", "ア", "ー", "가", "ㄱ", "ㄅ", "ا", "ก", "ʰ", "ª", "𠀀", "龥", "ࠀ", "ა", "ᄀ", "ﻼ"},
	{"\u0301", "\u0903", "\u20DD", "\u0E34", "\u093F", "\uFE0F"},
	{"0", "1", "9", "12", "345", "1234567", "٣", "½", "Ⅷ", "²", "३", "〡"},
	{"'", "'s", "'S", "'re", "'RE", "'ll", "'lL", "'d", "'m", "'Ve", "'t", "'ſ", "’s", "'x", "''"},
	{".", ",", "!", "?", "-", "/", "(", ")", "\"", "_", "[", "]", "{", "\\", "…", "。", "，", "、", "“", "‿", "।", "！", "－", "﹏"},
	{"$", "+", "<", "=", ">", "^", "`", "|", "~", "€", "©", "☃", "🦙", "😶‍🌫️", "Ⓐ", "⺀", "\uFFFD"},
	{" ", " ", " ", "  ", "   ", "\t", "\u00A0", "\u3000", "\u2028", "\u0085", "\v"},
	{"\n", "\r\n", "\n\n", "\r", " \n", "\n ", " \n \n", "\t\n"},
	{"\u200B", "\u200D", "\x00", "\x7F", "\uE000", "\u0378", "\U000E0001", "\x80", "\xE4\xB8", "\xFF"},
}

func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(24) {
		g := parts[r.IntN(len(parts))]
		for range 1 + r.IntN(3) {
			b.WriteString(g[r.IntN(len(g))])
		}
	}
	if r.IntN(16) == 0 {
		b.WriteRune(rune(r.IntN(utf8.MaxRune + 1)))
	}
	return b.String()
}

// TestContractionsFold holds that the long s counts as an s.
func TestContractionsFold(t *testing.T) {
	for s, want := range map[string]int{
		"'s": 2, "'Sx": 2, "'ſ": 3, "'rE": 3, "'LL": 3, "'r": -1, "'": -1, "s": -1, "'x": -1, "'K": -1,
	} {
		if got := anyContraction(s, 0); got != want {
			t.Errorf("%q ends at %d, want %d", s, got, want)
		}
	}
}
