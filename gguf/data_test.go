package gguf

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sharedData is where models made by other programs are, if they are there.
const sharedData = "../../shared/data"

// TestOpenModels opens every model there is.
func TestOpenModels(t *testing.T) {
	if _, err := os.Stat(sharedData); err != nil {
		t.Skipf("no models to open: %v", err)
	}
	models := 0
	err := filepath.WalkDir(sharedData, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".gguf" {
			return err
		}
		models++
		t.Run(d.Name(), func(t *testing.T) { checkModel(t, path) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if models == 0 {
		t.Error("no models found")
	}
}

func checkModel(t *testing.T, path string) {
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := checkInvariants(f); err != nil {
		t.Error(err)
	}
	architecture, ok, err := f.Metadata().String("general.architecture")
	if !ok || err != nil || architecture == "" {
		t.Errorf("architecture %q, %v, %v", architecture, ok, err)
	}
	for key, v := range f.Metadata().All() {
		if _, err := v.Any(); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	tokens, ok, err := f.Metadata().Strings("tokenizer.ggml.tokens")
	if err != nil || ok && len(tokens) == 0 {
		t.Errorf("%d tokens, %v", len(tokens), err)
	}
	vocabulary := strings.Contains(path, "vocab")
	if vocabulary != (len(f.Tensors()) == 0) {
		t.Errorf("%d tensors", len(f.Tensors()))
	}
	for _, tensor := range f.Tensors() {
		if !tensor.Type.Known() {
			t.Errorf("%v", tensor)
		}
	}
	// Data are packed: what the tensors do not take is padding.
	rest := f.Parts()[0].Size - f.Parts()[0].DataOffset
	for _, tensor := range f.Tensors() {
		rest -= alignUp(tensor.Size, f.Alignment())
	}
	if rest < -f.Alignment() || rest > f.Alignment() {
		t.Errorf("%d bytes of data belong to no tensor", rest)
	}
}
