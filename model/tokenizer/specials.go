package tokenizer

import (
	"fmt"

	"gorun/gguf"
)

// specials are the tokens with a meaning of their own. An id that the model
// does not have is none.
type specials struct {
	bos, eos, eot, eom, unk, sep, pad, mask int32

	addBOS, addEOS, addSEP bool
	alwaysBOS              bool    // whatever the file says
	pairs                  bool    // texts end with SEP, as in BERT, rather than EOS
	after                  []int32 // what AddSpecial appends
	eog                    map[int32]bool
	fill                   [6]int32 // fillTokens
}

// noSpecials are the defaults of a vocabulary whose special tokens the file must name.
func noSpecials() specials {
	return specials{bos: none, eos: none, eot: none, eom: none, unk: none, sep: none, pad: none, mask: none}
}

// endNames are tokens that end a turn, in the order in which they are tried for
// a model that does not name its own.
var endNames = []string{
	"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>",
	"<EOT>", "_<EOT>", "[EOT]", "<｜end▁of▁sentence｜>", "<end_of_utterance>",
}

// stopNames are tokens that end generation in whatever vocabulary they occur.
var stopNames = append([]string{
	"<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "<|eom_id|>", "[EOS]", "<eos>",
	"<turn|>", "<|tool_response>", "[e~[",
}, endNames...)

// fillTokens are the tokens of fill-in-the-middle prompts, in the order of
// specials.fill. Padding and the borders between files end generation, too.
var fillTokens = []struct {
	keys, names []string
	ends        bool
}{
	{
		keys: []string{"tokenizer.ggml.prefix_token_id", "tokenizer.ggml.fim_pre_token_id"},
		names: []string{
			"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>", "<|code_prefix|>",
			"<|prefix|>",
		},
	}, {
		keys: []string{"tokenizer.ggml.suffix_token_id", "tokenizer.ggml.fim_suf_token_id"},
		names: []string{
			"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>", "<|code_suffix|>",
			"<|suffix|>",
		},
	}, {
		keys: []string{"tokenizer.ggml.middle_token_id", "tokenizer.ggml.fim_mid_token_id"},
		names: []string{
			"<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>", "<|code_middle|>",
			"<|middle|>",
		},
	}, {
		keys:  []string{"tokenizer.ggml.fim_pad_token_id"},
		names: []string{"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"},
		ends:  true,
	}, {
		keys:  []string{"tokenizer.ggml.fim_rep_token_id"},
		names: []string{"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"},
		ends:  true,
	}, {
		keys:  []string{"tokenizer.ggml.fim_sep_token_id"},
		names: []string{"<|file_sep|>"},
		ends:  true,
	},
}

// channelNames are shown to whoever reads the output of gpt-oss, which needs
// them to tell its channels apart.
var channelNames = []string{"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"}

// keyPadding may be out of range: fine-tuned models often have a padding token
// beyond the vocabulary, and nothing here needs it.
const keyPadding = "tokenizer.ggml.padding_token_id"

// read reads ids and flags; what is set in s before are the defaults. Tokens
// that are known by name to be special become so in v.
func (s *specials) read(meta *gguf.Metadata, v *vocabulary) error {
	for _, x := range []struct {
		key string
		id  *int32
	}{
		{"tokenizer.ggml.cls_token_id", &s.bos}, // of old BERT files
		{"tokenizer.ggml.bos_token_id", &s.bos},
		{"tokenizer.ggml.eos_token_id", &s.eos},
		{"tokenizer.ggml.eot_token_id", &s.eot},
		{"tokenizer.ggml.eom_token_id", &s.eom},
		{"tokenizer.ggml.unknown_token_id", &s.unk},
		{"tokenizer.ggml.seperator_token_id", &s.sep}, // so spelled for years
		{"tokenizer.ggml.separator_token_id", &s.sep},
		{keyPadding, &s.pad},
		{"tokenizer.ggml.mask_token_id", &s.mask},
	} {
		if err := readID(meta, x.key, v, x.id); err != nil {
			return err
		}
	}
	if err := s.readFlags(meta); err != nil {
		return err
	}
	s.eog = map[int32]bool{}
	if err := s.findFill(meta, v); err != nil {
		return err
	}
	s.findEnds(v)
	return nil
}

