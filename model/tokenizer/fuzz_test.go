package tokenizer

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"gorun/gguf"
)

// lossless are tokenizers that give back all bytes. canonical is what a text
// becomes: where spaces are written as ▁, a ▁ in the text is a space, too.
func lossless(t testing.TB) (toks map[string]*Tokenizer, canonical func(name, text string) string) {
	// A space comes after each special token of the first, not only at the
	// start. So it has none in ordinary text.
	spm := madeSPM(helloTokens...)
	spm.types[slices.Index(spm.tokens, "<tool>")] = int32(Control)
	toks = map[string]*Tokenizer{
		"llama":  spm.build(t),
		"gemma4": madeGemma4().build(t),
	}
	for _, p := range preTokenizers {
		if !p.characters {
			toks[p.names[0]] = madeBPE(p.names[0], helloMerges...).build(t)
		}
	}
	return toks, func(name, text string) string {
		if name == "llama" || name == "gemma4" {
			return strings.ReplaceAll(text, "▁", " ")
		}
		return text
	}
}

func roundTrip(t *testing.T, name string, tok *Tokenizer, text, want string, o Options) {
	t.Helper()
	ids, err := tok.Encode(text, o)
	if err != nil {
		t.Fatalf("%s: %q: %v", name, text, err)
	}
	trim := DecodeOptions{TrimStart: true}
	if o.ParseSpecial && name == "llama" {
		return
	}
	if got := string(tok.Decode(ids, trim)); got != want {
		t.Fatalf("%s: %q %+v decodes to %q", name, text, o, got)
	}
	// Pieces that are decoded one by one are valid and are the same.
	d := tok.NewDecoder()
	d.Options = trim
	var b strings.Builder
	for _, id := range ids {
		s := d.Write(id)
		if !utf8.ValidString(s) {
			t.Fatalf("%s: %q: %q is not valid", name, text, s)
		}
		b.WriteString(s)
	}
	b.WriteString(d.Flush())
	if valid := strings.ToValidUTF8(string([]rune(string(tok.Decode(ids, trim)))), ""); b.String() != valid {
		t.Fatalf("%s: %q decodes to %q bit by bit, not %q", name, text, b.String(), valid)
	}
}

var seeds = []string{
	"", "hello world", "  hello\n\n\tworld  ", "Äpfel 中文 🦙 ▁ \xff\xfe", "I'M we'Ll don'ſ", "12345 ½ ٣",
	"<|im_start|>x<|im_end|><tool></s>", "CamelCaseHTTPServer\u0301s ABC", "...!?\r\n/ \u2028\u3000", "a\u0300\u0301\u0302 ที่",
}

func FuzzRoundTrip(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	toks, canonical := lossless(f)
	f.Fuzz(func(t *testing.T, text string) {
		for name, tok := range toks {
			want := canonical(name, text)
			roundTrip(t, name, tok, text, want, Options{})
			roundTrip(t, name, tok, text, want, Options{ParseSpecial: true})
		}
	})
}

