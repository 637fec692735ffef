package tokenizer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gorun/gguf"
)

// vocabularies are one of each kind.
var vocabularies = []struct{ kind, file string }{
	{"SPM", "ggml-vocab-llama-spm"},
	{"SPM-gemma3", "made-vocab-gemma3"},
	{"BPE-gpt2", "ggml-vocab-gpt-2"},
	{"BPE-llama3", "made-vocab-llama3"},
	{"BPE-qwen3", "made-vocab-qwen3"},
	{"BPE-deepseek", "ggml-vocab-deepseek-llm"},
	{"WordPiece", "ggml-vocab-bert-bge"},
}

func warAndPeace(b testing.TB) string {
	text, err := os.ReadFile(filepath.Join(shared, "text", "war-and-peace.txt"))
	if err != nil {
		b.Skipf("no shared test data: %v", err)
	}
	return string(text)
}

func BenchmarkEncode(b *testing.B) {
	text := warAndPeace(b)
	for _, v := range vocabularies {
		b.Run(v.kind, func(b *testing.B) {
			tok := open(b, "vocab/"+v.file+".gguf")
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := tok.Encode(text, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLine encodes a line without spaces: one word of 200,000 characters.
func BenchmarkLine(b *testing.B) {
	line := lineWithoutSpaces(warAndPeace(b))
	for _, v := range vocabularies {
		b.Run(v.kind, func(b *testing.B) {
			tok := open(b, "vocab/"+v.file+".gguf")
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				if _, err := tok.Encode(line, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func lineWithoutSpaces(text string) string {
	letters := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, text)
	return letters[:200_000]
}

func BenchmarkDecode(b *testing.B) {
	text := warAndPeace(b)
	for _, v := range vocabularies {
		b.Run(v.kind, func(b *testing.B) {
			tok := open(b, "vocab/"+v.file+".gguf")
			ids, err := tok.Encode(text, Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				tok.Decode(ids, DecodeOptions{})
			}
		})
	}
}

// BenchmarkNew reads vocabularies, the largest of 262144 tokens.
func BenchmarkNew(b *testing.B) {
	for _, v := range vocabularies {
		b.Run(v.kind, func(b *testing.B) {
			path := filepath.Join(shared, "vocab", v.file+".gguf")
			if _, err := os.Stat(path); err != nil {
				b.Skipf("no shared test data: %v", err)
			}
			for b.Loop() {
				f, err := gguf.Open(path)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := New(f.Metadata()); err != nil {
					b.Fatal(err)
				}
				f.Close()
			}
		})
	}
}
