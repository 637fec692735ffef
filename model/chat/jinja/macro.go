package jinja

import "fmt"

// macro is a macro with the scope that its body sees.
type macro struct {
	def   *macroDef
	scope *scope
}

// call renders the macro. caller is the block of a {% call %}, or nil.
func (m *macro) call(s *state, a *args, caller *macro) (Value, error) {
	sc := m.scope.inner()
	if err := m.bind(s, sc, a, caller); err != nil {
		return nil, err
	}
	t, _, err := s.capture(func() (control, error) { return s.execAll(m.def.body, sc) })
	if err != nil {
		return nil, err
	}
	return t, s.sized(len(t))
}

func (m *macro) bind(s *state, sc *scope, a *args, caller *macro) error {
	d := m.def
	named := map[string]Value{}
	for n, v := range a.named {
		named[n] = v
	}
	if caller != nil {
		named["caller"] = caller
	}
	missingDefaults := len(d.params) - len(d.defaults)
	for i, p := range d.params {
		if i < len(a.pos) {
			sc.set(p, a.pos[i])
			continue
		}
		if v, ok := named[p]; ok {
			delete(named, p)
			sc.set(p, v)
			continue
		}
		if i < missingDefaults {
			sc.set(p, &undefined{hint: fmt.Sprintf("parameter %s was not provided", quote(p)), name: p})
			continue
		}
		v, err := s.eval(d.defaults[i-missingDefaults], sc)
		if err != nil {
			return err
		}
		sc.set(p, v)
	}
	if d.usesCaller {
		sc.set("caller", &undefined{hint: "No caller defined"})
		if v, ok := named["caller"]; ok {
			sc.set("caller", v)
			delete(named, "caller")
		}
	}
	if err := m.bindNamed(sc, a, named); err != nil {
		return err
	}
	switch extra := a.pos[min(len(d.params), len(a.pos)):]; {
	case d.usesVarargs:
		sc.set("varargs", &Tuple{Items: extra})
	case len(extra) > 0:
		return fmt.Errorf("macro %s takes not more than %d argument(s)", quote(d.name), len(d.params))
	}
	return nil
}

// bindNamed binds the keyword arguments that are left to kwargs.
func (m *macro) bindNamed(sc *scope, a *args, left map[string]Value) error {
	if m.def.usesNamed {
		kwargs := NewDict()
		for _, n := range a.names {
			if v, ok := left[n]; ok {
				kwargs.Set(n, v)
			}
		}
		sc.set("kwargs", kwargs)
		return nil
	}
	if _, ok := left["caller"]; ok {
		return fmt.Errorf("macro %s was given a caller that it does not use", quote(m.def.name))
	}
	for _, n := range a.names {
		if _, ok := left[n]; ok {
			return fmt.Errorf("macro %s takes no keyword argument %s", quote(m.def.name), quote(n))
		}
	}
	return nil
}

// attr gives an attribute of a macro.
func (m *macro) attr(name string) (Value, bool) {
	switch name {
	case "name":
		return m.def.name, true
	case "arguments":
		out := &Tuple{}
		for _, p := range m.def.params {
			out.Items = append(out.Items, p)
		}
		return out, true
	case "caller":
		return m.def.usesCaller, true
	case "catch_kwargs":
		return m.def.usesNamed, true
	case "catch_varargs":
		return m.def.usesVarargs, true
	}
	return nil, false
}
