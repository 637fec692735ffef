package jinja

import (
	"math/big"
	"slices"
)

// Value is a template value. Its dynamic type is one of
//
//	nil                None
//	bool, int64, *big.Int (only what int64 cannot hold), float64
//	string, Markup     str, and str marked safe
//	*List, *Tuple, *Dict
//
// or one of the evaluator's own (undefined, generator, function, ...). Lists
// and dicts are never changed by a template, so they may be shared.
type Value any

// Markup is a string marked safe: adding a string to it escapes that string
// for HTML, as markupsafe does.
type Markup string

// List is Python's list.
type List struct{ Items []Value }

// NewList makes a list of the given items.
func NewList(items ...Value) *List { return &List{Items: items} }

// Tuple is Python's tuple; groupby gives its elements names.
type Tuple struct {
	Items []Value
	names []string
}

func tuple(items ...Value) *Tuple { return &Tuple{Items: items} }

// undefined is what a missing variable, attribute or element evaluates to.
type undefined struct {
	hint   string // the whole message, if set
	name   Value  // of what is missing
	obj    Value  // it is missing from obj, if hasObj
	hasObj bool
}

func (u *undefined) Error() string {
	switch name, isText := text(u.name); {
	case u.hint != "":
		return u.hint
	case !u.hasObj:
		return quote(name) + " is undefined"
	case !isText:
		return objectType(u.obj) + " has no element " + briefRepr(u.name)
	default:
		return quote(objectType(u.obj)) + " has no attribute " + quote(name)
	}
}

func missingFrom(obj, name Value) *undefined { return &undefined{obj: obj, name: name, hasObj: true} }

// generator is an iterator: truthy, without a length, and used up once. Its
// items are made when the first of them is wanted.
type generator struct {
	make  func() ([]Value, error) // nil once called
	items []Value                 // that are left
	kind  string                  // Python's name of its type
}

func newGenerator(make func() ([]Value, error)) *generator {
	return &generator{make: make, kind: "generator"}
}

// pending makes the items if need be; they stay in the generator.
func (g *generator) pending(s *state) error {
	if g.make == nil {
		return nil
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	make := g.make
	g.make = nil
	items, err := make()
	if err != nil {
		return err
	}
	g.items = items
	return s.accountAll(items)
}

// rest uses the generator up.
func (g *generator) rest(s *state) ([]Value, error) {
	err := g.pending(s)
	items := g.items
	g.items = nil
	return items, err
}

// dictView is what keys(), values() and items() of a dict return.
type dictView struct {
	kind string
	d    *Dict
}

func (v *dictView) items() []Value {
	switch v.kind {
	case "dict_keys":
		return slices.Clone(v.d.keys)
	case "dict_values":
		return slices.Clone(v.d.values)
	}
	out := make([]Value, v.d.Len())
	for i := range out {
		out[i] = tuple(v.d.keys[i], v.d.values[i])
	}
	return out
}

// rangeValue is Python's range object.
type rangeValue struct{ start, stop, step int64 }

func (r rangeValue) len() int64 {
	switch {
	case r.step > 0 && r.start < r.stop:
		return (r.stop-r.start-1)/r.step + 1
	case r.step < 0 && r.start > r.stop:
		return (r.start-r.stop-1)/-r.step + 1
	}
	return 0
}

// sliceValue is the subscript in x[a:b:c]; a missing part is nil.
type sliceValue struct{ lo, hi, step Value }

// namespace is the one object whose attributes a template can set.
type namespace struct{ attrs *Dict }

// function is anything built in that can be called.
type function struct {
	name string
	call func(s *state, a *args) (Value, error)
}

// text gives the characters of a string or Markup.
func text(v Value) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case Markup:
		return string(v), true
	}
	return "", false
}

// typeName is Python's name of the value's type.
func typeName(v Value) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case Markup:
		return "Markup"
	case *List:
		return "list"
	case *Tuple:
		return "tuple"
	case *Dict:
		return "dict"
	case *undefined:
		return "Undefined"
	case *generator:
		return v.kind
	case *dictView:
		return v.kind
	case rangeValue:
		return "range"
	case sliceValue:
		return "slice"
	case *namespace:
		return "Namespace"
	case *macro:
		return "Macro"
	case *loopValue:
		return "LoopContext"
	case *cyclerValue:
		return "Cycler"
	}
	return "function"
}

// objectType is how Jinja2 names the owner of a missing attribute.
func objectType(v Value) string {
	switch v.(type) {
	case nil:
		return "None"
	case Markup:
		return "markupsafe.Markup object"
	case *namespace, *cyclerValue:
		return "jinja2.utils." + typeName(v) + " object"
	case *macro, *loopValue:
		return "jinja2.runtime." + typeName(v) + " object"
	}
	return typeName(v) + " object"
}
