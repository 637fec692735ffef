package gguf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gorun/tensor"
)

// writeSet writes a model of five tensors as a set of three parts.
func writeSet(t *testing.T) (prefix string, paths []string) {
	t.Helper()
	prefix = filepath.Join(t.TempDir(), "model")
	w := NewWriter()
	w.Set("general.name", String("split"))
	for i := range 5 {
		data := bytes.Repeat([]byte{byte(i + 1)}, 64)
		w.AddTensor(Tensor{Name: fmt.Sprintf("t.%d", i), Type: tensor.I8, Dims: []int64{64}}, bytes.NewReader(data))
	}
	paths, err := w.WriteSplit(prefix, 128)
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) != 3 {
		t.Fatalf("parts %q", paths)
	}
	return prefix, paths
}

func TestSplitOpensFromAnyMember(t *testing.T) {
	prefix, paths := writeSet(t)
	for i, path := range paths {
		if want := fmt.Sprintf("%s-%05d-of-00003.gguf", prefix, i+1); path != want {
			t.Errorf("part %d is %s, want %s", i, path, want)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if name, _, err := f.Metadata().String("general.name"); name != "split" || err != nil {
			t.Errorf("name %q, %v", name, err)
		}
		if len(f.Parts()) != 3 || f.Parts()[1].Path != paths[1] {
			t.Errorf("parts %v", f.Parts())
		}
		for j, tensor := range f.Tensors() {
			if tensor.Name != fmt.Sprintf("t.%d", j) || tensor.Part != j/2 {
				t.Errorf("tensor %d is %v in part %d", j, tensor, tensor.Part)
			}
			data, err := io.ReadAll(f.Section(tensor))
			if err != nil || !bytes.Equal(data, bytes.Repeat([]byte{byte(j + 1)}, 64)) {
				t.Errorf("%v: data % x, %v", tensor, data, err)
			}
		}
		if err := checkInvariants(f); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSplitMissingMember(t *testing.T) {
	for missing := range 3 {
		_, paths := writeSet(t)
		if err := os.Remove(paths[missing]); err != nil {
			t.Fatal(err)
		}
		for i, path := range paths {
			_, err := Open(path)
			if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), filepath.Base(paths[missing])) {
				t.Errorf("without part %d, part %d opened: %v", missing, i, err)
			}
			if i != missing && !strings.Contains(err.Error(), fmt.Sprintf("part %d of the 3", missing+1)) {
				t.Errorf("without part %d: %v", missing, err)
			}
		}
	}
}

// part returns a part with one tensor and the given split keys; a negative one
// is left out.
func part(t *testing.T, name string, no, count, tensors int) []byte {
	t.Helper()
	w := NewWriter()
	for key, x := range map[string]int{keySplitNo: no, keySplitCount: count, keySplitTensors: tensors} {
		if x >= 0 {
			w.Set(key, Int32(int32(x)))
		}
	}
	w.AddTensor(Tensor{Name: name, Type: tensor.I8, Dims: []int64{32}}, nil)
	return write(t, w)
}

func TestSplitInconsistent(t *testing.T) {
	const one, two, three = "m-00001-of-00002.gguf", "m-00002-of-00002.gguf", "m-00003-of-00003.gguf"
	tests := []struct {
		name  string
		files map[string][]byte
		open  string
		words words
	}{
		{"numbers swapped", map[string][]byte{one: part(t, "a", 1, 2, 2), two: part(t, "b", 0, 2, 2)}, one,
			words{one, "split.no is 1", "the name says part 1"}},
		{"numbers equal", map[string][]byte{one: part(t, "a", 0, 2, 2), two: part(t, "b", 0, 2, 2)}, one,
			words{two, "split.no is 0", "the name says part 2"}},
		{"counts differ", map[string][]byte{one: part(t, "a", 0, 2, 2), two: part(t, "b", 1, 3, 2)}, one,
			words{two, "split.count is 3", "2 in another"}},
		{"second part has no split keys", map[string][]byte{one: part(t, "a", 0, 2, 2), two: part(t, "b", -1, -1, -1)}, one,
			words{two, "split.count is 0", "2 in another"}},
		{"name has another count", map[string][]byte{three: part(t, "a", 2, 4, 2)}, three,
			words{three, "split.count is 4", "3 parts"}},
		{"name but no keys", map[string][]byte{one: part(t, "a", -1, -1, -1)}, one,
			words{one, "part 1 of 2", "split.count"}},
		{"keys but no name", map[string][]byte{"m.gguf": part(t, "a", 0, 2, 2)}, "m.gguf",
			words{"m.gguf", "part 1 of 2", "NAME-00001-of-00002.gguf"}},
		{"number 0 in the name", map[string][]byte{"m-00000-of-00002.gguf": part(t, "a", 0, 2, 2)}, "m-00000-of-00002.gguf",
			words{"m-00000-of-00002.gguf", "the name says part 0"}},
		{"no number", map[string][]byte{one: part(t, "a", -1, 2, 2)}, one,
			words{one, "no split.no"}},
		{"number beyond count", map[string][]byte{one: part(t, "a", 2, 2, 2)}, one,
			words{one, "split.no 2", "split.count 2"}},
		{"count beyond names", map[string][]byte{one: part(t, "a", 0, 100000, 2)}, one,
			words{one, "split.count 100000", "99999"}},
		{"tensor counts differ", map[string][]byte{one: part(t, "a", 0, 2, 2), two: part(t, "b", 1, 2, 3)}, one,
			words{two, "split.tensors.count is 3", "2 in another"}},
		{"tensor count wrong", map[string][]byte{one: part(t, "a", 0, 2, 3), two: part(t, "b", 1, 2, 3)}, two,
			words{"split.tensors.count is 3", "2 tensors"}},
		{"tensor in both parts", map[string][]byte{one: part(t, "a", 0, 2, 2), two: part(t, "a", 1, 2, 2)}, one,
			words{two, `tensor "a"`, one}},
		{"second part broken", map[string][]byte{one: part(t, "a", 0, 2, 2), two: []byte("GGML")}, one,
			words{two, "4 bytes"}},
		{"count of another type", map[string][]byte{"m.gguf": func() []byte {
			w := NewWriter()
			w.Set(keySplitCount, String("2"))
			return write(t, w)
		}()}, "m.gguf", words{"m.gguf", `key "split.count"`, "string"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, data := range test.files {
				if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			_, err := Open(filepath.Join(dir, test.open))
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range test.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error does not mention %q: %v", w, err)
				}
			}
		})
	}
}

// TestSplitOfOne opens sets of one part, which is a model by itself.
func TestSplitOfOne(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		"plain.gguf":             part(t, "a", 0, 1, 1),
		"x-00001-of-00001.gguf":  part(t, "a", 0, 1, 1),
		"no-00001-of-00001.gguf": part(t, "a", -1, -1, -1),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if len(f.Tensors()) != 1 {
			t.Errorf("%s: %d tensors", name, len(f.Tensors()))
		}
		f.Close()
	}
}

func TestReadRefusesMember(t *testing.T) {
	_, err := readBytes(part(t, "a", 0, 2, 2))
	if err == nil || !strings.Contains(err.Error(), "part 1 of the 2") {
		t.Error(err)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing.gguf")
	if _, err := Open(missing); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Error(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
}
