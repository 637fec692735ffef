package model

import (
	"context"
	"path/filepath"
	"testing"

	"gorun/compute"
	"gorun/kvtier"
)

// modelFiles are all models at hand.
func modelFiles(t *testing.T) []string {
	var files []string
	for _, pattern := range []string{"../testdata/golden/*.gguf", "../../shared/data/golden/*.gguf", "../../shared/data/models/*.gguf"} {
		some, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, some...)
	}
	return files
}

// TestEveryKVType loads every model with every type, which compares the plan
// with what is allocated, and wants the same bits of batches of 1 and 8.
func TestEveryKVType(t *testing.T) {
	dev := fastDevice(t, 2)
	for i, path := range modelFiles(t) {
		types := kvtier.Types()
		if !long && (i >= 12 || testing.Short()) { // the types in turn are enough
			types = types[i%len(types):][:1]
		}
		for _, k := range types {
			v := k
			if i%2 == 1 {
				v = kvtier.Types()[(i+3)%len(kvtier.Types())]
			}
			everyKVType(t, path, dev, KVTypes{k, v})
		}
	}
}

func everyKVType(t *testing.T, path string, dev compute.Device, types KVTypes) {
	m, err := Open(context.Background(), path, Options{Context: 64, KV: &types, Device: dev})
	if err != nil {
		t.Errorf("%s with %v: %v", path, types, err)
		return
	}
	defer m.Close()
	tokens := []int32{1, 9, 77, 30, 11, 200, 5, 6}
	if d := differ(logitsOf(t, m, tokens, 1), logitsOf(t, m, tokens, 8)); d != "" {
		t.Errorf("%s with %v: %s", path, types, d)
	}
	used, seq := m.pool.Used(), m.NewSequence()
	if err := seq.Reserve(64); err != nil {
		t.Errorf("%s with %v: the whole context: %v", path, types, err)
	}
	seq.Free()
	if m.pool.Used() != used {
		t.Errorf("%s with %v: %d bytes leak", path, types, m.pool.Used()-used)
	}
}
