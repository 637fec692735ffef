package jinja

import (
	"errors"
	"fmt"
)

func filterMap(s *state, v Value, a *args) (Value, error) {
	return newGenerator(func() ([]Value, error) {
		if !truth(v) {
			return nil, nil
		}
		each, err := s.mapper(a)
		if err != nil {
			return nil, err
		}
		items, err := s.iterate(v)
		if err != nil {
			return nil, err
		}
		out := make([]Value, len(items))
		for i, it := range items {
			if err := s.step(1); err != nil {
				return nil, err
			}
			if out[i], err = each(it); err != nil {
				return nil, err
			}
		}
		return out, nil
	}), nil
}

// mapper makes the function that map applies: an attribute or a filter.
func (s *state) mapper(a *args) (keyFunc, error) {
	if len(a.pos) == 0 {
		path, ok := a.named["attribute"]
		if !ok {
			return nil, errors.New("map requires a filter argument")
		}
		for _, n := range a.names {
			if n != "attribute" && n != "default" {
				return nil, fmt.Errorf("unexpected keyword argument %s", quote(n))
			}
		}
		return s.keyOf(path, a.named["default"], true), nil
	}
	name, ok := text(a.pos[0])
	if !ok {
		return nil, fmt.Errorf("map: the name of a filter must be str, not %s", typeName(a.pos[0]))
	}
	if _, ok := filters[name]; !ok {
		return nil, noFilter(name)
	}
	rest := a.from(1, name)
	return func(v Value) (Value, error) {
		if err := s.enter(); err != nil {
			return nil, err
		}
		defer s.leave()
		return s.filter(name, v, rest)
	}, nil
}

// filterSelect makes select, reject, selectattr and rejectattr.
func filterSelect(keep, byAttribute bool) filterFunc {
	return func(s *state, v Value, a *args) (Value, error) {
		return newGenerator(func() ([]Value, error) { return s.selectItems(v, a, keep, byAttribute) }), nil
	}
}

// selectItems gives the items whose test is as keep says; what is false, None
// too, has no items.
func (s *state) selectItems(v Value, a *args, keep, byAttribute bool) ([]Value, error) {
	if !truth(v) {
		return nil, nil
	}
	subject := func(v Value) (Value, error) { return v, nil }
	if byAttribute {
		if len(a.pos) == 0 {
			return nil, errors.New("missing parameter for attribute name")
		}
		subject = s.keyOf(a.pos[0], nil, true)
		a = a.from(1, a.fn)
	}
	test, err := s.tester(a)
	if err != nil {
		return nil, err
	}
	items, err := s.iterate(v)
	if err != nil {
		return nil, err
	}
	var out []Value
	for _, it := range items {
		if err := s.step(1); err != nil {
			return nil, err
		}
		x, err := subject(it)
		if err != nil {
			return nil, err
		}
		ok, err := test(x)
		if err != nil {
			return nil, err
		}
		if ok == keep {
			out = append(out, it)
		}
	}
	return out, nil
}

// tester makes the test that select applies; without a name it is truth.
func (s *state) tester(a *args) (func(Value) (bool, error), error) {
	if len(a.pos) == 0 {
		return func(v Value) (bool, error) { return truth(v), nil }, nil
	}
	name, ok := text(a.pos[0])
	if !ok {
		return nil, fmt.Errorf("the name of a test must be str, not %s", typeName(a.pos[0]))
	}
	if _, ok := tests[name]; !ok {
		return nil, noTest(name)
	}
	rest := a.from(1, name)
	return func(v Value) (bool, error) { return s.test(name, v, rest) }, nil
}

func filterItems(_ *state, v Value, a *args) (Value, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	return newGenerator(func() ([]Value, error) {
		switch v := v.(type) {
		case *undefined:
			return nil, nil
		case *Dict:
			return (&dictView{"dict_items", v}).items(), nil
		}
		return nil, errors.New("can only get item pairs from a mapping")
	}), nil
}
