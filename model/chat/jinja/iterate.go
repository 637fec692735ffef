package jinja

import (
	"fmt"
	"unicode/utf8"
)

// iterate gives what a for loop over the value visits. The result must not be
// changed.
func (s *state) iterate(v Value) ([]Value, error) {
	if t, ok := text(v); ok {
		if err := s.alloc(wordBytes * len(t)); err != nil {
			return nil, err
		}
		out := make([]Value, 0, len(t))
		for t != "" {
			_, n := utf8.DecodeRuneInString(t)
			out = append(out, t[:n])
			t = t[n:]
		}
		return out, nil
	}
	switch v := v.(type) {
	case *List:
		return v.Items, nil
	case *Tuple:
		return v.Items, nil
	case *Dict:
		return v.keys, s.step(v.Len())
	case *dictView:
		return v.items(), s.alloc(3 * wordBytes * v.d.Len())
	case *generator:
		return v.rest(s)
	case *undefined:
		return nil, nil
	case rangeValue:
		n := int(v.len())
		if err := s.alloc(wordBytes * n); err != nil {
			return nil, err
		}
		out := make([]Value, n)
		for i := range out {
			out[i] = v.start + int64(i)*v.step
		}
		return out, nil
	}
	return nil, fmt.Errorf("'%s' object is not iterable", typeName(v))
}

func isIterable(v Value) bool {
	switch v.(type) {
	case string, Markup, *List, *Tuple, *Dict, *dictView, *generator, *undefined, rangeValue:
		return true
	}
	return false
}

// length is Python's len().
func (s *state) length(v Value) (int64, error) {
	if t, ok := text(v); ok {
		return int64(utf8.RuneCountInString(t)), s.step(len(t) / 64)
	}
	switch v := v.(type) {
	case *List:
		return int64(len(v.Items)), nil
	case *Tuple:
		return int64(len(v.Items)), nil
	case *Dict:
		return int64(v.Len()), nil
	case *dictView:
		return int64(v.d.Len()), nil
	case rangeValue:
		return v.len(), nil
	case *undefined:
		return 0, nil
	}
	return 0, fmt.Errorf("object of type '%s' has no len()", typeName(v))
}
