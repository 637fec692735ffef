package jinja

import (
	"errors"
	"fmt"
	"slices"
)

func filterSum(s *state, v Value, a *args) (Value, error) {
	p, err := a.bind("attribute?", "start?")
	if err != nil {
		return nil, err
	}
	items, err := s.iterate(v)
	if err != nil {
		return nil, err
	}
	sum := p.or(1, int64(0))
	if _, isText := text(sum); isText {
		return nil, errors.New("sum() can't sum strings [use ''.join(seq) instead]")
	}
	key := s.keyOf(p.or(0, nil), nil, true)
	for _, it := range items {
		x, err := key(it)
		if err != nil {
			return nil, err
		}
		if err := s.step(1); err != nil {
			return nil, err
		}
		if sum, err = s.binary("+", sum, x); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

func filterBatch(s *state, v Value, a *args) (Value, error) {
	p, err := a.bind("linecount", "fill_with?")
	if err != nil {
		return nil, err
	}
	size, err := p.index(0, 0)
	if err != nil {
		return nil, err
	}
	fill := p.or(1, nil)
	return newGenerator(func() ([]Value, error) { return s.batch(v, size, fill) }), nil
}

func (s *state) batch(v Value, size int64, fill Value) ([]Value, error) {
	items, err := s.iterate(v)
	if err != nil {
		return nil, err
	}
	if size < 1 { // as in Jinja2, which then never finds a line full
		size = max(int64(len(items)), 1)
	}
	var out []Value
	for len(items) > 0 {
		n := min(size, int64(len(items)))
		line := NewList(items[:n:n]...)
		items = items[n:]
		if fill != nil && n < size {
			if err := s.room(int(size)); err != nil {
				return nil, err
			}
			if err := s.alloc(wordBytes * int(size)); err != nil {
				return nil, err
			}
			for range size - n {
				line.Items = append(line.Items, fill)
			}
		}
		out = append(out, line)
	}
	return out, s.alloc(wordBytes * len(out))
}

func filterSlice(s *state, v Value, a *args) (Value, error) {
	p, err := a.bind("slices", "fill_with?")
	if err != nil {
		return nil, err
	}
	count, err := p.index(0, 0)
	if err != nil {
		return nil, err
	}
	fill := p.or(1, nil)
	return newGenerator(func() ([]Value, error) { return s.slices(v, count, fill) }), nil
}

func (s *state) slices(v Value, count int64, fill Value) ([]Value, error) {
	items, err := s.iterate(v)
	if err != nil {
		return nil, err
	}
	if count == 0 {
		return nil, errDivisionByZero
	}
	count = max(count, 0)
	if err := s.room(int(count)); err != nil {
		return nil, err
	}
	if err := s.alloc(4 * wordBytes * int(count)); err != nil {
		return nil, err
	}
	var out []Value
	for i := range int(count) {
		n := len(items) / (int(count) - i)
		longer := len(items)%(int(count)-i) > 0
		if longer {
			n++
		}
		part := NewList(items[:n:n]...)
		items = items[n:]
		if fill != nil && !longer {
			part.Items = append(part.Items, fill)
		}
		out = append(out, part)
	}
	return out, nil
}

func filterLength(s *state, v Value, a *args) (Value, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	return s.length(v)
}

func filterList(s *state, v Value, a *args) (Value, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	items, err := s.iterate(v)
	return &List{Items: slices.Clone(items)}, err
}

func filterFirst(s *state, v Value, a *args) (Value, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	if g, ok := v.(*generator); ok { // the others stay in it
		if err := g.pending(s); err != nil {
			return nil, err
		}
		if len(g.items) > 0 {
			first := g.items[0]
			g.items = g.items[1:]
			return first, nil
		}
	}
	items, err := s.iterate(v)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return &undefined{hint: "No first item, sequence was empty."}, nil
	}
	return items[0], nil
}

func filterLast(s *state, v Value, a *args) (Value, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	items, err := s.reversible(v)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return &undefined{hint: "No last item, sequence was empty."}, nil
	}
	return items[len(items)-1], nil
}

// reversible gives the items of what Python's reversed() takes.
func (s *state) reversible(v Value) ([]Value, error) {
	if g, ok := v.(*generator); ok {
		return nil, fmt.Errorf("'%s' object is not reversible", typeName(g))
	}
	return s.iterate(v)
}

func filterJoin(s *state, v Value, a *args) (Value, error) {
	p, err := a.bind("d?", "attribute?")
	if err != nil {
		return nil, err
	}
	sep, err := s.str(p.or(0, ""))
	if err != nil {
		return nil, err
	}
	items, err := s.iterate(v)
	if err != nil {
		return nil, err
	}
	if path := p.or(1, nil); path != nil {
		picked := make([]Value, len(items))
		for i, it := range items {
			if picked[i], err = s.follow(it, path, nil); err != nil {
				return nil, err
			}
		}
		items = picked
	}
	return s.join(sep, items)
}

func filterReverse(s *state, v Value, a *args) (Value, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	if t, ok := text(v); ok {
		runes := []rune(t)
		slices.Reverse(runes)
		return like(v, string(runes)), nil
	}
	items, err := s.iterate(v)
	if err != nil {
		return nil, errors.New("argument must be iterable")
	}
	items = slices.Clone(items)
	slices.Reverse(items)
	if _, ok := v.(*generator); ok {
		return &List{Items: items}, nil
	}
	return &generator{items: items, kind: "list_reverseiterator"}, nil
}
