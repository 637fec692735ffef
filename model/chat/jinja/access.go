package jinja

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"unicode/utf8"
)

// getattr is x.name: first an attribute of the object, then an element.
func (s *state) getattr(x Value, name string) (Value, error) {
	if u, ok := x.(*undefined); ok {
		return nil, u
	}
	if v, ok := s.attribute(x, name); ok {
		return v, nil
	}
	if d, ok := x.(*Dict); ok {
		if v, ok := d.Get(name); ok {
			return v, nil
		}
	}
	return missingFrom(x, name), nil
}

// getitem is x[sub]: first an element, then an attribute of the object.
func (s *state) getitem(x, sub Value) (Value, error) {
	if u, ok := x.(*undefined); ok {
		return nil, u
	}
	v, found, err := s.element(x, sub)
	if err != nil || found {
		return v, err
	}
	if name, ok := text(sub); ok {
		if v, ok := s.attribute(x, name); ok {
			return v, nil
		}
	}
	return missingFrom(x, sub), nil
}

// outOfReach is what the sandbox gives for attributes it does not allow. It is
// an error to call it.
func outOfReach(x Value, name string) *undefined {
	return &undefined{hint: fmt.Sprintf("access to attribute %s of %s object is unsafe.", quote(name), quote(typeName(x)))}
}

// mutators are the methods that the sandbox keeps from templates.
var mutators = map[string]string{
	"list": " append clear extend insert pop remove reverse sort ",
	"dict": " clear pop popitem setdefault update ",
}

// attribute gives what Python's getattr would: methods, and the attributes of
// the evaluator's own objects.
func (s *state) attribute(x Value, name string) (Value, bool) {
	if strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__") && len(name) > 4 {
		if d, ok := x.(*Dict); ok {
			if _, ok := d.Get(name); ok {
				return nil, false
			}
		}
		return outOfReach(x, name), true
	}
	if strings.Contains(mutators[typeName(x)], " "+name+" ") {
		return outOfReach(x, name), true
	}
	method := func(m func(*state, *args) (Value, error)) (Value, bool) {
		return &function{name, m}, true
	}
	switch v := x.(type) {
	case string, Markup:
		if m, ok := strMethods[name]; ok {
			return method(func(s *state, a *args) (Value, error) { return callStrMethod(s, v, name, m, a) })
		}
	case *Dict:
		if m, ok := dictMethods[name]; ok {
			return method(func(s *state, a *args) (Value, error) { return m(s, v, a) })
		}
	case *List:
		if name == "copy" {
			return method(func(s *state, a *args) (Value, error) {
				if _, err := a.bind(); err != nil {
					return nil, err
				}
				out := NewList(append([]Value{}, v.Items...)...)
				return out, s.account(out)
			})
		}
		if m, ok := sequenceMethods[name]; ok {
			return method(func(s *state, a *args) (Value, error) { return m(s, v.Items, a) })
		}
	case *Tuple:
		for i, n := range v.names {
			if n == name {
				return v.Items[i], true
			}
		}
		if m, ok := sequenceMethods[name]; ok {
			return method(func(s *state, a *args) (Value, error) { return m(s, v.Items, a) })
		}
	case bool, int64, *big.Int, float64:
		if m, ok := numberMethod(v, name); ok {
			return method(m)
		}
	case *namespace:
		return v.attrs.Get(name)
	case *loopValue:
		return v.attr(name)
	case *macro:
		return v.attr(name)
	case *cyclerValue:
		return v.attr(name)
	}
	return nil, false
}

// element gives x[sub] as Python has it; what is not there, or no subscript of
// such an object, is not found.
func (s *state) element(x, sub Value) (v Value, found bool, err error) {
	if d, ok := x.(*Dict); ok {
		v, found, err := d.lookup(s, sub)
		if err != nil && !errors.Is(err, ErrLimit) {
			err = nil // an unhashable key
		}
		return v, found, err
	}
	if sl, ok := sub.(sliceValue); ok {
		return s.slice(x, sl)
	}
	i, ok := asIndex(sub)
	if !ok {
		return nil, false, nil
	}
	if t, ok := text(x); ok {
		return s.character(x, t, i)
	}
	switch x := x.(type) {
	case *List:
		v, found = pick(x.Items, i)
	case *Tuple:
		v, found = pick(x.Items, i)
	case rangeValue:
		n := x.len()
		if i < 0 {
			i += n
		}
		if 0 <= i && i < n {
			v, found = x.start+i*x.step, true
		}
	}
	return v, found, nil
}

