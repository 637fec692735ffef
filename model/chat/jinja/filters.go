package jinja

import (
	"errors"
	"fmt"
	"html"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// filterFunc is a filter; v is what it is applied to.
type filterFunc func(s *state, v Value, a *args) (Value, error)

// filters are set by init, since some of them apply others by name.
var filters map[string]filterFunc

func init() {
	filters = map[string]filterFunc{
		"tojson": filterToJSON,

		// text
		"string":      filterString,
		"trim":        textFilter(filterTrim),
		"upper":       textFilter(viaMethod("upper")),
		"lower":       textFilter(viaMethod("lower")),
		"capitalize":  textFilter(viaMethod("capitalize")),
		"title":       plainFilter(titleWords),
		"striptags":   plainFilter(stripTags),
		"wordcount":   filterWordCount,
		"replace":     filterReplace,
		"indent":      filterIndent,
		"center":      textFilter(filterCenter),
		"truncate":    filterTruncate,
		"format":      textFilter(filterFormat),
		"urlencode":   filterURLEncode,
		"safe":        filterSafe,
		"e":           filterEscape,
		"escape":      filterEscape,
		"forceescape": filterForceEscape,

		// numbers
		"abs":   filterAbs,
		"int":   filterInt,
		"float": filterFloat,
		"round": filterRound,

		// any value
		"default": filterDefault,
		"d":       filterDefault,
		"attr":    filterAttr,

		// sequences and mappings
		"length":     filterLength,
		"count":      filterLength,
		"list":       filterList,
		"first":      filterFirst,
		"last":       filterLast,
		"join":       filterJoin,
		"reverse":    filterReverse,
		"sort":       filterSort,
		"unique":     filterUnique,
		"min":        filterExtreme(false),
		"max":        filterExtreme(true),
		"sum":        filterSum,
		"batch":      filterBatch,
		"slice":      filterSlice,
		"groupby":    filterGroupBy,
		"map":        filterMap,
		"select":     filterSelect(true, false),
		"reject":     filterSelect(false, false),
		"selectattr": filterSelect(true, true),
		"rejectattr": filterSelect(false, true),
		"items":      filterItems,
		"dictsort":   filterDictSort,
	}
}

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

func filterAbs(_ *state, v Value, a *args) (Value, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	switch x := v.(type) {
	case *undefined:
		return nil, x
	case float64:
		return math.Abs(x), nil
	}
	b, ok := asBig(v)
	if !ok {
		return nil, fmt.Errorf("bad operand type for abs(): '%s'", typeName(v))
	}
	if b.Sign() < 0 {
		return arithmetic("-", int64(0), v)
	}
	return normalInt(b)
}

func filterInt(_ *state, v Value, a *args) (Value, error) {
	p, err := a.bind("default?", "base?")
	if err != nil {
		return nil, err
	}
	base, err := p.index(1, 10)
	if err != nil {
		return nil, err
	}
	if base != 0 && (base < 2 || base > 36) {
		return nil, errors.New("int() base must be >= 2 and <= 36, or 0")
	}
	switch x := v.(type) {
	case *undefined:
		return nil, x
	case bool:
		return boolInt(x), nil
	case float64:
		if n, err := truncateFloat(x); err == nil {
			return n, nil
		}
		return p.or(0, int64(0)), nil
	}
	if _, ok := asBig(v); ok {
		return v, nil
	}
	if t, ok := text(v); ok {
		if n, err := parseInt(t, int(base)); err == nil {
			return n, nil
		}
		if f, err := parseFloat(t); err == nil {
			if n, err := truncateFloat(f); err == nil {
				return n, nil
			}
		}
	}
	return p.or(0, int64(0)), nil
}

func filterFloat(_ *state, v Value, a *args) (Value, error) {
	p, err := a.bind("default?")
	if err != nil {
		return nil, err
	}
	if u, ok := v.(*undefined); ok {
		return nil, u
	}
	if t, ok := text(v); ok {
		if f, err := parseFloat(t); err == nil {
			return f, nil
		}
	} else if f, err := asFloat(v); err == nil {
		return f, nil
	}
	return p.or(0, 0.0), nil
}

func filterRound(_ *state, v Value, a *args) (Value, error) {
	p, err := a.bind("precision?", "method?")
	if err != nil {
		return nil, err
	}
	precision, err := p.index(0, 0)
	if err != nil {
		return nil, err
	}
	method, err := p.text(1, "common")
	if err != nil {
		return nil, err
	}
	if u, ok := v.(*undefined); ok {
		return nil, u
	}
	precision = min(max(precision, -400), 400)
	scale := math.Pow(10, float64(precision))
	switch method {
	case "common":
		if _, isInt := asBig(v); isInt {
			return roundInt(v, precision)
		}
		f, err := asFloat(v)
		if err != nil {
			return nil, err
		}
		return roundFloat(f, precision)
	case "ceil", "floor":
		f, err := asFloat(v)
		if err != nil {
			return nil, err
		}
		if method == "ceil" {
			return math.Ceil(f*scale) / scale, nil
		}
		return math.Floor(f*scale) / scale, nil
	}
	return nil, errors.New("method must be common, ceil or floor")
}

// roundInt rounds to tens, hundreds, ... where the precision is negative; a
// half goes to the even side.
func roundInt(v Value, precision int64) (Value, error) {
	if precision >= 0 {
		return arithmetic("+", v, int64(0))
	}
	unit, err := arithmetic("**", int64(10), -precision)
	if err != nil {
		return nil, err
	}
	q, err := arithmetic("//", v, unit)
	if err != nil {
		return nil, err
	}
	rest, err := arithmetic("%", v, unit)
	if err != nil {
		return nil, err
	}
	twice, err := arithmetic("*", rest, int64(2))
	if err != nil {
		return nil, err
	}
	order, _ := compareNumbers(twice, unit)
	odd, err := arithmetic("%", q, int64(2))
	if err != nil {
		return nil, err
	}
	if order > 0 || order == 0 && truth(odd) {
		if q, err = arithmetic("+", q, int64(1)); err != nil {
			return nil, err
		}
	}
	return arithmetic("*", q, unit)
}

func roundFloat(f float64, precision int64) (Value, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return f, nil
	}
	if precision < 0 {
		scale := math.Pow(10, float64(-precision))
		if math.IsInf(scale, 0) {
			return math.Copysign(0, f), nil
		}
		return math.RoundToEven(f/scale) * scale, nil
	}
	// The decimal conversion rounds the exact value, as Python does.
	return strconv.ParseFloat(strconv.FormatFloat(f, 'f', int(precision), 64), 64)
}

