package jinja

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// strMethod is a method of str; t is the string it is called on.
type strMethod func(s *state, t string, a *args) (Value, error)

var strMethods map[string]strMethod

func init() {
	strMethods = map[string]strMethod{
		"upper":      pure(upper),
		"lower":      pure(lower),
		"casefold":   pure(func(t string) string { return lower(strings.ReplaceAll(t, "ß", "ss")) }),
		"title":      pure(title),
		"capitalize": pure(capitalize),
		"swapcase":   pure(swapCase),

		"strip":        stripMethod(true, true),
		"lstrip":       stripMethod(true, false),
		"rstrip":       stripMethod(false, true),
		"removeprefix": affixMethod(strings.TrimPrefix),
		"removesuffix": affixMethod(strings.TrimSuffix),

		"split":      splitMethod(splitLeft),
		"rsplit":     splitMethod(splitRight),
		"splitlines": strSplitlines,
		"partition":  partitionMethod(false),
		"rpartition": partitionMethod(true),
		"join":       strJoin,

		"startswith": affixTest(strings.HasPrefix),
		"endswith":   affixTest(strings.HasSuffix),
		"find":       findMethod(strings.Index, false),
		"rfind":      findMethod(strings.LastIndex, false),
		"index":      findMethod(strings.Index, true),
		"rindex":     findMethod(strings.LastIndex, true),
		"count":      strCount,
		"replace":    strReplace,

		"center":     padMethod(padCenter),
		"ljust":      padMethod(func(_, _ int64) int64 { return 0 }),
		"rjust":      padMethod(func(n, _ int64) int64 { return n }),
		"zfill":      strZfill,
		"expandtabs": strExpandtabs,
		"format":     strFormat,
		"format_map": strFormatMap,

		"isalpha":   every(unicode.IsLetter),
		"isdecimal": every(unicode.IsDigit),
		"isdigit":   every(isDigit),
		"isnumeric": every(unicode.IsNumber),
		"isalnum":   every(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }),
		"isspace":   every(isSpace),
		"islower":   predicate(isLower),
		"isupper":   predicate(isUpper),
		"istitle":   predicate(isTitle),
		"isascii":   predicate(isASCII),
		"isprintable": predicate(func(t string) bool {
			return strings.IndexFunc(t, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
		}),
		"isidentifier": predicate(isIdentifier),
	}
}

// pure makes a method of a function of the string alone.
func pure(f func(string) string) strMethod {
	return func(s *state, t string, a *args) (Value, error) {
		_, err := a.bind()
		return f(t), err
	}
}

func predicate(f func(string) bool) strMethod {
	return func(s *state, t string, a *args) (Value, error) {
		_, err := a.bind()
		return f(t), err
	}
}

// every tests that a string is not empty and all its characters pass.
func every(f func(rune) bool) strMethod {
	return predicate(func(t string) bool {
		return t != "" && strings.IndexFunc(t, func(r rune) bool { return !f(r) }) < 0
	})
}

func isDigit(r rune) bool {
	return unicode.IsDigit(r) || strings.ContainsRune("²³¹⁰⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", r) ||
		0x2460 <= r && r <= 0x2468 || 0x2474 <= r && r <= 0x247c || 0x2488 <= r && r <= 0x2490
}

func isLower(t string) bool { return hasCase(t, unicode.IsLower) }
func isUpper(t string) bool { return hasCase(t, unicode.IsUpper) }

// hasCase says whether there is a cased character and all of them pass.
func hasCase(t string, f func(rune) bool) bool {
	any := false
	for _, r := range t {
		if cased(r) {
			if !f(r) {
				return false
			}
			any = true
		}
	}
	return any
}

func isTitle(t string) bool {
	any, inWord := false, false
	for _, r := range t {
		switch {
		case unicode.IsUpper(r) || unicode.IsTitle(r):
			if inWord {
				return false
			}
			inWord, any = true, true
		case unicode.IsLower(r):
			if !inWord {
				return false
			}
			any = true
		default:
			inWord = false
		}
	}
	return any
}

