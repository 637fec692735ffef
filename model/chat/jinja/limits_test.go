package jinja

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// hostile are templates that would take for ever, or all memory, or the stack.
var hostile = map[string]string{
	"nested ranges":      "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}{% endfor %}",
	"big range":          "{{ range(10**9)|list }}",
	"huge range":         "{{ range(10**30) }}",
	"doubling":           "{% set ns = namespace(s='ab') %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
	"doubling by ~":      "{% set ns = namespace(s='ab') %}{% for i in range(100) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
	"doubling lists":     "{% set ns = namespace(s=[1]) %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
	"doubling markup":    "{% set ns = namespace(s='<'|safe) %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
	"doubling blocks":    "{% set ns = namespace(s='ab') %}{% for i in range(100) %}{% set ns.s %}{{ ns.s }}{{ ns.s }}{% endset %}{% endfor %}",
	"shared lists":       "{% set ns = namespace(s=[1]) %}{% for i in range(100) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s }}",
	"shared lists json":  "{% set ns = namespace(s=[1]) %}{% for i in range(100) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s|tojson }}",
	"shared equality":    "{% set n = namespace(s=[1], t=[1]) %}{% for i in range(100) %}{% set n.s = [n.s, n.s] %}{% set n.t = [n.t, n.t] %}{% endfor %}{{ n.s == n.t }}",
	"shared order":       "{% set n = namespace(s=[1], t=[1]) %}{% for i in range(100) %}{% set n.s = [n.s, n.s] %}{% set n.t = [n.t, n.t] %}{% endfor %}{{ n.s < n.t }}",
	"shared hash":        "{% set n = namespace(s=(1,)) %}{% for i in range(100) %}{% set n.s = (n.s, n.s) %}{% endfor %}{{ {n.s: 1} }}",
	"deep data":          "{% set ns = namespace(s=[]) %}{% for i in range(99999) %}{% set ns.s = [ns.s] %}{% endfor %}{{ ns.s }}",
	"deep data json":     "{% set ns = namespace(s=[]) %}{% for i in range(99999) %}{% set ns.s = [ns.s] %}{% endfor %}{{ ns.s|tojson }}",
	"deep generators":    "{% set ns = namespace(s=[1]) %}{% for i in range(99999) %}{% set ns.s = ns.s|map('string') %}{% endfor %}{{ ns.s|list }}",
	"cycle":              "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}",
	"cycle in a list":    "{% set ns = namespace() %}{% set ns.a = [ns] %}{{ ns.a }}",
	"recursion":          "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
	"mutual recursion":   "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}",
	"caller recursion":   "{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{{ caller() }}{% endmacro %}{% call m() %}{% endcall %}",
	"default recursion":  "{% macro m(a=m()) %}{% endmacro %}{{ m() }}",
	"loop recursion":     "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
	"wide recursion":     "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(100) }}",
	"repeat":             "{{ 'a' * 10**10 }}",
	"repeat more":        "{{ 'a' * 10**40 }}",
	"repeat list":        "{{ [1] * 10**10 }}",
	"center":             "{{ 'a'.center(10**10) }}",
	"ljust":              "{{ 'a'.ljust(10**18, 'é') }}",
	"zfill":              "{{ 'a'.zfill(10**18) }}",
	"expandtabs":         "{{ '\t'.expandtabs(10**12) }}",
	"indent":             "{{ ('\n' * 10000)|indent(100000, blank=true) }}",
	"indent width":       "{{ 'a'|indent(10**15) }}",
	"tojson indent":      "{{ [[[[1]]]]|tojson(indent=10**9) }}",
	"percent width":      "{{ '%1000000000d' % 1 }}",
	"percent star":       "{{ '%*d' % (10**15, 1) }}",
	"percent precision":  "{{ '%.1000000000f' % 1.5 }}",
	"percent digits":     "{{ '%.1000000000d' % 1 }}",
	"format width":       "{{ '{:1000000000}'.format(1) }}",
	"format precision":   "{{ '{:.1000000000f}'.format(1.5) }}",
	"nested format":      "{{ ('{0:' ~ '{0:' * 1000 ~ '}' * 1000 ~ '}').format(1) }}",
	"replace":            "{% set a = 'a' * 100000 %}{{ a.replace('a', a) }}",
	"replace nothing":    "{% set a = 'a' * 100000 %}{{ a.replace('', a) }}",
	"replace filter":     "{% set a = 'a' * 100000 %}{{ a|replace('a', a) }}",
	"join":               "{% set a = 'a' * 100000 %}{{ a.join(a) }}",
	"join filter":        "{% set a = 'a' * 100000 %}{{ range(100000)|join(a) }}",
	"batch":              "{{ [1]|batch(10**12, 'x')|list }}",
	"slices":             "{{ [1]|slice(10**12)|list }}",
	"power":              "{{ 9 ** 9 ** 9 ** 9 ** 9 }}",
	"power of powers":    "{{ 10 ** (10 ** 10) }}",
	"big products":       "{% set ns = namespace(s=3) %}{% for i in range(1000) %}{% set ns.s = ns.s * ns.s %}{% endfor %}",
	"output":             "{% for i in range(99999) %}{% for j in range(99999) %}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{% endfor %}{% endfor %}",
	"output of a macro":  "{% macro m() %}{% for i in range(99999) %}{% for j in range(99999) %}xxxxxxxxxxxxxxxxxxxx{% endfor %}{% endfor %}{% endmacro %}{{ m() }}",
	"kept strings":       "{% set ns = namespace(s=[]) %}{% for i in range(99999) %}{% set ns.s = ns.s + ['a' * 1000000] %}{% endfor %}",
	"slow search":        "{% set a = 'a' * 10**6 %}{% for i in range(99999) %}{% for j in range(999) %}{{ 'b' in a }}{% endfor %}{% endfor %}",
	"slow strip":         "{% set a = 'a' * 10**6 %}{% for i in range(99999) %}{{ a.strip(a)|length }}{% endfor %}",
	"slow length":        "{% set a = 'é' * 10**6 %}{% for i in range(99999) %}{% for j in range(999) %}{{ a|length }}{% endfor %}{% endfor %}",
	"slow index":         "{% set a = 'é' * 10**6 %}{% for i in range(99999) %}{% for j in range(999) %}{{ a[-1] }}{% endfor %}{% endfor %}",
	"slow comparison":    "{% set a = 'a' * 10**6 %}{% set b = 'a' * 10**6 %}{% for i in range(99999) %}{% for j in range(999) %}{{ a == b }}{% endfor %}{% endfor %}",
	"slow sort":          "{% set a = range(99999)|list %}{% for i in range(99999) %}{{ a|sort|length }}{% endfor %}",
	"long chain":         "{{ 1" + strings.Repeat("+1", 100000) + " }}",
	"long filter chain":  "{{ 1" + strings.Repeat("|string", 100000) + " }}",
	"long and chain":     "{{ 1" + strings.Repeat(" and 1", 100000) + " }}",
	"long call chain":    "{{ x" + strings.Repeat("()", 100000) + " }}",
	"nested brackets":    "{{ " + strings.Repeat("(", 100000) + "1" + strings.Repeat(")", 100000) + " }}",
	"nested lists":       "{{ " + strings.Repeat("[", 100000) + "1" + strings.Repeat("]", 100000) + " }}",
	"nested dicts":       "{{ " + strings.Repeat("{1:", 100000) + "1" + strings.Repeat("}", 100000) + " }}",
	"nested nots":        "{{ " + strings.Repeat("not ", 100000) + "1 }}",
	"nested signs":       "{{ " + strings.Repeat("-", 100000) + "1 }}",
	"nested subscripts":  "{{ " + strings.Repeat("a[", 100000) + "1" + strings.Repeat("]", 100000) + " }}",
	"nested calls":       "{{ " + strings.Repeat("f(", 100000) + "1" + strings.Repeat(")", 100000) + " }}",
	"nested conditions":  "{{ " + strings.Repeat("1 if 1 else ", 100000) + "1 }}",
	"nested ifs":         strings.Repeat("{% if 1 %}", 100000),
	"nested fors":        strings.Repeat("{% for x in y %}", 100000),
	"nested targets":     "{% set " + strings.Repeat("(", 100000),
	"nested macros":      strings.Repeat("{% macro m() %}", 100000),
	"big source":         strings.Repeat("x", maxSource+1),
	"attribute path":     "{% set ns = namespace() %}{% set ns.a = ns %}{{ [ns]|map(attribute='a.' * 10**6 ~ 'a')|list|length }}{% for i in range(99999) %}{{ [ns]|map(attribute='a.' * 10**6 ~ 'a')|list|length }}{% endfor %}",
	"format path":        "{% set ns = namespace() %}{% set ns.a = ns %}{% for i in range(99999) %}{% set x = ('{0' ~ '.a' * 10**6 ~ '}').format(ns)|length %}{% endfor %}",
	"urlencode":          "{{ (('é' * 10**6)|urlencode|urlencode|urlencode|urlencode|urlencode|urlencode|urlencode|urlencode) }}",
	"escape":             "{% set ns = namespace(s='&') %}{% for i in range(99999) %}{% set ns.s = ns.s|forceescape|string %}{% endfor %}{% for i in range(99999) %}{% set ns.s = (ns.s * 2)|forceescape %}{% endfor %}",
	"repr of repr":       `{% set ns = namespace(s="'") %}{% for i in range(99999) %}{% set ns.s = [ns.s]|string %}{% endfor %}`,
	"strftime":           "{{ strftime_now('%c' * 10**7) }}",
	"spread arguments":   "{% macro m() %}{{ m(*varargs, *varargs) }}{% endmacro %}{{ m(1) }}",
	"spread and recurse": "{% macro m() %}{{ m(1, *(varargs + varargs)) }}{% endmacro %}{{ m(1) }}",
}

