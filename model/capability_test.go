package model

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorun/gguf"
)

var update = flag.Bool("update", false, "write docs/architectures.md anew")

// capabilities are the columns of docs/architectures.md.
var capabilities = []struct {
	name string
	has  func(s *Spec) bool
}{
	{"experts", func(s *Spec) bool { return s.any(func(l Layer) bool { return l.FFN.Experts.Count > 0 }) }},
	{"shared expert", func(s *Spec) bool { return s.any(func(l Layer) bool { return l.FFN.Experts.Shared.Hidden > 0 }) }},
	{"sliding window", func(s *Spec) bool { return s.any(func(l Layer) bool { return l.Attention.Window > 0 }) }},
	{"recurrent layers", func(s *Spec) bool {
		return s.any(func(l Layer) bool { return l.Delta.ValueHeads > 0 || l.Conv.Kernel > 0 })
	}},
	{"latent KV", func(s *Spec) bool { return s.any(func(l Layer) bool { return l.Attention.Latent.Rank > 0 }) }},
	{"QK norm", func(s *Spec) bool { return s.any(func(l Layer) bool { return l.Attention.QKNorm != QKNone }) }},
	{"gated attention", func(s *Spec) bool { return s.any(func(l Layer) bool { return l.Attention.Gate != GateNone }) }},
	{"sinks", func(s *Spec) bool { return s.any(func(l Layer) bool { return l.Attention.Sinks }) }},
	{"layers without RoPE", func(s *Spec) bool { return s.any(func(l Layer) bool { return l.Attention.Rope == NoRope }) }},
	{"embeddings only", func(s *Spec) bool { return s.Bidirectional }},
	{"layer norm", func(s *Spec) bool { return s.Norm == LayerNorm }},
}

func (s *Spec) any(is func(Layer) bool) bool { return slices.ContainsFunc(s.Layers, is) }

// TestCapabilityTable makes the table from the registry, the goldens and the
// directs, and holds docs/architectures.md to it.
func TestCapabilityTable(t *testing.T) {
	const path = "../docs/architectures.md"
	have, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	for _, arch := range Architectures() {
		if !*update && !strings.Contains(string(have), "\n| "+arch+" |") {
			t.Errorf("%s lacks %s: go test ./model -run CapabilityTable -update", path, arch)
		}
	}
	files, err := filepath.Glob("../../shared/data/golden/*.gguf")
	if err != nil || len(files) == 0 {
		t.Skip("no goldens in ../shared/data/golden: the columns are not checked")
	}
	for _, d := range slices.Concat(directs, encoders) {
		files = append(files, d.newTiny().write(t))
	}
	marks := map[string][]bool{}
	for _, file := range files {
		spec := describeFile(t, file)
		for i, c := range capabilities {
			marks[spec.Arch] = append(marks[spec.Arch], make([]bool, len(capabilities)-len(marks[spec.Arch]))...)
			marks[spec.Arch][i] = marks[spec.Arch][i] || c.has(spec)
		}
	}
	table := capabilityTable(marks)
	if *update {
		if err := os.WriteFile(path, []byte(table), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if table != string(have) {
		t.Errorf("%s is not what the registry says: go test ./model -run CapabilityTable -update", path)
	}
}

func describeFile(t *testing.T, path string) *Spec {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	spec, err := Describe(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func capabilityTable(marks map[string][]bool) string {
	var b strings.Builder
	b.WriteString("# Architectures\n\nMade by `go test ./model -run CapabilityTable -update` from the registry and a small model of each architecture.\n\n| architecture |")
	for _, c := range capabilities {
		fmt.Fprintf(&b, " %s |", c.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(capabilities)) + "\n")
	for _, arch := range Architectures() {
		fmt.Fprintf(&b, "| %s |", arch)
		for i := range capabilities {
			mark := " "
			if m := marks[arch]; m == nil {
				mark = " ? "
			} else if m[i] {
				mark = " yes "
			}
			fmt.Fprintf(&b, "%s|", mark)
		}
		b.WriteString("\n")
	}
	return b.String()
}
