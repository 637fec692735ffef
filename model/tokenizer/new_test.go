package tokenizer

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"gorun/gguf"
)

func TestNoVocabulary(t *testing.T) {
	for _, model := range []string{"", "no_vocab", "none"} {
		meta := &gguf.Metadata{}
		if model != "" {
			meta.Set(keyModel, gguf.String(model))
		}
		if _, err := New(meta); !errors.Is(err, ErrNoVocabulary) {
			t.Errorf("%q: error is %v", model, err)
		}
	}
}

// TestMalformed holds that what is wrong is named.
func TestMalformed(t *testing.T) {
	for _, c := range []struct {
		name string
		m    *made
		edit func(*gguf.Metadata)
		want string // part of the error
	}{
		{"model", madeSPM(), func(m *gguf.Metadata) { m.Set(keyModel, gguf.String("t5")) }, `"t5", which is not supported (known: bert, gemma4, gpt2, llama)`},
		{"model is a number", madeSPM(), func(m *gguf.Metadata) { m.Set(keyModel, gguf.Uint32(1)) }, keyModel},
		{"pre-tokenizer", madeBPE("gpt-9"), nil, `"gpt-9", which is not supported (known: a.x-4.0, bailingmoe`},
		{"pre-tokenizer is a number", madeBPE("gpt-2"), func(m *gguf.Metadata) { m.Set(keyPre, gguf.Uint32(1)) }, keyPre},
		{"no tokens", madeSPM(), func(m *gguf.Metadata) { m.Set(keyTokens, gguf.Array([]string{})) }, keyTokens},
		{"tokens are numbers", madeSPM(), func(m *gguf.Metadata) { m.Set(keyTokens, gguf.Array([]int32{1})) }, keyTokens},
		{"duplicate", madeSPM("x", "y", "x"), nil, `"x" occurs twice, as 259 and 261`},
		{"fewer types", madeSPM(), func(m *gguf.Metadata) { m.Set(keyTypes, gguf.Array([]int32{1})) }, "1 elements"},
		{"unknown type", madeSPM(), func(m *gguf.Metadata) { m.Set(keyTypes, gguf.Array(slices.Repeat([]int32{7}, 261))) }, "unknown type 7"},
		{"types are text", madeSPM(), func(m *gguf.Metadata) { m.Set(keyTypes, gguf.String("")) }, keyTypes},
		{"fewer scores", madeSPM(), func(m *gguf.Metadata) { m.Set(keyScores, gguf.Array([]float32{1})) }, "1 elements"},
		{"no number", madeSPM(), func(m *gguf.Metadata) {
			m.Set(keyScores, gguf.Array(slices.Repeat([]float32{float32(math.NaN())}, 261)))
		}, "no number"},
		{"scores are text", madeSPM(), func(m *gguf.Metadata) { m.Set(keyScores, gguf.String("")) }, keyScores},
		{"no scores", &made{model: "bert", tokens: []string{"x"}, types: []int32{1}}, func(m *gguf.Metadata) { m.Set(keyModel, gguf.String("llama")) }, keyScores},
		{"no merges", madeSPM(), func(m *gguf.Metadata) { m.Set(keyModel, gguf.String("gpt2")) }, keyMerges},
		{"merges are numbers", madeBPE("gpt-2"), func(m *gguf.Metadata) { m.Set(keyMerges, gguf.Array([]int32{1})) }, keyMerges},
		{"merge of one", madeBPE("gpt-2"), func(m *gguf.Metadata) { m.Set(keyMerges, gguf.Array([]string{"a b", "ab"})) }, `element 1, "ab"`},
		{"merge of nothing", madeBPE("gpt-2"), func(m *gguf.Metadata) { m.Set(keyMerges, gguf.Array([]string{""})) }, "element 0"},
		{"merge with nothing", madeBPE("gpt-2"), func(m *gguf.Metadata) { m.Set(keyMerges, gguf.Array([]string{"a "})) }, "element 0"},
		{"EOS out of range", madeSPM(), func(m *gguf.Metadata) { m.Set("tokenizer.ggml.eos_token_id", gguf.Uint32(261)) }, "eos_token_id is 261, but there are 261 tokens"},
		{"negative BOS", madeSPM(), func(m *gguf.Metadata) { m.Set("tokenizer.ggml.bos_token_id", gguf.Int32(-2)) }, "bos_token_id is -2"},
		{"EOT is text", madeSPM(), func(m *gguf.Metadata) { m.Set("tokenizer.ggml.eot_token_id", gguf.String("</s>")) }, "eot_token_id"},
		{"fill out of range", madeSPM(), func(m *gguf.Metadata) { m.Set("tokenizer.ggml.fim_pre_token_id", gguf.Uint32(261)) }, "fim_pre_token_id"},
		{"flag is a number", madeSPM(), func(m *gguf.Metadata) { m.Set("tokenizer.ggml.add_bos_token", gguf.Uint32(1)) }, "add_bos_token"},
		{"prefix is a number", madeSPM(), func(m *gguf.Metadata) { m.Set(keySpacePrefix, gguf.Uint32(1)) }, keySpacePrefix},
		{"lowercase is a number", madeBERT(), func(m *gguf.Metadata) { m.Set("tokenizer.ggml.normalizer.lowercase", gguf.Uint32(1)) }, "lowercase"},
		{"strip is a number", madeBERT(), func(m *gguf.Metadata) { m.Set("tokenizer.ggml.normalizer.strip_accents", gguf.Uint32(1)) }, "strip_accents"},
		{"BOS that is not named", &made{model: "gpt2", pre: "gpt-2", tokens: []string{"a"}, types: []int32{1}, merges: []string{"a b"}}, func(m *gguf.Metadata) {
			m.Set("tokenizer.ggml.add_bos_token", gguf.Bool(true))
		}, "add_bos_token is set or implied"},
		{"BERT without SEP", &made{model: "bert", tokens: []string{"a"}, types: []int32{1}}, func(m *gguf.Metadata) {
			m.Set("tokenizer.ggml.cls_token_id", gguf.Uint32(0))
		}, "add_sep_token is set or implied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			meta := c.m.metadata()
			if c.edit != nil {
				c.edit(meta)
			}
			_, err := New(meta)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %q in it", err, c.want)
			}
		})
	}
}

