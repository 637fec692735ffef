package jinja

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
)

// maxIntBits bounds the integers that arithmetic can make.
const maxIntBits = 16384

var errDivisionByZero = errors.New("division by zero")

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// asBig gives an int or bool as a big.Int, which must not be changed.
func asBig(v Value) (*big.Int, bool) {
	switch v := v.(type) {
	case bool:
		return big.NewInt(boolInt(v)), true
	case int64:
		return big.NewInt(v), true
	case *big.Int:
		return v, true
	}
	return nil, false
}

// asIndex gives an int or bool clamped to int64, for sizes and subscripts.
func asIndex(v Value) (int64, bool) {
	switch v := v.(type) {
	case bool:
		return boolInt(v), true
	case int64:
		return v, true
	case *big.Int:
		if v.Sign() < 0 {
			return math.MinInt64, true
		}
		return math.MaxInt64, true
	}
	return 0, false
}

func isNumber(v Value) bool {
	switch v.(type) {
	case bool, int64, *big.Int, float64:
		return true
	}
	return false
}

// asFloat converts a number; an integer beyond float64 is an error.
func asFloat(v Value) (float64, error) {
	switch v := v.(type) {
	case float64:
		return v, nil
	case int64:
		return float64(v), nil
	case bool:
		return float64(boolInt(v)), nil
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		if math.IsInf(f, 0) {
			return 0, errors.New("int too large to convert to float")
		}
		return f, nil
	}
	return 0, fmt.Errorf("must be real number, not %s", typeName(v))
}

// normalInt stores an integer in its one form.
func normalInt(b *big.Int) (Value, error) {
	if b.IsInt64() {
		return b.Int64(), nil
	}
	if b.BitLen() > maxIntBits {
		return nil, limitErrorf("an integer of more than %d bits", maxIntBits)
	}
	return b, nil
}

// arithmetic applies + - * / // % ** to two numbers.
func arithmetic(op string, a, b Value) (Value, error) {
	if v, ok := smallArithmetic(op, a, b); ok {
		return v, nil
	}
	x, xInt := asBig(a)
	y, yInt := asBig(b)
	if xInt && yInt {
		return intArithmetic(op, x, y)
	}
	fx, err := asFloat(a)
	if err != nil {
		return nil, err
	}
	fy, err := asFloat(b)
	if err != nil {
		return nil, err
	}
	return floatArithmetic(op, fx, fy)
}

// smallArithmetic is the common case, integers that cannot overflow.
func smallArithmetic(op string, a, b Value) (Value, bool) {
	x, xOK := a.(int64)
	y, yOK := b.(int64)
	if !xOK || !yOK || x != int64(int32(x)) || y != int64(int32(y)) {
		return nil, false
	}
	switch op {
	case "+":
		return x + y, true
	case "-":
		return x - y, true
	case "*":
		return x * y, true
	}
	return nil, false
}

func intArithmetic(op string, x, y *big.Int) (Value, error) {
	r := new(big.Int)
	switch op {
	case "+":
		return normalInt(r.Add(x, y))
	case "-":
		return normalInt(r.Sub(x, y))
	case "*":
		return normalInt(r.Mul(x, y))
	case "**":
		return intPower(x, y)
	}
	if y.Sign() == 0 {
		if op == "/" {
			return nil, errDivisionByZero
		}
		return nil, errors.New("integer division or modulo by zero")
	}
	if op == "/" {
		f, _ := new(big.Rat).SetFrac(x, y).Float64()
		if math.IsInf(f, 0) {
			return nil, errors.New("integer division result too large for a float")
		}
		return f, nil
	}
	// Euclidean division rounds the remainder up to zero; Python's remainder
	// has the sign of the divisor.
	q, m := r.DivMod(x, y, new(big.Int))
	if m.Sign() != 0 && y.Sign() < 0 {
		q.Sub(q, big.NewInt(1))
		m.Add(m, y)
	}
	if op == "//" {
		return normalInt(q)
	}
	return normalInt(m)
}

func intPower(x, y *big.Int) (Value, error) {
	if y.Sign() < 0 {
		fx, err := asFloat(x)
		if err != nil {
			return nil, err
		}
		fy, err := asFloat(y)
		if err != nil {
			return nil, err
		}
		return floatArithmetic("**", fx, fy)
	}
	if x.BitLen() > 1 && (!y.IsInt64() || y.Int64() > maxIntBits/int64(x.BitLen()-1)) {
		return nil, limitErrorf("an integer of more than %d bits", maxIntBits)
	}
	if x.BitLen() <= 1 { // -1, 0, 1: only the parity of y counts
		y = parityPower(y)
	}
	return normalInt(new(big.Int).Exp(x, y, nil))
}

// parityPower is a small exponent with the same effect on -1, 0 and 1.
func parityPower(y *big.Int) *big.Int {
	if y.Sign() == 0 {
		return y
	}
	return big.NewInt(2 - int64(y.Bit(0)))
}

func floatArithmetic(op string, x, y float64) (Value, error) {
	switch op {
	case "+":
		return x + y, nil
	case "-":
		return x - y, nil
	case "*":
		return x * y, nil
	case "**":
		return floatPower(x, y)
	}
	if y == 0 {
		if op == "/" {
			return nil, errors.New("float division by zero")
		}
		return nil, errors.New("float floor division by zero")
	}
	if op == "/" {
		return x / y, nil
	}
	m := math.Mod(x, y)
	if m == 0 {
		m = math.Copysign(0, y)
	} else if (y < 0) != (m < 0) {
		m += y
	}
	if op == "%" {
		return m, nil
	}
	q := (x - m) / y
	if q == 0 {
		return math.Copysign(0, x/y), nil
	}
	f := math.Floor(q)
	if q-f > 0.5 {
		f++
	}
	return f, nil
}

func floatPower(x, y float64) (Value, error) {
	switch {
	case x == 0 && y < 0:
		return nil, errors.New("0.0 cannot be raised to a negative power")
	case x < 0 && y != math.Trunc(y) && !math.IsInf(x, 0):
		return nil, errors.New("a negative number to a fractional power is not supported")
	}
	r := math.Pow(x, y)
	if math.IsInf(r, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		return nil, errors.New("numerical result out of range")
	}
	return r, nil
}

// compareNumbers is -1, 0 or 1, exactly; ok is false where a NaN is involved.
func compareNumbers(a, b Value) (order int, ok bool) {
	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y), true
		}
	}
	fa, aFloat := a.(float64)
	fb, bFloat := b.(float64)
	if (aFloat && math.IsNaN(fa)) || (bFloat && math.IsNaN(fb)) {
		return 0, false
	}
	if aFloat && bFloat {
		switch {
		case fa < fb:
			return -1, true
		case fa > fb:
			return 1, true
		}
		return 0, true
	}
	return exact(a).Cmp(exact(b)), true
}

// exact gives any number but NaN without rounding.
func exact(v Value) *big.Float {
	if f, ok := v.(float64); ok {
		return big.NewFloat(f)
	}
	b, _ := asBig(v)
	return new(big.Float).SetPrec(uint(max(64, b.BitLen()))).SetInt(b)
}
