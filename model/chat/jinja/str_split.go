package jinja

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// splitter splits t at sep, or at white space if sep is empty, at most limit
// times (no bound if negative).
type splitter func(t, sep string, limit int64) []string

func splitMethod(f splitter) strMethod {
	return func(s *state, t string, a *args) (Value, error) {
		p, err := a.bind("sep?", "maxsplit?")
		if err != nil {
			return nil, err
		}
		sep, err := p.optionalText(0, "")
		if err != nil {
			return nil, err
		}
		if sep == "" && p.or(0, nil) != nil {
			return nil, errors.New("empty separator")
		}
		limit, err := p.index(1, -1)
		if err != nil {
			return nil, err
		}
		return s.texts(f(t, sep, limit))
	}
}

// texts makes a list of strings.
func (s *state) texts(parts []string) (Value, error) {
	if err := s.room(len(parts)); err != nil {
		return nil, err
	}
	list := &List{Items: make([]Value, len(parts))}
	for i, p := range parts {
		list.Items[i] = p
	}
	return list, nil
}

func splitLeft(t, sep string, limit int64) []string {
	if sep != "" {
		if limit < 0 || limit >= int64(len(t)) {
			return strings.Split(t, sep)
		}
		return strings.SplitN(t, sep, int(limit)+1)
	}
	var out []string
	for t = strings.TrimLeftFunc(t, isSpace); t != ""; t = strings.TrimLeftFunc(t, isSpace) {
		end := strings.IndexFunc(t, isSpace)
		if limit == 0 || end < 0 {
			return append(out, t)
		}
		out = append(out, t[:end])
		t = t[end:]
		limit--
	}
	return out
}

func splitRight(t, sep string, limit int64) []string {
	var out []string
	if sep == "" {
		t = strings.TrimRightFunc(t, isSpace)
	}
	for ; limit != 0; limit-- {
		var head, tail string
		if sep != "" {
			i := strings.LastIndex(t, sep)
			if i < 0 {
				break
			}
			head, tail = t[:i], t[i+len(sep):]
		} else {
			i := strings.LastIndexFunc(t, isSpace)
			if i < 0 {
				break
			}
			_, n := utf8.DecodeRuneInString(t[i:])
			head, tail = strings.TrimRightFunc(t[:i], isSpace), t[i+n:]
		}
		out = append(out, tail)
		t = head
		if sep == "" && t == "" {
			break
		}
	}
	if sep != "" || t != "" {
		out = append(out, t)
	}
	slices.Reverse(out)
	return out
}

func strSplitlines(s *state, t string, a *args) (Value, error) {
	p, err := a.bind("keepends?")
	if err != nil {
		return nil, err
	}
	return s.texts(splitLines(t, truth(p.or(0, false))))
}

// splitLines splits at every line boundary that Python knows.
func splitLines(t string, keepEnds bool) []string {
	var out []string
	for t != "" {
		i := strings.IndexFunc(t, func(r rune) bool {
			return '\n' <= r && r <= '\r' || 0x1c <= r && r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
		})
		if i < 0 {
			return append(out, t)
		}
		_, n := utf8.DecodeRuneInString(t[i:])
		if strings.HasPrefix(t[i:], "\r\n") {
			n = 2
		}
		if keepEnds {
			out = append(out, t[:i+n])
		} else {
			out = append(out, t[:i])
		}
		t = t[i+n:]
	}
	return out
}

func partitionMethod(last bool) strMethod {
	return func(s *state, t string, a *args) (Value, error) {
		p, err := a.bind("sep")
		if err != nil {
			return nil, err
		}
		sep, err := p.text(0, "")
		if err != nil {
			return nil, err
		}
		if sep == "" {
			return nil, errors.New("empty separator")
		}
		i := strings.Index(t, sep)
		if last {
			i = strings.LastIndex(t, sep)
		}
		switch {
		case i >= 0:
			return tuple(t[:i], sep, t[i+len(sep):]), nil
		case last:
			return tuple("", "", t), nil
		}
		return tuple(t, "", ""), nil
	}
}

func strJoin(s *state, t string, a *args) (Value, error) {
	p, err := a.bind("iterable")
	if err != nil {
		return nil, err
	}
	items, err := s.iterate(p.values[0])
	if err != nil {
		return nil, err
	}
	for i, it := range items {
		if _, ok := text(it); !ok {
			return nil, fmt.Errorf("sequence item %d: expected str instance, %s found", i, typeName(it))
		}
	}
	return s.join(t, items)
}

// join joins the str() of the items within the limits.
func (s *state) join(sep string, items []Value) (string, error) {
	var b strings.Builder
	for i, it := range items {
		if err := s.step(1); err != nil {
			return "", err
		}
		if i > 0 {
			b.WriteString(sep)
		}
		t, err := s.str(it)
		if err != nil {
			return "", err
		}
		if err := s.room(b.Len() + len(t) + len(sep)); err != nil {
			return "", err
		}
		b.WriteString(t)
	}
	return b.String(), nil
}
