package jinja

import (
	"errors"
	"fmt"
	"math"
)

var errNothingToCycle = errors.New("no items for cycling given")

// cyclerValue is what the global cycler returns.
type cyclerValue struct {
	items []Value
	at    int
}

func (c *cyclerValue) attr(name string) (Value, bool) {
	switch name {
	case "current":
		return c.items[c.at], true
	case "next":
		return &function{name, func(_ *state, a *args) (Value, error) {
			v := c.items[c.at]
			c.at = (c.at + 1) % len(c.items)
			_, err := a.bind()
			return v, err
		}}, true
	case "reset":
		return &function{name, func(_ *state, a *args) (Value, error) {
			c.at = 0
			_, err := a.bind()
			return nil, err
		}}, true
	}
	return nil, false
}

// maxRange is the longest range that Jinja2's sandbox allows.
const maxRange = 100000

// globals are the functions that every template has.
var globals = map[string]Value{
	"range":           &function{"range", globalRange},
	"dict":            &function{"dict", globalDict},
	"namespace":       &function{"namespace", globalNamespace},
	"cycler":          &function{"cycler", globalCycler},
	"joiner":          &function{"joiner", globalJoiner},
	"raise_exception": &function{"raise_exception", globalRaise},
	"strftime_now":    &function{"strftime_now", globalStrftime},
}

func globalRange(_ *state, a *args) (Value, error) {
	p, err := a.bind("start", "stop?", "step?")
	if err != nil {
		return nil, err
	}
	r := rangeValue{step: 1}
	if len(a.pos) == 1 {
		r.stop, err = p.index(0, 0)
	} else if r.start, err = p.index(0, 0); err == nil {
		if r.stop, err = p.index(1, 0); err == nil {
			r.step, err = p.index(2, 1)
		}
	}
	if err != nil {
		return nil, err
	}
	if r.step == 0 {
		return nil, errors.New("range() arg 3 must not be zero")
	}
	// Beyond these bounds the arithmetic on ranges could overflow.
	for _, v := range []int64{r.start, r.stop, r.step} {
		if v > math.MaxInt64/4 || v < -math.MaxInt64/4 {
			return nil, limitErrorf("range of very large numbers")
		}
	}
	if r.len() > maxRange {
		return nil, limitErrorf("range too big. The sandbox blocks ranges larger than MAX_RANGE (%d)", maxRange)
	}
	return r, nil
}

func globalDict(s *state, a *args) (Value, error) {
	if len(a.pos) > 1 {
		return nil, fmt.Errorf("%s expected at most 1 argument, got %d", a.fn, len(a.pos))
	}
	out := NewDict()
	if len(a.pos) == 1 {
		if err := fillDict(s, out, a.pos[0]); err != nil {
			return nil, err
		}
	}
	for _, n := range a.names {
		out.Set(n, a.named[n])
	}
	return out, s.alloc(4 * wordBytes * out.Len())
}

// fillDict adds the pairs of a dict or of a sequence of pairs.
func fillDict(s *state, d *Dict, from Value) error {
	if src, ok := from.(*Dict); ok {
		from = &dictView{"dict_items", src}
	}
	items, err := s.iterate(from)
	if err != nil {
		return err
	}
	for _, it := range items {
		pair, err := s.iterate(it)
		if err != nil {
			return err
		}
		if len(pair) != 2 {
			return fmt.Errorf("dictionary update sequence element has length %d; 2 is required", len(pair))
		}
		if err := d.setValue(s, pair[0], pair[1]); err != nil {
			return err
		}
	}
	return nil
}

func globalNamespace(s *state, a *args) (Value, error) {
	attrs, err := globalDict(s, a)
	if err != nil {
		return nil, err
	}
	return &namespace{attrs.(*Dict)}, nil
}

func globalCycler(_ *state, a *args) (Value, error) {
	if len(a.pos) == 0 {
		return nil, errNothingToCycle
	}
	return &cyclerValue{items: a.pos}, nil
}

func globalJoiner(_ *state, a *args) (Value, error) {
	p, err := a.bind("sep?")
	if err != nil {
		return nil, err
	}
	used := false
	return &function{"joiner", func(_ *state, a *args) (Value, error) {
		if _, err := a.bind(); err != nil {
			return nil, err
		}
		if !used {
			used = true
			return "", nil
		}
		return p.or(0, ", "), nil
	}}, nil
}

func globalRaise(s *state, a *args) (Value, error) {
	p, err := a.bind("message")
	if err != nil {
		return nil, err
	}
	t, err := s.str(p.values[0])
	if err != nil {
		return nil, err
	}
	return nil, raised{t}
}

func globalStrftime(s *state, a *args) (Value, error) {
	p, err := a.bind("format")
	if err != nil {
		return nil, err
	}
	format, err := p.text(0, "")
	if err != nil {
		return nil, err
	}
	t := Strftime(s.now(), format)
	return t, s.sized(len(t))
}
