package jinja

import "testing"

func TestIf(t *testing.T) {
	checkExamples(t, []example{
		{"{% if a %}1{% elif b %}2{% else %}3{% endif %}", `{"a": 1}`, "1"},
		{"{% if a %}1{% elif b %}2{% else %}3{% endif %}", `{"b": 1}`, "2"},
		{"{% if a %}1{% elif b %}2{% else %}3{% endif %}", ``, "3"},
		{"{% if a %}1{% endif %}", `{"a": []}`, ""},
		{"{% if true %}{% set x = 1 %}{% endif %}{{ x }}", ``, "1"}, // no scope of its own
		{"{% if 0.0 or '' or {} or none or () %}a{% else %}b{% endif %}", ``, "b"},
	})
}

func TestFor(t *testing.T) {
	checkExamples(t, []example{
		{"{% for x in [1,2,3] %}{{ x }}{% endfor %}", "", "123"},
		{"{% for x in [] %}{{ x }}{% else %}none{% endfor %}", "", "none"},
		{"{% for x in nothing %}{{ x }}{% else %}none{% endfor %}", "", "none"},
		{"{% for x in 'aé' %}{{ x }},{% endfor %}", "", "a,é,"},
		{"{% for x in 1, 2 %}{{ x }}{% endfor %}", "", "12"},
		{"{% for k in d %}{{ k }}{% endfor %}", `{"d": {"z": 1, "a": 2}}`, "za"},
		{"{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", `{"d": {"z": 1, "a": 2}}`, "z=1;a=2;"},
		{"{% for (a, (b, c)) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}", "", "123"},
		{"{% for x in [1,2,3,4] if x is even %}{{ loop.index }}:{{ x }} {% endfor %}", "", "1:2 2:4 "},
		{"{% for x in [1,2,3] if x > 5 %}{% else %}none{% endfor %}", "", "none"},
		{"{% for x in [1,2,3,4] %}{% if x == 3 %}{% break %}{% endif %}{{ x }}{% endfor %}", "", "12"},
		{"{% for x in [1,2,3] %}{% if x == 2 %}{% continue %}{% endif %}{{ x }}{% endfor %}", "", "13"},
		{"{% for x in [1,2] %}{% for y in [1,2] %}{% if y == 2 %}{% break %}{% endif %}{{ x }}{{ y }} {% endfor %}{% endfor %}", "", "11 21 "},
		{"{% for x in [1] %}{% break %}{% else %}else{% endfor %}", "", "else"}, // Jinja2 does this
		{"{% for x in [1,2] %}{% if loop.last %}{% break %}{% endif %}{% else %}else{% endfor %}", "", ""},
		{"{% for x in 'abc' %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }} {% endfor %}", "",
			"1032TrueFalse3 2121FalseFalse3 3210FalseTrue3 "},
		{"{% for x in 'abc' %}{{ loop.previtem|default('-') }}{{ x }}{{ loop.nextitem|default('-') }} {% endfor %}", "", "-ab abc bc- "},
		{"{% for x in 'abc' %}{{ loop.cycle('o', 'e') }}{% endfor %}", "", "oeo"},
		{"{% for x in [1,1,2,2,1] %}{{ loop.changed(x) }} {% endfor %}", "", "True False True False True "},
		{"{% for x in t recursive %}{{ loop.depth }}{{ loop.depth0 }}{{ x.n }}[{{ loop(x.c) }}]{% endfor %}",
			`{"t": [{"n": "a", "c": [{"n": "b", "c": []}]}, {"n": "c", "c": []}]}`, "10a[21b[]]10c[]"},
		{"{% for x in [1,2] %}{% for y in [1] %}{{ loop.length }}{% endfor %}{{ loop.length }} {% endfor %}", "", "12 12 "},
		{"{% for x in [1,2] %}{% set outer = loop %}{% for y in [1] %}{{ outer.index }}{% endfor %}{% endfor %}", "", "12"},
		{"{% for x in range(3) %}{{ x }}{% endfor %}{{ x }}", "", "012"},
	})
}

