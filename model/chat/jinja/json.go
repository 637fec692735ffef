package jinja

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// maxJSONDepth bounds the nesting of JSON that is read, maxJSONDigits the
// digits of an integer in it (as Python does).
const (
	maxJSONDepth  = 1000
	maxJSONDigits = 4300
)

// DecodeJSON reads one JSON text as Python's json.loads does: objects keep the
// order of their keys (of equal keys the last value counts), integers stay
// integers.
func DecodeJSON(data []byte) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := decodeValue(d, 0)
	if err != nil {
		return nil, fmt.Errorf("JSON at byte %d: %w", d.InputOffset(), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("JSON at byte %d: text after the value", d.InputOffset())
	}
	return v, nil
}

func decodeValue(d *json.Decoder, depth int) (Value, error) {
	tok, err := d.Token()
	if errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	if depth > maxJSONDepth {
		return nil, fmt.Errorf("nested more than %d deep", maxJSONDepth)
	}
	switch tok := tok.(type) {
	case json.Number:
		return decodeNumber(string(tok))
	case json.Delim:
		if tok == '[' {
			return decodeArray(d, depth)
		}
		return decodeObject(d, depth)
	}
	return tok, nil // nil, bool or string
}

func decodeArray(d *json.Decoder, depth int) (Value, error) {
	list := &List{}
	for d.More() {
		v, err := decodeValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, v)
	}
	_, err := d.Token()
	return list, err
}

func decodeObject(d *json.Decoder, depth int) (Value, error) {
	dict := NewDict()
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := decodeValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		dict.Set(key.(string), v) // the decoder lets only strings be keys
	}
	_, err := d.Token()
	return dict, err
}

func decodeNumber(t string) (Value, error) {
	if strings.ContainsAny(t, ".eE") {
		f, err := strconv.ParseFloat(t, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return nil, err
		}
		return f, nil
	}
	if len(t) > maxJSONDigits {
		return nil, fmt.Errorf("an integer of more than %d digits", maxJSONDigits)
	}
	b, ok := new(big.Int).SetString(t, 10)
	if !ok {
		return nil, fmt.Errorf("bad number %q", t)
	}
	return normalInt(b)
}

// jsonWriter is Python's json.dumps.
type jsonWriter struct {
	s        *state
	b        strings.Builder
	ascii    bool
	pretty   bool   // a line for each element
	indent   string // of one level
	itemSep  string
	keySep   string
	sortKeys bool
}

func (w *jsonWriter) value(v Value, level int) error {
	if err := w.s.enter(); err != nil {
		return err
	}
	defer w.s.leave()
	if err := w.s.room(w.b.Len()); err != nil {
		return err
	}
	if t, ok := text(v); ok {
		w.string(t)
		return nil
	}
	switch v := v.(type) {
	case *List:
		return w.array(v.Items, level)
	case *Tuple:
		return w.array(v.Items, level)
	case *Dict:
		return w.object(v, level)
	}
	t, err := jsonScalar(v)
	w.b.WriteString(t)
	return err
}

func jsonScalar(v Value) (string, error) {
	switch v := v.(type) {
	case nil:
		return "null", nil
	case bool:
		return strconv.FormatBool(v), nil
	case float64:
		switch {
		case math.IsNaN(v):
			return "NaN", nil
		case math.IsInf(v, 1):
			return "Infinity", nil
		case math.IsInf(v, -1):
			return "-Infinity", nil
		}
	}
	if t, ok := scalarText(v); ok {
		return t, nil
	}
	return "", fmt.Errorf("object of type %s is not JSON serializable", typeName(v))
}

func (w *jsonWriter) array(items []Value, level int) error {
	if len(items) == 0 {
		w.b.WriteString("[]")
		return nil
	}
	w.b.WriteByte('[')
	for i, it := range items {
		if err := w.separate(i, level+1); err != nil {
			return err
		}
		if err := w.value(it, level+1); err != nil {
			return err
		}
	}
	if err := w.newline(level); err != nil {
		return err
	}
	w.b.WriteByte(']')
	return nil
}

