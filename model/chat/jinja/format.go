package jinja

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// formatSpec is one conversion: Python's format mini-language, of which
// %-formatting uses a part.
type formatSpec struct {
	fill      rune
	align     byte // < > = ^ or 0
	sign      byte // + - space or 0
	alternate bool // #
	width     int64
	group     byte  // , _ or 0
	precision int64 // -1 if absent
	verb      byte  // 0 if absent
}

// plainSpec is the empty one.
var plainSpec = formatSpec{fill: ' ', precision: -1}

var errBadSpec = errors.New("invalid format specifier")

// parseSpec reads the mini-language of format().
func parseSpec(t string) (formatSpec, error) {
	f := plainSpec
	filled := false
	if r, n := utf8.DecodeRuneInString(t); n > 0 && len(t) > n && strings.IndexByte("<>=^", t[n]) >= 0 {
		f.fill, f.align, t, filled = r, t[n], t[n+1:], true
	} else if t != "" && strings.IndexByte("<>=^", t[0]) >= 0 {
		f.align, t = t[0], t[1:]
	}
	take := func(set string) byte {
		if t != "" && strings.IndexByte(set, t[0]) >= 0 {
			c := t[0]
			t = t[1:]
			return c
		}
		return 0
	}
	f.sign = take("+- ")
	f.alternate = take("#") != 0
	if take("0") != 0 {
		if !filled {
			f.fill = '0'
		}
		if f.align == 0 {
			f.align = '='
		}
	}
	var err error
	if f.width, t, err = leadingInt(t, 0); err != nil {
		return f, err
	}
	f.group = take(",_")
	if take(".") != 0 {
		if f.precision, t, err = leadingInt(t, -1); err != nil || f.precision < 0 {
			return f, errors.New("format specifier missing precision")
		}
	}
	f.verb = take("bcdeEfFgGnosxX%")
	if t != "" {
		return f, errBadSpec
	}
	return f, nil
}

func leadingInt(t string, def int64) (int64, string, error) {
	i := 0
	for i < len(t) && '0' <= t[i] && t[i] <= '9' {
		i++
	}
	if i == 0 {
		return def, t, nil
	}
	n, err := strconv.ParseInt(t[:i], 10, 32)
	if err != nil {
		return 0, t, errors.New("too many decimal digits in format string")
	}
	return n, t[i:], nil
}

// format renders one value by a spec.
func (s *state) format(v Value, f formatSpec) (string, error) {
	if f.width > int64(s.limits.Size) || f.precision > int64(s.limits.Size) {
		return "", s.room(-1)
	}
	if err := s.alloc(int(f.width) + int(max(f.precision, 0))); err != nil {
		return "", err
	}
	if t, ok := text(v); ok {
		return s.formatText(t, f)
	}
	if _, isBool := v.(bool); !isNumber(v) || isBool && f == plainSpec {
		t, err := s.str(v)
		if err != nil {
			return "", err
		}
		return s.formatText(t, f)
	}
	neg, digits, err := s.digits(v, f)
	if err != nil {
		return "", err
	}
	sign := ""
	switch {
	case neg:
		sign = "-"
	case f.sign == '+' || f.sign == ' ':
		sign = string(f.sign)
	}
	if f.align == 0 {
		f.align = '>'
	}
	return s.fill(sign, digits, f)
}

func (s *state) formatText(t string, f formatSpec) (string, error) {
	if f.verb != 0 && f.verb != 's' {
		return "", fmt.Errorf("unknown format code '%c' for object of type 'str'", f.verb)
	}
	if f.precision >= 0 && f.precision < int64(utf8.RuneCountInString(t)) {
		t = runeSlice(t, 0, f.precision)
	}
	if f.align == 0 || f.align == '=' {
		f.align = '<'
	}
	return s.fill("", t, f)
}

func (s *state) fill(sign, t string, f formatSpec) (string, error) {
	n := f.width - int64(len(sign)+utf8.RuneCountInString(t))
	if n <= 0 {
		return sign + t, nil
	}
	fill := string(f.fill)
	var err error
	switch f.align {
	case '<':
		return s.pad(sign+t, fill, 0, n)
	case '^':
		return s.pad(sign+t, fill, n/2, n-n/2)
	case '=':
		t, err = s.pad(t, fill, n, 0)
		return sign + t, err
	}
	return s.pad(sign+t, fill, n, 0)
}

