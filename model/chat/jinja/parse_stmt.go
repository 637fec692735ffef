package jinja

// statement parses one block tag, whose {% has been read.
func (p *parser) statement() (stmt, error) {
	place := p.place()
	if p.peek().kind != tokenName {
		return nil, p.unexpected("the name of a statement")
	}
	switch name := p.peek().text; name {
	case "if":
		return p.ifStatement(place)
	case "for":
		return p.forStatement(place)
	case "set":
		return p.setStatement(place)
	case "macro":
		return p.macroStatement(place)
	case "call":
		return p.callStatement(place)
	case "filter":
		return p.filterStatement(place)
	case "with":
		return p.withStatement(place)
	case "generation":
		p.next()
		body, err := p.isolated(func() ([]stmt, error) { return p.block("generation", "endgeneration") })
		return &generationStmt{place, body}, err
	case "print":
		p.next()
		x, err := p.tuple(true)
		if err != nil {
			return nil, err
		}
		return &printStmt{place, x}, p.expectClose()
	case "break", "continue":
		if p.loops == 0 {
			return nil, p.errorf("%s outside of a loop", quote(name))
		}
		p.next()
		if name == "break" {
			return &breakStmt{place}, p.expectClose()
		}
		return &continueStmt{place}, p.expectClose()
	case "include", "import", "from", "extends", "block", "autoescape", "do", "trans":
		return nil, p.errorf("the statement %s is not supported in a chat template", quote(name))
	default:
		return nil, p.errorf("unknown statement %s", quote(name))
	}
}

// isolated parses the body of a macro or call block, out of which break cannot
// jump.
func (p *parser) isolated(parse func() ([]stmt, error)) ([]stmt, error) {
	loops := p.loops
	p.loops = 0
	body, err := parse()
	p.loops = loops
	return body, err
}

func (p *parser) ifStatement(place at) (stmt, error) {
	p.soft++
	defer func() { p.soft-- }()
	node := &ifStmt{at: place}
	for {
		switch p.next().text {
		case "if", "elif":
			test, err := p.tuple(false)
			if err != nil {
				return nil, err
			}
			body, err := p.ifBody("elif", "else", "endif")
			if err != nil {
				return nil, err
			}
			node.branches = append(node.branches, branch{test, body})
		case "else":
			body, err := p.ifBody("endif")
			if err != nil {
				return nil, err
			}
			node.otherwise = body
		default: // endif
			return node, p.expectClose()
		}
	}
}

func (p *parser) ifBody(ends ...string) ([]stmt, error) {
	if err := p.expectClose(); err != nil {
		return nil, err
	}
	return p.statements("if", ends...)
}

func (p *parser) forStatement(place at) (stmt, error) {
	p.next()
	node := &forStmt{at: place}
	var err error
	if node.target, err = p.targets("in"); err != nil {
		return nil, err
	}
	if !p.skipName("in") {
		return nil, p.unexpected("'in'")
	}
	if node.iter, err = p.tuple(false); err != nil {
		return nil, err
	}
	if p.skipName("if") {
		if node.filter, err = p.expression(); err != nil {
			return nil, err
		}
	}
	node.recursive = p.skipName("recursive")
	if err := p.expectClose(); err != nil {
		return nil, err
	}
	p.loops++
	node.body, err = p.statements("for", "else", "endfor")
	p.loops--
	if err != nil {
		return nil, err
	}
	if p.next().text == "else" {
		if err := p.expectClose(); err != nil {
			return nil, err
		}
		if node.otherwise, err = p.statements("for", "endfor"); err != nil {
			return nil, err
		}
		p.next()
	}
	return node, p.expectClose()
}

// targets parses what is assigned to: one target, or several with commas. The
// word that follows is given where it is a name.
func (p *parser) targets(follow string) (target, error) {
	first, err := p.target()
	if err != nil || !p.peek().isOp(",") {
		return first, err
	}
	group := &tupleTarget{[]target{first}}
	for p.skipOp(",") {
		if t := p.peek(); t.kind == tokenClose || t.isOp("=") || t.isOp(")") || t.isName(follow) {
			break
		}
		more, err := p.target()
		if err != nil {
			return nil, err
		}
		group.parts = append(group.parts, more)
	}
	return group, nil
}

