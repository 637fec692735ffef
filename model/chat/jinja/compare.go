package jinja

import (
	"fmt"
	"math/big"
	"strings"
)

// equal is Python's ==.
func (s *state) equal(a, b Value) (bool, error) {
	if err := s.enter(); err != nil {
		return false, err
	}
	defer s.leave()
	if isNumber(a) && isNumber(b) {
		order, ok := compareNumbers(a, b)
		return ok && order == 0, nil
	}
	if x, ok := text(a); ok {
		y, ok := text(b)
		return ok && x == y, s.step(min(len(x), len(y)) / 64)
	}
	switch x := a.(type) {
	case *undefined:
		_, ok := b.(*undefined)
		return ok, nil
	case *List:
		y, ok := b.(*List)
		if !ok {
			return false, nil
		}
		return s.equalItems(x.Items, y.Items)
	case *Tuple:
		y, ok := b.(*Tuple)
		if !ok {
			return false, nil
		}
		return s.equalItems(x.Items, y.Items)
	case *Dict:
		y, ok := b.(*Dict)
		if !ok || x.Len() != y.Len() {
			return false, nil
		}
		return s.equalDicts(x, y)
	case rangeValue:
		y, ok := b.(rangeValue)
		return ok && x.len() == y.len() && (x.len() == 0 || x.start == y.start && (x.len() == 1 || x.step == y.step)), nil
	}
	return a == b, nil
}

func (s *state) equalItems(a, b []Value) (bool, error) {
	if len(a) != len(b) {
		return false, nil
	}
	for i := range a {
		if eq, err := s.equal(a[i], b[i]); err != nil || !eq {
			return false, err
		}
	}
	return true, nil
}

func (s *state) equalDicts(a, b *Dict) (bool, error) {
	for h, i := range a.index {
		j, ok := b.index[h]
		if !ok {
			return false, nil
		}
		if eq, err := s.equal(a.values[i], b.values[j]); err != nil || !eq {
			return false, err
		}
	}
	return true, nil
}

// order compares two values that have an order; ok is false where a NaN makes
// every comparison false.
func (s *state) order(op string, a, b Value) (order int, ok bool, err error) {
	if err := s.enter(); err != nil {
		return 0, false, err
	}
	defer s.leave()
	if u := firstUndefined(a, b); u != nil {
		return 0, false, u
	}
	if isNumber(a) && isNumber(b) {
		order, ok := compareNumbers(a, b)
		return order, ok, nil
	}
	x, xText := text(a)
	y, yText := text(b)
	if xText && yText {
		// UTF-8 sorts like code points.
		return strings.Compare(x, y), true, s.step(min(len(x), len(y)) / 64)
	}
	if x, ok := a.(*List); ok {
		if y, ok := b.(*List); ok {
			return s.orderItems(op, x.Items, y.Items)
		}
	}
	if x, ok := a.(*Tuple); ok {
		if y, ok := b.(*Tuple); ok {
			return s.orderItems(op, x.Items, y.Items)
		}
	}
	return 0, false, fmt.Errorf("'%s' not supported between instances of '%s' and '%s'", op, typeName(a), typeName(b))
}

func (s *state) orderItems(op string, a, b []Value) (int, bool, error) {
	for i := range min(len(a), len(b)) {
		eq, err := s.equal(a[i], b[i])
		if err != nil {
			return 0, false, err
		}
		if !eq {
			return s.order(op, a[i], b[i])
		}
	}
	return len(a) - len(b), true, nil
}

// compare applies one comparison operator.
func (s *state) compare(op string, a, b Value) (bool, error) {
	switch op {
	case "==":
		return s.equal(a, b)
	case "!=":
		eq, err := s.equal(a, b)
		return !eq, err
	case "in":
		return s.contains(b, a)
	case "not in":
		in, err := s.contains(b, a)
		return !in, err
	}
	order, ok, err := s.order(op, a, b)
	if err != nil || !ok {
		return false, err
	}
	switch op {
	case "<":
		return order < 0, nil
	case "<=":
		return order <= 0, nil
	case ">":
		return order > 0, nil
	}
	return order >= 0, nil
}

// contains is `item in box`.
func (s *state) contains(box, item Value) (bool, error) {
	if t, ok := text(box); ok {
		sub, ok := text(item)
		if !ok {
			return false, fmt.Errorf("'in <string>' requires string as left operand, not %s", typeName(item))
		}
		return strings.Contains(t, sub), s.step(len(t) / 64)
	}
	switch b := box.(type) {
	case *Dict:
		_, found, err := b.lookup(s, item)
		return found, err
	case *dictView:
		if b.kind == "dict_keys" {
			_, found, err := b.d.lookup(s, item)
			return found, err
		}
	case nil, bool, int64, *big.Int, float64, *namespace, *macro, *function:
		return false, fmt.Errorf("argument of type '%s' is not iterable", typeName(box))
	}
	items, err := s.iterate(box)
	if err != nil {
		return false, err
	}
	for _, it := range items {
		if eq, err := s.equal(it, item); err != nil || eq {
			return eq, err
		}
	}
	return false, nil
}
