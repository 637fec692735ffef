package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"gorun/gguf"
)

// TestVectorsWithoutVocabulary checks cases whose vocabulary is not at hand. If
// a pre-tokenizer cuts rightly, the same word has the same ids in all texts: from
// texts of one unknown word its ids follow, and texts of known words must add up.
func TestVectorsWithoutVocabulary(t *testing.T) {
	for _, c := range []struct{ cases, pre string }{
		{"ggml-vocab-command-r", "command-r"},
		// These have vocabularies and show that the method works.
		{"ggml-vocab-llama-bpe", "llama-bpe"},
		{"ggml-vocab-deepseek-llm", "deepseek-llm"},
	} {
		texts, ids := vectors(t, c.cases+".gguf")
		known, bad := infer(c.pre, texts, ids)
		for _, s := range bad {
			t.Errorf("%s: %s", c.pre, s)
		}
		t.Logf("%s: %d words known from %d texts", c.pre, len(known), len(texts))
	}
	texts, ids := vectors(t, "ggml-vocab-llama-bpe.gguf")
	if _, bad := infer("qwen2", texts, ids); len(bad) == 0 {
		t.Error("the cases of llama-bpe fit qwen2")
	}
}

// infer returns the ids of words, and what does not fit.
func infer(pre string, texts []string, ids [][]int32) (known map[string][]int32, bad []string) {
	known = map[string][]int32{}
	words := make([][]string, len(texts))
	for i, text := range texts {
		preTokenizersByName[pre].split(text, func(s string) { words[i] = append(words[i], s) })
	}
	for {
		n := len(known)
		bad = nil
		for i, list := range words {
			// What is known at the beginning and at the end is taken away.
			rest := ids[i]
			for len(list) > 0 && known[list[0]] != nil && fits(&bad, texts[i], len(rest) >= len(known[list[0]]) && slices.Equal(rest[:len(known[list[0]])], known[list[0]])) {
				rest, list = rest[len(known[list[0]]):], list[1:]
			}
			for len(list) > 0 && known[list[len(list)-1]] != nil {
				last := known[list[len(list)-1]]
				if !fits(&bad, texts[i], len(rest) >= len(last) && slices.Equal(rest[len(rest)-len(last):], last)) {
					break
				}
				rest, list = rest[:len(rest)-len(last)], list[:len(list)-1]
			}
			switch {
			case len(list) == 0:
				fits(&bad, texts[i], len(rest) == 0)
			case len(list) == 1 && known[list[0]] == nil:
				if fits(&bad, texts[i], len(rest) > 0) {
					known[list[0]] = rest
				}
			default:
				fits(&bad, texts[i], len(rest) >= len(list))
			}
		}
		if len(known) == n {
			return known, bad
		}
	}
}

func fits(bad *[]string, text string, ok bool) bool {
	if !ok {
		*bad = append(*bad, fmt.Sprintf("%q does not fit", text))
	}
	return ok
}

// TestGemma4Vectors encodes the cases of gemma-4 with a vocabulary of merges that
// is made of the one of gemma 3, whose tokens have the same ids. The merges of
// a token are all ways to make it of two, as converters derive them.
func TestGemma4Vectors(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	spm := open(t, "vocab/made-vocab-gemma3.gguf")
	texts, want := vectors(t, "ggml-vocab-gemma-4.gguf")
	order := make([]int32, spm.Size())
	for i := range order {
		order[i] = int32(i)
	}
	sort.SliceStable(order, func(i, j int) bool { return spm.scores[order[i]] > spm.scores[order[j]] })
	meta := &gguf.Metadata{}
	var merges []string
	for _, id := range order {
		s := spm.Text(id)
		if spm.Type(id) != Normal || strings.ContainsAny(s, " \n") {
			continue
		}
		for i := range s {
			_, left := spm.Lookup(s[:i])
			_, right := spm.Lookup(s[i:])
			if left && right {
				merges = append(merges, s[:i]+" "+s[i:])
			}
		}
	}
	types := make([]int32, spm.Size())
	for i := range types {
		types[i] = int32(spm.Type(int32(i)))
	}
	meta.Set(keyModel, gguf.String("gemma4"))
	meta.Set(keyTokens, gguf.Array(spm.texts))
	meta.Set(keyTypes, gguf.Array(types))
	meta.Set(keyMerges, gguf.Array(merges))
	meta.Set("tokenizer.ggml.bos_token_id", gguf.Uint32(2))
	meta.Set("tokenizer.ggml.eos_token_id", gguf.Uint32(1))
	tok, err := New(meta)
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	for i, text := range texts {
		got, err := tok.Encode(text, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want[i]) {
			t.Errorf("%q:\n got %v %s\nwant %v %s", text, got, show(tok, got), want[i], show(tok, want[i]))
			continue
		}
		if back := string(tok.Decode(got, DecodeOptions{})); back != text {
			t.Errorf("%q decodes to %q", text, back)
			continue
		}
		passed++
	}
	t.Logf("%d of %d cases, %d merges", passed, len(texts), len(merges))
}

