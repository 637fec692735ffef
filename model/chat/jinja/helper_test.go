package jinja

import (
	"context"
	"testing"
	"time"
)

var testTime = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

// render renders a template with variables given as a JSON object, or none.
func render(t testing.TB, source, vars string) (string, error) {
	t.Helper()
	return renderLimited(t, source, vars, Limits{})
}

func renderLimited(t testing.TB, source, vars string, limits Limits) (string, error) {
	t.Helper()
	tmpl, err := Parse("t", source)
	if err != nil {
		return "", err
	}
	d := NewDict()
	if vars != "" {
		v, err := DecodeJSON([]byte(vars))
		if err != nil {
			t.Fatal(err)
		}
		d = v.(*Dict)
	}
	return tmpl.Render(context.Background(), d, Options{Limits: limits, Now: func() time.Time { return testTime }})
}

// example is a template, its variables (a JSON object, may be empty) and what
// it renders to.
type example struct{ source, vars, want string }

func checkExamples(t *testing.T, examples []example) {
	t.Helper()
	for _, e := range examples {
		got, err := render(t, e.source, e.vars)
		if err != nil || got != e.want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", e.source, got, err, e.want)
		}
	}
}