// digits renders a number without its sign.
func (s *state) digits(v Value, f formatSpec) (neg bool, t string, err error) {
	_, isFloat := v.(float64)
	switch f.verb {
	case 'b', 'o', 'x', 'X', 'd', 'n', 'c', 0:
		if isFloat {
			break
		}
		b, _ := asBig(v)
		if f.verb == 'c' {
			if !b.IsInt64() || b.Int64() < 0 || b.Int64() > utf8.MaxRune {
				return false, "", errors.New("%c arg not in range(0x110000)")
			}
			return false, string(rune(b.Int64())), nil
		}
		if f.precision >= 0 {
			return false, "", errors.New("precision not allowed in integer format specifier")
		}
		return b.Sign() < 0, intDigits(new(big.Int).Abs(b), f), nil
	case 's':
		return false, "", fmt.Errorf("unknown format code 's' for object of type '%s'", typeName(v))
	}
	if isFloat && (f.verb != 0 && strings.IndexByte("boxXdc", f.verb) >= 0) {
		return false, "", fmt.Errorf("unknown format code '%c' for object of type 'float'", f.verb)
	}
	x, err := asFloat(v)
	if err != nil {
		return false, "", err
	}
	return math.Signbit(x) && !math.IsNaN(x), floatDigits(math.Abs(x), f), nil
}

func intDigits(b *big.Int, f formatSpec) string {
	base, prefix, group := 10, "", 3
	switch f.verb {
	case 'b':
		base, prefix, group = 2, "0b", 4
	case 'o':
		base, prefix, group = 8, "0o", 4
	case 'x', 'X':
		base, prefix, group = 16, "0x", 4
	}
	t := b.Text(base)
	if f.group != 0 {
		t = groupDigits(t, f.group, group)
	}
	if f.alternate {
		t = prefix + t
	}
	if f.verb == 'X' {
		t = strings.ToUpper(t)
	}
	return t
}

func groupDigits(t string, sep byte, size int) string {
	var b strings.Builder
	for i := range len(t) {
		if i > 0 && (len(t)-i)%size == 0 {
			b.WriteByte(sep)
		}
		b.WriteByte(t[i])
	}
	return b.String()
}

// maxPrecision is more digits than any float64 has.
const maxPrecision = 1100

func floatDigits(x float64, f formatSpec) string {
	precision := int(min(f.precision, maxPrecision))
	if precision < 0 {
		precision = 6
	}
	var t string
	switch f.verb {
	case 0:
		if f.precision < 0 {
			t = floatRepr(x)
			break
		}
		t = generalDigits(x, precision, false)
		if !strings.ContainsAny(t, ".en") {
			t += ".0"
		}
	case 'e', 'E':
		t = strconv.FormatFloat(x, 'e', precision, 64)
	case 'g', 'G', 'n':
		t = generalDigits(x, precision, f.alternate)
	case '%':
		t = strconv.FormatFloat(x*100, 'f', precision, 64)
	default:
		t = strconv.FormatFloat(x, 'f', precision, 64)
	}
	if math.IsInf(x, 0) || math.IsNaN(x) {
		t = floatRepr(x)
	} else if f.group != 0 {
		whole := strings.IndexFunc(t, func(r rune) bool { return r < '0' || r > '9' })
		if whole < 0 {
			whole = len(t)
		}
		t = groupDigits(t[:whole], f.group, 3) + t[whole:]
	}
	if f.verb == 'E' || f.verb == 'F' || f.verb == 'G' {
		t = strings.ToUpper(t)
	}
	if f.verb == '%' {
		t += "%"
	}
	return t
}

// generalDigits is C's %g.
func generalDigits(x float64, precision int, keepZeros bool) string {
	precision = max(precision, 1)
	e := strconv.FormatFloat(x, 'e', precision-1, 64)
	mantissa, exponent, ok := strings.Cut(e, "e")
	if !ok {
		return e // inf, nan
	}
	exp, _ := strconv.Atoi(exponent)
	if exp < -4 || exp >= precision {
		if !keepZeros && strings.Contains(mantissa, ".") {
			mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
		}
		return mantissa + "e" + exponent
	}
	t := strconv.FormatFloat(x, 'f', precision-1-exp, 64)
	if !keepZeros && strings.Contains(t, ".") {
		t = strings.TrimRight(strings.TrimRight(t, "0"), ".")
	}
	return t
}
