package jinja

import "math/big"

// testFunc is what follows `is`.
type testFunc func(s *state, v Value, a *args) (bool, error)

// tests are set by init, since select applies them by name.
var tests map[string]testFunc

func init() {
	tests = map[string]testFunc{
		"defined":   kind(func(v Value) bool { return !isUndefined(v) }),
		"undefined": kind(isUndefined),
		"none":      kind(func(v Value) bool { return v == nil }),
		"boolean":   kind(func(v Value) bool { _, ok := v.(bool); return ok }),
		"true":      kind(func(v Value) bool { return v == true }),
		"false":     kind(func(v Value) bool { return v == false }),
		"integer":   kind(isInteger),
		"float":     kind(func(v Value) bool { _, ok := v.(float64); return ok }),
		"number":    kind(isNumber),
		"string":    kind(func(v Value) bool { _, ok := text(v); return ok }),
		"mapping":   kind(func(v Value) bool { _, ok := v.(*Dict); return ok }),
		"iterable":  kind(isIterable),
		"sequence":  kind(isSequence),
		"callable":  kind(isCallable),
		"escaped":   kind(func(v Value) bool { _, ok := v.(Markup); return ok }),

		"filter": func(_ *state, v Value, a *args) (bool, error) {
			name, _ := text(v)
			_, ok := filters[name]
			_, err := a.bind()
			return ok, err
		},
		"test": func(_ *state, v Value, a *args) (bool, error) {
			name, _ := text(v)
			_, ok := tests[name]
			_, err := a.bind()
			return ok, err
		},

		"odd":         testRemainder(1),
		"even":        testRemainder(0),
		"divisibleby": testDivisibleBy,
		"lower":       testText(isLower),
		"upper":       testText(isUpper),
		"sameas":      testSameAs,
		"in":          testComparison("in"),
	}
	for op, names := range map[string][]string{
		"==": {"eq", "equalto"},
		"!=": {"ne"},
		"<":  {"lt", "lessthan"},
		"<=": {"le"},
		">":  {"gt", "greaterthan"},
		">=": {"ge"},
	} {
		for _, n := range append(names, op) {
			tests[n] = testComparison(op)
		}
	}
}

// kind makes a test without arguments.
func kind(f func(Value) bool) testFunc {
	return func(_ *state, v Value, a *args) (bool, error) {
		_, err := a.bind()
		return f(v), err
	}
}

func isUndefined(v Value) bool {
	_, ok := v.(*undefined)
	return ok
}

func isInteger(v Value) bool {
	switch v.(type) {
	case int64, *big.Int:
		return true
	}
	return false
}

// isSequence follows Jinja2, where all that has a length and subscripts counts:
// dicts and undefined values too.
func isSequence(v Value) bool {
	switch v.(type) {
	case string, Markup, *List, *Tuple, *Dict, rangeValue, *undefined:
		return true
	}
	return false
}

func isCallable(v Value) bool {
	switch v.(type) {
	case *function, *macro, *undefined, *loopValue:
		return true
	}
	return false
}

func testText(f func(string) bool) testFunc {
	return func(s *state, v Value, a *args) (bool, error) {
		if _, err := a.bind(); err != nil {
			return false, err
		}
		t, err := s.str(v)
		return f(t), err
	}
}

func testRemainder(want int64) testFunc {
	return func(s *state, v Value, a *args) (bool, error) {
		if _, err := a.bind(); err != nil {
			return false, err
		}
		m, err := s.binary("%", v, int64(2))
		if err != nil {
			return false, err
		}
		return s.equal(m, want)
	}
}

func testDivisibleBy(s *state, v Value, a *args) (bool, error) {
	p, err := a.bind("num")
	if err != nil {
		return false, err
	}
	m, err := s.binary("%", v, p.values[0])
	if err != nil {
		return false, err
	}
	return s.equal(m, int64(0))
}

func testComparison(op string) testFunc {
	return func(s *state, v Value, a *args) (bool, error) {
		p, err := a.bind("other")
		if err != nil {
			return false, err
		}
		return s.compare(op, v, p.values[0])
	}
}

// testSameAs is Python's `is`. Equal scalars of one type count as the same.
func testSameAs(s *state, v Value, a *args) (bool, error) {
	p, err := a.bind("other")
	if err != nil {
		return false, err
	}
	other := p.values[0]
	if typeName(v) != typeName(other) {
		return false, nil
	}
	switch v.(type) {
	case nil, bool, int64, *big.Int, float64, string, Markup:
		return s.equal(v, other)
	case rangeValue:
		return false, nil
	}
	return v == other, nil
}
