package jinja

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// stringLiteral lexes a quoted string and decodes its escapes as Python does.
func (l *lexer) stringLiteral() error {
	rest := l.rest()
	q := rest[0]
	end := 1
	for end < len(rest) && rest[end] != q {
		if rest[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(rest) {
		return l.errorf("unterminated string")
	}
	text, err := l.unescape(rest[1:end])
	if err != nil {
		return err
	}
	l.emit(tokenString, text)
	l.advance(end + 1)
	return nil
}

var simpleEscapes = map[byte]string{
	'\n': "", '\\': `\`, '\'': "'", '"': `"`,
	'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v",
}

var hexEscapes = map[byte]int{'x': 2, 'u': 4, 'U': 8}

func (l *lexer) unescape(t string) (string, error) {
	if !strings.Contains(t, `\`) {
		return t, nil
	}
	var b strings.Builder
	for t != "" {
		i := strings.IndexByte(t, '\\')
		if i < 0 || i+1 == len(t) {
			b.WriteString(t)
			break
		}
		b.WriteString(t[:i])
		c, tail := t[i+1], t[i+1:]
		t = tail[1:]
		if plain, ok := simpleEscapes[c]; ok {
			b.WriteString(plain)
		} else if digits, ok := hexEscapes[c]; ok {
			r, err := l.hexEscape(t, digits)
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
			t = t[digits:]
		} else if '0' <= c && c <= '7' {
			n := 0
			for n < 2 && n < len(t) && '0' <= t[n] && t[n] <= '7' {
				n++
			}
			v, _ := strconv.ParseUint(string(c)+t[:n], 8, 16)
			b.WriteRune(rune(v))
			t = t[n:]
		} else if c == 'N' {
			return "", l.errorf(`\N escapes are not supported`)
		} else {
			b.WriteByte('\\') // no escape: the backslash stays
			t = tail
		}
	}
	return b.String(), nil
}

func (l *lexer) hexEscape(t string, digits int) (rune, error) {
	if len(t) < digits {
		return 0, l.errorf("truncated escape in string")
	}
	v, err := strconv.ParseUint(t[:digits], 16, 32)
	if err != nil || v > utf8.MaxRune {
		return 0, l.errorf("bad escape in string")
	}
	return rune(v), nil
}
