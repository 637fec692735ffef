package gguf

import (
	"bytes"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gorun/tensor"
)

// drawn is a model that rapid made up.
type drawn struct {
	keys    []string
	values  []any // as Any returns them
	pairs   []Value
	tensors []Tensor
	data    [][]byte
}

// writer returns a Writer for the model.
func (d *drawn) writer() *Writer {
	w := NewWriter()
	for i, key := range d.keys {
		w.Set(key, d.pairs[i])
	}
	for i, t := range d.tensors {
		var data io.Reader
		if d.data[i] != nil {
			data = bytes.NewReader(d.data[i])
		}
		w.AddTensor(t, data)
	}
	return w
}

var names = rapid.StringOfN(rapid.RuneFrom([]rune("abcé.文_0")), 1, 12, -1)

func drawModel(t *rapid.T) *drawn {
	d := &drawn{}
	for _, name := range rapid.SliceOfNDistinct(names, 0, 8, rapid.ID).Draw(t, "keys") {
		x, v := drawValue(t)
		d.keys, d.values, d.pairs = append(d.keys, name), append(d.values, x), append(d.pairs, v)
	}
	if rapid.Bool().Draw(t, "aligned") {
		x := uint32(8) << rapid.IntRange(0, 7).Draw(t, "alignment")
		d.keys, d.values, d.pairs = append(d.keys, keyAlignment), append(d.values, x), append(d.pairs, Uint32(x))
	}
	types := append(tensor.Types(), 5, 4242)
	for _, name := range rapid.SliceOfNDistinct(names, 0, 8, rapid.ID).Draw(t, "tensors") {
		x := Tensor{Name: name, Type: rapid.SampledFrom(types).Draw(t, "type")}
		x.Dims = rapid.SliceOfN(rapid.Int64Range(1, 4), 1, maxDims).Draw(t, "dims")
		if x.Type.Known() {
			x.Dims[0] *= int64(x.Type.BlockSize())
			x.Size = x.Rows() * x.RowBytes()
		} else {
			x.Size = rapid.Int64Range(1, 100).Draw(t, "size")
		}
		d.tensors = append(d.tensors, x)
		seed := byte(rapid.IntRange(0, 255).Draw(t, "data"))
		if seed == 0 {
			d.data = append(d.data, nil)
			continue
		}
		data := make([]byte, x.Size)
		for i := range data {
			data[i] = seed + byte(i*i>>3)
		}
		d.data = append(d.data, data)
	}
	return d
}

// drawers make a scalar or an array of each type, as a Go value and as the
// Value for it.
var drawers = []func(t *rapid.T) (any, Value){
	scalars(rapid.Uint8(), Uint8), arrays(rapid.Uint8()),
	scalars(rapid.Int8(), Int8), arrays(rapid.Int8()),
	scalars(rapid.Uint16(), Uint16), arrays(rapid.Uint16()),
	scalars(rapid.Int16(), Int16), arrays(rapid.Int16()),
	scalars(rapid.Uint32(), Uint32), arrays(rapid.Uint32()),
	scalars(rapid.Int32(), Int32), arrays(rapid.Int32()),
	scalars(rapid.Uint64(), Uint64), arrays(rapid.Uint64()),
	scalars(rapid.Int64(), Int64), arrays(rapid.Int64()),
	scalars(rapid.Float32(), Float32), arrays(rapid.Float32()),
	scalars(rapid.Float64(), Float64), arrays(rapid.Float64()),
	scalars(rapid.Bool(), Bool), arrays(rapid.Bool()),
	scalars(texts, String), arrays(texts),
}

// drawValue makes a value of any type.
func drawValue(t *rapid.T) (any, Value) {
	k := rapid.IntRange(0, len(drawers)).Draw(t, "kind")
	if k == len(drawers) {
		return nested(t, 1)
	}
	return drawers[k](t)
}

// texts are arbitrary bytes.
var texts = rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 20), func(b []byte) string { return string(b) })

func scalars[T Element](g *rapid.Generator[T], value func(T) Value) func(*rapid.T) (any, Value) {
	return func(t *rapid.T) (any, Value) {
		x := g.Draw(t, "scalar")
		return x, value(x)
	}
}