func isIdentifier(t string) bool {
	for i, r := range t {
		if !isNameRune(r, i == 0) {
			return false
		}
	}
	return t != ""
}

func stripMethod(left, right bool) strMethod {
	return func(s *state, t string, a *args) (Value, error) {
		p, err := a.bind("chars?")
		if err != nil {
			return nil, err
		}
		chars, err := p.optionalText(0, "")
		if err != nil {
			return nil, err
		}
		set := isSpace
		if p.or(0, nil) != nil {
			set = func(r rune) bool { return strings.ContainsRune(chars, r) }
			if err := s.step(len(t) * len(chars) / 64); err != nil {
				return nil, err
			}
		}
		if left {
			t = strings.TrimLeftFunc(t, set)
		}
		if right {
			t = strings.TrimRightFunc(t, set)
		}
		return t, nil
	}
}

func affixMethod(trim func(t, affix string) string) strMethod {
	return func(s *state, t string, a *args) (Value, error) {
		p, err := a.bind("affix")
		if err != nil {
			return nil, err
		}
		affix, err := p.text(0, "")
		return trim(t, affix), err
	}
}

func affixTest(has func(t, affix string) bool) strMethod {
	return func(s *state, t string, a *args) (Value, error) {
		p, err := a.bind("affix", "start?", "end?")
		if err != nil {
			return nil, err
		}
		window, _, ok, err := searchWindow(t, p)
		if err != nil {
			return nil, err
		}
		candidates := []Value{p.values[0]}
		if group, isTuple := p.values[0].(*Tuple); isTuple {
			candidates = group.Items
		}
		for _, c := range candidates {
			affix, isText := text(c)
			if !isText {
				return nil, fmt.Errorf("%s first arg must be str or a tuple of str, not %s", a.fn, typeName(c))
			}
			if ok && has(window, affix) {
				return true, nil
			}
		}
		return false, nil
	}
}

// searchWindow cuts t to the arguments 1 and 2, start and end, in code points.
// It gives the code points before the window, and false if start is beyond the
// end of t, where not even the empty string is found.
func searchWindow(t string, p params) (window string, before int64, ok bool, err error) {
	start, err := p.optionalIndex(1, 0)
	if err != nil {
		return "", 0, false, err
	}
	if p.or(1, nil) == nil && p.or(2, nil) == nil {
		return t, 0, true, nil
	}
	n := int64(utf8.RuneCountInString(t))
	end, err := p.optionalIndex(2, n)
	if err != nil {
		return "", 0, false, err
	}
	clamp := func(i int64) int64 {
		if i < 0 {
			i = max(i+n, 0)
		}
		return i
	}
	start, end = clamp(start), min(clamp(end), n)
	if start > n || start > end {
		return "", 0, false, nil
	}
	return runeSlice(t, start, end), start, true, nil
}

// runeSlice cuts by code points; 0 <= lo <= hi <= length.
func runeSlice(t string, lo, hi int64) string {
	if isASCII(t) {
		return t[lo:hi]
	}
	from, to, at := len(t), len(t), int64(0)
	for i := range t {
		if at == lo {
			from = i
		}
		if at == hi {
			to = i
			break
		}
		at++
	}
	return t[from:to]
}

func findMethod(search func(t, sub string) int, must bool) strMethod {
	return func(s *state, t string, a *args) (Value, error) {
		p, err := a.bind("sub", "start?", "end?")
		if err != nil {
			return nil, err
		}
		sub, err := p.text(0, "")
		if err != nil {
			return nil, err
		}
		window, before, ok, err := searchWindow(t, p)
		if err != nil {
			return nil, err
		}
		i := -1
		if ok {
			i = search(window, sub)
		}
		if i >= 0 {
			return before + int64(utf8.RuneCountInString(window[:i])), nil
		}
		if must {
			return nil, errors.New("substring not found")
		}
		return int64(-1), nil
	}
}