// FuzzWordPiece looks for panics only: nothing comes back as it was.
func FuzzWordPiece(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	tok := madeBERT(wordTokens...).build(f)
	f.Fuzz(func(t *testing.T, text string) {
		ids, err := tok.Encode(text, Options{AddSpecial: true, ParseSpecial: true})
		if err != nil {
			t.Fatal(err)
		}
		// Decoded text has the same tokens, unless some are unknown: [UNK] has
		// letters that are no tokens.
		if slices.Contains(ids, tok.unk) {
			return
		}
		again, err := tok.Encode(string(tok.Decode(ids, DecodeOptions{SkipSpecial: true})), Options{AddSpecial: true})
		if err != nil {
			t.Fatal(err)
		}
		kept := slices.DeleteFunc(ids, func(id int32) bool { return tok.Type(id) == Control })
		again = slices.DeleteFunc(again, func(id int32) bool { return tok.Type(id) == Control })
		if !slices.Equal(again, kept) {
			t.Fatalf("%q: %v, decoded and encoded again %v", text, kept, again)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{1, 2, 3, 255, 0, 128})
	toks, _ := lossless(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var ids []int32
		for i := range len(raw) / 2 {
			ids = append(ids, int32(raw[2*i])|int32(int8(raw[2*i+1]))<<8)
		}
		for name, tok := range toks {
			for _, o := range []DecodeOptions{{}, {SkipSpecial: true}, {TrimStart: true}} {
				want := strings.ToValidUTF8(string([]rune(string(tok.Decode(ids, o)))), "")
				d := tok.NewDecoder()
				d.Options = o
				got := ""
				for _, id := range ids {
					s := d.Write(id)
					if !utf8.ValidString(s) {
						t.Fatalf("%s: %q is not valid", name, s)
					}
					got += s
				}
				if got += d.Flush(); got != want {
					t.Fatalf("%s %v %+v: %q, want %q", name, ids, o, got, want)
				}
			}
		}
	})
}

// FuzzNew makes vocabularies out of random bytes: an error or a tokenizer that
// works, but no panic.
func FuzzNew(f *testing.F) {
	f.Add(uint8(0), uint8(0), "a b ab <s>", []byte{1, 1, 1, 3}, "a b", uint16(1), uint16(2), uint8(3), "ab <s>")
	f.Add(uint8(1), uint8(3), "a b ab Ġ", []byte{1, 1, 1, 4}, "a b,Ġ ab", uint16(1), uint16(2), uint8(7), "ab ba")
	f.Add(uint8(2), uint8(0), "▁a b [UNK] ▁ab", []byte{1, 1, 2, 1}, "", uint16(1), uint16(2), uint8(1), "abba a")
	f.Add(uint8(3), uint8(9), "▁ \n a <0x0A>", []byte{1, 1, 1, 6}, "▁ a", uint16(0), uint16(9), uint8(3), "a a\n\n")
	names := slices.Sorted(slices.Values([]string{"gpt-2", "llama-bpe", "gpt-4o", "deepseek-v3", "default", "tiny_aya", "kimi-k2", "?"}))
	f.Fuzz(func(t *testing.T, model, pre uint8, tokens string, types []byte, merges string, bos, eos uint16, flags uint8, text string) {
		meta := &gguf.Metadata{}
		meta.Set(keyModel, gguf.String([]string{"llama", "gpt2", "bert", "gemma4"}[model%4]))
		meta.Set(keyPre, gguf.String(names[int(pre)%len(names)]))
		list := strings.Split(tokens, " ")
		meta.Set(keyTokens, gguf.Array(list))
		typ := make([]int32, len(list))
		score := make([]float32, len(list))
		for i := range list {
			typ[i] = 1
			if i < len(types) {
				typ[i] = int32(types[i] % 9)
				score[i] = float32(int8(types[i]))
			}
		}
		if flags&1 != 0 {
			meta.Set(keyTypes, gguf.Array(typ))
		}
		meta.Set(keyScores, gguf.Array(score))
		meta.Set(keyMerges, gguf.Array(strings.Split(merges, ",")))
		if flags&2 != 0 {
			meta.Set("tokenizer.ggml.bos_token_id", gguf.Uint16(bos))
			meta.Set("tokenizer.ggml.cls_token_id", gguf.Uint16(eos))
		}
		if flags&4 != 0 {
			meta.Set("tokenizer.ggml.eos_token_id", gguf.Uint16(eos))
			meta.Set("tokenizer.ggml.separator_token_id", gguf.Uint16(bos))
			meta.Set("tokenizer.ggml.unknown_token_id", gguf.Uint16(bos))
		}
		if flags&8 != 0 {
			meta.Set("tokenizer.ggml.add_bos_token", gguf.Bool(flags&16 != 0))
			meta.Set("tokenizer.ggml.add_eos_token", gguf.Bool(flags&32 != 0))
		}
		if flags&64 != 0 {
			meta.Set("general.name", gguf.String("phi-3"))
		}
		tok, err := New(meta)
		if err != nil {
			return
		}
		ids, err := tok.Encode(text, Options{AddSpecial: flags&16 != 0, ParseSpecial: flags&32 != 0})
		if err != nil {
			return
		}
		for _, id := range ids {
			if !tok.Has(id) {
				t.Fatalf("%q gives %d", text, id)
			}
		}
		tok.Decode(ids, DecodeOptions{})
	})
}
