package jinja

import (
	"slices"
)

// callStrMethod calls a method of a string. What a method of Markup returns is
// Markup again, and the strings given to it are escaped.
func callStrMethod(s *state, self Value, name string, m strMethod, a *args) (Value, error) {
	t, _ := text(self)
	if err := s.step(len(t) / 64); err != nil {
		return nil, err
	}
	_, isMarkup := self.(Markup)
	if isMarkup {
		var err error
		if a, err = s.escapeArgs(name, a); err != nil {
			return nil, err
		}
	}
	v, err := m(s, t, a)
	if err != nil {
		return nil, err
	}
	if isMarkup {
		v = markAll(v)
	}
	return v, s.account(v)
}

// escapeArgs escapes those arguments that a method of Markup puts into its
// result.
func (s *state) escapeArgs(method string, a *args) (*args, error) {
	out := &args{fn: a.fn, pos: slices.Clone(a.pos)}
	for _, n := range a.names {
		if err := out.setNamed(n, a.named[n]); err != nil {
			return nil, err
		}
	}
	escapeAt := func(i int) error {
		if i >= len(out.pos) {
			return nil
		}
		v, err := s.escapeNested(out.pos[i])
		out.pos[i] = v
		return err
	}
	switch method {
	case "replace":
		return out, escapeAt(1)
	case "join":
		return out, escapeAt(0)
	case "format":
		for i := range out.pos {
			if err := escapeAt(i); err != nil {
				return nil, err
			}
		}
		for _, n := range out.names {
			v, err := s.escapeNested(out.named[n])
			if err != nil {
				return nil, err
			}
			out.named[n] = v
		}
	}
	return out, nil
}

// escapeNested escapes a string, or the strings that a sequence holds.
func (s *state) escapeNested(v Value) (Value, error) {
	switch x := v.(type) {
	case string:
		return s.escape(x)
	case *List, *Tuple, *generator, *dictView:
		items, err := s.iterate(x)
		if err != nil {
			return nil, err
		}
		out := make([]Value, len(items))
		for i, it := range items {
			out[i] = it
			if t, ok := it.(string); ok {
				out[i] = Markup(escapeHTML(t))
			}
		}
		return &List{Items: out}, s.accountAll(out)
	}
	return v, nil
}

// markAll makes Markup of a string, or of the strings in a list or tuple.
func markAll(v Value) Value {
	mark := func(items []Value) {
		for i, it := range items {
			if t, ok := it.(string); ok {
				items[i] = Markup(t)
			}
		}
	}
	switch v := v.(type) {
	case string:
		return Markup(v)
	case *List:
		mark(v.Items)
	case *Tuple:
		mark(v.Items)
	}
	return v
}
