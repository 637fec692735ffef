package jinja

import "testing"

func TestExpressions(t *testing.T) {
	checkExamples(t, []example{
		{"{{ 2 ** 3 ** 2 }}", "", "64"},  // to the left, unlike Python
		{"{{ -2 ** 2 }}", "", "4"},       // the sign binds tighter, too
		{"{{ 1 ~ 2 + '3' }}", "", "123"}, // ~ binds tighter than +
		{"{{ 'a' ~ 1 ~ none ~ true ~ 1.5 ~ nothing ~ [1] }}", "", "a1NoneTrue1.5[1]"},
		{"{{ 1 + 2 * 3 - 4 / 2 }}", "", "5.0"},
		{"{{ not true == false }}", "", "True"},
		{"{{ 'x' if a }}|{{ 'x' if a else 'y' }}|{{ ('x' if a) is defined }}", "", "|y|False"},
		{"{{ 1 if a else 2 if b else 3 }}", `{"b": 1}`, "2"},
		{"{{ true and 'a' or 'b' }}{{ none or 'b' }}{{ '' and x.y }}", "", "ab"},
		{"{{ -x|abs }}", `{"x": 3}`, "3"},
		{"{{ 'a' is string and 'b' }}", "", "b"},
		{"{{ x is defined }}{{ x is not defined }}{{ not x is defined }}", "", "FalseTrueTrue"},
		{"{{ 4 is divisibleby 2 }}{{ 4 is divisibleby(3) }}{{ 4 is eq 4 }}{{ 4 is in [4] }}", "", "TrueFalseTrueTrue"},
		{"{{ 'a.b'.split('.')[0] }}{{ 'abc'|first|upper }}{{ ('a' ~ 'b')|upper }}", "", "aAAB"},
		{"{{ [1, [2, 3]][1][0] }}{{ [1, 2].0 }}{{ {'a': 1}.a }}{{ {'a': 1}['a'] }}", "", "2111"},
		{"{{ d.items is defined }}{{ d['items'] }}{{ d.get('items') }}", `{"d": {"items": 1}}`, "True11"},
		{"{{ d.keys() | list }}{{ d.values()|list }}{{ d|list }}{{ d|length }}", `{"d": {"b": 1, "a": 2}}`, "['b', 'a'][1, 2]['b', 'a']2"},
		{"{{ 'abc'['upper']() }}{{ 'abc'.upper is callable }}", "", "ABCTrue"},
		{"{{ none[1:] is defined }}{{ 5[0] is defined }}{{ [1][5] is defined }}{{ 'a'.b is defined }}", "", "FalseFalseFalseFalse"},
		{"{{ {'a': 1, 'b': [1, {'c': none}]} }}", "", "{'a': 1, 'b': [1, {'c': None}]}"},
		{"{{ true }}{{ True }}{{ false }}{{ none }}{{ None }}", "", "TrueTrueFalseNoneNone"},
		{"{{ 12345678901234567890 + 1 }}{{ x }}", `{"x": 98765432109876543210}`, "1234567890123456789198765432109876543210"},
		{"{{ 1.0 }}{{ x }}{{ y }}", `{"x": 1e2, "y": 0.1}`, "1.0100.00.1"},
		{"{{ [1,2,3] | join(',', ) }}{{ f(1, 2,) if f }}", "", "1,2,3"},
		{"{{ '\\u00e9\\n\\x41\\q' }}", "", "é\nA\\q"},
		{"{{ größe }}", `{"größe": 1}`, "1"},
		{"{{ a[1:][0] }}{{ a[:-1] }}{{ a[-1] }}{{ a[::2] }}", `{"a": [1, 2, 3]}`, "2[1, 2]3[1, 3]"},
		{"{{ d[(1, 2)] }}{{ {(1, 2): 3}[1, 2] }}", `{"d": {}}`, "3"},
	})
}

func TestUndefined(t *testing.T) {
	checkExamples(t, []example{
		{"[{{ x }}]{{ x|length }}{{ x|list }}{{ x|upper }}{{ x|string }}{{ x|join }}{{ x|trim }}{{ x|replace('a', 'b') }}", "", "[]0[]"},
		{"{{ x == y }}{{ x == 1 }}{{ x in [1] }}{{ 1 in x }}{{ x is none }}{{ x is string }}{{ x is mapping }}", "", "TrueFalseFalseFalseFalseFalseFalse"},
		{"{{ x is iterable }}{{ x is sequence }}{{ x is callable }}", "", "TrueTrueTrue"}, // as in Jinja2
		{"{{ x|default('d') }}{{ ''|default('d') }}{{ ''|default('d', true) }}{{ none|d('x') }}{{ none|d('x', boolean=true) }}{{ x|default }}", "", "ddNonex"},
		{"{{ d.a|default('x') }}{{ d['a'] is undefined }}", `{"d": {}}`, "xTrue"},
		{"{{ [x] }}", "", "[Undefined]"},
	})
}

