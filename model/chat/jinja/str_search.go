package jinja

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

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
