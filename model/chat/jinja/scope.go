package jinja

// scope holds the variables that one part of a template can set; what it does
// not hold is looked for in the scopes around it.
type scope struct {
	parent *scope
	vars   []binding
	index  map[string]int // into vars, once there are many
	few    [3]binding     // room for the first ones: a loop makes a scope per item
}

type binding struct {
	name  string
	value Value
}

// manyNames is the number of names from which on a map is faster.
const manyNames = 8

func (sc *scope) inner() *scope { return &scope{parent: sc} }

func (sc *scope) find(name string) (int, bool) {
	if sc.index != nil {
		i, ok := sc.index[name]
		return i, ok
	}
	for i := range sc.vars {
		if sc.vars[i].name == name {
			return i, true
		}
	}
	return 0, false
}

func (sc *scope) set(name string, v Value) {
	if i, ok := sc.find(name); ok {
		sc.vars[i].value = v
		return
	}
	if sc.vars == nil {
		sc.vars = sc.few[:0]
	}
	sc.vars = append(sc.vars, binding{name, v})
	switch n := len(sc.vars); {
	case n > manyNames:
		sc.index[name] = n - 1
	case n == manyNames:
		sc.index = make(map[string]int, 2*manyNames)
		for i := range sc.vars {
			sc.index[sc.vars[i].name] = i
		}
	}
}

func (s *state) lookup(sc *scope, name string) Value {
	for ; sc != nil; sc = sc.parent {
		if i, ok := sc.find(name); ok {
			return sc.vars[i].value
		}
	}
	if v, ok := s.globals[name]; ok {
		return v
	}
	return &undefined{name: name}
}