func TestHostileTemplates(t *testing.T) {
	limits := Limits{Output: 1 << 18, Steps: 300_000, Depth: 2000, Size: 1 << 20, Memory: 32 << 20}
	for name, source := range hostile {
		start := time.Now()
		_, err := renderLimited(t, source, "", limits)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
		var e *Error
		switch name {
		case "nested format", "spread arguments", "nested targets", "default recursion":
			if err == nil {
				t.Errorf("%s: no error", name)
			}
		default:
			if !errors.As(err, &e) || !errors.Is(err, ErrLimit) {
				t.Errorf("%s: %.200v", name, err)
			}
		}
	}
}

// TestDefaultLimits: without limits of the caller's, too, it ends within
// seconds.
func TestDefaultLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, name := range []string{"nested ranges", "doubling", "recursion", "deep data", "wide recursion", "kept strings", "slow search", "shared lists", "slow sort"} {
		start := time.Now()
		_, err := render(t, hostile[name], "")
		if !errors.Is(err, ErrLimit) {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%s: %v, %v", name, time.Since(start), err)
	}
}

func TestLimitsAreExact(t *testing.T) {
	for _, c := range []struct {
		source string
		limits Limits
		ok     bool
	}{
		{"abcd", Limits{Output: 4}, true},
		{"abcde", Limits{Output: 4}, false},
		{"{{ 'a' * 100 }}", Limits{Size: 100}, true},
		{"{{ 'a' * 101 }}", Limits{Size: 100}, false},
		{"{% set x = [1] * 3 %}", Limits{Size: 48}, true},
		{"{% macro m(n) %}{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(100) }}", Limits{}, true},
	} {
		_, err := renderLimited(t, c.source, "", c.limits)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrLimit) {
			t.Errorf("%s with %+v: %v", c.source, c.limits, err)
		}
	}
}

func TestCancel(t *testing.T) {
	tmpl, err := Parse("t", hostile["nested ranges"])
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = tmpl.Render(ctx, nil, Options{Limits: Limits{Steps: 1 << 60, Memory: 1 << 60}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// TestConcurrent renders one template from several goroutines, for the race
// detector.
func TestConcurrent(t *testing.T) {
	tmpl, err := Parse("t", "{% macro m(x) %}{{ x }}{% endmacro %}{% for i in range(50) %}{{ m(i)|upper }}{% endfor %}{{ 'ß'.upper() }}")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	for range 4 {
		go func() {
			_, err := tmpl.Render(context.Background(), nil, Options{})
			done <- err
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
