package jinja

import (
	"fmt"
	"math/big"
)

func (n *constExpr) eval(*state, *scope) (Value, error) { return n.value, nil }

func (n *nameExpr) eval(s *state, sc *scope) (Value, error) { return s.lookup(sc, n.name), nil }

func (s *state) evalAll(xs []expr, sc *scope) ([]Value, error) {
	if err := s.alloc(wordBytes * len(xs)); err != nil {
		return nil, err
	}
	out := make([]Value, len(xs))
	for i, x := range xs {
		var err error
		if out[i], err = s.eval(x, sc); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (n *listExpr) eval(s *state, sc *scope) (Value, error) {
	items, err := s.evalAll(n.items, sc)
	return &List{Items: items}, err
}

func (n *tupleExpr) eval(s *state, sc *scope) (Value, error) {
	items, err := s.evalAll(n.items, sc)
	return &Tuple{Items: items}, err
}

func (n *dictExpr) eval(s *state, sc *scope) (Value, error) {
	if err := s.alloc(4 * wordBytes * len(n.keys)); err != nil {
		return nil, err
	}
	d := NewDict()
	for i := range n.keys {
		k, err := s.eval(n.keys[i], sc)
		if err != nil {
			return nil, err
		}
		v, err := s.eval(n.values[i], sc)
		if err != nil {
			return nil, err
		}
		if err := d.setValue(s, k, v); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (n *signExpr) eval(s *state, sc *scope) (Value, error) {
	v, err := s.eval(n.x, sc)
	if err != nil {
		return nil, err
	}
	if u, ok := v.(*undefined); ok {
		return nil, u
	}
	if f, ok := v.(float64); ok {
		if n.op == "-" {
			return -f, nil
		}
		return f, nil
	}
	b, ok := asBig(v)
	if !ok {
		return nil, fmt.Errorf("bad operand type for unary %s: '%s'", n.op, typeName(v))
	}
	if n.op == "-" {
		b = new(big.Int).Neg(b)
	}
	return normalInt(b)
}

func (n *notExpr) eval(s *state, sc *scope) (Value, error) {
	v, err := s.eval(n.x, sc)
	return !truth(v), err
}

func (n *logicExpr) eval(s *state, sc *scope) (Value, error) {
	v, err := s.eval(n.left, sc)
	if err != nil || truth(v) != n.and {
		return v, err
	}
	return s.eval(n.right, sc)
}

func (n *binaryExpr) eval(s *state, sc *scope) (Value, error) {
	a, err := s.eval(n.left, sc)
	if err != nil {
		return nil, err
	}
	b, err := s.eval(n.right, sc)
	if err != nil {
		return nil, err
	}
	return s.binary(n.op, a, b)
}

func (n *concatExpr) eval(s *state, sc *scope) (Value, error) {
	vs, err := s.evalAll(n.parts, sc)
	if err != nil {
		return nil, err
	}
	first, err := s.str(vs[0])
	if err != nil {
		return nil, err
	}
	rest, err := s.join("", vs[1:])
	if err != nil {
		return nil, err
	}
	return s.concatenate(first, rest)
}

func (n *compareExpr) eval(s *state, sc *scope) (Value, error) {
	left, err := s.eval(n.left, sc)
	if err != nil {
		return nil, err
	}
	for _, op := range n.ops {
		right, err := s.eval(op.right, sc)
		if err != nil {
			return nil, err
		}
		if ok, err := s.compare(op.op, left, right); err != nil || !ok {
			return false, err
		}
		left = right
	}
	return true, nil
}

func (n *condExpr) eval(s *state, sc *scope) (Value, error) {
	v, err := s.eval(n.test, sc)
	switch {
	case err != nil:
		return nil, err
	case truth(v):
		return s.eval(n.then, sc)
	case n.otherwise == nil:
		return &undefined{hint: "the inline if-expression evaluated to false and no else section was defined."}, nil
	}
	return s.eval(n.otherwise, sc)
}

func (n *attrExpr) eval(s *state, sc *scope) (Value, error) {
	v, err := s.eval(n.x, sc)
	if err != nil {
		return nil, err
	}
	return s.getattr(v, n.name)
}

func (n *itemExpr) eval(s *state, sc *scope) (Value, error) {
	v, err := s.eval(n.x, sc)
	if err != nil {
		return nil, err
	}
	sub, err := s.eval(n.sub, sc)
	if err != nil {
		return nil, err
	}
	return s.getitem(v, sub)
}

func (n *sliceExpr) eval(s *state, sc *scope) (Value, error) {
	var v sliceValue
	for _, part := range []struct {
		x  expr
		to *Value
	}{{n.lo, &v.lo}, {n.hi, &v.hi}, {n.step, &v.step}} {
		if part.x == nil {
			continue
		}
		var err error
		if *part.to, err = s.eval(part.x, sc); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (n *callExpr) eval(s *state, sc *scope) (Value, error) { return n.call(s, sc, nil) }

func (n *callExpr) call(s *state, sc *scope, caller *macro) (Value, error) {
	fn, err := s.eval(n.fn, sc)
	if err != nil {
		return nil, err
	}
	a, err := n.args.eval(s, sc)
	if err != nil {
		return nil, err
	}
	if caller != nil {
		if _, ok := fn.(*macro); !ok {
			if err := a.setNamed("caller", caller); err != nil {
				return nil, err
			}
		}
	}
	return s.call(fn, a, caller)
}

func (s *state) call(fn Value, a *args, caller *macro) (Value, error) {
	switch fn := fn.(type) {
	case *undefined:
		return nil, fn
	case *macro:
		a.fn = fn.def.name
		return fn.call(s, a, caller)
	case *function:
		a.fn = fn.name
		return fn.call(s, a)
	case *loopValue:
		if fn.recurse == nil {
			return nil, fmt.Errorf("the loop must have the 'recursive' marker to be called recursively")
		}
		a.fn = "loop"
		p, err := a.bind("iterable")
		if err != nil {
			return nil, err
		}
		return fn.recurse(p.values[0])
	}
	return nil, fmt.Errorf("'%s' object is not callable", typeName(fn))
}

// eval evaluates the arguments of a call.
func (c *callArgs) eval(s *state, sc *scope) (*args, error) {
	pos, err := s.evalAll(c.pos, sc)
	if err != nil {
		return nil, err
	}
	a := &args{fn: "call", pos: pos}
	if c.star != nil {
		v, err := s.eval(c.star, sc)
		if err != nil {
			return nil, err
		}
		items, err := s.iterate(v)
		if err != nil {
			return nil, err
		}
		if a.pos, err = s.concat(a.pos, items); err != nil {
			return nil, err
		}
	}
	for _, n := range c.named {
		v, err := s.eval(n.value, sc)
		if err != nil {
			return nil, err
		}
		if err := a.setNamed(n.name, v); err != nil {
			return nil, err
		}
	}
	if c.doubleStar == nil {
		return a, nil
	}
	return a, c.addMapping(s, sc, a)
}

func (c *callArgs) addMapping(s *state, sc *scope, a *args) error {
	v, err := s.eval(c.doubleStar, sc)
	if err != nil {
		return err
	}
	d, ok := v.(*Dict)
	if !ok {
		return fmt.Errorf("argument after ** must be a mapping, not %s", typeName(v))
	}
	if err := s.alloc(4 * wordBytes * d.Len()); err != nil {
		return err
	}
	for i, k := range d.keys {
		name, ok := text(k)
		if !ok {
			return fmt.Errorf("keywords must be strings")
		}
		if err := a.setNamed(name, d.values[i]); err != nil {
			return err
		}
	}
	return nil
}

func (n *filterExpr) eval(s *state, sc *scope) (Value, error) {
	v, err := s.eval(n.x, sc)
	if err != nil {
		return nil, err
	}
	a, err := n.args.eval(s, sc)
	if err != nil {
		return nil, err
	}
	return s.filter(n.name, v, a)
}

// filter applies a filter by its name.
func (s *state) filter(name string, v Value, a *args) (Value, error) {
	f, ok := filters[name]
	if !ok {
		return nil, noFilter(name)
	}
	if err := s.work(v); err != nil {
		return nil, err
	}
	a.fn = name
	out, err := f(s, v, a)
	if err != nil {
		return nil, err
	}
	return out, s.account(out)
}

func (n *testExpr) eval(s *state, sc *scope) (Value, error) {
	v, err := s.eval(n.x, sc)
	if err != nil {
		return nil, err
	}
	a, err := n.args.eval(s, sc)
	if err != nil {
		return nil, err
	}
	return s.test(n.name, v, a)
}

// test applies a test by its name.
func (s *state) test(name string, v Value, a *args) (bool, error) {
	t, ok := tests[name]
	if !ok {
		return false, noTest(name)
	}
	a.fn = name
	return t(s, v, a)
}

func noFilter(name string) error { return fmt.Errorf("no filter named %s", quote(name)) }
func noTest(name string) error   { return fmt.Errorf("no test named %s", quote(name)) }
