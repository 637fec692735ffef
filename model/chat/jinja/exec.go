package jinja

import (
	"errors"
	"fmt"
)

// control says how a statement ended.
type control uint8

const (
	goOn control = iota
	breakLoop
	continueLoop
)

func (s *state) execAll(body []stmt, sc *scope) (control, error) {
	if err := s.enter(); err != nil {
		return goOn, err
	}
	defer s.leave()
	for _, st := range body {
		if err := s.step(1); err != nil {
			return goOn, located(s.name, st.where(), err)
		}
		c, err := st.exec(s, sc)
		if err != nil {
			return goOn, located(s.name, st.where(), err)
		}
		if c != goOn {
			return c, nil
		}
	}
	return goOn, nil
}

// eval evaluates an expression, charges it and puts its place on an error.
func (s *state) eval(x expr, sc *scope) (Value, error) {
	if err := s.enter(); err != nil {
		return nil, located(s.name, x.where(), err)
	}
	v, err := x.eval(s, sc)
	s.leave()
	if err != nil {
		return nil, located(s.name, x.where(), err)
	}
	return v, nil
}

func (n *textStmt) exec(s *state, _ *scope) (control, error) {
	return goOn, s.write(n.text)
}

func (n *printStmt) exec(s *state, sc *scope) (control, error) {
	v, err := s.eval(n.x, sc)
	if err != nil {
		return goOn, err
	}
	t, err := s.str(v)
	if err != nil {
		return goOn, err
	}
	return goOn, s.write(t)
}

func (n *ifStmt) exec(s *state, sc *scope) (control, error) {
	for _, b := range n.branches {
		v, err := s.eval(b.test, sc)
		if err != nil {
			return goOn, err
		}
		if truth(v) {
			return s.execAll(b.body, sc)
		}
	}
	return s.execAll(n.otherwise, sc)
}

func (n *setStmt) exec(s *state, sc *scope) (control, error) {
	v, err := s.eval(n.value, sc)
	if err != nil {
		return goOn, err
	}
	return goOn, n.target.assign(s, sc, v)
}

func (n *setBlockStmt) exec(s *state, sc *scope) (control, error) {
	v, c, err := n.filter.apply(s, sc, n.body)
	if err != nil || c != goOn {
		return c, err
	}
	return goOn, n.target.assign(s, sc, v)
}

func (n *filterStmt) exec(s *state, sc *scope) (control, error) {
	v, c, err := n.filter.apply(s, sc, n.body)
	if err != nil || c != goOn {
		return c, err
	}
	t, err := s.str(v)
	if err != nil {
		return goOn, err
	}
	return goOn, s.write(t)
}

// apply renders a block and passes its text through the filters.
func (f filterChain) apply(s *state, sc *scope, body []stmt) (Value, control, error) {
	inner := sc.inner()
	t, c, err := s.capture(func() (control, error) { return s.execAll(body, inner) })
	if err != nil || c != goOn {
		return nil, c, err
	}
	inner = sc.inner()
	inner.set(blockValue, t)
	v, err := s.eval(f.x, inner)
	return v, goOn, err
}

func (n *withStmt) exec(s *state, sc *scope) (control, error) {
	inner := sc.inner()
	for i, x := range n.values {
		v, err := s.eval(x, sc)
		if err != nil {
			return goOn, err
		}
		if err := n.targets[i].assign(s, inner, v); err != nil {
			return goOn, err
		}
	}
	return s.execAll(n.body, inner)
}

func (n *generationStmt) exec(s *state, sc *scope) (control, error) {
	return s.execAll(n.body, sc.inner())
}

func (n *macroStmt) exec(_ *state, sc *scope) (control, error) {
	sc.set(n.def.name, &macro{def: n.def, scope: sc})
	return goOn, nil
}

func (n *callStmt) exec(s *state, sc *scope) (control, error) {
	caller := &macro{def: n.body, scope: sc}
	v, err := n.call.call(s, sc, caller)
	if err != nil {
		return goOn, located(s.name, n.call.where(), err)
	}
	t, err := s.str(v)
	if err != nil {
		return goOn, err
	}
	return goOn, s.write(t)
}

func (*breakStmt) exec(*state, *scope) (control, error)    { return breakLoop, nil }
func (*continueStmt) exec(*state, *scope) (control, error) { return continueLoop, nil }

func (t *nameTarget) assign(_ *state, sc *scope, v Value) error {
	sc.set(t.name, v)
	return nil
}

func (t *attrTarget) assign(s *state, sc *scope, v Value) error {
	ns, ok := s.lookup(sc, t.object).(*namespace)
	if !ok {
		return errors.New("cannot assign attribute on non-namespace object")
	}
	ns.attrs.Set(t.attr, v)
	return nil
}

func (t *tupleTarget) assign(s *state, sc *scope, v Value) error {
	if u, ok := v.(*undefined); ok && len(t.parts) > 0 {
		return fmt.Errorf("not enough values to unpack (expected %d, got 0): %w", len(t.parts), u)
	}
	items, err := s.iterate(v)
	if err != nil {
		return fmt.Errorf("cannot unpack non-iterable %s object", typeName(v))
	}
	switch {
	case len(items) < len(t.parts):
		return fmt.Errorf("not enough values to unpack (expected %d, got %d)", len(t.parts), len(items))
	case len(items) > len(t.parts):
		return fmt.Errorf("too many values to unpack (expected %d)", len(t.parts))
	}
	for i, part := range t.parts {
		if err := part.assign(s, sc, items[i]); err != nil {
			return err
		}
	}
	return nil
}
