package jinja

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokenData  tokenKind = iota // text between tags
	tokenOpen                   // {{ or {%
	tokenClose                  // }} or %}
	tokenName
	tokenString // decoded
	tokenInt
	tokenFloat
	tokenOp
	tokenEOF
)

type token struct {
	kind tokenKind
	text string
	line int
}

func (t token) String() string {
	switch t.kind {
	case tokenEOF:
		return "end of template"
	case tokenData:
		return "template text"
	case tokenString:
		return "string " + quote(t.text)
	}
	return quote(t.text)
}

// lexer cuts a template into tokens, with trim_blocks and lstrip_blocks on and
// the newline at the end of the template dropped.
type lexer struct {
	name   string
	src    string
	pos    int
	line   int
	tokens []token
}

func lex(name, source string) ([]token, error) {
	source = strings.ReplaceAll(source, "\r\n", "\n")
	source = strings.ReplaceAll(source, "\r", "\n")
	l := &lexer{name: name, src: strings.TrimSuffix(source, "\n"), line: 1}
	for l.pos < len(l.src) {
		if err := l.next(); err != nil {
			return nil, err
		}
	}
	l.emit(tokenEOF, "")
	return l.tokens, nil
}

func (l *lexer) errorf(format string, a ...any) error {
	return &Error{Name: l.name, Line: l.line, Message: fmt.Sprintf(format, a...)}
}

func (l *lexer) emit(kind tokenKind, text string) {
	l.tokens = append(l.tokens, token{kind, text, l.line})
}

// advance moves over n bytes.
func (l *lexer) advance(n int) {
	l.line += strings.Count(l.src[l.pos:l.pos+n], "\n")
	l.pos += n
}

func (l *lexer) rest() string { return l.src[l.pos:] }

// next lexes the text up to the next tag, and that tag.
func (l *lexer) next() error {
	start := l.pos
	lineStart := start == 0 || l.src[start-1] == '\n'
	text := l.rest()
	i := tagIndex(text)
	if i < 0 {
		l.emit(tokenData, text)
		l.advance(len(text))
		return nil
	}
	kind := text[i+1]
	sign := signAt(text, i+2)
	rawOpen, isRaw := 0, false
	if kind == '%' {
		rawOpen, isRaw = matchRaw(text[i:], "raw")
	}
	if kept := trimBefore(text[:i], sign, kind != '{', lineStart); kept != "" {
		l.emit(tokenData, kept)
	}
	l.advance(i)
	switch {
	case isRaw:
		l.advance(rawOpen)
		return l.raw()
	case kind == '#':
		return l.comment(sign)
	}
	l.emit(tokenOpen, text[i:i+2])
	l.advance(2 + btoi(sign != 0))
	if kind == '%' {
		return l.expression("%}")
	}
	return l.expression("}}")
}

func btoi(b bool) int { return int(boolInt(b)) }

// tagIndex finds the next {{, {% or {#.
func tagIndex(t string) int {
	for i := 0; ; {
		j := strings.IndexByte(t[i:], '{')
		if j < 0 || i+j+1 >= len(t) {
			return -1
		}
		i += j
		if c := t[i+1]; c == '{' || c == '%' || c == '#' {
			return i
		}
		i++
	}
}

// signAt gives the - or + at a position, or 0.
func signAt(t string, i int) byte {
	if i < len(t) && (t[i] == '-' || t[i] == '+') {
		return t[i]
	}
	return 0
}

// trimBefore applies the whitespace control of a tag to the text before it.
func trimBefore(t string, sign byte, isBlock, lineStart bool) string {
	switch {
	case sign == '-':
		return strings.TrimRightFunc(t, isSpace)
	case sign == 0 && isBlock:
		line := strings.LastIndexByte(t, '\n') + 1
		if (line > 0 || lineStart) && strings.TrimLeftFunc(t[line:], isSpace) == "" {
			return t[:line]
		}
	}
	return t
}

// skipAfter applies the whitespace control of a tag to the text after it.
func (l *lexer) skipAfter(sign byte, isBlock bool) {
	switch {
	case sign == '-':
		l.skipSpace()
	case sign == 0 && isBlock && strings.HasPrefix(l.rest(), "\n"):
		l.advance(1)
	}
}

func (l *lexer) skipSpace() {
	rest := l.rest()
	l.advance(len(rest) - len(strings.TrimLeftFunc(rest, isSpace)))
}

func (l *lexer) comment(sign byte) error {
	from := 2 + btoi(sign != 0)
	end := strings.Index(l.rest()[from:], "#}")
	if end < 0 {
		return l.errorf("missing end of comment tag")
	}
	end += from
	after := byte(0)
	if end > from {
		after = signAt(l.rest(), end-1)
	}
	l.advance(end + 2)
	l.skipAfter(after, true)
	return nil
}

// matchRaw matches a whole {% raw %} or {% endraw %} at the start of t.
func matchRaw(t, word string) (length int, ok bool) {
	i := 2 + btoi(signAt(t, 2) != 0)
	space := func() { i += len(t[i:]) - len(strings.TrimLeftFunc(t[i:], isSpace)) }
	space()
	if !strings.HasPrefix(t[i:], word) {
		return 0, false
	}
	i += len(word)
	space()
	switch {
	case strings.HasPrefix(t[i:], "-%}"):
		i += 3
		if word == "raw" {
			space()
		}
		return i, true
	case strings.HasPrefix(t[i:], "+%}") && word == "endraw":
		return i + 3, true
	case strings.HasPrefix(t[i:], "%}"):
		return i + 2, true
	}
	return 0, false
}

