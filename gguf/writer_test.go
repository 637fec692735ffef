package gguf

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"gorun/tensor"
)

// TestWriterBytes checks a small file byte by byte.
func TestWriterBytes(t *testing.T) {
	w := NewWriter()
	w.Set("k", Array([]string{"ab"}))
	w.AddTensor(Tensor{Name: "t", Type: tensor.I16, Dims: []int64{2, 1}}, strings.NewReader("wxyz"))
	w.AddTensor(Tensor{Name: "u", Type: tensor.I8, Dims: []int64{1}}, strings.NewReader("!"))
	want := &builder{}
	want.start(2, 1).key("k", TypeArray).array(TypeString, 1).text("ab")
	want.tensor("t", 25, 2, 1).u64(0).tensor("u", 24, 1).u64(32).pad().plain("wxyz").pad().plain("!").pad()
	if got := write(t, w); !bytes.Equal(got, want.b) {
		t.Errorf("got\n%q, want\n%q", got, want.b)
	}
}

func TestWriterErrors(t *testing.T) {
	t1 := Tensor{Name: "t", Type: tensor.I8, Dims: []int64{4}}
	tests := []struct {
		name  string
		build func(w *Writer)
		words words
	}{
		{"empty key", func(w *Writer) { w.Set("", Uint8(1)) }, words{"key is empty"}},
		{"long key", func(w *Writer) { w.Set(strings.Repeat("k", 65536), Uint8(1)) }, words{"65536 bytes"}},
		{"key not UTF-8", func(w *Writer) { w.Set("\xff", Uint8(1)) }, words{`"\xff"`, "UTF-8"}},
		{"alignment", func(w *Writer) { w.Set(keyAlignment, Uint32(33)) }, words{keyAlignment, "alignment 33"}},
		{"empty tensor name", func(w *Writer) { w.AddTensor(Tensor{Type: tensor.I8, Dims: []int64{4}}, nil) }, words{"tensor name is empty"}},
		{"tensor twice", func(w *Writer) { w.AddTensor(t1, nil); w.AddTensor(t1, nil) }, words{`tensor "t"`, "twice"}},
		{"no dimensions", func(w *Writer) { w.AddTensor(Tensor{Name: "t"}, nil) }, words{`tensor "t"`, "0 dimensions"}},
		{"five dimensions", func(w *Writer) { w.AddTensor(Tensor{Name: "t", Dims: []int64{1, 1, 1, 1, 1}}, nil) }, words{`tensor "t"`, "5 dimensions"}},
		{"dimension 0", func(w *Writer) { w.AddTensor(Tensor{Name: "t", Dims: []int64{4, 0}}, nil) }, words{`tensor "t"`, "dimension 1 is 0"}},
		{"part of a block", func(w *Writer) { w.AddTensor(Tensor{Name: "t", Type: tensor.Q8_0, Dims: []int64{31}}, nil) }, words{`tensor "t"`, "31", "q8_0"}},
		{"wrong size", func(w *Writer) { w.AddTensor(Tensor{Name: "t", Dims: []int64{2}, Size: 9}, nil) }, words{`tensor "t"`, "9", "8 bytes"}},
		{"unknown type without size", func(w *Writer) { w.AddTensor(Tensor{Name: "t", Type: 9, Dims: []int64{32}}, nil) }, words{`tensor "t"`, "type(9)", "size"}},
		{"too little data", func(w *Writer) { w.AddTensor(t1, strings.NewReader("abc")) }, words{`tensor "t"`, "after 3 of 4 bytes"}},
		{"too much data", func(w *Writer) { w.AddTensor(t1, strings.NewReader("abcde")) }, words{`tensor "t"`, "too long"}},
		{"data that fail", func(w *Writer) { w.AddTensor(t1, iotest.ErrReader(errors.New("broken"))) }, words{`tensor "t"`, "broken"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "m.gguf")
			if err := os.WriteFile(path, []byte("before"), 0o666); err != nil {
				t.Fatal(err)
			}
			writes := map[string]func(w *Writer) error{
				"WriteTo":    func(w *Writer) error { _, err := w.WriteTo(io.Discard); return err },
				"WriteFile":  func(w *Writer) error { return w.WriteFile(path) },
				"WriteSplit": func(w *Writer) error { _, err := w.WriteSplit(filepath.Join(dir, "s"), 1<<20); return err },
			}
			for name, write := range writes {
				w := NewWriter()
				test.build(w)
				err := write(w)
				for _, word := range test.words {
					if err == nil || !strings.Contains(err.Error(), word) {
						t.Errorf("%s: error does not mention %q: %v", name, word, err)
					}
				}
			}
			// Nothing may be left behind and nothing replaced.
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 1 {
				t.Errorf("left behind: %v, %v", entries, err)
			}
			if b, err := os.ReadFile(path); string(b) != "before" || err != nil {
				t.Errorf("file is now %q, %v", b, err)
			}
		})
	}
}

