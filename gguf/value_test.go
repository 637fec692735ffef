package gguf

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestScalars(t *testing.T) {
	f, err := readBytes(smallFile(t))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"a.u8": uint8(200), "a.i8": int8(-100), "a.u16": uint16(60000), "a.i16": int16(-30000),
		"a.u32": uint32(4e9), "a.i32": int32(-2e9), "a.u64": uint64(math.MaxUint64), "a.i64": int64(math.MinInt64),
		"a.f32": float32(1.5), "a.f64": -2.25, "a.bool": true, "a.bytes": "\xff\x00\xfe",
		"a.strings": []string{"one", "", "\xf0"}, "a.bools": []bool{true, false},
		"a.nested": []any{[]int16{1, -2}, []string{"x"}, []float32{}},
	}
	for key, w := range want {
		v, ok := f.Metadata().Get(key)
		if !ok {
			t.Errorf("no %s", key)
			continue
		}
		if got, err := v.Any(); err != nil || !reflect.DeepEqual(got, w) {
			t.Errorf("%s is %#v (%v), want %#v", key, got, err, w)
		}
	}
}

// TestGetters gives each typed getter values of several types.
func TestGetters(t *testing.T) {
	m := &Metadata{}
	set := func(key string, v Value) { m.Set(key, v) }
	set("u8", Uint8(255))
	set("u64", Uint64(math.MaxUint64))
	set("i8", Int8(-1))
	set("i16", Int16(7))
	set("i64", Int64(math.MinInt64))
	set("f32", Float32(0.5))
	set("f64", Float64(1e300))
	set("bool", Bool(true))
	set("string", String("s"))
	set("strings", Array([]string{"a", "b"}))
	set("i8s", Array([]int8{-1, 2}))
	set("u64s", Array([]uint64{1, math.MaxUint64}))
	set("f32s", Array([]float32{0.5}))
	set("bools", Array([]bool{false, true}))

	get := map[string]func(key string) (any, bool, error){
		"String":  func(key string) (any, bool, error) { x, ok, err := m.String(key); return x, ok, err },
		"Uint":    func(key string) (any, bool, error) { x, ok, err := m.Uint(key); return x, ok, err },
		"Int":     func(key string) (any, bool, error) { x, ok, err := m.Int(key); return x, ok, err },
		"Float":   func(key string) (any, bool, error) { x, ok, err := m.Float(key); return x, ok, err },
		"Bool":    func(key string) (any, bool, error) { x, ok, err := m.Bool(key); return x, ok, err },
		"Strings": func(key string) (any, bool, error) { x, ok, err := m.Strings(key); return x, ok, err },
		"Uints":   func(key string) (any, bool, error) { x, ok, err := m.Uints(key); return x, ok, err },
		"Ints":    func(key string) (any, bool, error) { x, ok, err := m.Ints(key); return x, ok, err },
		"Floats":  func(key string) (any, bool, error) { x, ok, err := m.Floats(key); return x, ok, err },
		"Bools":   func(key string) (any, bool, error) { x, ok, err := m.Bools(key); return x, ok, err },
	}
	tests := []struct {
		getter, key string
		want        any   // nil if an error is wanted
		words       words // of the error
	}{
		{"String", "string", "s", nil},
		{"String", "u8", nil, words{`key "u8"`, "wanted a string", "found u8"}},
		{"String", "strings", nil, words{"found an array of 2 string"}},
		{"Uint", "u8", uint64(255), nil},
		{"Uint", "u64", uint64(math.MaxUint64), nil},
		{"Uint", "i16", uint64(7), nil},
		{"Uint", "i8", nil, words{`key "i8"`, "unsigned", "-1", "i8"}},
		{"Uint", "f32", nil, words{`key "f32"`, "wanted an unsigned integer", "found f32"}},
		{"Int", "i8", int64(-1), nil},
		{"Int", "i64", int64(math.MinInt64), nil},
		{"Int", "u8", int64(255), nil},
		{"Int", "u64", nil, words{`key "u64"`, "18446744073709551615"}},
		{"Int", "bool", nil, words{"wanted an integer", "found bool"}},
		{"Float", "f32", 0.5, nil},
		{"Float", "f64", 1e300, nil},
		{"Float", "i8", -1.0, nil},
		{"Float", "u8", 255.0, nil},
		{"Float", "string", nil, words{"wanted a number", "found string"}},
		{"Bool", "bool", true, nil},
		{"Bool", "u8", nil, words{"wanted a bool", "found u8"}},
		{"Strings", "strings", []string{"a", "b"}, nil},
		{"Strings", "string", nil, words{"wanted an array of strings", "found string"}},
		{"Strings", "i8s", nil, words{"wanted an array of strings", "found an array of 2 i8"}},
		{"Ints", "i8s", []int64{-1, 2}, nil},
		{"Ints", "u64s", nil, words{`key "u64s"`, "element 1", "18446744073709551615"}},
		{"Uints", "u64s", []uint64{1, math.MaxUint64}, nil},
		{"Uints", "i8s", nil, words{"element 0", "-1"}},
		{"Floats", "f32s", []float64{0.5}, nil},
		{"Floats", "i8s", []float64{-1, 2}, nil},
		{"Floats", "strings", nil, words{"wanted an array of numbers", "found an array of 2 string"}},
		{"Bools", "bools", []bool{false, true}, nil},
		{"Bools", "i8s", nil, words{"wanted an array of bools", "found an array of 2 i8"}},
	}
	for _, test := range tests {
		got, ok, err := get[test.getter](test.key)
		if !ok {
			t.Errorf("%s(%q): no such key", test.getter, test.key)
		}
		if test.want != nil {
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("%s(%q) = %v, %v, want %v", test.getter, test.key, got, err, test.want)
			}
			continue
		}
		for _, w := range test.words {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s(%q): error %v, want %q", test.getter, test.key, err, w)
			}
		}
	}
	for name, get := range get {
		if _, ok, err := get("none"); ok || err != nil {
			t.Errorf("%s of a missing key: %v, %v", name, ok, err)
		}
	}
}

