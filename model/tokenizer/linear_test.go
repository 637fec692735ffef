package tokenizer

import (
	"strings"
	"testing"
	"time"
)

// TestLinear encodes texts of 200,000 characters that are hard in one way or
// another. Each must take less than a second; they take a few hundredths if
// nothing else runs.
func TestLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	const n = 200_000
	texts := map[string]string{"line": lineWithoutSpaces(warAndPeace(t))}
	for _, s := range []string{"a", "A", "ab", " ", "\n", " \n", "'", "<", "<|", "1", "中", "\u0301", "A\u0301", "\xff", "!", "▁", "İ", "\t"} {
		texts[s] = strings.Repeat(s, n/len([]rune(s)))
	}
	for _, v := range vocabularies {
		t.Run(v.kind, func(t *testing.T) {
			tok := open(t, "vocab/"+v.file+".gguf")
			for name, text := range texts {
				// The best of three, since other programs may run.
				best := time.Hour
				for range 3 {
					start := time.Now()
					if _, err := tok.Encode(text, Options{ParseSpecial: true}); err != nil {
						t.Fatal(err)
					}
					if best = min(best, time.Since(start)); best < time.Second {
						break
					}
				}
				if best > time.Second {
					t.Errorf("%q takes %v", name, best)
				}
			}
		})
	}
}

// TestSplitLinear is the same for every pre-tokenizer.
func TestSplitLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	const n = 200_000
	for _, s := range []string{"a", "A", "aA", " ", "\n", " \n", "'", "1", "中", "\u0301", "A\u0301", "\u0301A", "!", "a ", "1a", "½1", "\u00A0"} {
		text := strings.Repeat(s, n)
		for i := range preTokenizers {
			p := &preTokenizers[i]
			start := time.Now()
			p.split(text, func(string) {})
			p.split(text+"x", func(string) {})
			if d := time.Since(start); d > 2*time.Second {
				t.Errorf("%s: %q takes %v", p.names[0], s, d)
			}
		}
	}
}
