package jinja

// loopValue is the variable loop.
type loopValue struct {
	items   []Value
	index   int // of the current item
	depth   int
	changed []Value                      // what loop.changed saw last
	recurse func(v Value) (Value, error) // loop(...) of a recursive loop, or nil
}

func (n *forStmt) exec(s *state, sc *scope) (control, error) {
	v, err := s.eval(n.iter, sc)
	if err != nil {
		return goOn, err
	}
	return goOn, n.run(s, sc, v, 0)
}

// run loops over a value; depth counts the recursive loops around.
func (n *forStmt) run(s *state, sc *scope, over Value, depth int) error {
	items, err := s.iterate(over)
	if err != nil {
		return err
	}
	if n.filter != nil {
		if items, err = n.pick(s, sc, items); err != nil {
			return err
		}
	}
	loop := &loopValue{items: items, depth: depth}
	if n.recursive {
		loop.recurse = func(v Value) (Value, error) {
			t, _, err := s.capture(func() (control, error) { return goOn, n.run(s, sc, v, depth+1) })
			if err != nil {
				return nil, err
			}
			return t, s.sized(len(t))
		}
	}
	completed := false // Jinja2 runs the else of a loop that no iteration got through
	for i, it := range items {
		if err := s.step(1); err != nil {
			return err
		}
		loop.index = i
		inner := sc.inner()
		inner.set("loop", loop)
		if err := n.target.assign(s, inner, it); err != nil {
			return err
		}
		c, err := s.execAll(n.body, inner)
		if err != nil {
			return err
		}
		if c == breakLoop {
			break
		}
		completed = completed || c == goOn
	}
	if !completed {
		_, err = s.execAll(n.otherwise, sc.inner())
	}
	return err
}

// pick gives the items that the loop's own if lets through.
func (n *forStmt) pick(s *state, sc *scope, items []Value) ([]Value, error) {
	var out []Value
	for _, it := range items {
		inner := sc.inner()
		if err := n.target.assign(s, inner, it); err != nil {
			return nil, err
		}
		v, err := s.eval(n.filter, inner)
		if err != nil {
			return nil, err
		}
		if truth(v) {
			out = append(out, it)
		}
	}
	return out, s.alloc(wordBytes * len(out))
}

// attr gives an attribute of loop.
func (l *loopValue) attr(name string) (Value, bool) {
	n := len(l.items)
	switch name {
	case "index":
		return int64(l.index + 1), true
	case "index0":
		return int64(l.index), true
	case "revindex":
		return int64(n - l.index), true
	case "revindex0":
		return int64(n - l.index - 1), true
	case "first":
		return l.index == 0, true
	case "last":
		return l.index == n-1, true
	case "length":
		return int64(n), true
	case "depth":
		return int64(l.depth + 1), true
	case "depth0":
		return int64(l.depth), true
	case "previtem":
		if l.index == 0 {
			return &undefined{hint: "there is no previous item"}, true
		}
		return l.items[l.index-1], true
	case "nextitem":
		if l.index == n-1 {
			return &undefined{hint: "there is no next item"}, true
		}
		return l.items[l.index+1], true
	case "cycle":
		return &function{"cycle", l.cycle}, true
	case "changed":
		return &function{"changed", l.hasChanged}, true
	}
	return nil, false
}

func (l *loopValue) cycle(_ *state, a *args) (Value, error) {
	if len(a.pos) == 0 {
		return nil, errNothingToCycle
	}
	return a.pos[l.index%len(a.pos)], nil
}

func (l *loopValue) hasChanged(s *state, a *args) (Value, error) {
	if l.changed != nil {
		same, err := s.equalItems(l.changed, a.pos)
		if err != nil || same {
			return false, err
		}
	}
	l.changed = append([]Value{}, a.pos...)
	return true, nil
}
