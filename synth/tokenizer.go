package synth

import (
	"strings"

	"gorun/gguf"
)

// Tokens with a role, after those of the 256 bytes.
const (
	tokenBegin = 256 + iota
	tokenEnd
	tokenTurnBegin
	tokenTurnEnd
	firstMerge
)

// minVocab is the smallest vocabulary: bytes, roles and merges.
const minVocab = firstMerge + len(merges)

// merges join some frequent pairs, so that the tokenizer has something to do.
var merges = [...]string{
	"Ġ t", "Ġ a", "h e", "i n", "e r", "a n", "r e", "o n", "Ġt he", "Ġ s", "Ġ w", "Ġ o", "n d", "o u", "in g", "Ġ b",
}

// Values of tokenizer.ggml.token_type.
const (
	normalToken  = 1
	controlToken = 3
)

// chatML is the template of a conversation.
const chatML = `{% for message in messages %}<|im_start|>{{ message['role'] }}
{{ message['content'] }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`

// tokenizer sets the keys of a byte-level BPE of n tokens. Any text is made of
// tokens of one byte and a few merges. The rest of the vocabulary are words of
// three syllables that no text is encoded to; they are what the model writes.
func tokenizer(keys *gguf.Metadata, n int) {
	tokens, types := make([]string, 0, n), make([]int32, n)
	for i := range types {
		types[i] = normalToken
	}
	for b := range 256 {
		tokens = append(tokens, string(printable(b)))
	}
	tokens = append(tokens, "<|startoftext|>", "<|endoftext|>", "<|im_start|>", "<|im_end|>")
	for i := tokenBegin; i < firstMerge; i++ {
		types[i] = controlToken
	}
	for _, pair := range merges {
		tokens = append(tokens, strings.ReplaceAll(pair, " ", ""))
	}
	for i := 0; len(tokens) < n; i++ {
		tokens = append(tokens, "Ġ"+word(i))
	}
	keys.Set("tokenizer.ggml.model", gguf.String("gpt2"))
	keys.Set("tokenizer.ggml.pre", gguf.String("gpt-2"))
	keys.Set("tokenizer.ggml.tokens", gguf.Array(tokens))
	keys.Set("tokenizer.ggml.token_type", gguf.Array(types))
	keys.Set("tokenizer.ggml.merges", gguf.Array(merges[:]))
	keys.Set("tokenizer.ggml.bos_token_id", gguf.Uint32(tokenBegin))
	keys.Set("tokenizer.ggml.eos_token_id", gguf.Uint32(tokenEnd))
	keys.Set("tokenizer.ggml.eot_token_id", gguf.Uint32(tokenTurnEnd))
	keys.Set("tokenizer.ggml.padding_token_id", gguf.Uint32(tokenEnd))
	keys.Set("tokenizer.ggml.add_bos_token", gguf.Bool(true))
	keys.Set("tokenizer.ggml.add_eos_token", gguf.Bool(false))
	keys.Set("tokenizer.chat_template", gguf.String(chatML))
}

// printable is the character that GPT-2 writes for a byte: itself if it can be
// seen, and otherwise one from 256 up.
func printable(b int) rune {
	visible := func(b int) bool { return b > ' ' && b < 0x7f || b > 0xa0 && b != 0xad }
	if visible(b) {
		return rune(b)
	}
	next := rune(256)
	for other := range b {
		if !visible(other) {
			next++
		}
	}
	return next
}

// A syllable is a consonant and a vowel.
const (
	consonants = "bdfghjklmnprstvz"
	vowels     = "aeiou"
)

// word is the i-th word: the digits of i are its syllables, of which there are
// three or, in the largest vocabularies, four.
func word(i int) string {
	var text []byte
	for n := 0; n < 3 || i > 0; n++ {
		const syllables = len(consonants) * len(vowels)
		syllable := i % syllables
		i /= syllables
		text = append(text, consonants[syllable/len(vowels)], vowels[syllable%len(vowels)])
	}
	return string(text)
}
