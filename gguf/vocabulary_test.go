package gguf

import (
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	"gorun/tensor"
)

// vocabularySize is that of the largest vocabularies in use.
const vocabularySize = 250_000

// vocabularyModel describes a model with a large vocabulary and 2 GiB of data
// that are not there.
func vocabularyModel() *Writer {
	tokens := make([]string, vocabularySize)
	merges := make([]string, vocabularySize)
	for i := range tokens {
		tokens[i] = fmt.Sprintf("▁token%d", i)
		merges[i] = fmt.Sprintf("tok en%d", i)
	}
	w := NewWriter()
	w.Set("general.architecture", String("llama"))
	w.Set("tokenizer.ggml.tokens", Array(tokens))
	w.Set("tokenizer.ggml.scores", Array(make([]float32, vocabularySize)))
	w.Set("tokenizer.ggml.token_type", Array(make([]int32, vocabularySize)))
	w.Set("tokenizer.ggml.merges", Array(merges))
	w.Set("tokenizer.chat_template", String("{{ messages }}"))
	for i := range 32 {
		w.AddTensor(Tensor{Name: fmt.Sprintf("blk.%d.ffn_up.weight", i), Type: tensor.F16, Dims: []int64{1 << 13, 1 << 12}}, nil)
	}
	return w
}

// recorder is a ReaderAt that keeps count of what is read.
type recorder struct {
	io.ReaderAt
	reads int
	bytes int64
	end   int64 // of the furthest read
}

func (r *recorder) ReadAt(p []byte, off int64) (int, error) {
	r.reads++
	r.bytes += int64(len(p))
	r.end = max(r.end, off+int64(len(p)))
	return r.ReaderAt.ReadAt(p, off)
}

// TestVocabularyIsLazy opens a model with a large vocabulary: quickly, in few
// reads, without allocating the vocabulary and without touching tensor data.
func TestVocabularyIsLazy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vocabulary.gguf")
	if err := vocabularyModel().WriteFile(path); err != nil {
		t.Fatal(err)
	}
	whole, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	p := whole.Parts()[0]

	r := &recorder{ReaderAt: p}
	start := time.Now()
	var f *File
	n := allocated(func() { f, err = Read(path, r, p.Size) })
	took := time.Since(start)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("opened in %v with %d reads of %d bytes in all, up to %d; %d bytes allocated; data begin at %d", took, r.reads, r.bytes, r.end, n, p.DataOffset)
	if r.end > p.DataOffset {
		t.Errorf("reads up to %d, but tensor data begin at %d", r.end, p.DataOffset)
	}
	if n > 1<<20 {
		t.Errorf("%d bytes allocated", n)
	}
	if most := int(p.DataOffset/chunk)*2 + 200; r.reads > most {
		t.Errorf("%d reads, want at most %d", r.reads, most)
	}
	if took > time.Second {
		t.Errorf("took %v", took)
	}

	tokens, _, err := f.Metadata().Strings("tokenizer.ggml.tokens")
	if err != nil || len(tokens) != vocabularySize || tokens[vocabularySize-1] != fmt.Sprintf("▁token%d", vocabularySize-1) {
		t.Errorf("%d tokens, %v", len(tokens), err)
	}
	if r.end > p.DataOffset {
		t.Errorf("decoding reads up to %d, but tensor data begin at %d", r.end, p.DataOffset)
	}
}

func BenchmarkOpenVocabulary(b *testing.B) {
	path := filepath.Join(b.TempDir(), "vocabulary.gguf")
	if err := vocabularyModel().WriteFile(path); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		f, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}

func BenchmarkDecodeVocabulary(b *testing.B) {
	path := filepath.Join(b.TempDir(), "vocabulary.gguf")
	if err := vocabularyModel().WriteFile(path); err != nil {
		b.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := f.Metadata().Strings("tokenizer.ggml.tokens"); err != nil {
			b.Fatal(err)
		}
	}
}
