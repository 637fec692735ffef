package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorun/gguf"
)

// A sample is a text and its tokens, separated by spaces.
type sample struct {
	text, tokens string
}

func check(t *testing.T, tok *Tokenizer, o Options, samples []sample) {
	t.Helper()
	for _, s := range samples {
		if got, want := encode(t, tok, s.text, o), strings.Fields(s.tokens); !slices.Equal(got, want) {
			t.Errorf("%q %+v:\n got %q\nwant %q", s.text, o, got, want)
		}
	}
}

func TestBPE(t *testing.T) {
	tok := madeBPE("gpt-2", helloMerges...).build(t)
	check(t, tok, Options{}, []sample{
		{"", ""},
		{"hello world", "hello Ġworld"},
		{"hello  world", "hello Ġ Ġworld"},
		{"hell ollo", "hell Ġ o ll o"},
		{"hhello", "h hello"},
		{"Äpfel", "ÃĦp f e l"},
		{"\xff", "ÿ"},
		{"1212\n", "12 12 Ċ"},
		// Control tokens are text unless asked for, user-defined ones are not.
		{"hello<|im_end|>", "hello < | i m _ e n d | >"},
		{"hello<tool>x<tool>y", "hello <tool>x <tool> y"},
	})
	check(t, tok, Options{ParseSpecial: true}, []sample{
		{"<|im_start|>hello<|im_end|>", "<|im_start|> hello <|im_end|>"},
		{"<|im_<|im_end|><|im_en", "< | i m _ <|im_end|> < | i m _ e n"},
		{"<<tool>", "< <tool>"},
	})
	// No AddSpecial in effect: the file does not ask for any.
	check(t, tok, Options{AddSpecial: true}, []sample{{"hello", "hello"}})
}

func TestAddSpecial(t *testing.T) {
	m := madeBPE("gpt-2", helloMerges...)
	m.set("add_bos_token", gguf.Bool(true))
	m.set("add_eos_token", gguf.Bool(true))
	tok := m.build(t)
	if !tok.AddBOS() || !tok.AddEOS() || tok.AddSEP() {
		t.Error("flags are not as set")
	}
	check(t, tok, Options{AddSpecial: true}, []sample{
		{"hello", "<|endoftext|> hello <|endoftext|>"},
		{"", "<|endoftext|> <|endoftext|>"},
	})

	spm := madeSPM(helloTokens...)
	check(t, spm.build(t), Options{AddSpecial: true}, []sample{{"", "<s>"}, {"hello", "<s> ▁hello"}})
	spm.set("add_bos_token", gguf.Bool(false))
	spm.set("add_eos_token", gguf.Bool(true))
	check(t, spm.build(t), Options{AddSpecial: true}, []sample{{"hello", "▁hello </s>"}})

	// A vocabulary of merges on characters has BOS whatever the file says.
	gemma := madeGemma4()
	gemma.set("add_bos_token", gguf.Bool(false))
	check(t, gemma.build(t), Options{AddSpecial: true}, []sample{{"hello", "<s> hello"}})

	check(t, madeBERT(wordTokens...).build(t), Options{AddSpecial: true}, []sample{{"hello", "[CLS] ▁hello [SEP]"}})
}

// TestIgnoreMerges holds that a word which is a token stays whole if the
// pre-tokenizer says so, even if no merges lead to it.
func TestIgnoreMerges(t *testing.T) {
	for _, c := range []struct{ pre, want string }{{"llama-bpe", "Ġzyx"}, {"qwen2", "Ġ z y x"}} {
		m := madeBPE(c.pre, helloMerges...)
		m.add("Ġzyx", Normal)
		check(t, m.build(t), Options{}, []sample{{" zyx", c.want}, {" zyxx", "Ġ z y x x"}})
	}
}

// TestMergeOrder compares with the plainest way to apply merges: look for the
// best pair, join it, again and again.
func TestMergeOrder(t *testing.T) {
	m := madeBPE("gpt-2", "a b", "b a", "ab a", "a ba", "b b", "a a", "aa a", "ab ab", "bb a")
	tok := m.build(t)
	rank := map[string]int{}
	for i, x := range m.merges {
		rank[x] = i
	}
	plain := func(word string) []string {
		s := strings.Split(word, "")
		for {
			best := -1
			for i := range len(s) - 1 {
				r, ok := rank[s[i]+" "+s[i+1]]
				if ok && (best < 0 || r < rank[s[best]+" "+s[best+1]]) {
					best = i
				}
			}
			if best < 0 {
				return s
			}
			s[best] += s[best+1]
			s = slices.Delete(s, best+1, best+2)
		}
	}
	for n := 1; n <= 12; n++ {
		for bits := range 1 << n {
			word := make([]byte, n)
			for i := range word {
				word[i] = 'a' + byte(bits>>i&1)
			}
			if got, want := encode(t, tok, string(word), Options{}), plain(string(word)); !slices.Equal(got, want) {
				t.Fatalf("%s:\n got %q\nwant %q", word, got, want)
			}
		}
	}
}

