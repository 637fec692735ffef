package jinja

import (
	"fmt"
	"math"
	"math/big"
	"strings"
)

// Dict is Python's dict: keys stay in the order of their insertion.
type Dict struct {
	keys   []Value
	values []Value
	index  map[any]int
}

// NewDict makes an empty dict.
func NewDict() *Dict { return &Dict{} }

// Len is the number of keys.
func (d *Dict) Len() int { return len(d.keys) }

// Set puts a value under a string key; a key that is there keeps its place.
func (d *Dict) Set(key string, v Value) { d.put(key, key, v) }

// Get looks a string key up.
func (d *Dict) Get(key string) (Value, bool) {
	if i, ok := d.index[key]; ok {
		return d.values[i], true
	}
	return nil, false
}

// Keys gives the string keys in order.
func (d *Dict) Keys() []string {
	out := make([]string, 0, len(d.keys))
	for _, k := range d.keys {
		if t, ok := text(k); ok {
			out = append(out, t)
		}
	}
	return out
}

func (d *Dict) put(hash any, key, v Value) {
	if i, ok := d.index[hash]; ok {
		d.values[i] = v
		return
	}
	if d.index == nil {
		d.index = map[any]int{}
	}
	d.index[hash] = len(d.keys)
	d.keys = append(d.keys, key)
	d.values = append(d.values, v)
}

func (d *Dict) setValue(s *state, key, v Value) error {
	h, err := hashKey(s, key)
	if err == nil {
		d.put(h, key, v)
	}
	return err
}

func (d *Dict) lookup(s *state, key Value) (Value, bool, error) {
	h, err := hashKey(s, key)
	if err != nil {
		return nil, false, err
	}
	i, ok := d.index[h]
	if !ok {
		return nil, false, nil
	}
	return d.values[i], true, nil
}

func (d *Dict) copy() *Dict {
	out := NewDict()
	for h, i := range d.index {
		if out.index == nil {
			out.index = make(map[any]int, len(d.index))
		}
		out.index[h] = i
	}
	out.keys = append(out.keys, d.keys...)
	out.values = append(out.values, d.values...)
	return out
}

type (
	noneKey      struct{}
	undefinedKey struct{}
	bigKey       string
	tupleKey     string
)

// hashKey maps values that Python calls equal to Go values that are equal, so
// that 1, 1.0 and True are one key.
func hashKey(s *state, v Value) (any, error) {
	switch v := v.(type) {
	case nil:
		return noneKey{}, nil
	case string:
		return v, nil
	case Markup:
		return string(v), nil
	case bool:
		return boolInt(v), nil
	case int64:
		return v, nil
	case *big.Int:
		return bigKey(v.String()), nil
	case float64:
		return hashFloat(v), nil
	case *Tuple:
		return hashTuple(s, v)
	case *undefined:
		return undefinedKey{}, nil
	case *List, *Dict, *dictView, sliceValue:
		return nil, fmt.Errorf("unhashable type: '%s'", typeName(v))
	}
	return v, nil // by identity: every other type is a pointer or comparable
}

func hashFloat(v float64) any {
	if v != math.Trunc(v) || math.IsInf(v, 0) {
		return v
	}
	if v >= -(1<<63) && v < 1<<63 {
		return int64(v)
	}
	b, _ := big.NewFloat(v).Int(nil)
	return bigKey(b.String())
}

func hashTuple(s *state, t *Tuple) (any, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	var b strings.Builder
	for _, it := range t.Items {
		h, err := hashKey(s, it)
		if err != nil {
			return nil, err
		}
		piece := keyText(h)
		fmt.Fprintf(&b, "%d:%s", len(piece), piece)
		if err := s.room(b.Len()); err != nil {
			return nil, err
		}
		if err := s.alloc(len(piece)); err != nil {
			return nil, err
		}
	}
	return tupleKey(b.String()), nil
}

func keyText(h any) string {
	switch h.(type) {
	case string, int64, float64, noneKey, undefinedKey, bigKey, tupleKey, rangeValue:
		return fmt.Sprintf("%T:%v", h, h)
	}
	return fmt.Sprintf("%p", h)
}
