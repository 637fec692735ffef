package gguf

import (
	"fmt"
	"io"
	"math"
)

// ValueType is the type of a metadata value, numbered as in the file.
type ValueType uint32

// The types of metadata values.
const (
	TypeUint8 ValueType = iota
	TypeInt8
	TypeUint16
	TypeInt16
	TypeUint32
	TypeInt32
	TypeFloat32
	TypeBool
	TypeString
	TypeArray
	TypeUint64
	TypeInt64
	TypeFloat64
)

// valueTypes has the name of each type and the least number of bytes that a
// value of it takes in a file. Only strings and arrays may take more.
var valueTypes = [...]struct {
	name string
	size uint64
}{
	TypeUint8:   {"u8", 1},
	TypeInt8:    {"i8", 1},
	TypeUint16:  {"u16", 2},
	TypeInt16:   {"i16", 2},
	TypeUint32:  {"u32", 4},
	TypeInt32:   {"i32", 4},
	TypeFloat32: {"f32", 4},
	TypeBool:    {"bool", 1},
	TypeString:  {"string", 8},
	TypeArray:   {"array", 12},
	TypeUint64:  {"u64", 8},
	TypeInt64:   {"i64", 8},
	TypeFloat64: {"f64", 8},
}

func (t ValueType) known() bool { return uint64(t) < uint64(len(valueTypes)) }

// String returns the name of the type, "u32" for example.
func (t ValueType) String() string {
	if t.known() {
		return valueTypes[t].name
	}
	return fmt.Sprintf("value type %d", uint32(t))
}

// Value is one metadata value. Scalars and strings are held in memory; of an
// array only the place of its elements is known, and each of the methods that
// return elements reads them anew, from the file if the value came from one.
// After the file has been closed they fail.
type Value struct {
	typ  ValueType
	elem ValueType // of an array
	bits uint64    // a scalar, zero-extended
	text string    // a string

	// An array: n elements in the encoding of the file.
	n         int
	r         io.ReaderAt
	off, size int64
}

// Type is the type of the value.
func (v Value) Type() ValueType { return v.typ }

// ElemType is the type of an array's elements. It is only meaningful if Type
// is TypeArray.
func (v Value) ElemType() ValueType { return v.elem }

// Len is the number of elements of an array, and 0 for all other types.
func (v Value) Len() int { return v.n }

// describe names the type of the value for errors.
func (v Value) describe() string {
	if v.typ == TypeArray {
		return fmt.Sprintf("an array of %d %s", v.n, v.elem)
	}
	return v.typ.String()
}

func (v Value) mismatch(wanted string) error {
	return fmt.Errorf("wanted %s, found %s", wanted, v.describe())
}

// Uint returns a value of any integer type, provided that it is not negative.
func (v Value) Uint() (uint64, error) {
	switch v.typ {
	case TypeUint8, TypeUint16, TypeUint32, TypeUint64:
		return v.bits, nil
	case TypeInt8, TypeInt16, TypeInt32, TypeInt64:
		i := v.signed()
		if i < 0 {
			return 0, fmt.Errorf("wanted an unsigned integer, found %d (%s)", i, v.typ)
		}
		return uint64(i), nil
	}
	return 0, v.mismatch("an unsigned integer")
}

// Int returns a value of any integer type, provided that it fits.
func (v Value) Int() (int64, error) {
	switch v.typ {
	case TypeUint8, TypeUint16, TypeUint32, TypeUint64:
		if v.bits > math.MaxInt64 {
			return 0, fmt.Errorf("wanted a signed integer, found %d (%s), which does not fit", v.bits, v.typ)
		}
		return int64(v.bits), nil
	case TypeInt8, TypeInt16, TypeInt32, TypeInt64:
		return v.signed(), nil
	}
	return 0, v.mismatch("an integer")
}

// signed sign-extends the bits of a signed integer.
func (v Value) signed() int64 {
	shift := 64 - 8*valueTypes[v.typ].size
	return int64(v.bits<<shift) >> shift
}

// Float returns a value of any float or integer type.
func (v Value) Float() (float64, error) {
	switch v.typ {
	case TypeFloat32:
		return float64(math.Float32frombits(uint32(v.bits))), nil
	case TypeFloat64:
		return math.Float64frombits(v.bits), nil
	case TypeUint8, TypeUint16, TypeUint32, TypeUint64:
		return float64(v.bits), nil
	case TypeInt8, TypeInt16, TypeInt32, TypeInt64:
		return float64(v.signed()), nil
	}
	return 0, v.mismatch("a number")
}

// Bool returns a bool.
func (v Value) Bool() (bool, error) {
	if v.typ != TypeBool {
		return false, v.mismatch("a bool")
	}
	return v.bits != 0, nil
}

// Text returns a string. It may hold any bytes.
func (v Value) Text() (string, error) {
	if v.typ != TypeString {
		return "", v.mismatch("a string")
	}
	return v.text, nil
}