func TestMetadataOrder(t *testing.T) {
	m := &Metadata{}
	m.Set("b", Uint8(1))
	m.Set("a", Uint8(2))
	m.Set("b", String("again"))
	if got := m.Keys(); !reflect.DeepEqual(got, []string{"b", "a"}) {
		t.Errorf("keys %q", got)
	}
	if s, _, err := m.String("b"); s != "again" || err != nil {
		t.Errorf("b is %q, %v", s, err)
	}
}

func TestDescriptions(t *testing.T) {
	f, err := readBytes(smallFile(t))
	if err != nil {
		t.Fatal(err)
	}
	if f.Version() != 3 || f.Alignment() != 32 || f.Metadata().Len() != 16 {
		t.Errorf("version %d, alignment %d, %d keys", f.Version(), f.Alignment(), f.Metadata().Len())
	}
	if x, ok := f.Tensor("blk.0.attn_q.weight"); !ok || x.String() != "blk.0.attn_q.weight q8_0 [32 2]" {
		t.Errorf("%v, %v", x, ok)
	}
	if x, ok := f.Tensor("blk.1.attn_q.weight"); ok {
		t.Errorf("%v", x)
	}
	v, _ := f.Metadata().Get("a.strings")
	if v.Type() != TypeArray || v.ElemType() != TypeString || v.Len() != 3 {
		t.Errorf("%v of %d %v", v.Type(), v.Len(), v.ElemType())
	}
}

// TestLongNameInError checks that an error does not repeat a huge key.
func TestLongNameInError(t *testing.T) {
	b := &builder{}
	b.start(0, 1).key(strings.Repeat("k", 60000), 99)
	if _, err := b.read(); err == nil || len(err.Error()) > 400 || !strings.Contains(err.Error(), "60000 bytes") {
		t.Error(err)
	}
}

// TestNotANumber checks that the bits of NaNs survive.
func TestNotANumber(t *testing.T) {
	w := NewWriter()
	f32, f64 := math.Float32frombits(0x7f800001), math.Float64frombits(0xfff0000000000123)
	w.Set("f32", Array([]float32{f32}))
	w.Set("f64", Float64(f64))
	f, err := readBytes(write(t, w))
	if err != nil {
		t.Fatal(err)
	}
	a, _ := f.Metadata().Get("f32")
	x, err := a.Any()
	if err != nil || math.Float32bits(x.([]float32)[0]) != 0x7f800001 {
		t.Errorf("%v, %v", x, err)
	}
	if y, _, err := f.Metadata().Float("f64"); err != nil || math.Float64bits(y) != 0xfff0000000000123 {
		t.Errorf("%v, %v", y, err)
	}
}

func TestArraysErrors(t *testing.T) {
	if _, err := Arrays(Array([]int8{1}), Uint8(1)); err == nil || !strings.Contains(err.Error(), "element 1") || !strings.Contains(err.Error(), "u8") {
		t.Errorf("array of a scalar: %v", err)
	}
	v := Array([]uint8{1})
	var err error
	for range maxDepth - 1 {
		if v, err = Arrays(v); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Arrays(v); err == nil || !strings.Contains(err.Error(), "deep") {
		t.Errorf("too deep: %v", err)
	}
}

// TestArrayAfterClose checks that an array of a closed file is an error, not a
// wrong value.
func TestArrayAfterClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.gguf")
	if err := os.WriteFile(path, smallFile(t), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if x, _, err := f.Metadata().Strings("a.strings"); err == nil {
		t.Errorf("no error, but %q", x)
	}
}

// TestArrayChanged decodes an array whose bytes have become invalid since the
// file was opened.
func TestArrayChanged(t *testing.T) {
	b := &builder{}
	b.start(0, 1).key("a", TypeArray).array(TypeString, 2).text("one").here().text("two")
	f, err := b.read()
	if err != nil {
		t.Fatal(err)
	}
	copy(b.b[b.bad:], bytes.Repeat([]byte{0xff}, 8))
	if x, _, err := f.Metadata().Strings("a"); err == nil || !strings.Contains(err.Error(), "18446744073709551615") {
		t.Errorf("%q, %v", x, err)
	}
}
