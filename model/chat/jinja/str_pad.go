package jinja

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// padCenter is the left part of the n characters that center pads with.
func padCenter(n, width int64) int64 { return n/2 + n&width&1 }

// padMethod pads to a width; left gives how many of n characters go before.
func padMethod(left func(n, width int64) int64) strMethod {
	return func(s *state, t string, a *args) (Value, error) {
		p, err := a.bind("width", "fillchar?")
		if err != nil {
			return nil, err
		}
		width, err := p.index(0, 0)
		if err != nil {
			return nil, err
		}
		fill, err := p.text(1, " ")
		if err != nil {
			return nil, err
		}
		if utf8.RuneCountInString(fill) != 1 {
			return nil, errors.New("the fill character must be exactly one character long")
		}
		n := width - int64(utf8.RuneCountInString(t))
		if n <= 0 {
			return t, nil
		}
		before := left(n, width)
		return s.pad(t, fill, before, n-before)
	}
}

func (s *state) pad(t, fill string, left, right int64) (string, error) {
	if left > int64(s.limits.Size) || right > int64(s.limits.Size) {
		return "", s.room(-1)
	}
	if err := s.room(len(t) + len(fill)*int(left+right)); err != nil {
		return "", err
	}
	return strings.Repeat(fill, int(left)) + t + strings.Repeat(fill, int(right)), nil
}

func strZfill(s *state, t string, a *args) (Value, error) {
	p, err := a.bind("width")
	if err != nil {
		return nil, err
	}
	width, err := p.index(0, 0)
	if err != nil {
		return nil, err
	}
	n := max(width-int64(utf8.RuneCountInString(t)), 0)
	sign := ""
	if t != "" && (t[0] == '+' || t[0] == '-') {
		sign, t = t[:1], t[1:]
	}
	padded, err := s.pad(t, "0", n, 0)
	return sign + padded, err
}

func strExpandtabs(s *state, t string, a *args) (Value, error) {
	p, err := a.bind("tabsize?")
	if err != nil {
		return nil, err
	}
	size, err := p.index(0, 8)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	column := int64(0)
	for _, r := range t {
		switch r {
		case '\t':
			if size <= 0 {
				continue
			}
			n := size - column%size
			if n > int64(s.limits.Size) {
				return nil, s.room(-1)
			}
			if err := s.room(b.Len() + int(n)); err != nil {
				return nil, err
			}
			b.WriteString(strings.Repeat(" ", int(n)))
			column += n
		case '\n', '\r':
			b.WriteRune(r)
			column = 0
		default:
			b.WriteRune(r)
			column++
		}
	}
	return b.String(), nil
}
