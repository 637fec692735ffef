package quantize

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"gorun/gguf"
	"gorun/tensor"
)

// Each tensor of the new file is what Quantize makes of it, and everything
// else is as it was.
func TestConversion(t *testing.T) {
	list := append(smallModel(tensor.F16),
		matrix{"blk.0.ffn_gate_inp.weight", tensor.F32, []int64{256, 4}},
		matrix{"blk.0.table", tensor.I32, []int64{16, 4}},
		matrix{"long.weight", tensor.F32, []int64{256 * 300, 3}}, // a row is more than a chunk
		matrix{"many.weight", tensor.BF16, []int64{32, 9000}},
	)
	f := open(t, build(t, list, random))
	for _, recipe := range []string{"Q4_K_M", "F16", "F32", "Q8_0", "Q4_0_ROCMFP4_STRIX"} {
		p := mustPlan(t, f, recipe, Options{})
		out := open(t, convert(t, p, 3))
		if len(out.Tensors()) != len(list) {
			t.Fatalf("%s: %d tensors, want %d", recipe, len(out.Tensors()), len(list))
		}
		for i, got := range out.Tensors() {
			step := p.Tensors[i]
			if got.Name != list[i].name || got.Type != step.Type || got.Size != step.Bytes {
				t.Errorf("%s: tensor %d is %v of %d bytes, want %v of %d", recipe, i, got, got.Size, step.Type, step.Bytes)
			}
			want := read(t, f, step.Source)
			if step.Type != step.Source.Type {
				v := make([]float32, step.Source.Elements())
				tensor.Dequantize(step.Source.Type, v, want)
				want = make([]byte, step.Bytes)
				if err := tensor.Quantize(step.Type, want, v); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(read(t, out, got), want) {
				t.Errorf("%s: the bytes of %v are wrong", recipe, got)
			}
		}
		m := out.Metadata()
		if n, _, err := m.Uint(keyFileType); err != nil || uint32(n) != p.Recipe.FileType {
			t.Errorf("%s: file type %d (%v), want %d", recipe, n, err, p.Recipe.FileType)
		}
		if n, _, err := m.Uint(keyVersion); err != nil || n != quantizationVersion {
			t.Errorf("%s: version %d (%v)", recipe, n, err)
		}
		if tokens, _, err := m.Strings("tokenizer.ggml.tokens"); err != nil || len(tokens) != 2 {
			t.Errorf("%s: tokens %q (%v)", recipe, tokens, err)
		}
	}
}

func TestBytesDoNotDependOnThreads(t *testing.T) {
	f := open(t, build(t, append(smallModel(tensor.BF16), matrix{"long.weight", tensor.F32, []int64{512, 2000}}), random))
	p := mustPlan(t, f, "Q3_K_M", Options{})
	var want []byte
	for _, threads := range []int{1, 2, 7, 0} {
		got, err := os.ReadFile(convert(t, p, threads))
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			t.Errorf("with %d threads the file is another", threads)
		}
	}
}

func TestProgress(t *testing.T) {
	f := open(t, build(t, append(smallModel(tensor.F16), matrix{"long.weight", tensor.F32, []int64{512, 2000}}), random))
	p := mustPlan(t, f, "Q4_K_M", Options{})
	var last int64
	calls := 0
	err := p.WriteFile(context.Background(), filepath.Join(t.TempDir(), "out"), 2, func(done, total int64) {
		if done < last || total != p.BytesBefore() {
			t.Fatalf("%d of %d after %d of %d", done, total, last, p.BytesBefore())
		}
		last = done
		calls++
	})
	if err != nil || last != p.BytesBefore() || calls < 30 {
		t.Errorf("%d of %d in %d calls; error %v", last, p.BytesBefore(), calls, err)
	}
}