// TestTolerated is about what is odd but does no harm.
func TestTolerated(t *testing.T) {
	m := madeSPM(helloTokens...)
	m.set("padding_token_id", gguf.Uint32(math.MaxUint32))
	tok := m.build(t)
	if _, ok := tok.PAD(); ok {
		t.Error("there is a padding token")
	}

	// A vocabulary without types has only text.
	meta := (&made{model: "bert", tokens: []string{"[CLS]", "[SEP]"}}).metadata()
	meta.Set("tokenizer.ggml.cls_token_id", gguf.Uint32(0))
	meta.Set("tokenizer.ggml.separator_token_id", gguf.Uint32(1))
	all := &gguf.Metadata{}
	for key, v := range meta.All() {
		if key != keyTypes {
			all.Set(key, v)
		}
	}
	tok, err := New(all)
	if err != nil {
		t.Fatal(err)
	}
	if tok.Type(0) != Normal {
		t.Errorf("type is %v", tok.Type(0))
	}
}

func TestSpecialTokens(t *testing.T) {
	type ids = map[string]string // by what it is
	specials := func(tok *Tokenizer) ids {
		m := ids{}
		for name, f := range map[string]func() (int32, bool){
			"BOS": tok.BOS, "EOS": tok.EOS, "EOT": tok.EOT, "EOM": tok.EOM, "UNK": tok.UNK, "SEP": tok.SEP, "PAD": tok.PAD, "Mask": tok.Mask,
		} {
			if id, ok := f(); ok {
				m[name] = tok.Text(id)
			}
		}
		return m
	}
	for _, c := range []struct {
		tok  *Tokenizer
		want ids
	}{
		{madeBPE("gpt-2").build(t), ids{"BOS": "<|endoftext|>", "EOS": "<|endoftext|>", "EOT": "<|im_end|>"}},
		{madeSPM().build(t), ids{"BOS": "<s>", "EOS": "</s>", "UNK": "<unk>", "EOT": "<|end|>"}},
		{madeBERT().build(t), ids{"BOS": "[CLS]", "UNK": "[UNK]", "SEP": "[SEP]", "PAD": "[PAD]", "Mask": "[MASK]"}},
	} {
		if got := specials(c.tok); !maps.Equal(got, c.want) {
			t.Errorf("got %v, want %v", got, c.want)
		}
	}
}

