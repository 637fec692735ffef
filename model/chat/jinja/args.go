package jinja

import (
	"fmt"
	"strings"
)

// args are the arguments of one call of a function, filter, test or macro.
type args struct {
	fn    string // for messages
	pos   []Value
	names []string // keyword arguments, in order
	named map[string]Value
}

func (a *args) setNamed(name string, v Value) error {
	if _, dup := a.named[name]; dup {
		return fmt.Errorf("%s() got multiple values for keyword argument %s", a.fn, quote(name))
	}
	if a.named == nil {
		a.named = map[string]Value{}
	}
	a.names = append(a.names, name)
	a.named[name] = v
	return nil
}

// namedDict gives the keyword arguments as a dict.
func (a *args) namedDict() *Dict {
	d := NewDict()
	for _, n := range a.names {
		d.Set(n, a.named[n])
	}
	return d
}

// from gives the arguments without the first n positional ones.
func (a *args) from(n int, fn string) *args {
	return &args{fn: fn, pos: a.pos[n:], names: a.names, named: a.named}
}

// absent stands for an optional argument that was not given.
type absent struct{}

// params are bound arguments.
type params struct {
	fn     string
	names  []string
	values []Value
}

// bind matches the arguments to parameters; one whose name ends in "?" is
// optional.
func (a *args) bind(names ...string) (params, error) {
	p := params{fn: a.fn, names: names, values: make([]Value, len(names))}
	if len(a.pos) > len(names) {
		return p, fmt.Errorf("%s() takes at most %d argument(s) (%d given)", a.fn, len(names), len(a.pos))
	}
	used := 0
	for i, n := range names {
		name, optional := strings.CutSuffix(n, "?")
		v, byName := a.named[name]
		switch {
		case i < len(a.pos) && byName:
			return p, fmt.Errorf("%s() got multiple values for argument %s", a.fn, quote(name))
		case i < len(a.pos):
			p.values[i] = a.pos[i]
		case byName:
			p.values[i] = v
			used++
		case optional:
			p.values[i] = absent{}
		default:
			return p, fmt.Errorf("%s() missing required argument %s", a.fn, quote(name))
		}
	}
	if used < len(a.names) {
		for _, n := range a.names {
			if !p.has(n) {
				return p, fmt.Errorf("%s() got an unexpected keyword argument %s", a.fn, quote(n))
			}
		}
	}
	return p, nil
}

func (p params) has(name string) bool {
	for _, n := range p.names {
		if strings.TrimSuffix(n, "?") == name {
			return true
		}
	}
	return false
}

func (p params) name(i int) string { return strings.TrimSuffix(p.names[i], "?") }

// or gives argument i, or def if it is absent.
func (p params) or(i int, def Value) Value {
	if _, no := p.values[i].(absent); no {
		return def
	}
	return p.values[i]
}

// text gives argument i, which must be a string, or def if it is absent.
func (p params) text(i int, def string) (string, error) {
	v := p.or(i, def)
	if u, ok := v.(*undefined); ok {
		return "", u
	}
	t, ok := text(v)
	if !ok {
		return "", fmt.Errorf("%s() argument %s must be str, not %s", p.fn, quote(p.name(i)), typeName(v))
	}
	return t, nil
}

// optionalText is text where None means absent.
func (p params) optionalText(i int, def string) (string, error) {
	if p.or(i, nil) == nil {
		return def, nil
	}
	return p.text(i, def)
}

// index gives argument i, which must be an integer, or def if it is absent.
func (p params) index(i int, def int64) (int64, error) {
	v := p.or(i, def)
	if u, ok := v.(*undefined); ok {
		return 0, u
	}
	n, ok := asIndex(v)
	if !ok {
		return 0, fmt.Errorf("%s() argument %s must be int, not %s", p.fn, quote(p.name(i)), typeName(v))
	}
	return n, nil
}

// optionalIndex is index where None means absent.
func (p params) optionalIndex(i int, def int64) (int64, error) {
	if p.or(i, nil) == nil {
		return def, nil
	}
	return p.index(i, def)
}