// raw takes everything up to endraw as text.
func (l *lexer) raw() error {
	lineStart := l.src[l.pos-1] == '\n'
	body := l.rest()
	for i := 0; ; i += 2 {
		j := strings.Index(body[i:], "{%")
		if j < 0 {
			return l.errorf("missing end of raw directive")
		}
		i += j
		n, ok := matchRaw(body[i:], "endraw")
		if !ok {
			continue
		}
		if kept := trimBefore(body[:i], signAt(body, i+2), true, lineStart); kept != "" {
			l.emit(tokenData, kept)
		}
		l.advance(i + n)
		l.skipAfter(signAt(l.src, l.pos-3), true)
		return nil
	}
}

const operators = "+-/*%~[](){}<>=.:|,;!"

// expression lexes the inside of a tag up to its end, which is not looked for
// inside brackets.
func (l *lexer) expression(end string) error {
	var open []byte
	for {
		l.skipSpace()
		rest := l.rest()
		if rest == "" {
			return l.errorf("unexpected end of template, expected %s", quote(end))
		}
		if len(open) == 0 && l.closeTag(end) {
			return nil
		}
		c := rest[0]
		switch {
		case c == '"' || c == '\'':
			if err := l.stringLiteral(); err != nil {
				return err
			}
		case '0' <= c && c <= '9':
			l.number()
		case strings.IndexByte(operators, c) >= 0:
			if err := l.operator(&open); err != nil {
				return err
			}
		default:
			if err := l.identifier(); err != nil {
				return err
			}
		}
	}
}

func (l *lexer) closeTag(end string) bool {
	rest := l.rest()
	isBlock := end == "%}"
	sign := signAt(rest, 0)
	if sign == '+' && !isBlock {
		return false
	}
	if !strings.HasPrefix(rest[btoi(sign != 0):], end) {
		return false
	}
	l.emit(tokenClose, end)
	l.advance(btoi(sign != 0) + len(end))
	l.skipAfter(sign, isBlock)
	return true
}

func (l *lexer) operator(open *[]byte) error {
	rest := l.rest()
	n := 1
	if len(rest) > 1 {
		switch rest[:2] {
		case "==", "!=", "<=", ">=", "**", "//":
			n = 2
		}
	}
	c := rest[0]
	if c == '!' && n == 1 {
		return l.errorf("unexpected char '!'")
	}
	switch c {
	case '(', '[', '{':
		*open = append(*open, map[byte]byte{'(': ')', '[': ']', '{': '}'}[c])
	case ')', ']', '}':
		if len(*open) == 0 {
			return l.errorf("unexpected '%c'", c)
		}
		want := (*open)[len(*open)-1]
		if c != want {
			return l.errorf("unexpected '%c', expected '%c'", c, want)
		}
		*open = (*open)[:len(*open)-1]
	}
	l.emit(tokenOp, rest[:n])
	l.advance(n)
	return nil
}

// isNameRune says whether a character may be in, or start, a name.
func isNameRune(r rune, first bool) bool {
	if r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.Nl, r) {
		return true
	}
	return !first && (unicode.IsDigit(r) || unicode.In(r, unicode.Mn, unicode.Mc, unicode.Pc))
}

func (l *lexer) identifier() error {
	rest := l.rest()
	n := strings.IndexFunc(rest, func(r rune) bool { return !isNameRune(r, false) })
	if n < 0 {
		n = len(rest)
	}
	r, _ := utf8.DecodeRuneInString(rest)
	if n == 0 || !isNameRune(r, true) {
		return l.errorf("unexpected char %s", quote(string(r)))
	}
	l.emit(tokenName, rest[:n])
	l.advance(n)
	return nil
}

// number lexes an integer or float; underscores may be between digits.
func (l *lexer) number() {
	rest := l.rest()
	afterDot := l.pos > 0 && l.src[l.pos-1] == '.'
	if n := basedLength(rest); n > 0 {
		l.emit(tokenInt, rest[:n])
		l.advance(n)
		return
	}
	n := digitsLength(rest)
	kind := tokenInt
	if !afterDot {
		if f := digitsLength(tailAfter(rest, n, ".")); f > 0 {
			n, kind = n+1+f, tokenFloat
		}
		if e := exponentLength(rest[n:]); e > 0 {
			n, kind = n+e, tokenFloat
		}
	}
	if kind == tokenInt && rest[0] == '0' { // 0123 is two numbers
		n = len(rest[:n]) - len(strings.TrimLeft(rest[:n], "0_"))
	}
	l.emit(kind, rest[:n])
	l.advance(n)
}

// tailAfter gives t beyond n bytes and the given prefix, or nothing.
func tailAfter(t string, n int, prefix string) string {
	if tail, ok := strings.CutPrefix(t[n:], prefix); ok {
		return tail
	}
	return ""
}

func digitsLength(t string) int { return runLength(t, "0123456789") }

// runLength counts characters of a set with single underscores between them.
func runLength(t, set string) int {
	n := 0
	for n < len(t) {
		switch {
		case strings.IndexByte(set, t[n]) >= 0:
			n++
		case t[n] == '_' && n > 0 && n+1 < len(t) && strings.IndexByte(set, t[n+1]) >= 0:
			n += 2
		default:
			return n
		}
	}
	return n
}

func basedLength(t string) int {
	if len(t) < 3 || t[0] != '0' {
		return 0
	}
	set := map[byte]string{'b': "01", 'o': "01234567", 'x': "0123456789abcdefABCDEF"}[t[1]|0x20]
	if n := runLength(strings.TrimPrefix(t[2:], "_"), set); n > 0 {
		return 2 + n + btoi(t[2] == '_')
	}
	return 0
}

func exponentLength(t string) int {
	if t == "" || t[0]|0x20 != 'e' {
		return 0
	}
	sign := btoi(signAt(t, 1) != 0)
	if n := digitsLength(t[1+sign:]); n > 0 {
		return 1 + sign + n
	}
	return 0
}
