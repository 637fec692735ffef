package gguf

import (
	"bytes"
	"fmt"
	"math"
)

// Uint8 returns a value of type u8.
func Uint8(x uint8) Value { return Value{typ: TypeUint8, bits: uint64(x)} }

// Int8 returns a value of type i8.
func Int8(x int8) Value { return Value{typ: TypeInt8, bits: uint64(uint8(x))} }

// Uint16 returns a value of type u16.
func Uint16(x uint16) Value { return Value{typ: TypeUint16, bits: uint64(x)} }

// Int16 returns a value of type i16.
func Int16(x int16) Value { return Value{typ: TypeInt16, bits: uint64(uint16(x))} }

// Uint32 returns a value of type u32.
func Uint32(x uint32) Value { return Value{typ: TypeUint32, bits: uint64(x)} }

// Int32 returns a value of type i32.
func Int32(x int32) Value { return Value{typ: TypeInt32, bits: uint64(uint32(x))} }

// Uint64 returns a value of type u64.
func Uint64(x uint64) Value { return Value{typ: TypeUint64, bits: x} }

// Int64 returns a value of type i64.
func Int64(x int64) Value { return Value{typ: TypeInt64, bits: uint64(x)} }

// Float32 returns a value of type f32.
func Float32(x float32) Value { return Value{typ: TypeFloat32, bits: uint64(math.Float32bits(x))} }

// Float64 returns a value of type f64.
func Float64(x float64) Value { return Value{typ: TypeFloat64, bits: math.Float64bits(x)} }

// Bool returns a value of type bool.
func Bool(x bool) Value {
	v := Value{typ: TypeBool}
	if x {
		v.bits = 1
	}
	return v
}

// String returns a value of type string.
func String(x string) Value { return Value{typ: TypeString, text: x} }

// Element is a Go type that an array may hold; each stands for one value type.
type Element interface {
	uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64 | int64 | float32 | float64 | bool | string
}

// Array returns an array with the elements of x. It does not share memory with
// x.
func Array[T Element](x []T) Value {
	var data bytes.Buffer
	for _, e := range x {
		of(e).writeTo(&data) // writing to a Buffer does not fail
	}
	return arrayOf(of(*new(T)).typ, len(x), data.Bytes())
}

// Arrays returns an array of arrays. All elements must be arrays; what those
// hold may differ.
func Arrays(elements ...Value) (Value, error) {
	var data bytes.Buffer
	for i, e := range elements {
		if e.typ != TypeArray {
			return Value{}, fmt.Errorf("gguf: element %d of an array of arrays is of type %s", i, e.typ)
		}
		if err := e.writeTo(&data); err != nil {
			return Value{}, fmt.Errorf("gguf: element %d of an array of arrays: %w", i, err)
		}
	}
	v := arrayOf(TypeArray, len(elements), data.Bytes())
	// The elements are valid by themselves; nested once more, they may be too deep.
	s := newScanner("", v.r, 0, v.size)
	if err := s.claim("array length", 0, uint64(v.n), valueTypes[TypeArray].size); err != nil {
		return Value{}, fmt.Errorf("gguf: array of arrays: %w", err)
	}
	if err := s.skipElements(TypeArray, uint64(v.n), 0); err != nil {
		return Value{}, fmt.Errorf("gguf: array of arrays: %w", err)
	}
	return v, nil
}

func arrayOf(elem ValueType, n int, data []byte) Value {
	return Value{typ: TypeArray, elem: elem, n: n, r: bytes.NewReader(data), size: int64(len(data))}
}

// of returns x as a value.
func of[T Element](x T) Value {
	switch x := any(x).(type) {
	case uint8:
		return Uint8(x)
	case int8:
		return Int8(x)
	case uint16:
		return Uint16(x)
	case int16:
		return Int16(x)
	case uint32:
		return Uint32(x)
	case int32:
		return Int32(x)
	case uint64:
		return Uint64(x)
	case int64:
		return Int64(x)
	case float32:
		return Float32(x)
	case float64:
		return Float64(x)
	case bool:
		return Bool(x)
	case string:
		return String(x)
	}
	panic("gguf: unreachable: Element lists every type")
}
