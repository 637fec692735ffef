package jinja

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// percent is Python's format % values.
func (s *state) percent(format string, values Value) (string, error) {
	p := percenter{s: s, rest: format, values: []Value{values}}
	switch v := values.(type) {
	case *Tuple:
		p.values = v.Items
	case *Dict:
		p.mapping = v
	}
	if err := p.run(); err != nil {
		return "", err
	}
	t := p.b.String()
	return t, s.sized(len(t))
}

// percentMarkup is percent for Markup: what is put in is escaped.
func (s *state) percentMarkup(format Markup, values Value) (Value, error) {
	escaped := values
	var err error
	switch v := values.(type) {
	case string:
		escaped, err = s.escape(v)
	case *Tuple:
		out := &Tuple{Items: make([]Value, len(v.Items))}
		for i, it := range v.Items {
			if out.Items[i], err = s.escapeNested(it); err != nil {
				return nil, err
			}
		}
		escaped = out
	case *Dict:
		out := v.copy()
		for i, it := range out.values {
			if out.values[i], err = s.escapeNested(it); err != nil {
				return nil, err
			}
		}
		escaped = out
	}
	if err != nil {
		return nil, err
	}
	t, err := s.percent(string(format), escaped)
	return Markup(t), err
}

type percenter struct {
	s       *state
	rest    string
	values  []Value
	used    int
	mapping *Dict
	b       strings.Builder
}

func (p *percenter) run() error {
	for {
		before, after, found := strings.Cut(p.rest, "%")
		p.b.WriteString(before)
		if err := p.s.room(p.b.Len()); err != nil {
			return err
		}
		if !found {
			break
		}
		p.rest = after
		if err := p.conversion(); err != nil {
			return err
		}
	}
	if p.used < len(p.values) && p.mapping == nil {
		return errors.New("not all arguments converted during string formatting")
	}
	return nil
}

func (p *percenter) next() (Value, error) {
	if p.used >= len(p.values) {
		return nil, errors.New("not enough arguments for format string")
	}
	p.used++
	return p.values[p.used-1], nil
}

func (p *percenter) conversion() error {
	if err := p.s.step(1); err != nil {
		return err
	}
	key, keyed, err := p.key()
	if err != nil {
		return err
	}
	f, err := p.flags()
	if err != nil {
		return err
	}
	p.rest = strings.TrimLeft(p.rest, "hlL")
	if p.rest == "" {
		return errors.New("incomplete format")
	}
	verb, n := utf8.DecodeRuneInString(p.rest)
	p.rest = p.rest[n:]
	if verb == '%' {
		p.b.WriteByte('%')
		return nil
	}
	var v Value
	if keyed {
		var ok bool
		if v, ok = p.mapping.Get(key); !ok {
			return errors.New("no key " + quote(key))
		}
	} else if v, err = p.next(); err != nil {
		return err
	}
	t, err := p.convert(v, f, verb)
	p.b.WriteString(t)
	return err
}

func (p *percenter) key() (key string, keyed bool, err error) {
	if !strings.HasPrefix(p.rest, "(") {
		return "", false, nil
	}
	if p.mapping == nil {
		return "", false, errors.New("format requires a mapping")
	}
	key, after, ok := strings.Cut(p.rest[1:], ")")
	if !ok {
		return "", false, errors.New("incomplete format key")
	}
	p.rest = after
	return key, true, nil
}

func (p *percenter) flags() (formatSpec, error) {
	f := formatSpec{fill: ' ', align: '>', precision: -1}
	n := len(p.rest) - len(strings.TrimLeft(p.rest, "#0- +"))
	flags := p.rest[:n]
	p.rest = p.rest[n:]
	f.alternate = strings.Contains(flags, "#")
	switch {
	case strings.Contains(flags, "+"):
		f.sign = '+'
	case strings.Contains(flags, " "):
		f.sign = ' '
	}
	var err error
	if f.width, err = p.number(0); err != nil {
		return f, err
	}
	switch {
	case strings.Contains(flags, "-"), f.width < 0:
		f.align, f.width = '<', max(f.width, -f.width)
	case strings.Contains(flags, "0"):
		f.align, f.fill = '=', '0'
	}
	if after, ok := strings.CutPrefix(p.rest, "."); ok {
		p.rest = after
		if f.precision, err = p.number(0); err != nil {
			return f, err
		}
		f.precision = max(f.precision, 0)
	}
	return f, nil
}

// number reads digits, or * and an argument.
func (p *percenter) number(def int64) (int64, error) {
	if after, ok := strings.CutPrefix(p.rest, "*"); ok {
		p.rest = after
		v, err := p.next()
		if err != nil {
			return 0, err
		}
		n, ok := asIndex(v)
		if !ok {
			return 0, errors.New("* wants int")
		}
		return n, nil
	}
	n, rest, err := leadingInt(p.rest, def)
	p.rest = rest
	return n, err
}

func (p *percenter) convert(v Value, f formatSpec, verb rune) (string, error) {
	switch verb {
	case 's', 'r', 'a':
		t, err := p.s.str(v)
		if verb != 's' {
			t, err = p.s.repr(v)
		}
		if err != nil {
			return "", err
		}
		if f.align == '=' { // zeros are for numbers
			f.align, f.fill = '>', ' '
		}
		return p.s.format(t, f)
	case 'c':
		if t, ok := text(v); ok {
			if utf8.RuneCountInString(t) != 1 {
				return "", errors.New("%c requires int or char")
			}
			f.precision = -1
			return p.s.format(t, f)
		}
		f.verb, f.precision = 'c', -1
		return p.s.format(v, f)
	case 'd', 'i', 'u', 'x', 'X', 'o':
		return p.integer(v, f, verb)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		if u, ok := v.(*undefined); ok {
			return "", u
		}
		x, err := asFloat(v)
		if err != nil {
			return "", err
		}
		f.verb = byte(verb)
		return p.s.format(x, f)
	}
	return "", fmt.Errorf("unsupported format character %s", quote(string(verb)))
}

func (p *percenter) integer(v Value, f formatSpec, verb rune) (string, error) {
	if u, ok := v.(*undefined); ok {
		return "", u
	}
	if x, ok := v.(float64); ok && strings.ContainsRune("diu", verb) {
		n, err := truncateFloat(x)
		if err != nil {
			return "", err
		}
		v = n
	}
	if _, ok := asBig(v); !ok {
		return "", fmt.Errorf("%%%c format: an integer is required, not %s", verb, typeName(v))
	}
	f.verb = 'd'
	if strings.ContainsRune("xXo", verb) {
		f.verb = byte(verb)
	}
	least := f.precision // for integers: the least number of digits
	f.precision = -1
	if least < 0 {
		return p.s.format(v, f)
	}
	neg, digits, err := p.s.digits(v, f)
	if err != nil {
		return "", err
	}
	if digits, err = p.s.pad(digits, "0", max(least-int64(len(digits)), 0), 0); err != nil {
		return "", err
	}
	sign := ""
	if neg {
		sign = "-"
	} else if f.sign != 0 {
		sign = string(f.sign)
	}
	return p.s.fill(sign, digits, f)
}
