package gguf

import (
	"fmt"
	"math"
	"unsafe"
)

// budget bounds what decoding an array may allocate: twice the bytes that its
// elements take in the file plus 16 MiB. Arrays of tiny elements would
// otherwise grow several times when decoded.
type budget int64

// decoderBytes is what decoding one array takes beside its elements and the
// scanner's window, rounded up.
const decoderBytes = 256

func (v Value) budget() budget { return budget(2*v.size + 16<<20) }

// spend takes n items of size bytes from the budget.
func (b *budget) spend(n int, size uintptr) error {
	if int64(n) > int64(*b)/int64(size) {
		return fmt.Errorf("decoding %d array elements of %d bytes each takes too much memory for the size of the array", n, size)
	}
	*b -= budget(int64(n) * int64(size))
	return nil
}

// elements decodes an array, converting each element with convert.
func elements[T any](v Value, b *budget, convert func(Value) (T, error)) ([]T, error) {
	var zero T
	size := unsafe.Sizeof(zero)
	if v.elem == TypeString {
		// The bytes of strings come on top; they are at most v.size.
		*b -= budget(v.size)
	}
	if err := b.spend(v.n, size); err != nil {
		return nil, err
	}
	s := newScanner("", v.r, v.off, v.off+v.size)
	if err := b.spend(1, decoderBytes+uintptr(cap(s.window))); err != nil {
		return nil, err
	}
	if err := s.claim("array length", v.off, uint64(v.n), valueTypes[v.elem].size); err != nil {
		return nil, err
	}
	out := make([]T, v.n)
	for i := range out {
		e, err := s.value(v.elem, 0)
		if err != nil {
			return nil, err
		}
		if out[i], err = convert(e); err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return out, nil
}

// typed decodes an array if ok accepts the type of its elements.
func typed[T any](v Value, wanted string, ok func(ValueType) bool, convert func(Value) (T, error)) ([]T, error) {
	if v.typ != TypeArray || !ok(v.elem) {
		return nil, v.mismatch(wanted)
	}
	b := v.budget()
	return elements(v, &b, convert)
}

func (t ValueType) integer() bool {
	switch t {
	case TypeUint8, TypeInt8, TypeUint16, TypeInt16, TypeUint32, TypeInt32, TypeUint64, TypeInt64:
		return true
	}
	return false
}

func (t ValueType) number() bool { return t.integer() || t == TypeFloat32 || t == TypeFloat64 }

// is returns a predicate that accepts the type t only.
func is(t ValueType) func(ValueType) bool {
	return func(u ValueType) bool { return u == t }
}

// Strings returns the elements of an array of strings.
func (v Value) Strings() ([]string, error) {
	return typed(v, "an array of strings", is(TypeString), Value.Text)
}

// Ints returns the elements of an array of integers, all of which must fit.
func (v Value) Ints() ([]int64, error) {
	return typed(v, "an array of integers", ValueType.integer, Value.Int)
}

// Uints returns the elements of an array of integers, none of which may be
// negative.
func (v Value) Uints() ([]uint64, error) {
	return typed(v, "an array of unsigned integers", ValueType.integer, Value.Uint)
}

// Floats returns the elements of an array of floats or integers.
func (v Value) Floats() ([]float64, error) {
	return typed(v, "an array of numbers", ValueType.number, Value.Float)
}

// Bools returns the elements of an array of bools.
func (v Value) Bools() ([]bool, error) {
	return typed(v, "an array of bools", is(TypeBool), Value.Bool)
}

// Arrays returns the elements of an array of arrays.
func (v Value) Arrays() ([]Value, error) {
	return typed(v, "an array of arrays", is(TypeArray), func(e Value) (Value, error) { return e, nil })
}

// Any returns the value as the Go type that corresponds to its type: uint8 to
// uint64, int8 to int64, float32, float64, bool, string, a slice of one of
// these, or []any for an array of arrays.
func (v Value) Any() (any, error) {
	if v.typ != TypeArray {
		return v.scalar(), nil
	}
	b := v.budget()
	return v.slice(&b)
}

// scalar returns a value that is no array as its Go type.
func (v Value) scalar() any {
	switch v.typ {
	case TypeUint8:
		return uint8(v.bits)
	case TypeInt8:
		return int8(v.bits)
	case TypeUint16:
		return uint16(v.bits)
	case TypeInt16:
		return int16(v.bits)
	case TypeUint32:
		return uint32(v.bits)
	case TypeInt32:
		return int32(v.bits)
	case TypeUint64:
		return v.bits
	case TypeInt64:
		return int64(v.bits)
	case TypeFloat32:
		return math.Float32frombits(uint32(v.bits))
	case TypeFloat64:
		return math.Float64frombits(v.bits)
	case TypeBool:
		return v.bits != 0
	}
	return v.text
}

// slice returns an array as a Go slice.
func (v Value) slice(b *budget) (any, error) {
	switch v.elem {
	case TypeUint8:
		return bitsSlice[uint8](v, b)
	case TypeInt8:
		return bitsSlice[int8](v, b)
	case TypeUint16:
		return bitsSlice[uint16](v, b)
	case TypeInt16:
		return bitsSlice[int16](v, b)
	case TypeUint32:
		return bitsSlice[uint32](v, b)
	case TypeInt32:
		return bitsSlice[int32](v, b)
	case TypeUint64:
		return bitsSlice[uint64](v, b)
	case TypeInt64:
		return bitsSlice[int64](v, b)
	case TypeFloat32:
		return elements(v, b, func(e Value) (float32, error) { return math.Float32frombits(uint32(e.bits)), nil })
	case TypeFloat64:
		return elements(v, b, Value.Float)
	case TypeBool:
		return elements(v, b, Value.Bool)
	case TypeString:
		return elements(v, b, Value.Text)
	}
	return elements(v, b, func(e Value) (any, error) { return e.slice(b) })
}

// bitsSlice decodes an array of integers of the type T.
func bitsSlice[T uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64 | int64](v Value, b *budget) ([]T, error) {
	return elements(v, b, func(e Value) (T, error) { return T(e.bits), nil })
}
