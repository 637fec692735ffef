package pager

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"gorun/compute"
	"gorun/compute/cpu"
	"gorun/compute/strict"
	"gorun/gguf"
	"gorun/tensor"
)

// testFile has a matrix, a stack of three experts, a norm and a tensor that
// cannot be computed with.
func testFile(t *testing.T) (path string, data map[string][]byte) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	w := gguf.NewWriter()
	data = map[string][]byte{}
	for _, x := range []gguf.Tensor{
		{Name: "matrix", Type: tensor.Q8_0, Dims: []int64{64, 5}}, {Name: "experts", Type: tensor.F16, Dims: []int64{8, 4, 3}},
		{Name: "norm", Type: tensor.F32, Dims: []int64{7}}, {Name: "numbers", Type: tensor.I32, Dims: []int64{4}},
	} {
		row, err := x.Type.RowSize(x.Dims[0])
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, row*x.Elements()/x.Dims[0])
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		data[x.Name] = b
		w.AddTensor(x, bytes.NewReader(b))
	}
	path = filepath.Join(t.TempDir(), "test.gguf")
	if err := w.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	return path, data
}

func open(t *testing.T, path string) *gguf.File {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func add(t *testing.T, c *Catalog, f *gguf.File, name string) []*Matrix {
	t.Helper()
	x, ok := f.Tensor(name)
	if !ok {
		t.Fatalf("no tensor %q", name)
	}
	m, err := c.Add(x)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func device(t *testing.T) compute.Device {
	t.Helper()
	d, err := cpu.NewReference(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// TestResidencies wants the bytes of every page, wherever it is kept.
func TestResidencies(t *testing.T) {
	path, data := testFile(t)
	f := open(t, path)
	var c Catalog
	matrix, experts := add(t, &c, f, "matrix"), add(t, &c, f, "experts")
	if len(matrix) != 1 || len(experts) != 3 || c.Bytes() != int64(len(data["matrix"])+len(data["experts"])) {
		t.Fatalf("%d and %d matrices, %d bytes", len(matrix), len(experts), c.Bytes())
	}
	dev := device(t)
	delayed, err := strict.Wrap(dev)
	if err != nil {
		t.Fatal(err)
	}
	var told int64
	progress := func(done, total int64) {
		if done <= told || done > total || total != c.Bytes() {
			t.Errorf("progress %d of %d after %d", done, total, told)
		}
		told = done
	}
	for name, c2 := range map[string]struct {
		dev  compute.Device
		open func(dev compute.Device) (Residency, error)
	}{
		"mapped":    {dev, func(d compute.Device) (Residency, error) { return Map(f, d, &c) }},
		"in memory": {dev, func(d compute.Device) (Residency, error) { return Load(context.Background(), f, d, &c, progress) }},
		"on strict": {delayed, func(d compute.Device) (Residency, error) { return Load(context.Background(), f, d, &c, nil) }},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := c2.open(c2.dev)
			if err != nil {
				t.Fatal(err)
			}
			s, err := c2.dev.NewStream(compute.Work{})
			if err != nil {
				t.Fatal(err)
			}
			want := [][]byte{data["matrix"], data["experts"][:64], data["experts"][64:128], data["experts"][128:]}
			for i, m := range append(matrix, experts...) {
				page, err := r.Acquire(context.Background(), m.Page(0))
				if err != nil {
					t.Fatal(err)
				}
				got := make([]byte, page.Data.N)
				if err := s.Read(got, page.Data); err != nil || !bytes.Equal(got, want[i]) || page.Rows != m.Rows || page.Cols != m.Cols {
					t.Errorf("page %d of %s: %+v, %v", i, m.Name, page, err)
				}
			}
			if n := r.Bytes(); name == "mapped" && n != 0 || name != "mapped" && n != LoadBytes(&c) {
				t.Errorf("holds %d bytes, LoadBytes is %d", n, LoadBytes(&c))
			}
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if _, err := r.Acquire(ctx, 0); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if told != c.Bytes() {
		t.Errorf("progress ended at %d of %d", told, c.Bytes())
	}
}

func TestErrors(t *testing.T) {
	path, _ := testFile(t)
	f := open(t, path)
	var c Catalog
	for _, x := range []gguf.Tensor{
		{Name: "numbers", Type: tensor.I32, Dims: []int64{4}}, {Name: "unknown", Type: tensor.Type(77), Dims: []int64{4}},
		{Name: "ragged", Type: tensor.Q4_K, Dims: []int64{100, 2}}, {Name: "deep", Type: tensor.F32, Dims: []int64{1, 1, 1, 2}},
	} {
		if _, err := c.Add(x); err == nil {
			t.Errorf("%s was catalogued", x.Name)
		}
	}
	add(t, &c, f, "matrix")
	dev := device(t)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Load(ctx, f, dev, &c, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}

	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	inMemory, err := gguf.Read("memory", bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	if CanMap(inMemory, dev) {
		t.Error("a file in memory can be mapped")
	}
	if _, err := Map(inMemory, dev, &c); err == nil {
		t.Error("a file in memory was mapped")
	}

	// The file shrinks after it was opened.
	if err := os.Truncate(path, int64(len(raw))-300); err != nil {
		t.Fatal(err)
	}
	if _, err := Map(f, dev, &c); err == nil {
		t.Error("a file that shrank was mapped")
	}
	add(t, &c, f, "experts")
	if _, err := Load(context.Background(), f, dev, &c, nil); err == nil {
		t.Error("a file that shrank was loaded")
	}
}
