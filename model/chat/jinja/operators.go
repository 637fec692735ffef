package jinja

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"unicode/utf8"
)

// binary applies an arithmetic operator as Python does.
func (s *state) binary(op string, a, b Value) (Value, error) {
	if u := firstUndefined(a, b); u != nil {
		return nil, u
	}
	if isNumber(a) && isNumber(b) {
		return arithmetic(op, a, b)
	}
	switch op {
	case "+":
		return s.add(a, b)
	case "*":
		if n, ok := asIndex(b); ok {
			return s.repeat(a, n, op, a, b)
		}
		if n, ok := asIndex(a); ok {
			return s.repeat(b, n, op, a, b)
		}
	case "%":
		switch a := a.(type) {
		case string:
			return s.percent(a, b)
		case Markup:
			return s.percentMarkup(a, b)
		}
	}
	return nil, unsupported(op, a, b)
}

func firstUndefined(vs ...Value) *undefined {
	for _, v := range vs {
		if u, ok := v.(*undefined); ok {
			return u
		}
	}
	return nil
}

func unsupported(op string, a, b Value) error {
	if op == "**" {
		op = "** or pow()"
	}
	return fmt.Errorf("unsupported operand type(s) for %s: '%s' and '%s'", op, typeName(a), typeName(b))
}

func (s *state) add(a, b Value) (Value, error) {
	cannot := func() (Value, error) {
		return nil, fmt.Errorf(`can only concatenate %s (not "%s") to %s`, typeName(a), typeName(b), typeName(a))
	}
	switch x := a.(type) {
	case string:
		switch y := b.(type) {
		case string:
			if err := s.sized(len(x) + len(y)); err != nil {
				return nil, err
			}
			return x + y, nil
		case Markup:
			return s.joinMarkup(Markup(escapeHTML(x)), y)
		}
		return cannot()
	case Markup:
		if _, ok := text(b); !ok {
			break
		}
		y, err := s.escape(b)
		if err != nil {
			return nil, err
		}
		return s.joinMarkup(x, y)
	case *List:
		if y, ok := b.(*List); ok {
			items, err := s.concat(x.Items, y.Items)
			return &List{Items: items}, err
		}
		return cannot()
	case *Tuple:
		if y, ok := b.(*Tuple); ok {
			items, err := s.concat(x.Items, y.Items)
			return &Tuple{Items: items}, err
		}
		return cannot()
	}
	return nil, unsupported("+", a, b)
}

func (s *state) joinMarkup(a, b Markup) (Value, error) {
	if err := s.sized(len(a) + len(b)); err != nil {
		return nil, err
	}
	return a + b, nil
}

func (s *state) concat(a, b []Value) ([]Value, error) {
	n := len(a) + len(b)
	if err := s.room(n); err != nil {
		return nil, err
	}
	if err := s.alloc(wordBytes * n); err != nil {
		return nil, err
	}
	return append(append(make([]Value, 0, n), a...), b...), nil
}

// repeat is sequence * count; op, a and b are for the message.
func (s *state) repeat(seq Value, n int64, op string, a, b Value) (Value, error) {
	n = max(n, 0)
	grown := func(size int) error {
		if size > 0 && n > int64(s.limits.Size)/int64(size) {
			return s.room(math.MaxInt)
		}
		return s.alloc(size * int(n))
	}
	times := func(items []Value) ([]Value, error) {
		if err := grown(wordBytes * len(items)); err != nil || len(items) == 0 {
			return nil, err
		}
		out := make([]Value, 0, len(items)*int(n))
		for range n {
			out = append(out, items...)
		}
		return out, nil
	}
	switch x := seq.(type) {
	case string:
		if err := grown(len(x)); err != nil || x == "" {
			return "", err
		}
		return strings.Repeat(x, int(n)), nil
	case Markup:
		if err := grown(len(x)); err != nil || x == "" {
			return x, err
		}
		return Markup(strings.Repeat(string(x), int(n))), nil
	case *List:
		items, err := times(x.Items)
		return &List{Items: items}, err
	case *Tuple:
		items, err := times(x.Items)
		return &Tuple{Items: items}, err
	}
	return nil, unsupported(op, a, b)
}

// truth is Python's bool().
func truth(v Value) bool {
	switch v := v.(type) {
	case nil, *undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case *big.Int:
		return v.Sign() != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case Markup:
		return v != ""
	case *List:
		return len(v.Items) > 0
	case *Tuple:
		return len(v.Items) > 0
	case *Dict:
		return v.Len() > 0
	case *dictView:
		return v.d.Len() > 0
	case rangeValue:
		return v.len() > 0
	}
	return true
}

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
