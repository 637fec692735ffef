package jinja

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// Bounds of the parser.
const (
	maxSource = 4 << 20 // bytes
	maxNested = 300     // blocks, brackets and unary operators inside each other
)

// Template is a parsed template. It is immutable: renderings may run at once.
type Template struct {
	name string
	body []stmt
}

// Parse reads a template. The name only serves to say where an error is.
func Parse(name, source string) (*Template, error) {
	if len(source) > maxSource {
		return nil, &Error{Name: name, Line: 1, Message: fmt.Sprintf("template of %d bytes, more than %d", len(source), maxSource), Err: ErrLimit}
	}
	if !utf8.ValidString(source) {
		return nil, &Error{Name: name, Line: 1, Message: "template is not valid UTF-8"}
	}
	tokens, err := lex(name, source)
	if err != nil {
		return nil, err
	}
	p := &parser{name: name, tokens: tokens}
	body, err := p.statements("template")
	if err != nil {
		return nil, err
	}
	return &Template{name: name, body: body}, nil
}

type parser struct {
	name   string
	tokens []token
	at     int
	nested int
	loops  int         // for loops around, as far as break can see
	soft   int         // ifs around: unknown filters are left to the evaluator
	macros []*macroDef // macros around
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) look() token {
	return p.tokens[min(p.at+1, len(p.tokens)-1)]
}

func (p *parser) next() token {
	t := p.tokens[p.at]
	if p.at < len(p.tokens)-1 {
		p.at++
	}
	return t
}

func (p *parser) place() at { return at{p.peek().line} }

func (p *parser) errorf(format string, a ...any) error {
	return &Error{Name: p.name, Line: p.peek().line, Message: fmt.Sprintf(format, a...)}
}

func (p *parser) unexpected(want string) error {
	return p.errorf("unexpected %s, expected %s", p.peek(), want)
}

func (p *parser) enter() error {
	if p.nested++; p.nested > maxNested {
		return &Error{Name: p.name, Line: p.peek().line, Message: fmt.Sprintf("nested more than %d deep", maxNested), Err: ErrLimit}
	}
	return nil
}

func (p *parser) leave() { p.nested-- }

func (t token) isOp(op string) bool     { return t.kind == tokenOp && t.text == op }
func (t token) isName(name string) bool { return t.kind == tokenName && t.text == name }

func (p *parser) skipOp(op string) bool {
	if p.peek().isOp(op) {
		p.next()
		return true
	}
	return false
}

func (p *parser) skipName(name string) bool {
	if p.peek().isName(name) {
		p.next()
		return true
	}
	return false
}

func (p *parser) expectOp(op string) error {
	if !p.skipOp(op) {
		return p.unexpected(quote(op))
	}
	return nil
}

func (p *parser) expectName() (string, error) {
	if p.peek().kind != tokenName {
		return "", p.unexpected("a name")
	}
	return p.next().text, nil
}

func (p *parser) expectClose() error {
	if p.peek().kind != tokenClose {
		return p.unexpected("the end of the tag")
	}
	p.next()
	return nil
}

// statements parses up to a block tag with one of the given names, whose name
// is then the current token; without names, up to the end of the template.
func (p *parser) statements(owner string, ends ...string) ([]stmt, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	first := p.peek().line
	var out []stmt
	for {
		place := p.place()
		switch t := p.next(); {
		case t.kind == tokenEOF:
			if len(ends) > 0 {
				return nil, p.errorf("unexpected end of template: %s, begun at line %d, needs %s", owner, first, quote(ends[len(ends)-1]))
			}
			return out, nil
		case t.kind == tokenData:
			out = append(out, &textStmt{place, t.text})
		case t.text == "{{":
			x, err := p.tuple(true)
			if err != nil {
				return nil, err
			}
			if err := p.expectClose(); err != nil {
				return nil, err
			}
			out = append(out, &printStmt{place, x})
		default: // {%
			if t := p.peek(); t.kind == tokenName && slices.Contains(ends, t.text) {
				return out, nil
			}
			st, err := p.statement()
			if err != nil {
				return nil, err
			}
			out = append(out, st)
		}
	}
}

// block parses the body of a statement up to the tag that ends it, and that
// tag: owner is the statement's name, end the tag's.
func (p *parser) block(owner, end string) ([]stmt, error) {
	if err := p.expectClose(); err != nil {
		return nil, err
	}
	body, err := p.statements(owner, end)
	if err != nil {
		return nil, err
	}
	p.next()
	return body, p.expectClose()
}
