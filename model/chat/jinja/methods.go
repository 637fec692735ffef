package jinja

import (
	"fmt"
	"math"
)

// dictMethods are the methods of dict that change nothing.
var dictMethods = map[string]func(s *state, d *Dict, a *args) (Value, error){
	"get":    dictGet,
	"items":  dictViewMethod("dict_items"),
	"keys":   dictViewMethod("dict_keys"),
	"values": dictViewMethod("dict_values"),
	"copy": func(s *state, d *Dict, a *args) (Value, error) {
		if _, err := a.bind(); err != nil {
			return nil, err
		}
		if err := s.alloc(4 * wordBytes * d.Len()); err != nil {
			return nil, err
		}
		return d.copy(), nil
	},
}

func dictGet(s *state, d *Dict, a *args) (Value, error) {
	p, err := a.bind("key", "default?")
	if err != nil {
		return nil, err
	}
	v, ok, err := d.lookup(s, p.values[0])
	if err != nil || ok {
		return v, err
	}
	return p.or(1, nil), nil
}

func dictViewMethod(kind string) func(*state, *Dict, *args) (Value, error) {
	return func(_ *state, d *Dict, a *args) (Value, error) {
		_, err := a.bind()
		return &dictView{kind, d}, err
	}
}

// sequenceMethods are the methods of list and tuple that change nothing.
var sequenceMethods = map[string]func(s *state, items []Value, a *args) (Value, error){
	"index": sequenceIndex,
	"count": sequenceCount,
}

func sequenceIndex(s *state, items []Value, a *args) (Value, error) {
	p, err := a.bind("value", "start?", "stop?")
	if err != nil {
		return nil, err
	}
	start, err := p.index(1, 0)
	if err != nil {
		return nil, err
	}
	stop, err := p.index(2, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	n := int64(len(items))
	if start < 0 {
		start = max(start+n, 0)
	}
	if stop < 0 {
		stop += n
	}
	for i := start; i < min(stop, n); i++ {
		eq, err := s.equal(items[i], p.values[0])
		if err != nil {
			return nil, err
		}
		if eq {
			return i, nil
		}
	}
	return nil, fmt.Errorf("%s is not in list", briefRepr(p.values[0]))
}

func sequenceCount(s *state, items []Value, a *args) (Value, error) {
	p, err := a.bind("value")
	if err != nil {
		return nil, err
	}
	n := int64(0)
	for _, it := range items {
		eq, err := s.equal(it, p.values[0])
		if err != nil {
			return nil, err
		}
		n += boolInt(eq)
	}
	return n, nil
}

// numberMethod gives the few methods of numbers that a template may want.
func numberMethod(v Value, name string) (func(*state, *args) (Value, error), bool) {
	var result func() (Value, error)
	f, isFloat := v.(float64)
	switch {
	case name == "is_integer" && isFloat:
		result = func() (Value, error) { return f == math.Trunc(f) && !math.IsInf(f, 0), nil }
	case name == "is_integer":
		result = func() (Value, error) { return true, nil }
	case name == "bit_length" && !isFloat:
		result = func() (Value, error) {
			b, _ := asBig(v)
			return int64(b.BitLen()), nil
		}
	case name == "conjugate":
		result = func() (Value, error) { return v, nil }
	default:
		return nil, false
	}
	return func(_ *state, a *args) (Value, error) {
		if _, err := a.bind(); err != nil {
			return nil, err
		}
		return result()
	}, true
}
