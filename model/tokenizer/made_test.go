package tokenizer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorun/gguf"
)

// made is a vocabulary made for a test.
type made struct {
	model, pre string
	tokens     []string
	types      []int32
	scores     []float32
	merges     []string
	more       map[string]gguf.Value // further keys
}

// add appends a token and returns its id.
func (m *made) add(text string, typ Type) int32 {
	m.tokens = append(m.tokens, text)
	m.types = append(m.types, int32(typ))
	m.scores = append(m.scores, -float32(len(m.scores)))
	return int32(len(m.tokens) - 1)
}

// set sets a further key, without tokenizer.ggml.
func (m *made) set(key string, v gguf.Value) {
	if m.more == nil {
		m.more = map[string]gguf.Value{}
	}
	m.more[key] = v
}

func (m *made) metadata() *gguf.Metadata {
	meta := &gguf.Metadata{}
	meta.Set(keyModel, gguf.String(m.model))
	if m.pre != "" {
		meta.Set(keyPre, gguf.String(m.pre))
	}
	meta.Set(keyTokens, gguf.Array(m.tokens))
	meta.Set(keyTypes, gguf.Array(m.types))
	if m.model == "llama" {
		meta.Set(keyScores, gguf.Array(m.scores))
	}
	if m.model == "gpt2" || m.model == "gemma4" {
		meta.Set(keyMerges, gguf.Array(m.merges))
	}
	for key, v := range m.more {
		meta.Set("tokenizer.ggml."+key, v)
	}
	return meta
}

func (m *made) build(t testing.TB) *Tokenizer {
	t.Helper()
	tok, err := New(m.metadata())
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// madeBPE is a byte-level vocabulary: all bytes, the tokens that merges make,
// and special tokens.
func madeBPE(pre string, merges ...string) *made {
	m := &made{model: "gpt2", pre: pre, merges: merges}
	for _, r := range byteRunes {
		m.add(string(r), Normal)
	}
	for _, x := range merges {
		left, right, _ := strings.Cut(x, " ")
		if !slices.Contains(m.tokens, left+right) {
			m.add(left+right, Normal)
		}
	}
	m.add("<|endoftext|>", Control)
	m.set("bos_token_id", gguf.Uint32(uint32(len(m.tokens)-1)))
	m.set("eos_token_id", gguf.Uint32(uint32(len(m.tokens)-1)))
	m.add("<|im_start|>", Control)
	m.add("<|im_end|>", Control)
	m.add("<tool>", UserDefined)
	m.add("<tool>x", UserDefined)
	return m
}

var helloMerges = []string{"h e", "l l", "he ll", "hell o", "Ġ w", "o r", "Ġw or", "l d", "Ġwor ld", "1 2", "Ġ Ġ", "Ã Ħ", "ÃĦ p"}

// madeSPM is a SentencePiece vocabulary with byte tokens.
func madeSPM(tokens ...string) *made {
	m := &made{model: "llama"}
	m.add("<unk>", Unknown)
	m.add("<s>", Control)
	m.add("</s>", Control)
	for b := range 256 {
		m.add(fmt.Sprintf("<0x%02X>", b), Byte)
	}
	for _, x := range tokens {
		m.add(x, Normal)
	}
	m.add("<|end|>", Control)
	m.add("<tool>", UserDefined)
	return m
}

// helloTokens are in the order in which they are joined.
var helloTokens = []string{
	"he", "ll", "hell", "hello", "▁hello", "▁w", "or", "▁wor", "ld", "▁world", "▁▁", "▁▁▁▁", "\n\n", "中", "文",
	"▁", "h", "e", "l", "o", "w", "r", "d", "<", "s", ">", "/", "</", "</s", "a", "b",
}

// madeGemma4 is a vocabulary of merges on characters.
func madeGemma4() *made {
	m := madeSPM(helloTokens...)
	m.model = "gemma4"
	m.merges = []string{
		"h e", "l l", "he ll", "hell o", "▁ hello", "▁ w", "o r", "▁w or", "l d", "▁wor ld", "▁ ▁", "▁▁ ▁▁",
	}
	m.set("bos_token_id", gguf.Uint32(1))
	m.set("eos_token_id", gguf.Uint32(2))
	return m
}

// madeBERT is a WordPiece vocabulary in the form of GGUF files.
func madeBERT(tokens ...string) *made {
	m := &made{model: "bert", pre: "bert-bge"}
	m.add("[PAD]", Control)
	m.add("[UNK]", Unknown)
	m.add("[CLS]", Control)
	m.add("[SEP]", Control)
	m.add("[MASK]", Control)
	for _, x := range tokens {
		m.add(x, Normal)
	}
	m.set("unknown_token_id", gguf.Uint32(1))
	m.set("cls_token_id", gguf.Uint32(2))
	m.set("seperator_token_id", gguf.Uint32(3))
	m.set("mask_token_id", gguf.Uint32(4))
	return m
}

var wordTokens = []string{"▁hello", "▁hell", "▁hel", "o", "lo", "▁world", "▁,", "▁!", "▁<", "▁中", "▁文", "▁eleve", "s", "▁un", "able"}

// encode returns the tokens of text, written as in the vocabulary but
// for ⏎.
func encode(t testing.TB, tok *Tokenizer, text string, o Options) []string {
	t.Helper()
	ids, err := tok.Encode(text, o)
	if err != nil {
		t.Fatal(err)
	}
	s := []string{}
	for _, id := range ids {
		s = append(s, strings.ReplaceAll(tok.Text(id), "\n", "⏎"))
	}
	return s
}
