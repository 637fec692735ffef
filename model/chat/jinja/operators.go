package jinja

import (
	"fmt"
	"math"
	"math/big"
	"strings"
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
			return s.concatenate(x, y)
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
	t, err := s.concatenate(string(a), string(b))
	return Markup(t), err
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