func (w *jsonWriter) object(d *Dict, level int) error {
	if d.Len() == 0 {
		w.b.WriteString("{}")
		return nil
	}
	pairs := make([]Value, d.Len())
	for i := range pairs {
		pairs[i] = tuple(d.keys[i], d.values[i])
	}
	if w.sortKeys {
		if err := w.s.sortBy(pairs, false, func(v Value) (Value, error) { return v.(*Tuple).Items[0], nil }); err != nil {
			return err
		}
	}
	w.b.WriteByte('{')
	for i, p := range pairs {
		if err := w.separate(i, level+1); err != nil {
			return err
		}
		pair := p.(*Tuple).Items
		key, ok := text(pair[0])
		if !ok {
			var err error
			if _, isTuple := pair[0].(*Tuple); isTuple {
				return errors.New("keys must be str, int, float, bool or None, not tuple")
			}
			if key, err = jsonScalar(pair[0]); err != nil {
				return err
			}
		}
		w.string(key)
		w.b.WriteString(w.keySep)
		if err := w.value(pair[1], level+1); err != nil {
			return err
		}
	}
	if err := w.newline(level); err != nil {
		return err
	}
	w.b.WriteByte('}')
	return nil
}

func (w *jsonWriter) separate(i, level int) error {
	if i > 0 {
		w.b.WriteString(w.itemSep)
	}
	return w.newline(level)
}

func (w *jsonWriter) newline(level int) error {
	if !w.pretty {
		return nil
	}
	if n := len(w.indent); n > 0 {
		if err := w.s.room(w.b.Len() + n*level); err != nil {
			return err
		}
	}
	w.b.WriteByte('\n')
	for range level {
		w.b.WriteString(w.indent)
	}
	return nil
}

func (w *jsonWriter) string(t string) {
	w.b.WriteByte('"')
	for _, r := range t {
		switch {
		case r == '"' || r == '\\':
			w.b.WriteByte('\\')
			w.b.WriteByte(byte(r))
		case r == '\n':
			w.b.WriteString(`\n`)
		case r == '\r':
			w.b.WriteString(`\r`)
		case r == '\t':
			w.b.WriteString(`\t`)
		case r == '\b':
			w.b.WriteString(`\b`)
		case r == '\f':
			w.b.WriteString(`\f`)
		case r < 0x20 || w.ascii && 0x7f < r && r < 0x10000:
			fmt.Fprintf(&w.b, `\u%04x`, r)
		case w.ascii && r >= 0x10000:
			r -= 0x10000
			fmt.Fprintf(&w.b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			w.b.WriteRune(r)
		}
	}
	w.b.WriteByte('"')
}

// filterToJSON is the tojson of transformers: plain text, not Markup, with
// ensure_ascii off.
func filterToJSON(s *state, v Value, a *args) (Value, error) {
	p, err := a.bind("ensure_ascii?", "indent?", "separators?", "sort_keys?")
	if err != nil {
		return nil, err
	}
	w := jsonWriter{s: s, itemSep: ", ", keySep: ": ", ascii: truth(p.or(0, false)), sortKeys: truth(p.or(3, false))}
	switch indent := p.or(1, nil).(type) {
	case nil:
	case string:
		w.indent, w.pretty, w.itemSep = indent, true, ","
	default:
		n, ok := asIndex(indent)
		if !ok {
			return nil, fmt.Errorf("tojson: indent must be an integer or a string, not %s", typeName(indent))
		}
		n = max(n, 0)
		if err := s.room(int(n)); err != nil {
			return nil, err
		}
		w.indent, w.pretty, w.itemSep = strings.Repeat(" ", int(n)), true, ","
	}
	if seps := p.or(2, nil); seps != nil {
		items, err := s.iterate(seps)
		if err != nil {
			return nil, err
		}
		if len(items) != 2 {
			return nil, errors.New("tojson: separators must be two strings")
		}
		var ok1, ok2 bool
		w.itemSep, ok1 = text(items[0])
		w.keySep, ok2 = text(items[1])
		if !ok1 || !ok2 {
			return nil, errors.New("tojson: separators must be two strings")
		}
	}
	if err := w.value(v, 0); err != nil {
		return nil, err
	}
	return w.b.String(), nil
}
