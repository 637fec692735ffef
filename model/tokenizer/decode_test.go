package tokenizer

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDecode(t *testing.T) {
	bpe := madeBPE("gpt-2", helloMerges...).build(t)
	spm := madeSPM(helloTokens...).build(t)
	bert := madeBERT(wordTokens...).build(t)
	for _, c := range []struct {
		tok    *Tokenizer
		tokens string
		o      DecodeOptions
		want   string
	}{
		{bpe, "hello Ġworld <|im_end|> <tool>", DecodeOptions{}, "hello world<|im_end|><tool>"},
		{bpe, "hello Ġworld <|im_end|> <tool>", DecodeOptions{SkipSpecial: true}, "hello world<tool>"},
		{bpe, "Ġworld", DecodeOptions{TrimStart: true}, " world"}, // Encode has put no space there
		{spm, "<s> ▁hello ▁world", DecodeOptions{}, "<s> hello world"},
		{spm, "<s> ▁hello ▁world", DecodeOptions{SkipSpecial: true, TrimStart: true}, "hello world"},
		{spm, "▁hello </s> ▁world <unk>", DecodeOptions{SkipSpecial: true}, " hello world"},
		{spm, "▁▁ ▁hello", DecodeOptions{TrimStart: true}, "  hello"},
		{spm, "hello", DecodeOptions{TrimStart: true}, "hello"},
		{spm, "<0xE4> <0xB8> <0xAD>", DecodeOptions{}, "中"},
		{bert, "[CLS] ▁hello s ▁, ▁world [SEP]", DecodeOptions{SkipSpecial: true, TrimStart: true}, "hellos , world"},
		{bert, "[CLS] ▁un able [SEP]", DecodeOptions{}, "[CLS] unable[SEP]"},
	} {
		var ids []int32
		for _, x := range strings.Fields(c.tokens) {
			id, ok := c.tok.Lookup(x)
			if !ok {
				t.Fatalf("no token %q", x)
			}
			ids = append(ids, id)
		}
		if got := string(c.tok.Decode(ids, c.o)); got != c.want {
			t.Errorf("%s %+v: got %q, want %q", c.tokens, c.o, got, c.want)
		}
		d := c.tok.NewDecoder()
		d.Options = c.o
		got := ""
		for _, id := range ids {
			got += d.Write(id)
		}
		if got += d.Flush(); got != c.want {
			t.Errorf("%s %+v: incrementally %q, want %q", c.tokens, c.o, got, c.want)
		}
	}
}

// TestOutOfRange: ids beyond the vocabulary, which models padded to a round
// number of rows may give, are visible but harmless.
func TestOutOfRange(t *testing.T) {
	tok := madeSPM(helloTokens...).build(t)
	for _, id := range []int32{-1, int32(tok.Size()), 1 << 30} {
		if got := string(tok.Decode([]int32{id}, DecodeOptions{})); got != "\uFFFD" {
			t.Errorf("%d decodes to %q", id, got)
		}
		if tok.Has(id) || tok.Text(id) != "" || tok.Type(id) != Undefined || tok.IsEOG(id) {
			t.Errorf("%d is in the vocabulary", id)
		}
	}
}

// TestPieces holds that pieces of vocabularies with odd entries are right.
func TestPieces(t *testing.T) {
	m := madeBPE("gpt-2")
	odd := m.add("not Ġ bytes 中", Normal)
	empty := m.add("", Normal)
	unused := m.add("Ġpad", Unused)
	broken := m.add("<0xZZ>", Byte)
	tok := m.build(t)
	for id, want := range map[int32]string{odd: "not Ġ bytes 中", empty: "", unused: " pad", broken: "<0xZZ>"} {
		if got := tok.Piece(id); got != want {
			t.Errorf("piece of %d is %q, want %q", id, got, want)
		}
	}
	if _, ok := tok.Lookup(""); ok {
		t.Error("the empty token can be looked up")
	}
}

// TestDecoder holds that text comes as soon as it is complete and never as
// part of a character.
func TestDecoder(t *testing.T) {
	tok := madeSPM().build(t)
	const firstByte = 3
	for _, c := range []struct {
		bytes string
		want  []string // for each byte, and at the end
	}{
		{"abc", []string{"a", "b", "c", ""}},
		{"é", []string{"", "é", ""}},
		{"中a", []string{"", "", "中", "a", ""}},
		{"🦙", []string{"", "", "", "🦙", ""}},
		{"\xE4\xB8", []string{"", "", "\uFFFD\uFFFD"}},
		{"\xE4a", []string{"", "\uFFFDa", ""}},
		{"\xE4\xE4\xB8\xAD", []string{"", "\uFFFD", "", "中", ""}},
		{"\xF0\x9F\xA6a", []string{"", "", "", "\uFFFD\uFFFD\uFFFDa", ""}},
		{"\x80\xFF", []string{"\uFFFD", "\uFFFD", ""}},
		{"\xED\xA0\x80", []string{"", "\uFFFD\uFFFD", "\uFFFD", ""}}, // half a surrogate pair
	} {
		d := tok.NewDecoder()
		var got []string
		for i := range len(c.bytes) {
			got = append(got, d.Write(firstByte+int32(c.bytes[i])))
		}
		got = append(got, d.Flush())
		if strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%q: got %q, want %q", c.bytes, got, c.want)
		}
		for _, s := range got {
			if !utf8.ValidString(s) {
				t.Errorf("%q: %q is not valid", c.bytes, s)
			}
		}
		if d.Flush() != "" {
			t.Errorf("%q: flushing twice gives text", c.bytes)
		}
	}
}
