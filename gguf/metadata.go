package gguf

import (
	"fmt"
	"iter"
)

// Metadata is a list of key/value pairs in the order of the file. The zero
// value is empty and ready for use.
type Metadata struct {
	pairs []pair
	index map[string]int
}

type pair struct {
	key   string
	value Value
}

// newMetadata returns an empty list with room for n pairs.
func newMetadata(n int) *Metadata {
	return &Metadata{pairs: make([]pair, 0, n), index: make(map[string]int, n)}
}

// Len is the number of pairs.
func (m *Metadata) Len() int { return len(m.pairs) }

// Keys returns all keys in order.
func (m *Metadata) Keys() []string {
	keys := make([]string, len(m.pairs))
	for i, p := range m.pairs {
		keys[i] = p.key
	}
	return keys
}

// All visits all pairs in order.
func (m *Metadata) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for _, p := range m.pairs {
			if !yield(p.key, p.value) {
				return
			}
		}
	}
}

// Get returns the value of a key.
func (m *Metadata) Get(key string) (Value, bool) {
	i, ok := m.index[key]
	if !ok {
		return Value{}, false
	}
	return m.pairs[i].value, true
}

// Set gives a key a value. A new key goes to the end, one that exists keeps
// its place.
func (m *Metadata) Set(key string, v Value) {
	if i, ok := m.index[key]; ok {
		m.pairs[i].value = v
		return
	}
	if m.index == nil {
		m.index = make(map[string]int)
	}
	m.index[key] = len(m.pairs)
	m.pairs = append(m.pairs, pair{key, v})
}

// clone returns a copy that can be changed without changing m.
func (m *Metadata) clone() *Metadata {
	c := newMetadata(len(m.pairs))
	c.pairs = append(c.pairs, m.pairs...)
	for i, p := range c.pairs {
		c.index[p.key] = i
	}
	return c
}

// lookup is the typed getter for the type that get returns.
func lookup[T any](m *Metadata, key string, get func(Value) (T, error)) (T, bool, error) {
	var zero T
	v, ok := m.Get(key)
	if !ok {
		return zero, false, nil
	}
	x, err := get(v)
	if err != nil {
		return zero, true, fmt.Errorf("gguf: %s: %w", subject("key", key), err)
	}
	return x, true, nil
}

// String returns the string at key, whether the key exists, and an error if it
// exists and holds anything else.
func (m *Metadata) String(key string) (string, bool, error) { return lookup(m, key, Value.Text) }

// Uint is like String for an integer of any type that is not negative.
func (m *Metadata) Uint(key string) (uint64, bool, error) { return lookup(m, key, Value.Uint) }

// Int is like String for an integer of any type that fits.
func (m *Metadata) Int(key string) (int64, bool, error) { return lookup(m, key, Value.Int) }

// Float is like String for a float or an integer.
func (m *Metadata) Float(key string) (float64, bool, error) { return lookup(m, key, Value.Float) }

// Bool is like String for a bool.
func (m *Metadata) Bool(key string) (bool, bool, error) { return lookup(m, key, Value.Bool) }

// Strings is like String for an array of strings.
func (m *Metadata) Strings(key string) ([]string, bool, error) { return lookup(m, key, Value.Strings) }

// Uints is like String for an array of integers, none of them negative.
func (m *Metadata) Uints(key string) ([]uint64, bool, error) { return lookup(m, key, Value.Uints) }

// Ints is like String for an array of integers that fit.
func (m *Metadata) Ints(key string) ([]int64, bool, error) { return lookup(m, key, Value.Ints) }

// Floats is like String for an array of floats or integers.
func (m *Metadata) Floats(key string) ([]float64, bool, error) { return lookup(m, key, Value.Floats) }

// Bools is like String for an array of bools.
func (m *Metadata) Bools(key string) ([]bool, bool, error) { return lookup(m, key, Value.Bools) }