func TestScopes(t *testing.T) {
	checkExamples(t, []example{
		{"{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{{ x }}{% endfor %}{{ x }}", "", "21"},
		{"{% set x = 1 %}{% for i in [1,2] %}{{ x }}{% set x = 5 %}{% endfor %}", "", "11"},
		{"{% set ns = namespace(x=1) %}{% for i in [1] %}{% set ns.x = 2 %}{% endfor %}{{ ns.x }}", "", "2"},
		{"{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a }}{{ ns['b'] }}{{ ns.c is defined }}", "", "12False"},
		{"{% set a, b = 1, 2 %}{{ b }}{{ a }}", "", "21"},
		{"{% set a = 1, 2 %}{{ a }}", "", "(1, 2)"},
		{"{% set x %}a{{ 1 }}{% set y = 2 %}{% endset %}{{ x }}{{ y }}", "", "a1"},
		{"{% set x | upper | replace('B', 'c') %}ab{% endset %}{{ x }}", "", "Ac"},
		{"{% set ns = namespace() %}{% set ns.x %}a{% endset %}{{ ns.x }}", "", "a"},
		{"{% with a = 1, b = 2 %}{{ a }}{{ b }}{% set c = 3 %}{% endwith %}{{ a }}{{ c }}", "", "12"},
		{"{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}", "", "21"},
		{"{% with %}{% set a = 1 %}{{ a }}{% endwith %}{{ a }}", "", "1"},
		{"{% filter upper %}a{{ 'b' }}{% endfilter %}", "", "AB"},
		{"{% filter trim | replace('a', 'b') %} a {% endfilter %}", "", "b"},
		{"{% generation %}a{% set x = 1 %}{% endgeneration %}{{ x }}", "", "a"},
		{"{% for m in [1] %}{%- generation -%} {{ m }}{{ loop.index }} {%- endgeneration -%}{% endfor %}", "", "11"},
		{"{% print 1, 2 %}", "", "(1, 2)"},
		{"{% set messages = messages[1:] %}{{ messages|length }}", `{"messages": [1, 2]}`, "1"},
		{"{{ range }}", `{"range": 1}`, "1"}, // variables hide globals
	})
}

func TestMacros(t *testing.T) {
	checkExamples(t, []example{
		{"{% macro m(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(b=4, a=5) }} {{ m() }}", "", "12 13 54 2"},
		{"{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}", "", "11"},
		{"{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}", "", "(1, 2){'x': 3}"},
		{"{% macro m(kwargs) %}{{ kwargs }}{% endmacro %}{{ m(1) }}", "", "1"},
		{"{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}x{% endcall %}", "", "[x]"},
		{"{% macro m() %}{{ caller('a', 'b') }}{% endmacro %}{% call(x, y='c') m() %}{{ x }}{{ y }}{% endcall %}", "", "ab"},
		{"{% macro m(caller=none) %}{{ caller is none }}{% endmacro %}{{ m() }}{% call m() %}{% endcall %}", "", "TrueFalse"},
		{"{% macro m() %}{% if caller %}c{% else %}n{% endif %}{% endmacro %}{{ m() }}", "", "n"},
		{"{% macro m(n) %}{{ n }}{% if n > 0 %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(3) }}", "", "3210"},
		{"{% macro m() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ m() }}{% set x = 2 %}{{ m() }}", "", "12"}, // late
		{"{% macro m() %}{% set x = 2 %}{{ x }}{% endmacro %}{% set x = 1 %}{{ m() }}{{ x }}", "", "21"},
		{"{% macro m() %}{% if x is not defined %}{% set x = 2 %}{% endif %}{{ x }}{% endmacro %}{{ m() }}{{ x }}", "", "2"},
		{"{% macro m(a, b) %}{% endmacro %}{{ m.name }}{{ m.arguments }}{{ m.catch_kwargs }}", "", "m('a', 'b')False"},
		{"{% macro m(a) %}{{ a }}{% endmacro %}{{ m(*[1]) }}{{ m(**{'a': 2}) }}", "", "12"},
		{"{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}x{% endmacro %}{{ a() }}", "", "x"},
		{"{% for i in [1,2] %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}", "", "12"},
		{"{% macro m() %} x {% endmacro %}{{ m()|trim }}{{ m() is string }}{{ '%s' % m() }}", "", "xTrue x "},
		{"{% macro m() %}{{ loop is defined }}{% endmacro %}{% for i in [1] %}{{ m() }}{% endfor %}", "", "False"},
	})
}

func TestGlobals(t *testing.T) {
	checkExamples(t, []example{
		{"{{ range(3)|list }}{{ range(1, 3)|list }}{{ range(5, 0, -2)|list }}{{ range(3) }}{{ range(1, 9, 2) }}", "", "[0, 1, 2][1, 2][5, 3, 1]range(0, 3)range(1, 9, 2)"},
		{"{{ range(9)[2] }}{{ range(9)|length }}{{ 3 in range(9) }}{{ range(0)|length }}", "", "29True0"},
		{"{{ dict(a=1, b=2) }}{{ dict({'x': 1}, y=2) }}{{ dict([('k', 1)]) }}", "", "{'a': 1, 'b': 2}{'x': 1, 'y': 2}{'k': 1}"},
		{"{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.next() }}{{ c.reset() }}{{ c.current }}", "", "abbaNonea"},
		{"{% set j = joiner('; ') %}{{ j() }}a{{ j() }}b{{ j() }}c", "", "a; b; c"},
		{"{{ strftime_now('%d %b %Y') }}", "", "02 Jan 2026"},
		{"{{ namespace(a=1) }}", "", "<Namespace {'a': 1}>"},
	})
}