// TestDemo encodes the prompts of the demo model.
func TestDemo(t *testing.T) {
	tok := open(t, "demo/oz-q8_0.gguf")
	raw, err := os.ReadFile(filepath.Join(shared, "demo", "oz-golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Items []struct {
			Prompt    string
			PromptIDs []int32 `json:"prompt_ids"`
		}
	}
	if err := json.Unmarshal(raw, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Items) == 0 {
		t.Fatal("no prompts")
	}
	for _, x := range golden.Items {
		got, err := tok.Encode(x.Prompt, Options{AddSpecial: true})
		if err != nil || !slices.Equal(got, x.PromptIDs) {
			t.Errorf("%q: got %v, want %v (%v)", x.Prompt, got, x.PromptIDs, err)
		}
	}
}

// TestModels has all models of the shared test data encode their texts and
// give them back.
func TestModels(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(shared, "models", "*.gguf"))
	if len(files) == 0 {
		t.Skip("no shared test data")
	}
	for _, path := range files {
		name := filepath.Base(path)
		tok := open(t, "models/"+name)
		text, err := os.ReadFile(strings.TrimSuffix(path, ".gguf") + ".greedy.txt")
		if err != nil {
			t.Fatal(err)
		}
		ids, err := tok.Encode(string(text), Options{AddSpecial: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := tok.Decode(ids, DecodeOptions{SkipSpecial: true, TrimStart: true}); !bytes.Equal(got, text) {
			t.Errorf("%s: %q decodes to %q", name, text, got)
		}
	}
}

// TestRealRoundTrip holds that every vocabulary of the shared test data but
// BERT's gives back a book, and bytes that are no text. Some have no tokens for
// bytes that occur in no text, which become U+FFFD.
func TestRealRoundTrip(t *testing.T) {
	text := warAndPeace(t)
	if testing.Short() {
		text = text[:100_000]
	}
	var all []byte
	for i := range 1 << 16 {
		all = append(all, byte(i), byte(i>>8))
	}
	files, _ := filepath.Glob(filepath.Join(shared, "vocab", "*.gguf"))
	for _, path := range files {
		name := filepath.Base(path)
		if strings.Contains(name, "bert") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			tok := open(t, "vocab/"+name)
			for _, s := range []string{text, string(all), strings.Repeat("\n \t", 1000)} {
				want := s
				if e, ok := tok.encoder.(*bpe); ok {
					want = expressible(want, e.fallback.bytes)
				}
				if tok.spacePrefix || strings.Contains(name, "gemma") {
					want = strings.ReplaceAll(want, "▁", " ")
				}
				ids, err := tok.Encode(s, Options{})
				if err != nil {
					t.Fatal(err)
				}
				if got := string(tok.Decode(ids, DecodeOptions{TrimStart: true})); got != want {
					t.Errorf("%.40q decodes to %.40q", s, got)
				}
			}
		})
	}
}

// expressible puts U+FFFD in place of bytes that have no token.
func expressible(s string, bytes *[256]int32) string {
	var b strings.Builder
	for i := range len(s) {
		if bytes[s[i]] == none {
			b.WriteString(replacement)
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