func strCount(s *state, t string, a *args) (Value, error) {
	p, err := a.bind("sub", "start?", "end?")
	if err != nil {
		return nil, err
	}
	sub, err := p.text(0, "")
	if err != nil {
		return nil, err
	}
	window, _, ok, err := searchWindow(t, p)
	if err != nil || !ok {
		return int64(0), err
	}
	return int64(strings.Count(window, sub)), nil
}

func strReplace(s *state, t string, a *args) (Value, error) {
	p, err := a.bind("old", "new", "count?")
	if err != nil {
		return nil, err
	}
	old, err := p.text(0, "")
	if err != nil {
		return nil, err
	}
	with, err := p.text(1, "")
	if err != nil {
		return nil, err
	}
	count, err := p.index(2, -1)
	if err != nil {
		return nil, err
	}
	return s.replace(t, old, with, count)
}

// replace is str.replace with its growth bounded; a negative count is no bound.
func (s *state) replace(t, old, with string, count int64) (string, error) {
	n := int64(strings.Count(t, old))
	if count >= 0 {
		n = min(n, count)
	}
	if grow := int64(len(with) - len(old)); grow > 0 && n > 0 {
		if grow > int64(s.limits.Size) || n > int64(s.limits.Size) {
			return "", s.room(-1)
		}
		if err := s.room(len(t) + int(grow*n)); err != nil {
			return "", err
		}
	}
	return strings.Replace(t, old, with, int(n)), nil
}

// splitter splits t at sep, or at white space if sep is empty, at most limit
// times (no bound if negative).
type splitter func(t, sep string, limit int64) []string

func splitMethod(f splitter) strMethod {
	return func(s *state, t string, a *args) (Value, error) {
		p, err := a.bind("sep?", "maxsplit?")
		if err != nil {
			return nil, err
		}
		sep, err := p.optionalText(0, "")
		if err != nil {
			return nil, err
		}
		if sep == "" && p.or(0, nil) != nil {
			return nil, errors.New("empty separator")
		}
		limit, err := p.index(1, -1)
		if err != nil {
			return nil, err
		}
		return s.texts(f(t, sep, limit))
	}
}

// texts makes a list of strings.
func (s *state) texts(parts []string) (Value, error) {
	if err := s.room(len(parts)); err != nil {
		return nil, err
	}
	list := &List{Items: make([]Value, len(parts))}
	for i, p := range parts {
		list.Items[i] = p
	}
	return list, nil
}

func splitLeft(t, sep string, limit int64) []string {
	if sep != "" {
		if limit < 0 || limit >= int64(len(t)) {
			return strings.Split(t, sep)
		}
		return strings.SplitN(t, sep, int(limit)+1)
	}
	var out []string
	for t = strings.TrimLeftFunc(t, isSpace); t != ""; t = strings.TrimLeftFunc(t, isSpace) {
		end := strings.IndexFunc(t, isSpace)
		if limit == 0 || end < 0 {
			return append(out, t)
		}
		out = append(out, t[:end])
		t = t[end:]
		limit--
	}
	return out
}

func splitRight(t, sep string, limit int64) []string {
	var out []string
	if sep == "" {
		t = strings.TrimRightFunc(t, isSpace)
	}
	for ; limit != 0; limit-- {
		var head, tail string
		if sep != "" {
			i := strings.LastIndex(t, sep)
			if i < 0 {
				break
			}
			head, tail = t[:i], t[i+len(sep):]
		} else {
			i := strings.LastIndexFunc(t, isSpace)
			if i < 0 {
				break
			}
			_, n := utf8.DecodeRuneInString(t[i:])
			head, tail = strings.TrimRightFunc(t[:i], isSpace), t[i+n:]
		}
		out = append(out, tail)
		t = head
		if sep == "" && t == "" {
			break
		}
	}
	if sep != "" || t != "" {
		out = append(out, t)
	}
	slices.Reverse(out)
	return out
}

