package jinja

import "testing"

func TestTextFilters(t *testing.T) {
	checkExamples(t, []example{
		{"[{{ '  a ' | trim }}][{{ 'xax'|trim('x') }}][{{ 5|trim }}]", "", "[a][a][5]"},
		{"{{ 'aB'|upper }}{{ 'aB'|lower }}{{ 'aB c'|capitalize }}{{ \"foo bar-baz (qux) it's\"|title }}", "", "ABabAb cFoo Bar-Baz (Qux) It's"},
		{"{{ 'aaa'|replace('a', 'b') }}{{ 'aaa'|replace('a', 'b', 2) }}{{ 5|replace(5, 6) }}", "", "bbbbba6"},
		{"{{ 'a\\nb\\n\\nc'|indent }}", "", "a\n    b\n\n    c"},
		{"{{ 'a\\nb'|indent(2, true) }}|{{ 'a\\n\\nb'|indent(1, blank=true) }}|{{ 'a\\nb'|indent('> ') }}|{{ 'a\\n'|indent(2) }}|", "", "  a\n  b|a\n \n b|a\n> b|a\n|"},
		{"[{{ 'ab'|center(6) }}]", "", "[  ab  ]"},
		{"{{ 'foo bar baz qux'|truncate(9) }}|{{ 'foo bar baz qux'|truncate(9, true) }}|{{ 'foo bar baz qux'|truncate(11) }}|{{ 'foo bar baz qux'|truncate(11, false, '...', 0) }}", "", "foo...|foo ba...|foo bar baz qux|foo bar..."},
		{"{{ '%s-%d'|format('a', 5) }}{{ '%(x)s'|format(x=1) }}", "", "a-51"},
		{"{{ 'a b/ü?&~'|urlencode }}|{{ {'a b': 1, 'c/': 'd&'}|urlencode }}|{{ 5|urlencode }}", "", "a%20b/%C3%BC%3F%26~|a+b=1&c%2F=d%26|5"},
		{"{{ '<p>a  <b>b</b>\\n&amp; c<!-- x --></p>'|striptags }}", "", "a b & c"},
		{"{{ 'a b, c_d'|wordcount }}", "", "3"},
		{"{{ 1.0|string }}{{ none|string }}{{ [1]|string }}", "", "1.0None[1]"},
		{"{{ 'abc'|length }}{{ 'äöü'|count }}{{ [1,2]|length }}{{ {'a': 1}|length }}", "", "3321"},
		{"{{ 'abc'|first }}{{ 'abc'|last }}{{ 'abc'|reverse }}{{ 'ab'|list }}", "", "accba['a', 'b']"},
	})
}

func TestNumberFilters(t *testing.T) {
	checkExamples(t, []example{
		{"{{ -1|abs }}{{ -1.5|abs }}{{ true|abs }}", "", "11.51"},
		{"{{ '42'|int }} {{ '4.9'|int }} {{ 'x'|int }} {{ 'x'|int(7) }} {{ 3.9|int }} {{ '0x1f'|int(base=16) }} {{ '101'|int(0, 2) }} {{ none|int }} {{ ' 1_0 '|int }} {{ true|int }}", "", "42 4 0 7 3 31 5 0 10 1"},
		{"{{ '1.5'|float }} {{ 'x'|float }} {{ 'x'|float(2.5) }} {{ 1|float }} {{ '1e3'|float }}", "", "1.5 0.0 2.5 1.0 1000.0"},
		{"{{ 2.5|round }} {{ 3.5|round }} {{ 2.675|round(2) }} {{ 1234.5|round(-2) }} {{ 5|round }} {{ 2.1|round(0, 'ceil') }} {{ 2.9|round(method='floor') }} {{ 15|round(-1) }} {{ 25|round(-1) }}", "", "2.0 4.0 2.67 1200.0 5 3.0 2.0 20 20"},
		{"{{ [1, 2, 3]|sum }}{{ [{'a': 1}, {'a': 2}]|sum('a') }}{{ [1]|sum(start=10) }}{{ []|sum }}", "", "63110"},
		{"{{ [3, 1, 2]|min }}{{ [3, 1, 2]|max }}{{ ['b', 'A']|min }}{{ []|max }}{{ [{'a': 2}, {'a': 1}]|min(attribute='a') }}", "", "13A{'a': 1}"},
	})
}

