package synth

import (
	"testing"

	"gorun/gguf"
	bpe "gorun/model/tokenizer"
)

func TestTokenizer(t *testing.T) {
	for _, n := range []int{minVocab, 300, 32000, 262144, 600000} {
		var keys gguf.Metadata
		tokenizer(&keys, n)
		tokens, _, err := keys.Strings("tokenizer.ggml.tokens")
		if err != nil || len(tokens) != n {
			t.Fatalf("%d tokens, not %d: %v", len(tokens), n, err)
		}
		seen := make(map[string]bool, n)
		for _, token := range tokens {
			if seen[token] {
				t.Fatalf("%q is there twice", token)
			}
			seen[token] = true
		}
		k, err := bpe.New(&keys)
		if err != nil {
			t.Fatal(err)
		}
		all := make([]byte, 256)
		for i := range all {
			all[i] = byte(i)
		}
		for _, text := range []string{"", "a", "The cat sat on the mat.\n\t  ", "snowman ☃, 日本語, <|im_end|>", string(all), " bababa"} {
			ids, err := k.Encode(text, bpe.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if back := k.Decode(ids, bpe.DecodeOptions{}); string(back) != text {
				t.Errorf("vocabulary of %d: %q became %q", n, text, back)
			}
		}
		if the, err := k.Encode("the the", bpe.Options{}); err != nil || len(the) != 3 {
			t.Errorf("%v, %v: t, he and Ġthe are tokens", the, err)
		}
		begin, _ := k.BOS()
		if end, _ := k.EOS(); begin != tokenBegin || end != tokenEnd || !k.AddBOS() || !k.IsEOG(tokenTurnEnd) {
			t.Errorf("a text begins with %d and ends with %d", begin, end)
		}
	}
}

func BenchmarkTokenizer(b *testing.B) {
	for b.Loop() {
		var keys gguf.Metadata
		tokenizer(&keys, 262144)
	}
}