// Whatever the size of the tensor, memory is a few chunks.
func TestMemoryIsBounded(t *testing.T) {
	const rows = 1 << 15 // 32 MiB of f16, a zero each
	path := filepath.Join(t.TempDir(), "in.gguf")
	w := gguf.NewWriter()
	w.Set("general.architecture", gguf.String("llama"))
	w.AddTensor(gguf.Tensor{Name: "big.weight", Type: tensor.F16, Dims: []int64{512, rows}}, nil)
	if err := w.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	p := mustPlan(t, open(t, path), "Q8_0", Options{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	convert(t, p, 2)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 6<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}

func TestCancellation(t *testing.T) {
	f := open(t, build(t, append(smallModel(tensor.F16), matrix{"long.weight", tensor.F32, []int64{512, 2000}}), random))
	p := mustPlan(t, f, "Q4_K_M", Options{})
	for _, after := range []int{0, 1, 3, 10} {
		ctx, cancel := context.WithCancel(context.Background())
		if after == 0 {
			cancel()
		}
		dir := t.TempDir()
		calls := 0
		err := p.WriteFile(ctx, filepath.Join(dir, "out.gguf"), 3, func(int64, int64) {
			if calls++; calls == after {
				cancel()
			}
		})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("canceled after %d chunks: error %v", after, err)
		}
		onlyFiles(t, dir)
	}
}

func TestBadValues(t *testing.T) {
	for _, test := range []struct {
		value  float32
		recipe string
		words  []string
	}{
		{nan, "Q4_K_M", []string{"NaN", "q4_K"}},
		{nan, "F16", []string{"NaN", "f16"}},
		{1e6, "F16", []string{"1e+06", "f16 reaches to 65504"}},
		{1e9, "Q8_0", []string{"1e+09", "q8_0 reaches"}},
	} {
		// Rows of 512: the element is in the third chunk.
		const row, column = 333, 17
		list := []matrix{{"some.weight", tensor.F32, []int64{512, 1000}}}
		f := open(t, build(t, list, func(_ int, i int64) float32 {
			if i == row*512+column || i == 999*512 {
				return test.value
			}
			return 0.5
		}))
		dir := t.TempDir()
		err := mustPlan(t, f, test.recipe, Options{}).WriteFile(context.Background(), filepath.Join(dir, "out.gguf"), 4, nil)
		var value *ValueError
		if !errors.As(err, &value) || value.Row != row || value.Column != column {
			t.Errorf("%v to %s: error %v", test.value, test.recipe, err)
			continue
		}
		for _, word := range append(test.words, `"some.weight"`, fmt.Sprintf("row %d, column %d", row, column)) {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("error %q lacks %q", err, word)
			}
		}
		onlyFiles(t, dir)
	}
}

func TestTheModelIsNotOverwritten(t *testing.T) {
	path := build(t, smallModel(tensor.F16), random)
	before, _ := os.ReadFile(path)
	link := filepath.Join(filepath.Dir(path), "link.gguf")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	p := mustPlan(t, open(t, path), "Q4_0", Options{})
	for _, target := range []string{path, link, filepath.Join(filepath.Dir(path), ".", "in.gguf")} {
		if err := p.WriteFile(context.Background(), target, 1, nil); err == nil || !strings.Contains(err.Error(), target) {
			t.Errorf("%s: error %v", target, err)
		}
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("the model has changed")
	}
	// Any other file is replaced.
	other := filepath.Join(t.TempDir(), "other.gguf")
	if err := os.WriteFile(other, []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := p.WriteFile(context.Background(), other, 1, nil); err != nil {
		t.Error(err)
	}
	open(t, other)
}

// A file that is cut while it is read, and a disk that fails, are errors.
func TestReadErrors(t *testing.T) {
	path := build(t, smallModel(tensor.F16), random)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	short := &shrinking{bytes.NewReader(b), int64(len(b))}
	f, err := gguf.Read("model", short, int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	short.size = int64(len(b)) / 2
	dir := t.TempDir()
	err = mustPlan(t, f, "Q4_0", Options{}).WriteFile(context.Background(), filepath.Join(dir, "out.gguf"), 2, nil)
	if err == nil || !strings.Contains(err.Error(), "end too early") {
		t.Errorf("error %v", err)
	}
	onlyFiles(t, dir)
}

// shrinking is a file whose end can move.
type shrinking struct {
	io.ReaderAt
	size int64
}

func (s *shrinking) ReadAt(b []byte, off int64) (int, error) {
	if off >= s.size {
		return 0, io.EOF
	}
	if int64(len(b)) > s.size-off {
		n, _ := s.ReaderAt.ReadAt(b[:s.size-off], off)
		return n, io.ErrUnexpectedEOF
	}
	return s.ReaderAt.ReadAt(b, off)
}

func TestSplitSets(t *testing.T) {
	list := smallModel(tensor.F16)
	whole := open(t, build(t, list, random))
	parts, err := builder(t, list, random).WriteSplit(filepath.Join(t.TempDir(), "set"), 100_000)
	if err != nil || len(parts) < 3 {
		t.Fatalf("%d parts, error %v", len(parts), err)
	}
	split := open(t, parts[1])
	a, _ := os.ReadFile(convert(t, mustPlan(t, whole, "Q4_K_M", Options{}), 2))
	b, _ := os.ReadFile(convert(t, mustPlan(t, split, "Q4_K_M", Options{}), 2))
	if len(a) == 0 || !bytes.Equal(a, b) {
		t.Error("a split set gives another file than the model in one piece")
	}
	for _, part := range parts {
		if err := mustPlan(t, split, "Q4_0", Options{}).WriteFile(context.Background(), part, 1, nil); err == nil {
			t.Errorf("%s is overwritten", part)
		}
	}
}

func BenchmarkConvert(b *testing.B) {
	f := open(b, build(b, []matrix{{"big.weight", tensor.F16, []int64{4096, 512}}}, func(_ int, i int64) float32 { return float32(i%1000)/1000 - 0.5 }))
	for _, recipe := range []string{"Q8_0", "Q4_K_S"} {
		b.Run(recipe, func(b *testing.B) {
			p := mustPlan(b, f, recipe, Options{})
			path := filepath.Join(b.TempDir(), "out.gguf")
			b.SetBytes(p.BytesBefore())
			for b.Loop() {
				if err := p.WriteFile(context.Background(), path, runtime.GOMAXPROCS(0), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
