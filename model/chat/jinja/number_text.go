package jinja

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// floatRepr is Python's repr of a float.
func floatRepr(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	e := strconv.FormatFloat(f, 'e', -1, 64)
	exp, _ := strconv.Atoi(e[strings.IndexByte(e, 'e')+1:])
	if exp < -4 || exp >= 16 {
		return e
	}
	t := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(t, ".") {
		t += ".0"
	}
	return t
}

// parseInt is Python's int(text, base).
func parseInt(t string, base int) (Value, error) {
	clean := strings.TrimFunc(t, isSpace)
	bad := fmt.Errorf("invalid literal for int() with base %d: %s", base, quote(t))
	if strings.HasPrefix(clean, "_") || strings.HasSuffix(clean, "_") || strings.Contains(clean, "__") || len(clean) > 5000 {
		return nil, bad
	}
	digits := asciiDigits(strings.ReplaceAll(clean, "_", ""))
	if base != 10 && base != 0 {
		digits = trimBasePrefix(digits, base)
	}
	b, ok := new(big.Int).SetString(digits, base)
	if !ok {
		return nil, bad
	}
	return normalInt(b)
}

func trimBasePrefix(t string, base int) string {
	sign := ""
	if t != "" && (t[0] == '-' || t[0] == '+') {
		sign, t = t[:1], t[1:]
	}
	prefix := map[int]string{2: "0b", 8: "0o", 16: "0x"}[base]
	if prefix != "" && len(t) > 2 && strings.EqualFold(t[:2], prefix) {
		t = t[2:]
	}
	return sign + t
}

// parseFloat is Python's float(text).
func parseFloat(t string) (float64, error) {
	clean := strings.TrimFunc(t, isSpace)
	bad := fmt.Errorf("could not convert string to float: %s", quote(t))
	if strings.ContainsAny(clean, "xXpP") || strings.HasPrefix(clean, "_") || strings.HasSuffix(clean, "_") || strings.Contains(clean, "__") {
		return 0, bad
	}
	f, err := strconv.ParseFloat(asciiDigits(strings.ReplaceAll(clean, "_", "")), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, bad
	}
	return f, nil
}

// truncateFloat is Python's int(float).
func truncateFloat(f float64) (Value, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("cannot convert float %s to integer", floatRepr(f))
	}
	b, _ := big.NewFloat(f).Int(nil)
	return normalInt(b)
}