// ends lists the tokens that end generation.
func ends(tok *Tokenizer) []string {
	var s []string
	for id := range int32(tok.Size()) {
		if tok.IsEOG(id) {
			s = append(s, tok.Text(id))
		}
	}
	return s
}

func TestEndOfGeneration(t *testing.T) {
	for _, c := range []struct {
		tokens string // beside those of madeBPE
		want   string
	}{
		{"", "<|endoftext|> <|im_end|>"},
		{"<|eom_id|> <|eot_id|>", "<|endoftext|> <|im_end|> <|eom_id|> <|eot_id|>"},
		{"<|end|> <|return|> <|call|>", "<|endoftext|> <|im_end|> <|return|> <|call|>"},
		{"<|end|> <|flush|> <|calls|>", "<|endoftext|> <|im_end|> <|flush|> <|calls|>"},
		{"<|end|> <|return|>", "<|endoftext|> <|im_end|> <|end|> <|return|>"},
		{"<|tool_response> </s>", "<|endoftext|> <|im_end|> <|tool_response>"},
		{"</s>", "<|endoftext|> <|im_end|>"},
		{"<|fim_pad|> <|repo_name|> <|file_sep|> <|fim_prefix|>", "<|endoftext|> <|im_end|> <|fim_pad|> <|repo_name|> <|file_sep|>"},
	} {
		m := madeBPE("gpt-2")
		for _, x := range strings.Fields(c.tokens) {
			m.add(x, Normal)
		}
		if got, want := ends(m.build(t)), strings.Fields(c.want); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", c.tokens, got, want)
		}
	}

	m := madeBPE("gpt-2")
	m.set("eom_token_id", gguf.Uint32(3))
	m.set("fim_pad_token_id", gguf.Uint32(4))
	end := m.add("</s>", Control)
	if tok := m.build(t); !tok.IsEOG(3) || !tok.IsEOG(4) || tok.IsEOG(5) || !tok.IsEOG(end) {
		t.Errorf("%q end generation", ends(tok))
	}
}

// TestKnownNames: tokens that are special by name are so whatever their type.
func TestKnownNames(t *testing.T) {
	m := madeBPE("gpt-2")
	eot := m.add("<|eot_id|>", UserDefined)
	channel := m.add("<|channel|>", Control)
	prefix := m.add("<|fim_prefix|>", UserDefined)
	suffix := m.add("<|fim_suffix|>", UserDefined)
	tok := m.build(t)
	if tok.Type(eot) != Control || tok.Type(channel) != UserDefined || tok.Type(prefix) != Control {
		t.Errorf("types are %v, %v and %v", tok.Type(eot), tok.Type(channel), tok.Type(prefix))
	}
	if _, _, _, ok := tok.Fill(); ok {
		t.Error("can fill without the token of the gap")
	}
	m.set("fim_mid_token_id", gguf.Uint32(7))
	if p, s, mid, ok := m.build(t).Fill(); p != prefix || s != suffix || mid != 7 || !ok {
		t.Errorf("fill tokens are %d, %d, %d, %v", p, s, mid, ok)
	}
}

func TestTypeNames(t *testing.T) {
	var s []string
	for x := Undefined; x <= Byte; x++ {
		s = append(s, x.String())
	}
	if got := strings.Join(s, " "); got != "undefined normal unknown control user-defined unused byte" {
		t.Error(got)
	}
}

// TestPreTokenizerNames holds that names are not claimed twice, and that the
// old files without a name work.
func TestPreTokenizerNames(t *testing.T) {
	n := 0
	for _, p := range preTokenizers {
		n += len(p.names)
	}
	if n != len(preTokenizersByName) {
		t.Errorf("%d names, %d of them different", n, len(preTokenizersByName))
	}
	check(t, madeBPE("", helloMerges...).build(t), Options{}, []sample{{"hello world 12", "hello Ġworld Ġ 12"}})
}
