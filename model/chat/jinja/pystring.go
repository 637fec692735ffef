package jinja

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

// isSpace is Python's str.isspace for one character.
func isSpace(r rune) bool {
	return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f
}

// asciiDigits replaces decimal digits of other scripts, as int() and float()
// accept them.
func asciiDigits(t string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 || !unicode.IsDigit(r) {
			return r
		}
		return '0' + digitValue(r)
	}, t)
}

// digitValue counts back to the zero of the digit's script: Unicode keeps its
// decimal digits in runs of ten, from zero to nine.
func digitValue(r rune) rune {
	for _, rg := range unicode.Nd.R16 {
		if rune(rg.Lo) <= r && r <= rune(rg.Hi) {
			return (r - rune(rg.Lo)) % 10
		}
	}
	for _, rg := range unicode.Nd.R32 {
		if rune(rg.Lo) <= r && r <= rune(rg.Hi) {
			return (r - rune(rg.Lo)) % 10
		}
	}
	return 0
}

// quote is Python's repr of a string.
func quote(t string) string {
	q := byte('\'')
	if strings.Contains(t, "'") && !strings.Contains(t, `"`) {
		q = '"'
	}
	var b strings.Builder
	b.WriteByte(q)
	for _, r := range t {
		switch {
		case r == rune(q) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte(q)
	return b.String()
}

// briefRepr is repr for messages: containers are only named.
func briefRepr(v Value) string {
	if t, ok := text(v); ok {
		return quote(t)
	}
	if t, ok := scalarText(v); ok {
		return t
	}
	return "<" + typeName(v) + ">"
}

// scalarText is str() of None, booleans and numbers.
func scalarText(v Value) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "None", true
	case bool:
		if v {
			return "True", true
		}
		return "False", true
	case int64:
		return strconv.FormatInt(v, 10), true
	case *big.Int:
		return v.String(), true
	case float64:
		return floatRepr(v), true
	}
	return "", false
}

// str is Python's str().
func (s *state) str(v Value) (string, error) {
	if t, ok := text(v); ok {
		return t, nil
	}
	if t, ok := scalarText(v); ok {
		return t, nil
	}
	if _, ok := v.(*undefined); ok {
		return "", nil
	}
	return s.repr(v)
}

// repr is Python's repr().
func (s *state) repr(v Value) (string, error) {
	w := reprWriter{s: s}
	if err := w.value(v); err != nil {
		return "", err
	}
	t := w.b.String()
	return t, s.sized(len(t))
}

// reprWriter writes the repr of nested data within the limits.
type reprWriter struct {
	s *state
	b strings.Builder
}

func (w *reprWriter) value(v Value) error {
	if err := w.s.enter(); err != nil {
		return err
	}
	defer w.s.leave()
	if err := w.s.room(w.b.Len()); err != nil {
		return err
	}
	if t, ok := scalarText(v); ok {
		w.b.WriteString(t)
		return nil
	}
	switch v := v.(type) {
	case string:
		w.b.WriteString(quote(v))
	case Markup:
		w.b.WriteString("Markup(" + quote(string(v)) + ")")
	case *undefined:
		w.b.WriteString("Undefined")
	case *List:
		return w.sequence("[", v.Items, "]")
	case *Tuple:
		if len(v.Items) == 1 {
			return w.sequence("(", v.Items, ",)")
		}
		return w.sequence("(", v.Items, ")")
	case *Dict:
		return w.dict(v)
	case *dictView:
		return w.sequence(v.kind+"([", v.items(), "])")
	case *namespace:
		w.b.WriteString("<Namespace ")
		defer w.b.WriteString(">")
		return w.dict(v.attrs)
	case rangeValue:
		fmt.Fprintf(&w.b, "range(%d, %d", v.start, v.stop)
		if v.step != 1 {
			fmt.Fprintf(&w.b, ", %d", v.step)
		}
		w.b.WriteByte(')')
	case *macro:
		w.b.WriteString("<Macro " + quote(v.def.name) + ">")
	case *function:
		w.b.WriteString("<function " + v.name + ">")
	case *loopValue:
		fmt.Fprintf(&w.b, "<LoopContext %d/%d>", v.index+1, len(v.items))
	default:
		w.b.WriteString("<" + typeName(v) + " object>")
	}
	return nil
}

func (w *reprWriter) sequence(open string, items []Value, end string) error {
	w.b.WriteString(open)
	for i, it := range items {
		if i > 0 {
			w.b.WriteString(", ")
		}
		if err := w.value(it); err != nil {
			return err
		}
	}
	w.b.WriteString(end)
	return nil
}

func (w *reprWriter) dict(d *Dict) error {
	w.b.WriteByte('{')
	for i := range d.keys {
		if i > 0 {
			w.b.WriteString(", ")
		}
		if err := w.value(d.keys[i]); err != nil {
			return err
		}
		w.b.WriteString(": ")
		if err := w.value(d.values[i]); err != nil {
			return err
		}
	}
	w.b.WriteByte('}')
	return nil
}

// escapeHTML is markupsafe's escape.
func escapeHTML(t string) string { return htmlEscaper.Replace(t) }

var htmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", `"`, "&#34;")

// escape gives the Markup of any value: Markup stays as it is.
func (s *state) escape(v Value) (Markup, error) {
	if m, ok := v.(Markup); ok {
		return m, nil
	}
	t, err := s.str(v)
	if err != nil {
		return "", err
	}
	return Markup(escapeHTML(t)), nil
}