// TestSandbox: transformers renders in an immutable sandbox.
func TestSandbox(t *testing.T) {
	checkExamples(t, []example{
		{"{{ [].append is defined }}{{ {}.update is defined }}{{ ''.__class__ is defined }}[{{ [].pop }}]", "", "FalseFalseFalse[]"},
		{"{{ d.pop is defined }}{{ d['pop'] }}", `{"d": {"pop": 1}}`, "False1"},
		{"{{ d._x }}{{ d.__x__ }}", `{"d": {"_x": 1, "__x__": 2}}`, "12"},
	})
}

func TestMarkup(t *testing.T) {
	checkExamples(t, []example{
		{"{{ '<a>' }}{{ '<a>'|e }}{{ '<\\'\">&'|escape }}", "", "<a>&lt;a&gt;&lt;&#39;&#34;&gt;&amp;"},
		{"{{ '<b>'|safe + '<i>' }}{{ '<i>' + '<b>'|safe }}", "", "<b>&lt;i&gt;&lt;i&gt;<b>"},
		{"{{ '<b>'|safe ~ '<i>' }}", "", "<b><i>"},
		{"{{ '<b>'|safe + '<i>'|safe }}{{ '<b>'|safe|e }}{{ '<b>'|safe|forceescape }}", "", "<b><i><b>&lt;b&gt;"},
		{"{{ ('%s'|safe) % '<' }}{{ ('<{}>'|safe).format(1) }}{{ '{}'|safe|string is escaped }}", "", "&lt;<1>True"},
		{"{{ ('{}'|safe).format('<') }}{{ ('a'|safe).replace('a', '<') }}{{ (','|safe).join(['<', '>']) }}", "", "&lt;&lt;&lt;,&gt;"},
		{"{{ ('<'|safe).upper() is escaped }}{{ ('a b'|safe).split()[0] is escaped }}{{ 'a'|safe|trim is escaped }}{{ 'a'|safe|replace('a', 'b') is escaped }}", "", "TrueTrueTrueFalse"},
		{"{{ ('<' * 2)|safe }}{{ ('<'|safe * 2) + '<' }}{{ '<'|safe == '<' }}{{ ('<a'|safe)[0] + '<' }}", "", "<<<<&lt;True<&lt;"},
		{"{{ ['<'|safe] }}{{ {'a'|safe: 1}['a'] }}{{ '<'|safe|tojson }}", "", "[Markup('<')]1\"<\""},
	})
}

func TestTests(t *testing.T) {
	vars := `{"s": "a", "i": 1, "f": 1.5, "b": true, "n": null, "l": [1], "d": {"a": 1}}`
	for name, want := range map[string]string{
		"defined": "sifbnld", "undefined": "", "none": "n", "string": "s", "integer": "i", "float": "f",
		"number": "ifb", "boolean": "b", "true": "b", "false": "", "mapping": "d", "sequence": "sld",
		"iterable": "sld", "callable": "", "lower": "sd", "upper": "", "escaped": "",
	} {
		got, err := render(t, "{% for k, v in [('s', s), ('i', i), ('f', f), ('b', b), ('n', n), ('l', l), ('d', d)] %}{{ k if v is "+name+" }}{% endfor %}", vars)
		if err != nil || got != want {
			t.Errorf("is %s: got %q, %v; want %q", name, got, err, want)
		}
	}
	checkExamples(t, []example{
		{"{{ 3 is odd }}{{ 3 is even }}{{ -3 is odd }}{{ 2.0 is even }}", "", "TrueFalseTrueTrue"},
		{"{{ 1 is lt 2 }}{{ 1 is gt 2 }}{{ 1 is le 1 }}{{ 1 is ge 2 }}{{ 1 is ne 2 }}{{ 1 is equalto 1 }}{{ 2 is greaterthan 1 }}{{ 1 is lessthan 1 }}", "", "TrueFalseTrueFalseTrueTrueTrueFalse"},
		{"{{ none is sameas none }}{{ 1 is sameas true }}{{ [] is sameas [] }}{{ l is sameas l }}", `{"l": []}`, "TrueFalseFalseTrue"},
		{"{{ 'upper' is filter }}{{ 'zzz' is filter }}{{ 'odd' is test }}{{ 'zzz' is test }}", "", "TrueFalseTrueFalse"},
		{"{{ 1 is in [1] }}{{ 'a' is in 'abc' }}{{ 2 is not in [1] }}", "", "TrueTrueTrue"},
		{"{{ 1 is boolean }}{{ true is integer }}{{ 1.0 is integer }}", "", "FalseFalseFalse"},
		{"{% macro m() %}{% endmacro %}{{ m is callable }}{{ range is callable }}", "", "TrueTrue"},
	})
}