func arrays[T Element](g *rapid.Generator[T]) func(*rapid.T) (any, Value) {
	return func(t *rapid.T) (any, Value) {
		x := append([]T{}, rapid.SliceOfN(g, 0, 10).Draw(t, "array")...)
		return x, Array(x)
	}
}

// nested makes an array of arrays that is within depth others.
func nested(t *rapid.T, depth int) (any, Value) {
	xs, vs := []any{}, []Value{}
	for range rapid.IntRange(0, 3).Draw(t, "length") {
		var x any
		var v Value
		if depth < maxDepth-1 && rapid.Bool().Draw(t, "deeper") {
			x, v = nested(t, depth+1)
		} else {
			x, v = drawers[2*rapid.IntRange(0, 11).Draw(t, "kind")+1](t)
		}
		xs, vs = append(xs, x), append(vs, v)
	}
	v, err := Arrays(vs...)
	if err != nil {
		t.Fatal(err)
	}
	return xs, v
}

// check compares a file with the model. Keys beyond those of the model are
// allowed if they are for splitting.
func (d *drawn) check(t *rapid.T, f *File) {
	if err := checkInvariants(f); err != nil {
		t.Fatal(err)
	}
	keys := slices.DeleteFunc(f.Metadata().Keys(), func(key string) bool {
		return slices.Contains([]string{keySplitNo, keySplitCount, keySplitTensors}, key)
	})
	if !slices.Equal(keys, d.keys) {
		t.Fatalf("keys %q, want %q", keys, d.keys)
	}
	for i, key := range d.keys {
		v, _ := f.Metadata().Get(key)
		got, err := v.Any()
		if err != nil || !reflect.DeepEqual(got, d.values[i]) {
			t.Fatalf("%q is %#v (%v), want %#v", key, got, err, d.values[i])
		}
	}
	tensors := f.Tensors()
	if len(tensors) != len(d.tensors) {
		t.Fatalf("%d tensors, want %d", len(tensors), len(d.tensors))
	}
	for i, got := range tensors {
		want := d.tensors[i]
		size := want.Size
		if !want.Type.Known() {
			size = alignUp(size, f.Parts()[got.Part].Alignment)
		}
		if got.Name != want.Name || got.Type != want.Type || !slices.Equal(got.Dims, want.Dims) || got.Size != size {
			t.Fatalf("tensor %v of %d bytes, want %v of %d", got, got.Size, want, size)
		}
		data, err := io.ReadAll(f.Section(got))
		wanted := make([]byte, size)
		copy(wanted, d.data[i])
		if err != nil || !bytes.Equal(data, wanted) {
			t.Fatalf("%v: data differ (%v)", got, err)
		}
	}
}

// TestRoundTrip writes models and reads them back, and writes what was read
// once more.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawModel(t)
		first := writeDrawn(t, d.writer())
		if !bytes.Equal(first, writeDrawn(t, d.writer())) {
			t.Fatal("writing twice gives different bytes")
		}
		f, err := readBytes(first)
		if err != nil {
			t.Fatal(err)
		}
		d.check(t, f)

		again := NewWriter()
		again.CopyMetadata(f.Metadata())
		for _, tensor := range f.Tensors() {
			again.AddTensor(tensor, f.Section(tensor))
		}
		if !bytes.Equal(first, writeDrawn(t, again)) {
			t.Fatal("writing what was read gives different bytes")
		}
	})
}

func writeDrawn(t *rapid.T, w *Writer) []byte {
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestRoundTripSplit is like TestRoundTrip with split sets.
func TestRoundTripSplit(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "model")
	rapid.Check(t, func(t *rapid.T) {
		d := drawModel(t)
		paths, err := d.writer().WriteSplit(prefix, rapid.Int64Range(0, 2000).Draw(t, "limit"))
		if err != nil {
			t.Fatal(err)
		}
		f, err := Open(rapid.SampledFrom(paths).Draw(t, "member"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if len(f.Parts()) != len(paths) {
			t.Fatalf("%d parts, want %d", len(f.Parts()), len(paths))
		}
		d.check(t, f)
	})
}