func pick(items []Value, i int64) (Value, bool) {
	if i < 0 {
		i += int64(len(items))
	}
	if i < 0 || i >= int64(len(items)) {
		return nil, false
	}
	return items[i], true
}

func (s *state) character(x Value, t string, i int64) (Value, bool, error) {
	if err := s.step(len(t) / 64); err != nil {
		return nil, false, err
	}
	n := int64(utf8.RuneCountInString(t))
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return nil, false, nil
	}
	return like(x, runeSlice(t, i, i+1)), true, nil
}

// like makes a string of the same kind as x.
func like(x Value, t string) Value {
	if _, ok := x.(Markup); ok {
		return Markup(t)
	}
	return t
}

// slice is x[lo:hi:step] of a sequence.
func (s *state) slice(x Value, sl sliceValue) (Value, bool, error) {
	if u := firstUndefined(sl.lo, sl.hi, sl.step); u != nil {
		return nil, false, nil // no index: Jinja2 takes it for a missing element
	}
	if t, ok := text(x); ok {
		return s.sliceText(x, t, sl)
	}
	var items []Value
	switch x := x.(type) {
	case *List:
		items = x.Items
	case *Tuple:
		items = x.Items
	case rangeValue:
		return sliceRange(x, sl)
	default:
		return nil, false, nil
	}
	start, step, n, err := sl.bounds(int64(len(items)))
	if err != nil || n < 0 {
		return nil, false, err
	}
	out := make([]Value, n)
	for i := range out {
		out[i] = items[start+int64(i)*step]
	}
	if err := s.accountAll(out); err != nil {
		return nil, false, err
	}
	if _, ok := x.(*Tuple); ok {
		return &Tuple{Items: out}, true, nil
	}
	return &List{Items: out}, true, nil
}

func (s *state) sliceText(x Value, t string, sl sliceValue) (Value, bool, error) {
	if err := s.alloc(len(t)); err != nil {
		return nil, false, err
	}
	start, step, n, err := sl.bounds(int64(utf8.RuneCountInString(t)))
	if err != nil || n < 0 {
		return nil, false, err
	}
	if step == 1 {
		return like(x, runeSlice(t, start, start+n)), true, nil
	}
	runes := []rune(t)
	out := make([]rune, n)
	for i := range out {
		out[i] = runes[start+int64(i)*step]
	}
	return like(x, string(out)), true, nil
}

func sliceRange(r rangeValue, sl sliceValue) (Value, bool, error) {
	start, step, n, err := sl.bounds(r.len())
	if err != nil || n < 0 {
		return nil, false, err
	}
	first := r.start + start*r.step
	return rangeValue{first, first + n*step*r.step, step * r.step}, true, nil
}

// bounds gives the first index, the step and the count of a slice of length n;
// the count is -1 if a part is no integer.
func (sl sliceValue) bounds(length int64) (start, step, n int64, err error) {
	part := func(v Value, def int64) int64 {
		if v == nil {
			return def
		}
		i, ok := asIndex(v)
		if !ok {
			n = -1
		}
		return i
	}
	step = part(sl.step, 1)
	if step == 0 && n == 0 {
		return 0, 0, -1, errors.New("slice step cannot be zero")
	}
	step = max(step, -math.MaxInt64) // so that it can be negated
	lowest, highest := int64(0), length
	if step < 0 {
		lowest, highest = -1, length-1
	}
	clamp := func(v Value, def int64) int64 {
		i := part(v, def)
		if v != nil && i < 0 {
			i += length
		}
		return min(max(i, lowest), highest)
	}
	var stop int64
	if step > 0 {
		start, stop = clamp(sl.lo, lowest), clamp(sl.hi, highest)
	} else {
		start, stop = clamp(sl.lo, highest), clamp(sl.hi, lowest)
	}
	if n < 0 {
		return 0, 0, -1, nil
	}
	switch {
	case step > 0 && start < stop:
		n = (stop-start-1)/step + 1
	case step < 0 && start > stop:
		n = (start-stop-1)/-step + 1
	}
	if n == 0 { // indices may lie outside: keep them from being used
		start, step = 0, 1
	}
	if n == 1 {
		step = max(min(step, 1), -1)
	}
	return start, step, n, nil
}