func filterDefault(_ *state, v Value, a *args) (Value, error) {
	p, err := a.bind("default_value?", "boolean?")
	if err != nil {
		return nil, err
	}
	if _, missing := v.(*undefined); missing || truth(p.or(1, false)) && !truth(v) {
		return p.or(0, ""), nil
	}
	return v, nil
}

func filterAttr(s *state, v Value, a *args) (Value, error) {
	p, err := a.bind("name")
	if err != nil {
		return nil, err
	}
	name, err := p.text(0, "")
	if err != nil {
		return nil, err
	}
	if u, ok := v.(*undefined); ok {
		return nil, u
	}
	if attr, ok := s.attribute(v, name); ok {
		return attr, nil
	}
	return missingFrom(v, name), nil
}

func filterLength(s *state, v Value, a *args) (Value, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	return s.length(v)
}

func filterList(s *state, v Value, a *args) (Value, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	items, err := s.iterate(v)
	return &List{Items: slices.Clone(items)}, err
}

func filterFirst(s *state, v Value, a *args) (Value, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	if g, ok := v.(*generator); ok { // the others stay in it
		if err := g.pending(s); err != nil {
			return nil, err
		}
		if len(g.items) > 0 {
			first := g.items[0]
			g.items = g.items[1:]
			return first, nil
		}
	}
	items, err := s.iterate(v)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return &undefined{hint: "No first item, sequence was empty."}, nil
	}
	return items[0], nil
}

func filterLast(s *state, v Value, a *args) (Value, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	items, err := s.reversible(v)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return &undefined{hint: "No last item, sequence was empty."}, nil
	}
	return items[len(items)-1], nil
}

// reversible gives the items of what Python's reversed() takes.
func (s *state) reversible(v Value) ([]Value, error) {
	if g, ok := v.(*generator); ok {
		return nil, fmt.Errorf("'%s' object is not reversible", typeName(g))
	}
	return s.iterate(v)
}

func filterJoin(s *state, v Value, a *args) (Value, error) {
	p, err := a.bind("d?", "attribute?")
	if err != nil {
		return nil, err
	}
	sep, err := s.str(p.or(0, ""))
	if err != nil {
		return nil, err
	}
	items, err := s.iterate(v)
	if err != nil {
		return nil, err
	}
	if path := p.or(1, nil); path != nil {
		picked := make([]Value, len(items))
		for i, it := range items {
			if picked[i], err = s.follow(it, path, nil); err != nil {
				return nil, err
			}
		}
		items = picked
	}
	return s.join(sep, items)
}

func filterReverse(s *state, v Value, a *args) (Value, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	if t, ok := text(v); ok {
		runes := []rune(t)
		slices.Reverse(runes)
		return like(v, string(runes)), nil
	}
	items, err := s.iterate(v)
	if err != nil {
		return nil, errors.New("argument must be iterable")
	}
	items = slices.Clone(items)
	slices.Reverse(items)
	if _, ok := v.(*generator); ok {
		return &List{Items: items}, nil
	}
	return &generator{items: items, kind: "list_reverseiterator"}, nil
}