func strSplitlines(s *state, t string, a *args) (Value, error) {
	p, err := a.bind("keepends?")
	if err != nil {
		return nil, err
	}
	return s.texts(splitLines(t, truth(p.or(0, false))))
}

// splitLines splits at every line boundary that Python knows.
func splitLines(t string, keepEnds bool) []string {
	var out []string
	for t != "" {
		i := strings.IndexFunc(t, func(r rune) bool {
			return '\n' <= r && r <= '\r' || 0x1c <= r && r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
		})
		if i < 0 {
			return append(out, t)
		}
		_, n := utf8.DecodeRuneInString(t[i:])
		if strings.HasPrefix(t[i:], "\r\n") {
			n = 2
		}
		if keepEnds {
			out = append(out, t[:i+n])
		} else {
			out = append(out, t[:i])
		}
		t = t[i+n:]
	}
	return out
}

func partitionMethod(last bool) strMethod {
	return func(s *state, t string, a *args) (Value, error) {
		p, err := a.bind("sep")
		if err != nil {
			return nil, err
		}
		sep, err := p.text(0, "")
		if err != nil {
			return nil, err
		}
		if sep == "" {
			return nil, errors.New("empty separator")
		}
		i := strings.Index(t, sep)
		if last {
			i = strings.LastIndex(t, sep)
		}
		switch {
		case i >= 0:
			return tuple(t[:i], sep, t[i+len(sep):]), nil
		case last:
			return tuple("", "", t), nil
		}
		return tuple(t, "", ""), nil
	}
}

func strJoin(s *state, t string, a *args) (Value, error) {
	p, err := a.bind("iterable")
	if err != nil {
		return nil, err
	}
	items, err := s.iterate(p.values[0])
	if err != nil {
		return nil, err
	}
	for i, it := range items {
		if _, ok := text(it); !ok {
			return nil, fmt.Errorf("sequence item %d: expected str instance, %s found", i, typeName(it))
		}
	}
	return s.join(t, items)
}

// join joins the str() of the items within the limits.
func (s *state) join(sep string, items []Value) (string, error) {
	var b strings.Builder
	for i, it := range items {
		if err := s.step(1); err != nil {
			return "", err
		}
		if i > 0 {
			b.WriteString(sep)
		}
		t, err := s.str(it)
		if err != nil {
			return "", err
		}
		if err := s.room(b.Len() + len(t) + len(sep)); err != nil {
			return "", err
		}
		b.WriteString(t)
	}
	return b.String(), nil
}

// padCenter is the left part of the n characters that center pads with.
func padCenter(n, width int64) int64 { return n/2 + n&width&1 }

// padMethod pads to a width; left gives how many of n characters go before.
func padMethod(left func(n, width int64) int64) strMethod {
	return func(s *state, t string, a *args) (Value, error) {
		p, err := a.bind("width", "fillchar?")
		if err != nil {
			return nil, err
		}
		width, err := p.index(0, 0)
		if err != nil {
			return nil, err
		}
		fill, err := p.text(1, " ")
		if err != nil {
			return nil, err
		}
		if utf8.RuneCountInString(fill) != 1 {
			return nil, errors.New("the fill character must be exactly one character long")
		}
		n := width - int64(utf8.RuneCountInString(t))
		if n <= 0 {
			return t, nil
		}
		before := left(n, width)
		return s.pad(t, fill, before, n-before)
	}
}

func (s *state) pad(t, fill string, left, right int64) (string, error) {
	if left > int64(s.limits.Size) || right > int64(s.limits.Size) {
		return "", s.room(-1)
	}
	if err := s.room(len(t) + len(fill)*int(left+right)); err != nil {
		return "", err
	}
	return strings.Repeat(fill, int(left)) + t + strings.Repeat(fill, int(right)), nil
}

