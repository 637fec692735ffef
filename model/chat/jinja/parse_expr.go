package jinja

import "strings"

// reserved are the names that cannot be variables.
var reserved = map[string]bool{
	"true": true, "false": true, "none": true, "True": true, "False": true, "None": true,
	"and": true, "or": true, "not": true, "in": true, "is": true, "if": true, "else": true,
}

// expression parses one with an inline if.
func (p *parser) expression() (expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	x, err := p.or()
	for err == nil && p.peek().isName("if") {
		node := &condExpr{at: p.place(), then: x}
		p.next()
		p.soft++
		if node.test, err = p.or(); err == nil && p.skipName("else") {
			node.otherwise, err = p.expression()
		}
		p.soft--
		x = node
	}
	return x, err
}

// tuple parses an expression or, where there are commas, a tuple of them;
// inline says whether a bare a if b is allowed in it.
func (p *parser) tuple(inline bool) (expr, error) {
	one := p.or
	if inline {
		one = p.expression
	}
	place := p.place()
	x, err := one()
	if err != nil || !p.peek().isOp(",") {
		return x, err
	}
	node := &tupleExpr{place, []expr{x}}
	for p.skipOp(",") {
		if t := p.peek(); t.kind == tokenClose || t.isOp(")") || t.isName("recursive") {
			break
		}
		x, err := one()
		if err != nil {
			return nil, err
		}
		node.items = append(node.items, x)
	}
	return node, nil
}

func (p *parser) or() (expr, error) {
	x, err := p.and()
	for err == nil && p.peek().isName("or") {
		node := &logicExpr{at: p.place(), left: x}
		p.next()
		node.right, err = p.and()
		x = node
	}
	return x, err
}

func (p *parser) and() (expr, error) {
	x, err := p.not()
	for err == nil && p.peek().isName("and") {
		node := &logicExpr{at: p.place(), and: true, left: x}
		p.next()
		node.right, err = p.not()
		x = node
	}
	return x, err
}

func (p *parser) not() (expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	if p.peek().isName("not") {
		place := p.place()
		p.next()
		x, err := p.not()
		return &notExpr{place, x}, err
	}
	return p.compare()
}

func (p *parser) compare() (expr, error) {
	place := p.place()
	x, err := p.sum()
	if err != nil {
		return nil, err
	}
	var ops []comparison
	for {
		op := ""
		switch t := p.peek(); {
		case t.kind == tokenOp && strings.Contains(" == != < <= > >= ", " "+t.text+" "):
			op = t.text
		case t.isName("in"):
			op = "in"
		case t.isName("not") && p.look().isName("in"):
			p.next()
			op = "not in"
		}
		if op == "" {
			break
		}
		p.next()
		right, err := p.sum()
		if err != nil {
			return nil, err
		}
		ops = append(ops, comparison{op, right})
	}
	if ops == nil {
		return x, nil
	}
	return &compareExpr{place, x, ops}, nil
}

// leftAssociative parses operands with operators of one precedence.
func (p *parser) leftAssociative(operand func() (expr, error), ops ...string) (expr, error) {
	x, err := operand()
	for err == nil {
		op := ""
		for _, o := range ops {
			if p.peek().isOp(o) {
				op = o
			}
		}
		if op == "" {
			break
		}
		node := &binaryExpr{at: p.place(), op: op, left: x}
		p.next()
		node.right, err = operand()
		x = node
	}
	return x, err
}

func (p *parser) sum() (expr, error) { return p.leftAssociative(p.concat, "+", "-") }

func (p *parser) concat() (expr, error) {
	place := p.place()
	x, err := p.product()
	if err != nil || !p.peek().isOp("~") {
		return x, err
	}
	node := &concatExpr{place, []expr{x}}
	for p.skipOp("~") {
		x, err := p.product()
		if err != nil {
			return nil, err
		}
		node.parts = append(node.parts, x)
	}
	return node, nil
}

func (p *parser) product() (expr, error) { return p.leftAssociative(p.power, "*", "/", "//", "%") }

// power associates to the left, as in Jinja2 and unlike in Python.
func (p *parser) power() (expr, error) {
	return p.leftAssociative(func() (expr, error) { return p.unary(true) }, "**")
}

func (p *parser) unary(withFilter bool) (expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	var x expr
	var err error
	if t := p.peek(); t.isOp("-") || t.isOp("+") {
		node := &signExpr{at: p.place(), op: p.next().text}
		node.x, err = p.unary(false)
		x = node
	} else {
		x, err = p.primary()
	}
	if err != nil {
		return nil, err
	}
	if x, err = p.postfix(x); err != nil || !withFilter {
		return x, err
	}
	return p.filtersAndTests(x)
}

