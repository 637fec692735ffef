package jinja

import "testing"

func TestWhitespace(t *testing.T) {
	checkExamples(t, []example{
		{"a\n", "", "a"}, // the newline at the end of the template is dropped, one only
		{"a\n\n", "", "a\n"},
		{"a\r\nb\rc", "", "a\nb\nc"},
		{"{% if true %}\nx\n{% endif %}\ny", "", "x\ny"}, // trim_blocks
		{"{% if true %}\n\nx{% endif %}", "", "\nx"},
		{"{{ 1 }}\n{{ 2 }}", "", "1\n2"},                                 // not after a value
		{"a\n  {% if true %}b{% endif %}", "", "a\nb"},                   // lstrip_blocks
		{"a {% if true %}b{% endif %}", "", "a b"},                       // only at the start of a line
		{"  {{ 1 }}", "", "  1"},                                         // not before a value
		{"  {% if true %}b{% endif %}", "", "b"},                         // the first line
		{"  {%+ if true %}b{% endif %}", "", "  b"},                      // + keeps
		{"{% if true +%}\nb{% endif %}", "", "\nb"},                      //
		{" a \n {%- if true -%} \n b \n {%- endif -%} \n c", "", " abc"}, // - strips
		{"a {{- 1 -}} b", "", "a1b"},
		{"a\n {# c #}\nb", "", "a\nb"}, // comments are blocks
		{"a {#- c -#} b", "", "ab"},
		{"a\n {#+ c +#}\nb", "", "a\n \nb"},
		{"{#-#}a", "", "a"},
		{"{# {{ x }} {% if %} #}a", "", "a"},
		{"{% raw %}{{ x }}{% if %}{% endraw %}", "", "{{ x }}{% if %}"},
		{"a {%- raw -%} {{ {%- endraw -%} b", "", "a{{b"},
		{"{% raw %}\nx\n  {% endraw %}\ny", "", "\nx\ny"},
		{"{% raw %}a{% b %}{% endraw %}", "", "a{% b %}"},
		{"{ x } {a}", "", "{ x } {a}"},
		{"{{ {'a': {'b': 1}}.a.b }}", "", "1"}, // braces inside a value
		{"{{{'a': 1}['a']}}", "", "1"},
		{"{{-1}}", "", "1"}, // the minus is the tag's
		{"a\n{% set x = 1 %}  \nb", "", "a\n  \nb"},
		{"{% if true -%}\n\n  x{% endif %}", "", "x"},
		{"a\u00a0{%- if true %}b{% endif %}", "", "ab"},
		{"{%\nset x\n=\n1\n%}{{\nx\n}}", "", "1"},
	})
}
