package tokenizer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorun/gguf"
)

// The comments give the regular expressions that the rules stand for.

// blank is a space, where it may come before a word.
var blank = of(" ")

// gpt2 is
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
var gpt2 = match(
	contraction,
	word(blank, in(letter)),
	word(blank, in(number)),
	word(blank, notIn(space|letter|number)),
	spacesBefore,
	run(in(space)),
)

var preTokenizers = []preTokenizer{
	{
		names:  []string{"gpt-2"},
		stages: []stage{gpt2},
	},
}

var preTokenizersByName = func() map[string]*preTokenizer {
	m := map[string]*preTokenizer{}
	for i := range preTokenizers {
		for _, name := range preTokenizers[i].names {
			m[name] = &preTokenizers[i]
		}
	}
	return m
}()

// findPreTokenizer returns the pre-tokenizer that the file names. Files from
// before there were names get the one called default.
func findPreTokenizer(meta *gguf.Metadata) (*preTokenizer, error) {
	name, ok, err := meta.String(keyPre)
	if err != nil {
		return nil, err
	}
	if !ok || name == "" {
		name = "default"
	}
	if model, _, _ := meta.String(keyModel); model == "gemma4" {
		name = model
	}
	p, ok := preTokenizersByName[name]
	if !ok {
		return nil, fmt.Errorf("%s is %q, which is not supported (known: %s)", keyPre, name, sortedNames(preTokenizersByName))
	}
	return p, nil
}

// sortedNames lists the keys of a table in a message.
func sortedNames[V any](m map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}
