package jinja

import (
	"context"
	"strings"
	"time"
)

// Options are what a rendering may set beside its variables.
type Options struct {
	Limits Limits
	Now    func() time.Time // the clock of strftime_now; time.Now if nil
}

// Render renders the template with the given variables, which may be nil. An
// error is an [*Error].
func (t *Template) Render(ctx context.Context, vars *Dict, o Options) (string, error) {
	limits := o.Limits.withDefaults()
	s := &state{
		ctx:     ctx,
		name:    t.name,
		limits:  limits,
		now:     o.Now,
		globals: globals,
		out:     &sink{limit: limits.Output, what: "output"},
	}
	if s.now == nil {
		s.now = time.Now
	}
	sc := &scope{}
	if vars != nil {
		for i, k := range vars.keys {
			if name, ok := text(k); ok {
				sc.set(name, vars.values[i])
			}
		}
	}
	if _, err := s.execAll(t.body, sc); err != nil {
		return "", located(t.name, 1, err)
	}
	return s.out.b.String(), nil
}

// sink gathers text up to a limit.
type sink struct {
	b     strings.Builder
	limit int
	what  string
}

func (o *sink) write(t string) error {
	if o.b.Len()+len(t) > o.limit {
		return limitErrorf("%s of more than %d bytes", o.what, o.limit)
	}
	o.b.WriteString(t)
	return nil
}

func (s *state) write(t string) error {
	if err := s.alloc(len(t)); err != nil {
		return err
	}
	return s.out.write(t)
}

// capture gathers what f writes.
func (s *state) capture(f func() (control, error)) (string, control, error) {
	outer := s.out
	s.out = &sink{limit: s.limits.Size, what: "a captured block"}
	c, err := f()
	t := s.out.b.String()
	s.out = outer
	return t, c, err
}