func strZfill(s *state, t string, a *args) (Value, error) {
	p, err := a.bind("width")
	if err != nil {
		return nil, err
	}
	width, err := p.index(0, 0)
	if err != nil {
		return nil, err
	}
	n := max(width-int64(utf8.RuneCountInString(t)), 0)
	sign := ""
	if t != "" && (t[0] == '+' || t[0] == '-') {
		sign, t = t[:1], t[1:]
	}
	padded, err := s.pad(t, "0", n, 0)
	return sign + padded, err
}

func strExpandtabs(s *state, t string, a *args) (Value, error) {
	p, err := a.bind("tabsize?")
	if err != nil {
		return nil, err
	}
	size, err := p.index(0, 8)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	column := int64(0)
	for _, r := range t {
		switch r {
		case '\t':
			if size <= 0 {
				continue
			}
			n := size - column%size
			if n > int64(s.limits.Size) {
				return nil, s.room(-1)
			}
			if err := s.room(b.Len() + int(n)); err != nil {
				return nil, err
			}
			b.WriteString(strings.Repeat(" ", int(n)))
			column += n
		case '\n', '\r':
			b.WriteRune(r)
			column = 0
		default:
			b.WriteRune(r)
			column++
		}
	}
	return b.String(), nil
}

// callStrMethod calls a method of a string. What a method of Markup returns is
// Markup again, and the strings given to it are escaped.
func callStrMethod(s *state, self Value, name string, m strMethod, a *args) (Value, error) {
	t, _ := text(self)
	if err := s.step(len(t) / 64); err != nil {
		return nil, err
	}
	_, isMarkup := self.(Markup)
	if isMarkup {
		var err error
		if a, err = s.escapeArgs(name, a); err != nil {
			return nil, err
		}
	}
	v, err := m(s, t, a)
	if err != nil {
		return nil, err
	}
	if isMarkup {
		v = markAll(v)
	}
	return v, s.account(v)
}

// escapeArgs escapes those arguments that a method of Markup puts into its
// result.
func (s *state) escapeArgs(method string, a *args) (*args, error) {
	out := &args{fn: a.fn, pos: slices.Clone(a.pos)}
	for _, n := range a.names {
		if err := out.setNamed(n, a.named[n]); err != nil {
			return nil, err
		}
	}
	escapeAt := func(i int) error {
		if i >= len(out.pos) {
			return nil
		}
		v, err := s.escapeNested(out.pos[i])
		out.pos[i] = v
		return err
	}
	switch method {
	case "replace":
		return out, escapeAt(1)
	case "join":
		return out, escapeAt(0)
	case "format":
		for i := range out.pos {
			if err := escapeAt(i); err != nil {
				return nil, err
			}
		}
		for _, n := range out.names {
			v, err := s.escapeNested(out.named[n])
			if err != nil {
				return nil, err
			}
			out.named[n] = v
		}
	}
	return out, nil
}

// escapeNested escapes a string, or the strings that a sequence holds.
func (s *state) escapeNested(v Value) (Value, error) {
	switch x := v.(type) {
	case string:
		return s.escape(x)
	case *List, *Tuple, *generator, *dictView:
		items, err := s.iterate(x)
		if err != nil {
			return nil, err
		}
		out := make([]Value, len(items))
		for i, it := range items {
			out[i] = it
			if t, ok := it.(string); ok {
				out[i] = Markup(escapeHTML(t))
			}
		}
		return &List{Items: out}, s.accountAll(out)
	}
	return v, nil
}

// markAll makes Markup of a string, or of the strings in a list or tuple.
func markAll(v Value) Value {
	mark := func(items []Value) {
		for i, it := range items {
			if t, ok := it.(string); ok {
				items[i] = Markup(t)
			}
		}
	}
	switch v := v.(type) {
	case string:
		return Markup(v)
	case *List:
		mark(v.Items)
	case *Tuple:
		mark(v.Items)
	}
	return v
}
