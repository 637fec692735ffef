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
