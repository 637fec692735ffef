package jinja

import (
	"context"
	"errors"
	"testing"
	"time"
)

// FuzzRender: whatever the template and the data, Parse and Render return
// within their limits, with a located error if any, and render the same twice.
func FuzzRender(f *testing.F) {
	vars := `{"messages": [{"role": "user", "content": "é <b>"}], "tools": null, "x": 1.5, "d": {"a": [1, "b", {}]}}`
	for _, c := range pythonFacts {
		f.Add("{{ "+c[0]+" }}", vars)
	}
	for _, source := range []string{
		"{% for m in messages if m.role == 'user' %}{{ loop.index }}{{ m.content|trim }}{% else %}x{% endfor %}",
		"{% macro m(a, b=1, *c) %}{{ caller() }}{{ varargs }}{{ kwargs }}{% endmacro %}{% call(x) m(1, z=2) %}{{ x }}{% endcall %}",
		"{% macro m(n) %}{{ n }}{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(3) }}",
		"{% set ns = namespace(a=1) %}{% for i in range(3) recursive %}{% set ns.a = ns.a + i %}{{ loop(range(i)) }}{% endfor %}{{ ns }}",
		"{%- set x | upper -%} a {% raw %}{{{% endraw %}{%- endset -%}{{ x }}{# c #}",
		"{% filter indent(2) %}{{ d|tojson(indent=2, separators=[',', ':'], sort_keys=true) }}{% endfilter %}",
		"{% with a = 1, b = d.a[::-1] %}{{ a ~ b }}{% endwith %}{% generation %}{{ strftime_now('%c %-d') }}{% endgeneration %}",
		"{% for k, v in d|dictsort %}{% if loop.first %}{% continue %}{% endif %}{% break %}{% endfor %}",
		"{{ [3, 1]|sort(reverse=true)|map('string')|join(',')|replace('3', x)|format(1)|safe + '<' }}",
		"{{ d.a|batch(2, 0)|list }}{{ d.a|slice(2)|list }}{{ d.a|groupby(0) }}{{ [x]|sum }}{{ x|round(2)|int }}",
		"{{ messages|selectattr('role', 'in', ['user'])|map(attribute='content')|first|urlencode|truncate(5) }}",
		"{{ '{0.a[1]!r:>{1}}|{0}'.format(d, 9) }}{{ '%-*s|%(x)s' % (5, 'a') }}",
		"{{ cycler(1, 2).next() }}{{ joiner()() }}{{ dict(a=1, **d) }}{{ range(5)[1:-1:2] }}{{ lipsum is defined }}",
		"{{ raise_exception('no') }}", "{{ x is not defined and y or z if a else b not in c }}",
	} {
		f.Add(source, vars)
	}
	limits := Limits{Output: 1 << 16, Steps: 20_000, Depth: 300, Size: 1 << 16, Memory: 1 << 20}
	f.Fuzz(func(t *testing.T, source, data string) {
		v, err := DecodeJSON([]byte(data))
		if err != nil {
			v = NewDict()
		}
		d, ok := v.(*Dict)
		if !ok {
			d = NewDict()
			d.Set("x", v)
		}
		tmpl, err := Parse("t", source)
		if err != nil {
			checkLocated(t, err)
			return
		}
		o := Options{Limits: limits, Now: func() time.Time { return testTime }}
		first, err := tmpl.Render(context.Background(), d, o)
		if err != nil {
			checkLocated(t, err)
		}
		if len(first) > limits.Output {
			t.Errorf("%d bytes of output", len(first))
		}
		again, errAgain := tmpl.Render(context.Background(), d, o)
		if again != first || (err == nil) != (errAgain == nil) {
			t.Errorf("first %q, %v, then %q, %v", first, err, again, errAgain)
		}
	})
}

func checkLocated(t *testing.T, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Line < 1 || e.Name != "t" || e.Message == "" {
		t.Errorf("error without a place: %#v", err)
	}
}
