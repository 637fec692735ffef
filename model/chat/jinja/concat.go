package jinja

import "unsafe"

// Templates that build a prompt by appending message after message to one
// string would copy it each time. As CPython does where it can, appending to a
// string that was itself made by appending writes behind it, into room kept for
// that.

const (
	growFrom = 4096 // bytes from which on a string gets room to grow
	growing  = 4    // strings that have such room at a time
)

// growth is the room behind a string: buf holds the string and grows with it.
// Bytes once written are never changed, so every string handed out stays valid.
type growth struct{ buf []byte }

// concatenate is a + b, charged for the bytes it copies.
func (s *state) concatenate(a, b string) (string, error) {
	n := len(a) + len(b)
	if err := s.room(n); err != nil {
		return "", err
	}
	if n < growFrom {
		return a + b, s.alloc(n)
	}
	for i := range s.growing {
		g := &s.growing[i]
		if len(g.buf) == len(a) && cap(g.buf) >= n && unsafe.SliceData(g.buf) == unsafe.StringData(a) {
			g.buf = append(g.buf, b...)
			return unsafe.String(unsafe.SliceData(g.buf), n), s.alloc(len(b))
		}
	}
	room := n + n/2
	if err := s.alloc(room); err != nil {
		return "", err
	}
	g := &s.growing[s.nextGrowing]
	s.nextGrowing = (s.nextGrowing + 1) % growing
	g.buf = append(append(make([]byte, 0, room), a...), b...)
	return unsafe.String(unsafe.SliceData(g.buf), n), nil
}
