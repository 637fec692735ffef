package jinja

import (
	"errors"
	"strings"
	"testing"
)

// TestErrors: every error names the line and what is wrong.
func TestErrors(t *testing.T) {
	for _, e := range []struct{ source, want string }{
		// of the parser
		{"a\n{% if x %}", "t:2: unexpected end of template: if, begun at line 2, needs 'endif'"},
		{"a\n\n{% nosuch %}", "t:3: unknown statement 'nosuch'"},
		{"{% endif %}", "t:1: unknown statement 'endif'"},
		{"{% include 'x' %}", "t:1: the statement 'include' is not supported"},
		{"{% extends 'x' %}", "'extends' is not supported"},
		{"{% import 'x' as y %}", "'import' is not supported"},
		{"{% do x %}", "'do' is not supported"},
		{"{{ x", "t:1: unexpected end of template"},
		{"{# x", "t:1: missing end of comment"},
		{"{% raw %}x", "t:1: missing end of raw"},
		{"{{ 'x }}", "t:1: unterminated string"},
		{"{{ x ) }}", "unexpected ')'"},
		{"{{ [1) }}", "unexpected ')', expected ']'"},
		{"{{ 1 2 }}", "unexpected '2'"},
		{"{{ }}", "expected an expression"},
		{"{{ x $ }}", "unexpected char '$'"},
		{"{{ x ! y }}", "unexpected char '!'"},
		{"\n{{ x|nosuch }}", "t:2: no filter named 'nosuch'"},
		{"\n{{ x is nosuch }}", "t:2: no test named 'nosuch'"},
		{"{% break %}", "'break' outside of a loop"},
		{"{% for x in y %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}", "'break' outside of a loop"},
		{"{% set true = 1 %}", "can't assign to 'true'"},
		{"{% for x y %}", "expected 'in'"},
		{"{{ f(a=1, 2) }}", "positional argument follows keyword argument"},
		{"{% macro m(a=1, b) %}{% endmacro %}", "non-default argument"},
		{"{{ x is divisibleby is 1 }}", "cannot chain multiple tests"},
		{"{{ '\\N{DASH}' }}", `\N escapes`},
		{"{% call x %}{% endcall %}", "expected a call"},
		{"\xff", "not valid UTF-8"},

		// of the evaluator
		{"a\nb{{ x.y }}", "t:2: 'x' is undefined"},
		{"{{ d.a.b }}", "t:1: 'dict object' has no attribute 'a'"},
		{"{{ d['a']['b'] }}", "'dict object' has no attribute 'a'"},
		{"{{ [1][5].x }}", "list object has no element 5"},
		{"{{ none.x.y }}", "'None' has no attribute 'x'"},
		{"{{ 'a'.nosuch() }}", "'str object' has no attribute 'nosuch'"},
		{"{{ x() }}", "'x' is undefined"},
		{"{{ 'a'() }}", "'str' object is not callable"},
		{"{{ [].append(1) }}", "access to attribute 'append' of 'list' object is unsafe."},
		{"{{ ''.__class__.__mro__ }}", "access to attribute '__class__' of 'str' object is unsafe."},
		{"{{ 'a' + 1 }}", `can only concatenate str (not "int") to str`},
		{"{{ [1] + 'a' }}", `can only concatenate list (not "str") to list`},
		{"{{ 1 + 'a' }}", "unsupported operand type(s) for +: 'int' and 'str'"},
		{"{{ 1 + x }}", "'x' is undefined"},
		{"{{ 1 < 'a' }}", "'<' not supported between instances of 'int' and 'str'"},
		{"{{ 1 / 0 }}", "division by zero"},
		{"{{ 1 // 0 }}", "division or modulo by zero"},
		{"{{ 1.0 % 0 }}", "division"},
		{"{{ 1 in 5 }}", "argument of type 'int' is not iterable"},
		{"{{ 1 in 'a' }}", "requires string as left operand, not int"},
		{"{% for x in 5 %}{% endfor %}", "'int' object is not iterable"},
		{"{% for a, b in [[1]] %}{% endfor %}", "not enough values to unpack (expected 2, got 1)"},
		{"{% for a, b in [[1, 2, 3]] %}{% endfor %}", "too many values to unpack (expected 2)"},
		{"{% set x.y = 1 %}", "non-namespace object"},
		{"{{ {[1]: 2} }}", "unhashable type: 'list'"},
		{"{{ x|tojson }}", "object of type Undefined is not JSON serializable"},
		{"{{ [1]|map('upper')|tojson }}", "object of type generator is not JSON serializable"},
		{"{{ [1]|map('upper')|length }}", "object of type 'generator' has no len()"},
		{"{{ 5|length }}", "object of type 'int' has no len()"},
		{"{{ [1]|map('nosuch')|list }}", "no filter named 'nosuch'"},
		{"{{ [1]|select('nosuch')|list }}", "no test named 'nosuch'"},
		{"{% if true %}{{ x|nosuch }}{% endif %}", "no filter named 'nosuch'"},
		{"{% if true %}{{ x is nosuch }}{% endif %}", "no test named 'nosuch'"},
		{"{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "macro 'm' takes not more than 1 argument(s)"},
		{"{% macro m(a) %}{% endmacro %}{{ m(b=2) }}", "macro 'm' takes no keyword argument 'b'"},
		{"{% macro m(a) %}{{ a.b }}{% endmacro %}{{ m() }}", "parameter 'a' was not provided"},
		{"{% macro m() %}{% endmacro %}{% call m() %}{% endcall %}", "a caller that it does not use"},
		{"{{ 'a'.split(',', 1, 2) }}", "split() takes at most 2 argument(s) (3 given)"},
		{"{{ 'a'.split(x=1) }}", "split() got an unexpected keyword argument 'x'"},
		{"{{ 'a'.replace('a') }}", "replace() missing required argument 'new'"},
		{"{{ 'a'.split('') }}", "empty separator"},
		{"{{ 'a'.join([1]) }}", "sequence item 0: expected str instance, int found"},
		{"{{ 'a'.index('b') }}", "substring not found"},
		{"{{ '%d' % 'a' }}", "an integer is required, not str"},
		{"{{ '%s %s' % ('a',) }}", "not enough arguments"},
		{"{{ '%s' % ('a', 'b') }}", "not all arguments converted"},
		{"{{ '{x}'.format() }}", "no key 'x'"},
		{"{{ '{'.format() }}", "expected '}'"},
		{"{{ range(1, 2, 0) }}", "must not be zero"},
		{"{{ [1, 2][::0] }}", "slice step cannot be zero"},
		{"{{ -'a' }}", "bad operand type for unary -: 'str'"},
		{"{{ (-8) ** 0.5 }}", "fractional power"},
		{"{{ [1, 'a']|sort }}", "not supported between instances"},
		{"{{ lipsum() }}", "'lipsum' is undefined"},
		{"{{ [1]|random }}", "no filter named 'random'"},
	} {
		got, err := render(t, e.source, `{"d": {}}`)
		var located *Error
		if err == nil || !errors.As(err, &located) || !strings.Contains(err.Error(), e.want) {
			t.Errorf("%s\ngot  %q, %v\nwant %s", e.source, got, err, e.want)
		}
	}
}

func TestRaise(t *testing.T) {
	_, err := render(t, "a\n{% if true %}\n{{ raise_exception('Only user: ' ~ x) }}{% endif %}", `{"x": 1}`)
	var e *Error
	if !errors.As(err, &e) || !e.Raised || e.Message != "Only user: 1" || e.Line != 3 {
		t.Errorf("got %#v", err)
	}
	_, err = render(t, "{{ x.y }}", "")
	if !errors.As(err, &e) || e.Raised {
		t.Errorf("got %#v", err)
	}
}