// TestMergesToSpecial: merges lead to no control token.
func TestMergesToSpecial(t *testing.T) {
	for _, pre := range []string{"gpt-2", "llama-bpe"} {
		m := madeBPE(pre, "a b")
		m.types[256] = int32(Control)
		tok := m.build(t)
		check(t, tok, Options{}, []sample{{"abc", "a b c"}, {"ab", "a b"}})
		check(t, tok, Options{ParseSpecial: true}, []sample{{"abc", "ab c"}})
	}
	m := madeGemma4()
	m.types[slices.Index(m.tokens, "hello")] = int32(Control)
	m.types[slices.Index(m.tokens, "\n\n")] = int32(Control)
	check(t, m.build(t), Options{}, []sample{{"hello", "<0x68> <0x65> <0x6C> <0x6C> <0x6F>"}, {"\n\n", "<0x0A> <0x0A>"}})
	m = madeBERT(wordTokens...)
	m.types[slices.Index(m.tokens, "▁hello")] = int32(Control)
	check(t, m.build(t), Options{}, []sample{{"hello", "▁hell o"}})
}

// TestMissingBytes: a byte that has no token becomes U+FFFD, not an unknown token,
// which is a control token in many vocabularies. A user-defined token of one
// character is no byte.
func TestMissingBytes(t *testing.T) {
	m := madeBPE("gpt-2", "ï ¿")
	m.tokens[0xFF], m.tokens[0xC0] = "xff", "xc0"
	m.add("À", UserDefined)
	m.set("unknown_token_id", gguf.Uint32(256))
	check(t, m.build(t), Options{}, []sample{{"a\xFFb\xC0", "a ï¿ ½ b ï¿ ½"}, {"À", "À"}})

	// Without tokens for that, the unknown token is what is left.
	m.tokens[0xEF] = "xef"
	tok := m.build(t)
	check(t, tok, Options{}, []sample{{"a\xFF", "a ï¿"}})
	tok.unk = none
	if _, err := tok.Encode("a\xC0", Options{}); err == nil || !strings.Contains(err.Error(), "byte 0xC0") {
		t.Errorf("error is %v", err)
	}
}

// TestMergesToNoToken holds that a symbol which is no token is a step like any
// other, and is taken apart if it is what is left.
func TestMergesToNoToken(t *testing.T) {
	m := madeBPE("gpt-2")
	m.merges = []string{"x y", "xy z"}
	m.add("xyz", Normal)
	check(t, m.build(t), Options{}, []sample{{"xyz", "xyz"}, {"xyxy", "x y x y"}})
}

func TestSPM(t *testing.T) {
	tok := madeSPM(helloTokens...).build(t)
	check(t, tok, Options{}, []sample{
		{"", ""},
		{"hello world", "▁hello ▁world"},
		{" hello", "▁ ▁hello"}, // not ▁▁, which has the lower score
		{"hellohello", "▁hello hello"},
		{"中文é", "▁ 中 文 <0xC3> <0xA9>"},
		{"\xE4\xB8", "▁ <0xE4> <0xB8>"},
		{"a\n\nb\n", "▁ a ⏎⏎ b <0x0A>"},
		// What looks like a control token does not become one.
		{"</s>", "▁ </s >"},
		{"hello<tool>hello", "▁hello <tool> ▁hello"},
	})
	check(t, tok, Options{ParseSpecial: true}, []sample{{"hello</s>hello", "▁hello </s> ▁hello"}})

	m := madeSPM(helloTokens...)
	m.set("add_space_prefix", gguf.Bool(false))
	check(t, m.build(t), Options{}, []sample{{"hello world", "hello ▁world"}, {"", ""}})
}

// TestSPMCut holds that words are encoded as they would be in the whole text,
// where tokens reach over a ▁.
func TestSPMCut(t *testing.T) {
	m := madeSPM("a▁", "▁a", "b▁a", "▁b", "▁", "a", "b")
	m.set("add_space_prefix", gguf.Bool(false))
	check(t, m.build(t), Options{}, []sample{
		{"a a", "a▁ a"},
		{"b a", "b▁a"},
		{"b b", "b ▁b"},
		{"a b a b", "a▁ b ▁ a▁ b"},
	})
}

