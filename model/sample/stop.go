package sample

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A Stopper finds the end of a text that arrives in pieces. The text stops at
// the first byte that completes a stop string, before that string; if that byte
// completes several, before the longest. So the result does not depend on how
// the text is cut into pieces, which may end inside of a rune.
type Stopper struct {
	stops   []string
	ids     []int32
	held    string
	matched string
	stopped bool
}

// NewStopper makes a stopper for stop strings, empty ones of which are ignored,
// and for the ids of tokens that end a text.
func NewStopper(stops []string, ids ...int32) *Stopper {
	s := &Stopper{ids: slices.Clone(ids)}
	for _, stop := range stops {
		if stop != "" {
			s.stops = append(s.stops, stop)
		}
	}
	return s
}

// IsStop reports whether a token ends the text. Its own text is not to be
// written; what is held back is then due, see Flush.
func (s *Stopper) IsStop(id int32) bool {
	return slices.Contains(s.ids, id)
}

// Write adds a piece of text. It returns the text that is now certain, and
// whether it ends there. Held back are the beginning of what may become a stop
// string, and an unfinished rune. After the end all text is ignored.
func (s *Stopper) Write(text string) (emit string, stopped bool) {
	if s.stopped {
		return "", true
	}
	old := len(s.held)
	s.held += text
	for end := old + 1; end <= len(s.held); end++ {
		if stop := s.longest(s.held[:end]); stop != "" {
			emit = s.held[:end-len(stop)]
			s.held, s.matched, s.stopped = "", stop, true
			return emit, true
		}
	}
	n := len(s.held) - s.pending()
	emit, s.held = s.held[:n], s.held[n:]
	return emit, false
}

// Flush ends the text, and returns what was held back.
func (s *Stopper) Flush() string {
	rest := s.held
	s.held, s.stopped = "", true
	return rest
}

// Matched returns the stop string that ended the text, or "".
func (s *Stopper) Matched() string {
	return s.matched
}

// longest returns the longest stop string that text ends with, or "".
func (s *Stopper) longest(text string) string {
	found := ""
	for _, stop := range s.stops {
		if len(stop) > len(found) && strings.HasSuffix(text, stop) {
			found = stop
		}
	}
	return found
}

// pending returns how many bytes at the end of what is held must stay there.
func (s *Stopper) pending() int {
	n := 0
	for _, stop := range s.stops {
		for k := min(len(stop)-1, len(s.held)); k > n; k-- {
			if strings.HasPrefix(stop, s.held[len(s.held)-k:]) {
				n = k
			}
		}
	}
	// A stop string that is not UTF-8 may begin inside of a rune.
	return n + partialRune(s.held[:len(s.held)-n])
}

// partialRune returns the length of the unfinished rune that text ends with.
func partialRune(text string) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		end := text[len(text)-n:]
		if utf8.RuneStart(end[0]) {
			if utf8.FullRuneInString(end) {
				return 0
			}
			return n
		}
	}
	return 0
}
