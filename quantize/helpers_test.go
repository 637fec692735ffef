package quantize

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"gorun/gguf"
	"gorun/tensor"
)

// models has real models before and after llama-quantize.
var models = filepath.Join("..", "..", "shared", "data", "models")

func open(t testing.TB, path string) *gguf.File {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// openModel opens one of the real models.
func openModel(t testing.TB, name string) *gguf.File {
	t.Helper()
	path := filepath.Join(models, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no model: %v", err)
	}
	return open(t, path)
}

func read(t testing.TB, f *gguf.File, x gguf.Tensor) []byte {
	t.Helper()
	b, err := io.ReadAll(f.Section(x))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// matrix is a tensor of a small model.
type matrix struct {
	name string
	typ  tensor.Type
	dims []int64
}

// smallModel is a model of two layers.
func smallModel(typ tensor.Type) []matrix {
	list := []matrix{{"token_embd.weight", typ, []int64{256, 300}}, {"output.weight", typ, []int64{256, 300}}, {"output_norm.weight", tensor.F32, []int64{256}}}
	for i := range 2 {
		for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_gate", "ffn_down"} {
			list = append(list, matrix{fmt.Sprintf("blk.%d.%s.weight", i, name), typ, []int64{256, 64}})
		}
		list = append(list, matrix{fmt.Sprintf("blk.%d.attn_norm.weight", i), tensor.F32, []int64{256}})
	}
	return list
}

// values gives element i of tensor k of a model.
type values func(k int, i int64) float32

func random(k int, i int64) float32 {
	r := rand.New(rand.NewPCG(uint64(k), uint64(i)))
	return float32(r.NormFloat64()) * 0.1
}

func builder(t testing.TB, list []matrix, value values) *gguf.Writer {
	t.Helper()
	w := gguf.NewWriter()
	w.Set("general.architecture", gguf.String("llama"))
	w.Set("general.file_type", gguf.Uint32(1))
	w.Set("llama.block_count", gguf.Uint32(2))
	w.Set("llama.attention.head_count", gguf.Uint32(8))
	w.Set("tokenizer.ggml.tokens", gguf.Array([]string{"a", "b"}))
	for k, m := range list {
		x := gguf.Tensor{Name: m.name, Type: m.typ, Dims: m.dims}
		f := make([]float32, x.Elements())
		for i := range f {
			f[i] = value(k, int64(i))
		}
		size, err := m.typ.RowSize(x.Elements())
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, size)
		if m.typ == tensor.I32 {
			for i, v := range f {
				binary.LittleEndian.PutUint32(b[4*i:], uint32(int32(v)))
			}
		} else if err := tensor.Quantize(m.typ, b, f); err != nil {
			t.Fatal(err)
		}
		w.AddTensor(x, bytes.NewReader(b))
	}
	return w
}

// build writes a model.
func build(t testing.TB, list []matrix, value values) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in.gguf")
	if err := builder(t, list, value).WriteFile(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustRecipe(t testing.TB, name string) *Recipe {
	t.Helper()
	r, err := ParseRecipe(name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustPlan(t testing.TB, f *gguf.File, recipe string, o Options) *Plan {
	t.Helper()
	p, err := NewPlan(f, mustRecipe(t, recipe), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// convert quantizes to a new file and returns its path.
func convert(t testing.TB, p *Plan, threads int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out.gguf")
	if err := p.WriteFile(context.Background(), path, threads, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

// onlyFiles checks that a directory holds nothing but the named files.
func onlyFiles(t testing.TB, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s holds %q, want %q", dir, got, want)
	}
}

var nan = float32(math.NaN())
