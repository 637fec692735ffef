package sample

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// refStop is the text up to the stop: of all places where a stop string occurs,
// the one that ends first, and of those that end there the longest.
func refStop(text string, stops []string) (before, match string, stopped bool) {
	for end := 1; end <= len(text); end++ {
		for start := range end {
			if slices.Contains(stops, text[start:end]) {
				return text[:start], text[start:end], true
			}
		}
	}
	return text, "", false
}

// writeAll writes pieces until the stopper stops.
func writeAll(t rapid.TB, s *Stopper, pieces []string, want string) (emitted string, stopped bool) {
	t.Helper()
	for _, piece := range pieces {
		var emit string
		if emit, stopped = s.Write(piece); stopped {
			emitted += emit
			break
		}
		emitted += emit
		if !strings.HasPrefix(want, emitted) {
			t.Fatalf("%q: emitted %q, more than %q", pieces, emitted, want)
		}
		if utf8.ValidString(want) && !utf8.ValidString(emit) {
			t.Fatalf("%q: emitted %q, which ends inside of a rune", pieces, emit)
		}
	}
	return emitted + s.Flush(), stopped
}

// However a text is cut into pieces, what is emitted is the text up to the
// stop.
func TestStopperInAllSplits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOfN(rapid.RuneFrom([]rune("abé漢🙂")), 0, 12, -1)
		text := letters.Draw(t, "text")
		stops := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("abé漢🙂")), 0, 4, -1), 0, 4).Draw(t, "stops")
		want, match, stops2 := refStop(text, stops)
		// All ways to cut in three, and one into single bytes.
		cuts := [][]string{strings.SplitAfter(text, "")}
		var bytes []string
		for i := range len(text) {
			bytes = append(bytes, text[i:i+1])
		}
		cuts = append(cuts, bytes)
		for i := range len(text) + 1 {
			for j := i; j <= len(text); j++ {
				cuts = append(cuts, []string{text[:i], text[i:j], text[j:]})
			}
		}
		for _, pieces := range cuts {
			s := NewStopper(stops)
			got, stopped := writeAll(t, s, pieces, want)
			if got != want || stopped != stops2 || s.Matched() != match {
				t.Fatalf("%q with stops %q: %q, %v, %q; want %q, %v, %q",
					pieces, stops, got, stopped, s.Matched(), want, stops2, match)
			}
		}
	})
}

// No more is held back than must be.
func TestStopperHoldsBackLittle(t *testing.T) {
	for _, c := range []struct {
		write, emit string
	}{
		{"hello", "hello"},
		{"hello\n", "hello"},
		{"hello\nUs", "hello"},
		{"hello\nUseful", "hello\nUseful"},
		{"hello\n\nUser", "hello\n"},
		{"caf\xc3", "caf"},
		{"\xe6\xbc", ""},
		{"\xff", "\xff"},
		{"\xbc\xbc\xbc\xbc", "\xbc\xbc\xbc\xbc"},
	} {
		s := NewStopper([]string{"\nUser:"})
		if emit, stopped := s.Write(c.write); emit != c.emit || stopped {
			t.Errorf("Write(%q) = %q, %v; want %q", c.write, emit, stopped, c.emit)
		}
		if rest := s.Flush(); c.emit+rest != c.write {
			t.Errorf("after %q of %q, Flush gives %q", c.emit, c.write, rest)
		}
	}
}

func TestStopperAfterTheStop(t *testing.T) {
	s := NewStopper([]string{"b", ""}, 7, 9)
	if emit, stopped := s.Write("abc"); emit != "a" || !stopped {
		t.Errorf("Write = %q, %v; want a, true", emit, stopped)
	}
	if emit, stopped := s.Write("d"); emit != "" || !stopped {
		t.Errorf("Write after the stop = %q, %v; want nothing, true", emit, stopped)
	}
	if rest := s.Flush(); rest != "" {
		t.Errorf("Flush after the stop = %q; want nothing", rest)
	}
	for id, want := range map[int32]bool{7: true, 8: false, 9: true} {
		if got := s.IsStop(id); got != want {
			t.Errorf("IsStop(%d) = %v", id, got)
		}
	}
}