// failing fails once n bytes have been written.
type failing struct{ n int }

func (f *failing) Write(p []byte) (int, error) {
	if len(p) > f.n {
		return f.n, errors.New("no space")
	}
	f.n -= len(p)
	return len(p), nil
}

func TestWriterOutputFails(t *testing.T) {
	for _, n := range []int{0, 100, 70_000, 200_000} {
		w := NewWriter()
		w.Set("k", Array(make([]uint8, 100_000)))
		w.AddTensor(Tensor{Name: "t", Type: tensor.I8, Dims: []int64{100_000}}, nil)
		if _, err := w.WriteTo(&failing{n}); err == nil || !strings.Contains(err.Error(), "no space") {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

// pushed is a source of data that writes itself.
type pushed struct{ io.Reader }

func (pushed) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, "data")
	return int64(n), err
}

func TestWriterUsesWriterTo(t *testing.T) {
	w := NewWriter()
	w.AddTensor(Tensor{Name: "t", Type: tensor.I8, Dims: []int64{4}}, pushed{})
	if got := write(t, w); !bytes.Contains(got, []byte("data")) {
		t.Errorf("%q", got)
	}
}

// TestWriteFileSparse writes a header over data that is not there: 3 GiB in
// next to no disk space, with a small tensor between the holes.
func TestWriteFileSparse(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files are not sparse by default on Windows")
	}
	path := filepath.Join(t.TempDir(), "sparse.gguf")
	w := NewWriter()
	w.AddTensor(Tensor{Name: "a", Type: tensor.I8, Dims: []int64{1 << 31}}, nil)
	w.AddTensor(Tensor{Name: "b", Type: tensor.I8, Dims: []int64{5}}, strings.NewReader("hello"))
	w.AddTensor(Tensor{Name: "c", Type: tensor.I8, Dims: []int64{1 << 30}}, nil)
	if err := w.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, _ := f.Tensor("b")
	if data, err := io.ReadAll(f.Section(b)); string(data) != "hello" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	for _, name := range []string{"a", "c"} {
		tensor, _ := f.Tensor(name)
		var last [3]byte
		if _, err := f.Section(tensor).ReadAt(last[:], tensor.Size-3); err != nil || last != [3]byte{} {
			t.Errorf("%s ends in % x, %v", name, last, err)
		}
	}
}

// TestHolesAreZeros checks that a hole has the same bytes in a file and in a
// stream.
func TestHolesAreZeros(t *testing.T) {
	build := func() *Writer {
		w := NewWriter()
		for _, name := range []string{"a", "b"} {
			w.AddTensor(Tensor{Name: name, Type: tensor.I8, Dims: []int64{chunk + 3}}, nil)
			w.AddTensor(Tensor{Name: name + name, Type: tensor.I8, Dims: []int64{5}}, strings.NewReader("hello"))
		}
		return w
	}
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := build().WriteFile(path); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, write(t, build())) {
		t.Errorf("file of %d bytes differs from the stream, %v", len(got), err)
	}
}

func TestWriteFileIsPublished(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.gguf")
	for _, name := range []string{"first", "second"} {
		w := NewWriter()
		w.Set("general.name", String(name))
		if err := w.WriteFile(path); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, _ := f.Metadata().String("general.name"); got != name {
			t.Errorf("name %q, want %q", got, name)
		}
		f.Close()
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestCopy writes a model anew from an opened split set: one file, same
// metadata but for the split keys, same tensors.
func TestCopy(t *testing.T) {
	_, paths := writeSet(t)
	f, err := Open(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := NewWriter()
	w.CopyMetadata(f.Metadata())
	for _, tensor := range f.Tensors() {
		w.AddTensor(tensor, f.Section(tensor))
	}
	g, err := readBytes(write(t, w))
	if err != nil {
		t.Fatal(err)
	}
	if keys := g.Metadata().Keys(); len(keys) != 1 || keys[0] != "general.name" {
		t.Errorf("keys %q", keys)
	}
	for i, tensor := range g.Tensors() {
		want := f.Tensors()[i]
		a, errA := io.ReadAll(g.Section(tensor))
		b, errB := io.ReadAll(f.Section(want))
		if tensor.Name != want.Name || errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%v is %v: %v %v", want, tensor, errA, errB)
		}
	}
}