func TestSequenceFilters(t *testing.T) {
	people := `{"p": [{"n": "bo", "a": 2, "f": {"x": 1}}, {"n": "Al", "a": 1, "f": {"x": 2}}, {"n": "al", "a": 2, "f": {}}]}`
	checkExamples(t, []example{
		{"{{ [1, 'a', none]|join('-') }}{{ p|join(',', attribute='n') }}{{ 'abc'|join('.') }}", people, "1-a-Nonebo,Al,ala.b.c"},
		{"{{ p|map(attribute='n')|list }}{{ p|map(attribute='f.x')|list }}{{ p|map(attribute='f.x', default=0)|list }}", people, "['bo', 'Al', 'al'][1, 2, Undefined][1, 2, 0]"},
		{"{{ ['a', 'b']|map('upper')|join }}{{ ['ab', 'cb']|map('replace', 'b', 'x')|list }}{{ [[1, 2]]|map('first')|list }}{{ [[1, 2]]|map(attribute=1)|list }}", "", "AB['ax', 'cx'][1][2]"},
		{"{{ [0, 1, 2]|select|list }}{{ [1, 2, 3]|select('odd')|list }}{{ [1, 2, 3]|reject('gt', 1)|list }}{{ [1, 2]|select('in', [2])|list }}", "", "[1, 2][1, 3][1][2]"},
		{"{{ p|selectattr('a', 'equalto', 2)|map(attribute='n')|list }}{{ p|rejectattr('a', '==', 2)|map(attribute='n')|list }}{{ p|selectattr('f')|list|length }}{{ p|selectattr('f.x', 'defined')|list|length }}", people, "['bo', 'al']['Al']22"},
		{"{{ none|select|list }}{{ none|map('upper')|list }}{{ 0|selectattr('x')|list }}", "", "[][][]"},
		{"{{ ['b', 'A', 'c']|sort }}{{ ['b', 'A', 'c']|sort(case_sensitive=true) }}{{ [1, 3, 2]|sort(true) }}", "", "['A', 'b', 'c']['A', 'b', 'c'][3, 2, 1]"},
		{"{{ p|sort(attribute='a,n')|map(attribute='n')|list }}{{ p|sort(attribute='a', reverse=true)|map(attribute='n')|list }}", people, "['Al', 'al', 'bo']['bo', 'al', 'Al']"},
		{"{{ ['a', 'A', 'b', 'a']|unique|list }}{{ ['a', 'A']|unique(true)|list }}{{ p|unique(attribute='a')|map(attribute='n')|list }}", people, "['a', 'b']['a', 'A']['bo', 'Al']"},
		{"{{ [1, 2, 3]|reverse|list }}{{ [1, 2, 3]|first }}{{ [1, 2, 3]|last }}{{ []|first }}", "", "[3, 2, 1]13"},
		{"{{ [1, 2, 3, 4, 5]|batch(2)|list }}{{ [1, 2, 3]|batch(2, 'x')|list }}", "", "[[1, 2], [3, 4], [5]][[1, 2], [3, 'x']]"},
		{"{{ [1, 2, 3, 4, 5]|slice(3)|list }}{{ [1, 2, 3, 4]|slice(3, 'x')|list }}{{ [1]|slice(3)|list }}", "", "[[1, 2], [3, 4], [5]][[1, 2], [3, 'x'], [4, 'x']][[1], [], []]"},
		{"{% for k, v in p|groupby('a') %}{{ k }}{{ v|map(attribute='n')|list }}{% endfor %}{% for g in p|groupby('n') %}{{ g.grouper }}{{ g.list|length }}{% endfor %}", people, "1['Al']2['bo', 'al']Al2bo1"},
		{"{{ {'b': 1, 'a': 2}|dictsort }}{{ {'b': 1, 'a': 2}|dictsort(by='value') }}{{ {'b': 1, 'a': 2}|dictsort(reverse=true) }}{{ {'B': 1, 'a': 2}|dictsort(true) }}", "", "[('a', 2), ('b', 1)][('b', 1), ('a', 2)][('b', 1), ('a', 2)][('B', 1), ('a', 2)]"},
		{"{{ {'b': 1}|items|list }}{{ nothing|items|list }}", "", "[('b', 1)][]"},
		{"{{ 'abc'|attr('upper')() }}{{ {'a': 1}|attr('a') is defined }}", "", "ABCFalse"},
		{"{{ 5|default('x') }}{{ false|default('x') }}", "", "5False"},
	})
}

