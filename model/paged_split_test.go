package model

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gorun/gguf"
	"gorun/internal/pageio"
)

// splitSet writes f as a split set of several parts and returns their paths.
func splitSet(t *testing.T, f *gguf.File) []string {
	t.Helper()
	w := gguf.NewWriter()
	w.CopyMetadata(f.Metadata())
	bytes := int64(0)
	for _, x := range f.Tensors() {
		w.AddTensor(x, f.Section(x))
		bytes += x.Size
	}
	paths, err := w.WriteSplit(filepath.Join(t.TempDir(), "split"), bytes/5)
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < 3 {
		t.Fatalf("%d parts", len(paths))
	}
	return paths
}

// TestPagedSplit pages a split set, opened by its last member, and wants the
// bits of the one file resident; and errors that name the member at fault.
func TestPagedSplit(t *testing.T) {
	for _, name := range []string{"llama-ropefreqs.q8_0", "qwen3moe-experts.q4_0"} {
		t.Run(name, func(t *testing.T) {
			whole, err := gguf.Open(loadGolden(t, name).path)
			if err != nil {
				t.Fatal(err)
			}
			defer whole.Close()
			paths := splitSet(t, whole)
			f, err := gguf.Open(paths[len(paths)-1])
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := WriteChecksums(context.Background(), f, nil); err != nil {
				t.Fatal(err)
			}
			o := Options{Context: 64, Batch: 20, Threads: 2}
			want := values(t, whole, o, 22)
			if d := differ(values(t, f, o, 22), want); d != "" {
				t.Errorf("resident: %s", d)
			}
			least := int64(0)
			for pool, bytes := range somePools(t, f, o) {
				p := o
				p.Weights, p.WeightsMemory, p.VerifyWeights, p.tail = ResidentPaged, bytes, true, 0xff
				if d := differ(values(t, f, p, 22), want); d != "" {
					t.Errorf("a pool of %s: %s", pool, d)
				}
				if pool == "minimum" {
					least = bytes
				}
			}

			o.Weights, o.WeightsMemory = ResidentPaged, least
			m, err := New(context.Background(), f, o)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			}()
			part := f.Parts()[1]
			if err := os.Truncate(part.Path, part.Size-1); err != nil {
				t.Fatal(err)
			}
			seq := m.NewSequence()
			defer seq.Free()
			err = m.Forward(context.Background(), []Run{{seq, []int32{3, 4, 5}, NoLogits}}, nil)
			if !errors.Is(err, pageio.ErrChanged) || !strings.Contains(err.Error(), part.Path) {
				t.Errorf("%s is truncated: %v", part.Path, err)
			}
		})
	}
}