// readID replaces *id by the token that key names, if there is one.
func readID(meta *gguf.Metadata, key string, v *vocabulary, id *int32) error {
	if !v.has(*id) {
		*id = none // a default that the vocabulary is too small for
	}
	x, ok, err := meta.Int(key)
	if err != nil || !ok {
		return err
	}
	if x < 0 || x >= int64(len(v.texts)) {
		if key == keyPadding {
			return nil
		}
		return fmt.Errorf("%s is %d, but there are %d tokens", key, x, len(v.texts))
	}
	*id = int32(x)
	return nil
}

// readFlags reads what AddSpecial adds.
func (s *specials) readFlags(meta *gguf.Metadata) error {
	for _, x := range []struct {
		name string
		add  *bool
		id   int32
		used bool
	}{
		{"bos", &s.addBOS, s.bos, true},
		{"eos", &s.addEOS, s.eos, !s.pairs},
		{"sep", &s.addSEP, s.sep, s.pairs},
	} {
		key := "tokenizer.ggml.add_" + x.name + "_token"
		if err := readFlag(meta, key, x.add); err != nil {
			return err
		}
		*x.add = *x.add && x.used || x.add == &s.addBOS && s.alwaysBOS
		if !*x.add {
			continue
		}
		if x.id == none {
			return fmt.Errorf("%s is set or implied, but the file does not name that token", key)
		}
		if x.add != &s.addBOS {
			s.after = append(s.after, x.id)
		}
	}
	return nil
}

// readFlag sets *flag if the file does.
func readFlag(meta *gguf.Metadata, key string, flag *bool) error {
	x, ok, err := meta.Bool(key)
	if err == nil && ok {
		*flag = x
	}
	return err
}

// findFill determines the tokens of fill-in-the-middle prompts.
func (s *specials) findFill(meta *gguf.Metadata, v *vocabulary) error {
	for i, x := range fillTokens {
		id := v.first(x.names)
		if id != none {
			v.types[id] = Control
		}
		for _, key := range x.keys {
			if err := readID(meta, key, v, &id); err != nil {
				return err
			}
		}
		s.fill[i] = id
		if id != none && x.ends {
			s.eog[id] = true
		}
	}
	return nil
}

// findEnds determines which tokens end generation: those the file names, and
// those with well-known names, since many files name only one of several.
func (s *specials) findEnds(v *vocabulary) {
	if s.eot == none {
		s.eot = v.first(endNames)
	}
	if s.eom == none {
		s.eom = v.find("<|eom_id|>")
	}
	for _, name := range stopNames {
		if id := v.find(name); id != none {
			v.types[id] = Control
			s.eog[id] = true
		}
	}
	// Many vocabularies have </s> as a piece of HTML.
	if id := v.find("</s>"); id != none && v.types[id] == Control {
		s.eog[id] = true
	}
	for _, id := range []int32{s.eos, s.eot, s.eom} {
		if id != none {
			s.eog[id] = true
		}
	}
	for _, name := range channelNames {
		if id := v.find(name); id != none {
			v.types[id] = UserDefined
		}
	}
	s.exempt(v)
}

// exempt takes back <|end|>, which ends a turn in many vocabularies, where
// <|call|> or <|flush|> do that and it ends a channel.
func (s *specials) exempt(v *vocabulary) {
	stops := func(name string) bool { return s.eog[v.find(name)] }
	calls := stops("<|call|>") || stops("<|calls|>")
	if id := v.find("<|end|>"); s.eog[id] && calls && (stops("<|return|>") || stops("<|flush|>")) {
		delete(s.eog, id)
		v.types[id] = UserDefined
	}
}

// first returns the first token of that list that exists, or none.
func (v *vocabulary) first(names []string) int32 {
	for _, name := range names {
		if id := v.find(name); id != none {
			return id
		}
	}
	return none
}
