package jinja

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// strFormat is str.format.
func strFormat(s *state, t string, a *args) (Value, error) {
	f := &formatter{s: s, args: a}
	return f.run(t, 2)
}

// strFormatMap is str.format_map.
func strFormatMap(s *state, t string, a *args) (Value, error) {
	p, err := a.bind("mapping")
	if err != nil {
		return nil, err
	}
	d, ok := p.values[0].(*Dict)
	if !ok {
		return nil, fmt.Errorf("format_map() argument must be dict, not %s", typeName(p.values[0]))
	}
	named := &args{fn: "format_map"}
	for _, k := range d.Keys() {
		v, _ := d.Get(k)
		if err := named.setNamed(k, v); err != nil {
			return nil, err
		}
	}
	f := &formatter{s: s, args: named}
	return f.run(t, 2)
}

// formatter expands replacement fields.
type formatter struct {
	s    *state
	args *args
	auto int // the next automatic field number; -1 once fields are numbered by hand
}

// run expands t; fields may be nested in the specs of fields to the given
// depth.
func (f *formatter) run(t string, depth int) (string, error) {
	if depth == 0 {
		return "", errors.New("max string recursion exceeded")
	}
	var b strings.Builder
	for t != "" {
		i := strings.IndexAny(t, "{}")
		if i < 0 {
			i = len(t)
		}
		b.WriteString(t[:i])
		if err := f.s.room(b.Len()); err != nil {
			return "", err
		}
		t = t[i:]
		switch {
		case t == "":
		case strings.HasPrefix(t, "{{"), strings.HasPrefix(t, "}}"):
			b.WriteByte(t[0])
			t = t[2:]
		case t[0] == '}':
			return "", errors.New("single '}' encountered in format string")
		default:
			end := fieldEnd(t)
			if end < 0 {
				return "", errors.New("expected '}' before end of string")
			}
			out, err := f.field(t[1:end], depth)
			if err != nil {
				return "", err
			}
			b.WriteString(out)
			t = t[end+1:]
		}
	}
	return b.String(), nil
}

// fieldEnd finds the brace that closes the one at the start of t.
func fieldEnd(t string) int {
	open := 0
	for i := range len(t) {
		switch t[i] {
		case '{':
			open++
		case '}':
			if open--; open == 0 {
				return i
			}
		}
	}
	return -1
}

func (f *formatter) field(t string, depth int) (string, error) {
	if err := f.s.enter(); err != nil {
		return "", err
	}
	defer f.s.leave()
	name, spec, conversion := splitField(t)
	v, err := f.lookup(name)
	if err != nil {
		return "", err
	}
	switch conversion {
	case "":
	case "s":
		v, err = f.s.str(v)
	case "r", "a":
		v, err = f.s.repr(v)
	default:
		err = fmt.Errorf("unknown conversion specifier %s", quote(conversion))
	}
	if err != nil {
		return "", err
	}
	if strings.ContainsAny(spec, "{}") {
		if spec, err = f.run(spec, depth-1); err != nil {
			return "", err
		}
	}
	parsed, err := parseSpec(spec)
	if err != nil {
		return "", err
	}
	return f.s.format(v, parsed)
}

// splitField cuts name!conversion:spec; a bracket in the name may hold any
// character.
func splitField(t string) (name, spec, conversion string) {
	name = t
	inBracket := false
	for i := range len(t) {
		switch c := t[i]; {
		case c == '[':
			inBracket = true
		case c == ']':
			inBracket = false
		case inBracket:
		case c == ':':
			return t[:i], t[i+1:], ""
		case c == '!':
			conversion, spec, _ = strings.Cut(t[i+1:], ":")
			return t[:i], spec, conversion
		}
	}
	return name, "", ""
}

// lookup finds the value of a field name such as 0, name, a.b or a[b].
func (f *formatter) lookup(name string) (Value, error) {
	end := strings.IndexAny(name, ".[")
	if end < 0 {
		end = len(name)
	}
	v, err := f.argument(name[:end])
	for rest := name[end:]; rest != "" && err == nil; {
		if err := f.s.step(1); err != nil {
			return nil, err
		}
		var key string
		if rest[0] == '.' {
			rest = rest[1:]
			if end = strings.IndexAny(rest, ".["); end < 0 {
				end = len(rest)
			}
			key, rest = rest[:end], rest[end:]
			v, err = f.s.getattr(v, key)
		} else {
			var ok bool
			if key, rest, ok = strings.Cut(rest[1:], "]"); !ok {
				return nil, errors.New("missing ']' in format string")
			}
			var sub Value = key
			if n, convErr := strconv.ParseInt(key, 10, 64); convErr == nil {
				sub = n
			}
			v, err = f.s.getitem(v, sub)
		}
		if u, missing := v.(*undefined); missing && err == nil {
			return nil, u
		}
	}
	return v, err
}

func (f *formatter) argument(first string) (Value, error) {
	n := f.auto
	switch i, err := strconv.Atoi(first); {
	case first == "":
		if f.auto < 0 {
			return nil, errors.New("cannot switch from manual field specification to automatic field numbering")
		}
		f.auto++
	case err == nil:
		if f.auto > 0 {
			return nil, errors.New("cannot switch from automatic field numbering to manual field specification")
		}
		n, f.auto = i, -1
	default:
		v, ok := f.args.named[first]
		if !ok {
			return nil, errors.New("no key " + quote(first))
		}
		return v, nil
	}
	if n < 0 || n >= len(f.args.pos) {
		return nil, fmt.Errorf("replacement index %d out of range for positional args tuple", n)
	}
	return f.args.pos[n], nil
}
