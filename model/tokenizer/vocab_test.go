package tokenizer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gorun/gguf"
)

const shared = "../../../shared/data"

// open reads the tokenizer of a file of the shared test data.
func open(t testing.TB, path string) *Tokenizer {
	t.Helper()
	return openAs(t, path, "")
}

// openAs has the file name another pre-tokenizer, unless pre is empty.
func openAs(t testing.TB, path, pre string) *Tokenizer {
	t.Helper()
	path = filepath.Join(shared, path)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no shared test data: %v", err)
	}
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	meta := f.Metadata()
	if pre != "" {
		meta = &gguf.Metadata{}
		for key, v := range f.Metadata().All() {
			meta.Set(key, v)
		}
		meta.Set(keyPre, gguf.String(pre))
	}
	tok, err := New(meta)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// vectors reads the cases NAME.inp and NAME.out.
func vectors(t testing.TB, name string) (texts []string, ids [][]int32) {
	t.Helper()
	path := filepath.Join(shared, "vocab", name)
	in, err := os.ReadFile(path + ".inp")
	if err != nil {
		t.Skipf("no shared test data: %v", err)
	}
	out, err := os.ReadFile(path + ".out")
	if err != nil {
		t.Fatal(err)
	}
	texts = strings.Split(string(in), "\n__ggml_vocab_test__\n")
	for _, line := range strings.Split(strings.TrimSuffix(string(out), "\n"), "\n") {
		x := []int32{}
		for _, f := range strings.Fields(line) {
			id, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			x = append(x, int32(id))
		}
		ids = append(ids, x)
	}
	if len(texts) != len(ids) {
		// The last case is followed by a separator.
		texts = texts[:len(texts)-1]
	}
	if len(texts) != len(ids) {
		t.Fatalf("%s has %d texts and %d lines of ids", name, len(texts), len(ids))
	}
	return texts, ids
}

func TestVectors(t *testing.T) {
	for _, c := range []struct{ vocabulary, cases, pre string }{
		{vocabulary: "ggml-vocab-bert-bge"},
		{vocabulary: "ggml-vocab-deepseek-llm"},
		{vocabulary: "ggml-vocab-gpt-2"},
		{vocabulary: "ggml-vocab-llama-spm"},
		{vocabulary: "ggml-vocab-mpt"},
		{vocabulary: "ggml-vocab-phi-3"},
		{vocabulary: "ggml-vocab-starcoder"},
		{vocabulary: "made-vocab-gemma3"},
		{vocabulary: "made-vocab-llama3"},
		{vocabulary: "made-vocab-llama3", cases: "ggml-vocab-llama-bpe"},
		{vocabulary: "made-vocab-qwen3"},
		{vocabulary: "made-vocab-qwen3", cases: "ggml-vocab-qwen2"},
		// All tokens of these cases have the same ids in Qwen3.
		{vocabulary: "made-vocab-qwen3", cases: "ggml-vocab-qwen35", pre: "qwen35"},
	} {
		if c.cases == "" {
			c.cases = c.vocabulary
		}
		t.Run(c.vocabulary+"/"+c.cases, func(t *testing.T) {
			tok := openAs(t, "vocab/"+c.vocabulary+".gguf", c.pre)
			lossless := c.vocabulary != "ggml-vocab-bert-bge"
			texts, want := vectors(t, c.cases+".gguf")
			passed := 0
			for i, text := range texts {
				got, err := tok.Encode(text, Options{})
				if err != nil {
					t.Errorf("%q: %v", text, err)
					continue
				}
				if !slices.Equal(got, want[i]) {
					t.Errorf("%q:\n got %v %s\nwant %v %s", text, got, show(tok, got), want[i], show(tok, want[i]))
					continue
				}
				if back := string(tok.Decode(got, DecodeOptions{TrimStart: true})); lossless && back != text {
					t.Errorf("%q decodes to %q", text, back)
					continue
				}
				passed++
			}
			t.Logf("%d of %d cases", passed, len(texts))
		})
	}
}

// show lists tokens as text.
func show(tok *Tokenizer, ids []int32) string {
	var s []string
	for _, id := range ids {
		s = append(s, tok.Text(id))
	}
	return fmt.Sprintf("%q", s)
}