// TestCut compares with encoding the whole text as one word, for random
// vocabularies.
func TestCut(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	text := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString([]string{"a", "b", "▁", "\n", "é"}[r.IntN(5)])
		}
		return b.String()
	}
	for range 300 {
		m := madeSPM("a", "b", "▁", "\n")
		for range 12 {
			if x := text(2 + r.IntN(2)); !slices.Contains(m.tokens, x) {
				m.add(x, Normal)
			}
		}
		e := m.build(t).encoder.(*spm)
		e.spacePrefix = false
		for range 20 {
			x := text(1 + r.IntN(20))
			got, err := e.encode(nil, x, true)
			if err != nil {
				t.Fatal(err)
			}
			var plain merger
			want, err := e.word(&plain, nil, x)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%q with %q: got %v, want %v", x, m.tokens[259:], got, want)
			}
		}
	}
}

// TestSPMUnknown: without byte tokens, a character that is no token is unknown.
func TestSPMUnknown(t *testing.T) {
	m := &made{model: "llama"}
	m.add("<unk>", Unknown)
	m.add("▁", Normal)
	m.add("a", Normal)
	check(t, m.build(t), Options{}, []sample{{"aéa", "▁ a <unk> a"}})

	m.tokens[0] = "x"
	m.types[0] = int32(Normal)
	tok := m.build(t)
	tok.unk = none
	if _, err := tok.Encode("aé", Options{}); err == nil || !strings.Contains(err.Error(), `"é"`) {
		t.Errorf("error is %v", err)
	}
}

func TestGemma4(t *testing.T) {
	check(t, madeGemma4().build(t), Options{}, []sample{
		{"hello world", "hello ▁world"},
		{" hello", "▁hello"},
		{"     w", "▁▁▁▁ ▁w"},
		{"a\n\nb\n", "a ⏎⏎ b <0x0A>"},
		{"中é", "中 <0xC3> <0xA9>"},
		{"\n\n\n", "<0x0A> <0x0A> <0x0A>"},
	})
}

func TestWordPiece(t *testing.T) {
	tok := madeBERT(wordTokens...).build(t)
	check(t, tok, Options{}, []sample{
		{"", ""},
		{" \t\n", ""},
		{"Hello,  WORLD!", "▁hello ▁, ▁world ▁!"},
		{"hellos", "▁hello s"},
		{"hellolo", "▁hello lo"},
		{"hello中文", "▁hello ▁中 ▁文"},
		{"élevé", "▁eleve"},
		{"e\u0301le\u200Bve\u0301s", "▁eleve s"},
		{"unable unstable hello", "▁un able [UNK] ▁hello"},
		{"\x80hel\xfflo\x00", "▁hello"},
		{strings.Repeat("lo", 51), "[UNK]"},
		{"hello" + strings.Repeat("s", 95), "▁hello" + strings.Repeat(" s", 95)},
		{"[SEP]", "[UNK] [UNK] [UNK]"},
	})
	check(t, tok, Options{ParseSpecial: true}, []sample{{"hello[SEP]world", "▁hello [SEP] ▁world"}})

	m := madeBERT("▁Éa", "▁éa", "▁ea")
	m.set("normalizer.lowercase", gguf.Bool(false))
	check(t, m.build(t), Options{}, []sample{{"Éa", "▁Éa"}})
	m.set("normalizer.strip_accents", gguf.Bool(true))
	check(t, m.build(t), Options{}, []sample{{"éa", "▁ea"}})
	m.set("normalizer.lowercase", gguf.Bool(true))
	m.set("normalizer.strip_accents", gguf.Bool(false))
	check(t, m.build(t), Options{}, []sample{{"Éa", "▁éa"}})

	tok = madeBERT(wordTokens...).build(t)
	tok.unk = none
	if _, err := tok.Encode("hello xyz", Options{}); err == nil || !strings.Contains(err.Error(), `"xyz"`) {
		t.Errorf("error is %v", err)
	}
}

// TestStripping: special tokens of some models swallow white space.
func TestStripping(t *testing.T) {
	m := madeSPM(helloTokens...)
	meta := m.metadata()
	meta.Set("general.name", gguf.String("Phi-3 mini"))
	tok, err := New(meta)
	if err != nil {
		t.Fatal(err)
	}
	check(t, tok, Options{ParseSpecial: true}, []sample{
		{"<|end|>\n hello", "<|end|> ▁hello"},
		{"<s> hello", "<s> ▁ ▁hello"},
		{"<tool>  ", "<tool>"},
	})

	m = madeBPE("jina-v2-code", helloMerges...)
	m.add("<mask>", Control)
	check(t, m.build(t), Options{ParseSpecial: true}, []sample{{"hello \n<mask> o", "hello <mask> Ġ o"}})
}

// TestConcurrent has goroutines share a tokenizer, for the race detector.
func TestConcurrent(t *testing.T) {
	tok := madeBPE("gpt-2", helloMerges...).build(t)
	want := encode(t, tok, "hello world", Options{})
	done := make(chan []string)
	for range 4 {
		go func() {
			var got []string
			for range 100 {
				got = encode(t, tok, "hello world", Options{})
			}
			done <- got
		}()
	}
	for range 4 {
		if got := <-done; !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
	}
}
