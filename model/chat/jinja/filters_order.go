package jinja

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// follow walks a dotted path such as "function.name" or 0 from a value; what
// is missing on the way is replaced by def, unless that is nil.
func (s *state) follow(v, path, def Value) (Value, error) {
	t, ok := text(path)
	if !ok {
		return s.getitem(v, path)
	}
	for _, part := range strings.Split(t, ".") {
		if err := s.step(1); err != nil {
			return nil, err
		}
		var sub Value = part
		if n, err := strconv.ParseUint(part, 10, 62); err == nil {
			sub = int64(n)
		}
		next, err := s.getitem(v, sub)
		if err != nil {
			return nil, err
		}
		if _, missing := next.(*undefined); missing && def != nil {
			next = def
		}
		v = next
	}
	return v, nil
}

// foldCase is the key of sorting and grouping without regard to case.
func foldCase(v Value) Value {
	if t, ok := text(v); ok {
		return lower(t)
	}
	return v
}

// keyFunc gives what an item is sorted, grouped or compared by.
type keyFunc func(Value) (Value, error)

// keyOf makes a keyFunc of the arguments attribute and case_sensitive.
func (s *state) keyOf(path, def Value, caseSensitive bool) keyFunc {
	return func(v Value) (Value, error) {
		if path != nil {
			var err error
			if v, err = s.follow(v, path, def); err != nil {
				return nil, err
			}
		}
		if !caseSensitive {
			v = foldCase(v)
		}
		return v, nil
	}
}

// sortBy sorts in place, stably.
func (s *state) sortBy(items []Value, reverse bool, key keyFunc) error {
	keys := make([]Value, len(items))
	order := make([]int, len(items))
	for i, it := range items {
		var err error
		if keys[i], err = key(it); err != nil {
			return err
		}
		order[i] = i
	}
	var failed error
	slices.SortStableFunc(order, func(a, b int) int {
		if failed != nil {
			return 0
		}
		n, ok, err := s.order("<", keys[a], keys[b])
		if err != nil {
			failed = err
		}
		if !ok {
			return 0
		}
		if reverse {
			return -n
		}
		return n
	})
	if failed != nil {
		return failed
	}
	sorted := make([]Value, len(items))
	for i, j := range order {
		sorted[i] = items[j]
	}
	copy(items, sorted)
	return s.alloc(3 * wordBytes * len(items))
}

func filterSort(s *state, v Value, a *args) (Value, error) {
	p, err := a.bind("reverse?", "case_sensitive?", "attribute?")
	if err != nil {
		return nil, err
	}
	items, err := s.iterate(v)
	if err != nil {
		return nil, err
	}
	items = slices.Clone(items)
	caseSensitive := truth(p.or(1, false))
	key := s.keyOf(p.or(2, nil), nil, caseSensitive)
	if paths, ok := text(p.or(2, nil)); ok && strings.Contains(paths, ",") {
		key = s.keyOfSeveral(strings.Split(paths, ","), caseSensitive)
	}
	if err := s.sortBy(items, truth(p.or(0, false)), key); err != nil {
		return nil, err
	}
	return &List{Items: items}, nil
}

// keyOfSeveral sorts by one path, then by the next, and so on.
func (s *state) keyOfSeveral(paths []string, caseSensitive bool) keyFunc {
	return func(v Value) (Value, error) {
		key := &List{}
		for _, path := range paths {
			k, err := s.keyOf(path, nil, caseSensitive)(v)
			if err != nil {
				return nil, err
			}
			key.Items = append(key.Items, k)
		}
		return key, nil
	}
}

func filterUnique(s *state, v Value, a *args) (Value, error) {
	p, err := a.bind("case_sensitive?", "attribute?")
	if err != nil {
		return nil, err
	}
	key := s.keyOf(p.or(1, nil), nil, truth(p.or(0, false)))
	return newGenerator(func() ([]Value, error) { return s.unique(v, key) }), nil
}

func (s *state) unique(v Value, key keyFunc) ([]Value, error) {
	items, err := s.iterate(v)
	if err != nil {
		return nil, err
	}
	seen := map[any]bool{}
	var out []Value
	for _, it := range items {
		k, err := key(it)
		if err != nil {
			return nil, err
		}
		h, err := hashKey(s, k)
		if err != nil {
			return nil, err
		}
		if !seen[h] {
			seen[h] = true
			out = append(out, it)
		}
	}
	return out, s.alloc(4 * wordBytes * len(out))
}

func filterExtreme(greatest bool) filterFunc {
	return func(s *state, v Value, a *args) (Value, error) {
		p, err := a.bind("case_sensitive?", "attribute?")
		if err != nil {
			return nil, err
		}
		items, err := s.iterate(v)
		if err != nil {
			return nil, err
		}
		if len(items) == 0 {
			return &undefined{hint: "No aggregated item, sequence was empty."}, nil
		}
		key := s.keyOf(p.or(1, nil), nil, truth(p.or(0, false)))
		best, err := items[0], error(nil)
		bestKey, err := key(best)
		if err != nil {
			return nil, err
		}
		for _, it := range items[1:] {
			k, err := key(it)
			if err != nil {
				return nil, err
			}
			var better bool
			if greatest {
				better, err = s.compare(">", k, bestKey)
			} else {
				better, err = s.compare("<", k, bestKey)
			}
			if err != nil {
				return nil, err
			}
			if better {
				best, bestKey = it, k
			}
		}
		return best, nil
	}
}

func filterGroupBy(s *state, v Value, a *args) (Value, error) {
	p, err := a.bind("attribute", "default?", "case_sensitive?")
	if err != nil {
		return nil, err
	}
	items, err := s.iterate(v)
	if err != nil {
		return nil, err
	}
	items = slices.Clone(items)
	caseSensitive := truth(p.or(2, false))
	key := s.keyOf(p.values[0], p.or(1, nil), caseSensitive)
	if err := s.sortBy(items, false, key); err != nil {
		return nil, err
	}
	shown := s.keyOf(p.values[0], p.or(1, nil), true)
	out := &List{}
	var last Value
	for i, it := range items {
		k, err := key(it)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			same, err := s.equal(last, k)
			if err != nil {
				return nil, err
			}
			if same {
				group := out.Items[len(out.Items)-1].(*Tuple).Items[1].(*List)
				group.Items = append(group.Items, it)
				continue
			}
		}
		last = k
		name, err := shown(it) // of the first of the group, with its case
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, &Tuple{Items: []Value{name, NewList(it)}, names: []string{"grouper", "list"}})
	}
	return out, s.alloc(6 * wordBytes * len(items))
}

func filterDictSort(s *state, v Value, a *args) (Value, error) {
	p, err := a.bind("case_sensitive?", "by?", "reverse?")
	if err != nil {
		return nil, err
	}
	if u, ok := v.(*undefined); ok {
		return nil, u
	}
	d, ok := v.(*Dict)
	if !ok {
		return nil, fmt.Errorf("dictsort needs a dict, not %s", typeName(v))
	}
	by, err := p.text(1, "key")
	if err != nil {
		return nil, err
	}
	if by != "key" && by != "value" {
		return nil, errors.New(`you can only sort by either "key" or "value"`)
	}
	index := boolInt(by == "value")
	pairs := (&dictView{"dict_items", d}).items()
	if err := s.alloc(4 * wordBytes * len(pairs)); err != nil {
		return nil, err
	}
	err = s.sortBy(pairs, truth(p.or(2, false)), s.keyOf(index, nil, truth(p.or(0, false))))
	return &List{Items: pairs}, err
}
