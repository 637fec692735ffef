package jinja

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

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
