package jinja

import (
	"errors"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// textFilter makes a filter of one that wants a string or Markup: anything
// else is converted by str().
func textFilter(f filterFunc) filterFunc {
	return func(s *state, v Value, a *args) (Value, error) {
		v, err := filterString(s, v, &args{})
		if err != nil {
			return nil, err
		}
		return f(s, v, a)
	}
}

// plainFilter makes a filter without arguments whose result is never Markup.
func plainFilter(f func(string) string) filterFunc {
	return func(s *state, v Value, a *args) (Value, error) {
		if _, err := a.bind(); err != nil {
			return nil, err
		}
		t, err := s.str(v)
		return f(t), err
	}
}

// viaMethod applies a method of str.
func viaMethod(name string) filterFunc {
	return func(s *state, v Value, a *args) (Value, error) {
		return callStrMethod(s, v, name, strMethods[name], a)
	}
}

func filterString(s *state, v Value, a *args) (Value, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	if _, ok := text(v); ok {
		return v, nil
	}
	return s.str(v)
}

func filterTrim(s *state, v Value, a *args) (Value, error) {
	p, err := a.bind("chars?")
	if err != nil {
		return nil, err
	}
	return callStrMethod(s, v, "strip", strMethods["strip"], &args{fn: "trim", pos: []Value{p.or(0, nil)}})
}

func filterCenter(s *state, v Value, a *args) (Value, error) {
	p, err := a.bind("width?")
	if err != nil {
		return nil, err
	}
	return callStrMethod(s, v, "center", strMethods["center"], &args{fn: "center", pos: []Value{p.or(0, int64(80))}})
}

// titleWords is Jinja2's title: it knows other word boundaries than str.title.
func titleWords(t string) string {
	var b strings.Builder
	first := true
	for _, r := range t {
		switch {
		case isSpace(r) || strings.ContainsRune("-({[<", r):
			b.WriteRune(r)
			first = true
			continue
		case first:
			b.WriteString(upper(string(r)))
		default:
			b.WriteString(lower(string(r)))
		}
		first = false
	}
	return b.String()
}

var tagPattern = regexp.MustCompile(`(?s)<!--.*?-->|<[^>]*>`)

// stripTags is markupsafe's striptags.
func stripTags(t string) string {
	t = tagPattern.ReplaceAllString(t, "")
	return html.UnescapeString(strings.Join(strings.FieldsFunc(t, isSpace), " "))
}

func filterWordCount(s *state, v Value, a *args) (Value, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	t, err := s.str(v)
	words := strings.FieldsFunc(t, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
	return int64(len(words)), err
}

func filterReplace(s *state, v Value, a *args) (Value, error) {
	p, err := a.bind("old", "new", "count?")
	if err != nil {
		return nil, err
	}
	var t [3]string
	for i, x := range []Value{v, p.values[0], p.values[1]} {
		if t[i], err = s.str(x); err != nil {
			return nil, err
		}
	}
	count, err := p.optionalIndex(2, -1)
	if err != nil {
		return nil, err
	}
	return s.replace(t[0], t[1], t[2], count)
}

func filterIndent(s *state, v Value, a *args) (Value, error) {
	p, err := a.bind("width?", "first?", "blank?")
	if err != nil {
		return nil, err
	}
	t, ok := text(v)
	if !ok {
		_, err := s.binary("+", v, "\n")
		return nil, err
	}
	prefix, ok := text(p.or(0, int64(4)))
	if !ok {
		n, err := p.index(0, 4)
		if err != nil {
			return nil, err
		}
		if prefix, err = s.pad("", " ", max(n, 0), 0); err != nil {
			return nil, err
		}
	} else if _, isMarkup := v.(Markup); isMarkup {
		prefix = escapeHTML(prefix)
	}
	first, blank := truth(p.or(1, false)), truth(p.or(2, false))
	var b strings.Builder
	for i, line := range splitLines(t+"\n", false) {
		if err := s.room(b.Len() + len(prefix) + len(line)); err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == 0 && first || i > 0 && (blank || line != "") {
			b.WriteString(prefix)
		}
		b.WriteString(line)
	}
	return like(v, b.String()), nil
}

func filterTruncate(s *state, v Value, a *args) (Value, error) {
	p, err := a.bind("length?", "killwords?", "end?", "leeway?")
	if err != nil {
		return nil, err
	}
	t, ok := text(v)
	if !ok {
		_, err := s.length(v)
		if err == nil {
			err = fmt.Errorf("truncate needs a string, not %s", typeName(v))
		}
		return nil, err
	}
	length, err := p.index(0, 255)
	if err != nil {
		return nil, err
	}
	end, err := p.text(2, "...")
	if err != nil {
		return nil, err
	}
	leeway, err := p.optionalIndex(3, 5)
	if err != nil {
		return nil, err
	}
	endLen := int64(utf8.RuneCountInString(end))
	switch {
	case length < endLen:
		return nil, fmt.Errorf("expected length >= %d, got %d", endLen, length)
	case leeway < 0:
		return nil, fmt.Errorf("expected leeway >= 0, got %d", leeway)
	}
	n := int64(utf8.RuneCountInString(t))
	if n <= length || n-length <= leeway {
		return v, nil
	}
	cut := runeSlice(t, 0, length-endLen)
	if !truth(p.or(1, false)) {
		if i := strings.LastIndexByte(cut, ' '); i >= 0 {
			cut = cut[:i]
		}
	}
	return cut + end, nil
}

func filterFormat(s *state, v Value, a *args) (Value, error) {
	if len(a.pos) > 0 && len(a.names) > 0 {
		return nil, errors.New("can't handle positional and keyword arguments at the same time")
	}
	var values Value = &Tuple{Items: a.pos}
	if len(a.names) > 0 {
		values = a.namedDict()
	}
	return s.binary("%", v, values)
}

func filterURLEncode(s *state, v Value, a *args) (Value, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	if _, isText := text(v); isText || !isIterable(v) {
		t, err := s.str(v)
		return quoteURL(t, false), err
	}
	if d, ok := v.(*Dict); ok {
		v = &dictView{"dict_items", d}
	}
	items, err := s.iterate(v)
	if err != nil {
		return nil, err
	}
	var parts []string
	for _, it := range items {
		pair, err := s.iterate(it)
		if err != nil {
			return nil, err
		}
		if len(pair) != 2 {
			return nil, errors.New("urlencode needs pairs")
		}
		k, err := s.str(pair[0])
		if err != nil {
			return nil, err
		}
		value, err := s.str(pair[1])
		if err != nil {
			return nil, err
		}
		parts = append(parts, quoteURL(k, true)+"="+quoteURL(value, true))
	}
	return strings.Join(parts, "&"), nil
}

// quoteURL is Jinja2's url_quote.
func quoteURL(t string, query bool) string {
	t = strings.ReplaceAll(url.QueryEscape(t), "%7E", "~")
	if query {
		return t
	}
	return strings.ReplaceAll(strings.ReplaceAll(t, "+", "%20"), "%2F", "/")
}

func filterSafe(s *state, v Value, a *args) (Value, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	t, err := s.str(v)
	return Markup(t), err
}

func filterEscape(s *state, v Value, a *args) (Value, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	return s.escape(v)
}

func filterForceEscape(s *state, v Value, a *args) (Value, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	t, err := s.str(v)
	return Markup(escapeHTML(t)), err
}