// TestGenerators: what map and its like return is a generator, not a list.
func TestGenerators(t *testing.T) {
	checkExamples(t, []example{
		{"{% if []|map('upper') %}truthy{% endif %}", "", "truthy"},
		{"{% set g = [1, 2]|map('string') %}{{ g|list }}{{ g|list }}", "", "['1', '2'][]"},
		{"{% set g = [1, 2, 3]|select %}{{ g|first }}{{ g|list }}", "", "1[2, 3]"},
		{"{{ [1]|map('string') is iterable }}{{ [1]|map('string') is sequence }}", "", "TrueFalse"},
		{"{% for x in [1, 2]|map('string') %}{{ x }}{{ loop.length }}{% endfor %}", "", "1222"},
		{"{% set g = [5]|map('nosuch') %}lazy", "", "lazy"},
	})
}

func TestToJSON(t *testing.T) {
	checkExamples(t, []example{
		{"{{ x|tojson }}", `{"x": {"z": 1, "a": [1.0, 2.5e10, true, false, null, "é<>&'\"\\\n\t\u0001\u007f/", {}, []]}}`,
			`{"z": 1, "a": [1.0, 25000000000.0, true, false, null, "é<>&'\"\\\n\t\u0001` + "\u007f" + `/", {}, []]}`},
		{"{{ x|tojson(indent=2) }}", `{"x": {"a": [1, {}], "b": {}}}`, "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": {}\n}"},
		{"{{ x|tojson(indent='\t') }}", `{"x": [1]}`, "[\n\t1\n]"},
		{"{{ x|tojson(indent=0) }}", `{"x": [1, 2]}`, "[\n1,\n2\n]"},
		{"{{ x|tojson(separators=(',', ':')) }}", `{"x": {"a": [1, 2]}}`, `{"a":[1,2]}`},
		{"{{ x|tojson(sort_keys=true) }}{{ x|tojson }}", `{"x": {"b": 1, "a": 2}}`, `{"a": 2, "b": 1}{"b": 1, "a": 2}`},
		{"{{ x|tojson(ensure_ascii=true) }}{{ x|tojson(ensure_ascii=False) }}", `{"x": "é😀"}`, `"\u00e9\ud83d\ude00"` + `"é😀"`},
		{"{{ {1: 2, none: 3, true: 4, 1.5: 5}|tojson }}", "", `{"1": 4, "null": 3, "1.5": 5}`},
		{"{{ (1, 2)|tojson }}{{ 'a'|tojson }}{{ none|tojson }}{{ 1e400|tojson }}", "", `[1, 2]"a"nullInfinity`},
		{"{{ x|tojson }}", `{"x": {"k": 1, "a": 2, "k": 3}}`, `{"k": 3, "a": 2}`},
		{"{{ x|tojson }}", `{"x": [1E5, -0.0, -0, 123456789012345678901234567890, 1e-7]}`, `[100000.0, -0.0, 0, 123456789012345678901234567890, 1e-07]`},
	})
}