func (p *parser) primary() (expr, error) {
	place := p.place()
	t := p.peek()
	switch t.kind {
	case tokenName:
		return p.nameOrConst(place)
	case tokenString:
		var b strings.Builder
		for p.peek().kind == tokenString {
			b.WriteString(p.next().text)
		}
		return &constExpr{place, b.String()}, nil
	case tokenInt:
		p.next()
		v, err := parseInt(t.text, 0)
		if err != nil {
			return nil, located(p.name, t.line, err)
		}
		return &constExpr{place, v}, nil
	case tokenFloat:
		p.next()
		f, err := parseFloat(t.text)
		if err != nil {
			return nil, located(p.name, t.line, err)
		}
		return &constExpr{place, f}, nil
	}
	switch {
	case p.skipOp("("):
		if p.skipOp(")") {
			return &tupleExpr{at: place}, nil
		}
		x, err := p.tuple(true)
		if err != nil {
			return nil, err
		}
		return x, p.expectOp(")")
	case p.skipOp("["):
		items, err := p.items("]")
		return &listExpr{place, items}, err
	case p.skipOp("{"):
		return p.dict(place)
	}
	return nil, p.unexpected("an expression")
}

func (p *parser) nameOrConst(place at) (expr, error) {
	name := p.peek().text
	switch name {
	case "true", "True":
		p.next()
		return &constExpr{place, true}, nil
	case "false", "False":
		p.next()
		return &constExpr{place, false}, nil
	case "none", "None":
		p.next()
		return &constExpr{place, nil}, nil
	}
	if reserved[name] {
		return nil, p.unexpected("an expression")
	}
	p.next()
	p.noteName(name)
	return &nameExpr{place, name}, nil
}

// items parses expressions with commas up to a closing bracket.
func (p *parser) items(end string) ([]expr, error) {
	var out []expr
	for !p.skipOp(end) {
		if len(out) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
			if p.skipOp(end) {
				break
			}
		}
		x, err := p.expression()
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func (p *parser) dict(place at) (expr, error) {
	node := &dictExpr{at: place}
	for !p.skipOp("}") {
		if len(node.keys) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
			if p.skipOp("}") {
				break
			}
		}
		key, err := p.expression()
		if err != nil {
			return nil, err
		}
		if err := p.expectOp(":"); err != nil {
			return nil, err
		}
		value, err := p.expression()
		if err != nil {
			return nil, err
		}
		node.keys = append(node.keys, key)
		node.values = append(node.values, value)
	}
	return node, nil
}

