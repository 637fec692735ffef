package jinja

import (
	"strings"
	"testing"
)

// TestAppending: a string that grows by appending is charged once, and strings
// that share a beginning do not disturb each other.
func TestAppending(t *testing.T) {
	for _, op := range []string{"+", "~"} {
		got, err := renderLimited(t, "{% set ns = namespace(s='') %}{% for i in range(20000) %}"+
			"{% set ns.s = ns.s "+op+" ('0123456789' + 'abcdef') %}{% endfor %}{{ ns.s }}", "", Limits{Memory: 16 << 20})
		if err != nil || got != strings.Repeat("0123456789abcdef", 20000) {
			t.Errorf("%s: %d bytes, %v", op, len(got), err)
		}
	}
	got, err := render(t, "{% set s = 'x' * 4999 + 'y' %}{% set a = s + 'a' %}{% set b = s + 'bb' %}{% set c = a + 'c' %}{% set d = a ~ 'd' %}"+
		"{% set m = s|safe %}{% set e = m + '<' %}{{ s[4998:] }} {{ a[4998:] }} {{ b[4998:] }} {{ c[4998:] }} {{ d[4998:] }} {{ m[4998:] }} {{ e[4998:] }}", "")
	const want = "xy xya xybb xyac xyad xy xy&lt;"
	if err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}