func (p *parser) target() (target, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	if p.skipOp("(") {
		group, err := p.targets("")
		if err != nil {
			return nil, err
		}
		return group, p.expectOp(")")
	}
	if t := p.peek(); t.kind == tokenName && reserved[t.text] {
		return nil, p.errorf("can't assign to %s", quote(t.text))
	}
	name, err := p.expectName()
	if err != nil {
		return nil, err
	}
	if p.skipOp(".") {
		attr, err := p.expectName()
		return &attrTarget{name, attr}, err
	}
	return &nameTarget{name}, nil
}

func (p *parser) setStatement(place at) (stmt, error) {
	p.next()
	to, err := p.targets("")
	if err != nil {
		return nil, err
	}
	if p.skipOp("=") {
		x, err := p.tuple(true)
		if err != nil {
			return nil, err
		}
		return &setStmt{place, to, x}, p.expectClose()
	}
	node := &setBlockStmt{at: place, target: to}
	if node.filter, err = p.filterChain(); err != nil {
		return nil, err
	}
	node.body, err = p.block("set", "endset")
	return node, err
}

// filterChain parses | a | b, or nothing.
func (p *parser) filterChain() (filterChain, error) {
	x, err := p.filters(&nameExpr{p.place(), blockValue})
	return filterChain{x}, err
}

func (p *parser) filterStatement(place at) (stmt, error) {
	p.next()
	first, err := p.filter(&nameExpr{place, blockValue})
	if err != nil {
		return nil, err
	}
	x, err := p.filters(first)
	if err != nil {
		return nil, err
	}
	body, err := p.block("filter", "endfilter")
	return &filterStmt{place, filterChain{x}, body}, err
}

func (p *parser) withStatement(place at) (stmt, error) {
	p.next()
	node := &withStmt{at: place}
	for p.peek().kind != tokenClose {
		if len(node.targets) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
		}
		to, err := p.target()
		if err != nil {
			return nil, err
		}
		if err := p.expectOp("="); err != nil {
			return nil, err
		}
		x, err := p.expression()
		if err != nil {
			return nil, err
		}
		node.targets = append(node.targets, to)
		node.values = append(node.values, x)
	}
	var err error
	node.body, err = p.block("with", "endwith")
	return node, err
}

func (p *parser) macroStatement(place at) (stmt, error) {
	p.next()
	name, err := p.expectName()
	if err != nil {
		return nil, err
	}
	def := &macroDef{name: name}
	if err := p.signature(def); err != nil {
		return nil, err
	}
	return &macroStmt{place, def}, p.macroBody(def, "macro", "endmacro")
}

// macroBody parses the body of a macro or call block; what the body uses of
// caller, kwargs and varargs is noted on the way.
func (p *parser) macroBody(def *macroDef, owner, end string) error {
	p.macros = append(p.macros, def)
	defer func() { p.macros = p.macros[:len(p.macros)-1] }()
	var err error
	def.body, err = p.isolated(func() ([]stmt, error) { return p.block(owner, end) })
	for _, name := range def.params { // a parameter of that name is nothing special
		switch name {
		case "caller":
			def.usesCaller = false
		case "kwargs":
			def.usesNamed = false
		case "varargs":
			def.usesVarargs = false
		}
	}
	return err
}

func (p *parser) signature(def *macroDef) error {
	if err := p.expectOp("("); err != nil {
		return err
	}
	for !p.skipOp(")") {
		if len(def.params) > 0 {
			if err := p.expectOp(","); err != nil {
				return err
			}
		}
		name, err := p.expectName()
		if err != nil {
			return err
		}
		def.params = append(def.params, name)
		if p.skipOp("=") {
			x, err := p.expression()
			if err != nil {
				return err
			}
			def.defaults = append(def.defaults, x)
		} else if len(def.defaults) > 0 {
			return p.errorf("non-default argument follows default argument")
		}
	}
	return nil
}

func (p *parser) callStatement(place at) (stmt, error) {
	p.next()
	def := &macroDef{name: "caller"}
	if p.peek().isOp("(") {
		if err := p.signature(def); err != nil {
			return nil, err
		}
	}
	x, err := p.expression()
	if err != nil {
		return nil, err
	}
	call, ok := x.(*callExpr)
	if !ok {
		return nil, p.errorf("expected a call after 'call'")
	}
	return &callStmt{place, call, def}, p.macroBody(def, "call", "endcall")
}

// noteName records the use of the names that decide what a macro accepts.
func (p *parser) noteName(name string) {
	for _, m := range p.macros {
		switch name {
		case "caller":
			m.usesCaller = true
		case "kwargs":
			m.usesNamed = true
		case "varargs":
			m.usesVarargs = true
		}
	}
}