// postfix parses attributes, subscripts and calls.
func (p *parser) postfix(x expr) (expr, error) {
	for {
		var err error
		place := p.place()
		switch {
		case p.skipOp("."):
			x, err = p.attribute(place, x)
		case p.skipOp("["):
			x, err = p.subscript(place, x)
		case p.peek().isOp("("):
			node := &callExpr{at: place, fn: x}
			node.args, err = p.callArgs()
			x = node
		default:
			return x, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (p *parser) attribute(place at, x expr) (expr, error) {
	switch t := p.next(); t.kind {
	case tokenName:
		return &attrExpr{place, x, t.text}, nil
	case tokenInt:
		n, err := parseInt(t.text, 0)
		if err != nil {
			return nil, located(p.name, t.line, err)
		}
		return &itemExpr{place, x, &constExpr{place, n}}, nil
	default:
		return nil, &Error{Name: p.name, Line: t.line, Message: "expected a name or number after '.'"}
	}
}

func (p *parser) subscript(place at, x expr) (expr, error) {
	var parts []expr
	comma := false
	for !p.skipOp("]") {
		if len(parts) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
			comma = true
			if p.skipOp("]") {
				break
			}
		}
		part, err := p.slice()
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return nil, p.errorf("expected a subscript")
	}
	if comma {
		return &itemExpr{place, x, &tupleExpr{place, parts}}, nil
	}
	return &itemExpr{place, x, parts[0]}, nil
}

// slice parses one subscript, which may be lo:hi:step.
func (p *parser) slice() (expr, error) {
	node := &sliceExpr{at: p.place()}
	parts := []*expr{&node.lo, &node.hi, &node.step}
	colons := 0
	for {
		t := p.peek()
		switch {
		case t.isOp(":") && colons < 2:
			p.next()
			colons++
			continue
		case t.isOp("]") || t.isOp(","):
			if colons > 0 {
				return node, nil
			}
		case *parts[colons] != nil:
			return nil, p.unexpected("']'")
		}
		x, err := p.expression()
		if err != nil {
			return nil, err
		}
		*parts[colons] = x
		if colons == 0 && !p.peek().isOp(":") {
			return x, nil
		}
	}
}

func (p *parser) callArgs() (callArgs, error) {
	var a callArgs
	p.next() // (
	for first := true; !p.skipOp(")"); first = false {
		if !first {
			if err := p.expectOp(","); err != nil {
				return a, err
			}
			if p.skipOp(")") {
				break
			}
		}
		if err := p.callArg(&a); err != nil {
			return a, err
		}
	}
	return a, nil
}

func (p *parser) callArg(a *callArgs) (err error) {
	switch {
	case p.peek().isOp("*"):
		if a.star != nil || a.doubleStar != nil {
			return p.errorf("invalid syntax for function call expression")
		}
		p.next()
		a.star, err = p.expression()
	case p.peek().isOp("**"):
		if a.doubleStar != nil {
			return p.errorf("invalid syntax for function call expression")
		}
		p.next()
		a.doubleStar, err = p.expression()
	case p.peek().kind == tokenName && p.look().isOp("="):
		if a.doubleStar != nil {
			return p.errorf("invalid syntax for function call expression")
		}
		name := p.next().text
		p.next()
		var x expr
		x, err = p.expression()
		a.named = append(a.named, namedArg{name, x})
	default:
		if a.star != nil || a.doubleStar != nil || len(a.named) > 0 {
			return p.errorf("positional argument follows keyword argument")
		}
		var x expr
		x, err = p.expression()
		a.pos = append(a.pos, x)
	}
	return err
}

// filtersAndTests parses | filter and is test, and calls of what they return.
func (p *parser) filtersAndTests(x expr) (expr, error) {
	for {
		var err error
		switch t := p.peek(); {
		case t.isOp("|"):
			p.next()
			x, err = p.filter(x)
		case t.isName("is"):
			x, err = p.test(x)
		case t.isOp("("):
			node := &callExpr{at: p.place(), fn: x}
			node.args, err = p.callArgs()
			x = node
		default:
			return x, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// filters parses any number of | filter.
func (p *parser) filters(x expr) (expr, error) {
	for p.skipOp("|") {
		var err error
		if x, err = p.filter(x); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// filter parses a filter, whose | has been read.
func (p *parser) filter(x expr) (expr, error) {
	node := &filterExpr{at: p.place(), x: x}
	var err error
	if node.name, err = p.dottedName(); err != nil {
		return nil, err
	}
	if _, ok := filters[node.name]; !ok && p.soft == 0 {
		return nil, located(p.name, node.line, noFilter(node.name))
	}
	if p.peek().isOp("(") {
		node.args, err = p.callArgs()
	}
	return node, err
}

func (p *parser) dottedName() (string, error) {
	name, err := p.expectName()
	for err == nil && p.skipOp(".") {
		var more string
		more, err = p.expectName()
		name += "." + more
	}
	return name, err
}

func (p *parser) test(x expr) (expr, error) {
	p.next() // is
	negated := p.skipName("not")
	node := &testExpr{at: p.place(), x: x}
	var err error
	if node.name, err = p.dottedName(); err != nil {
		return nil, err
	}
	if _, ok := tests[node.name]; !ok && p.soft == 0 {
		return nil, located(p.name, node.line, noTest(node.name))
	}
	switch t := p.peek(); {
	case t.isOp("("):
		node.args, err = p.callArgs()
	case t.isName("is"):
		err = p.errorf("you cannot chain multiple tests with is")
	case p.startsTestArgument(t):
		var arg expr
		if arg, err = p.primary(); err == nil {
			arg, err = p.postfix(arg)
		}
		node.args.pos = []expr{arg}
	}
	if err != nil {
		return nil, err
	}
	if negated {
		return &notExpr{node.at, node}, nil
	}
	return node, nil
}

// startsTestArgument says whether a test is given an argument without
// brackets, as in x is divisibleby 3.
func (p *parser) startsTestArgument(t token) bool {
	switch t.kind {
	case tokenString, tokenInt, tokenFloat:
		return true
	case tokenOp:
		return t.text == "[" || t.text == "{"
	case tokenName:
		switch t.text {
		case "and", "or", "not", "in", "if", "else", "is", "recursive":
			return false
		}
		return true
	}
	return false
}
