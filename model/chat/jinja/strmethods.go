package jinja

import (
	"strings"
	"unicode"
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
