package gguf

import (
	"fmt"
	"math"
	"testing"
)

// hostile are well-formed and malformed files that try to make the reader
// allocate far more than they are worth.
var hostile = []struct {
	name  string
	build func(b *builder)
}{
	{"as many keys as allowed, tiny", func(b *builder) { manyKeys(b, 0) }},
	{"as many tensors as allowed, tiny", func(b *builder) { b.start(maxTensors, 1).key("general.alignment", TypeUint8).raw(8); manyTensors(b) }},
	{"as many keys and tensors as allowed", func(b *builder) { manyKeys(b, maxTensors); manyTensors(b) }},
	{"more tensors than allowed", func(b *builder) { b.start(1<<20, 0).zeros(24 << 20) }},
	{"more keys than allowed", func(b *builder) { b.start(0, 1<<20).zeros(12 << 20) }},
	{"tensor count too large", func(b *builder) { b.start(1<<40, 0).zeros(1000) }},
	{"string too long", func(b *builder) { b.start(0, 1).key("a", TypeString).u64(1 << 40).zeros(1000) }},
	{"array too long", func(b *builder) { b.start(0, 1).key("a", TypeArray).array(TypeUint8, 1<<40).zeros(1000) }},
	{"long strings", func(b *builder) {
		b.start(0, 2).key("a", TypeString).u64(20<<20).zeros(20<<20).key("b", TypeString).u64(20 << 20).zeros(20 << 20)
	}},
	{"long array of u8", func(b *builder) { b.start(0, 1).key("a", TypeArray).array(TypeUint8, 40<<20).zeros(40 << 20) }},
	{"long array of bool", func(b *builder) { b.start(0, 1).key("a", TypeArray).array(TypeBool, 20<<20).zeros(20 << 20) }},
	{"long array of empty strings", func(b *builder) { b.start(0, 1).key("a", TypeArray).array(TypeString, 5<<20).zeros(40 << 20) }},
	{"many strings of one byte", func(b *builder) {
		b.start(0, 1).key("a", TypeArray).array(TypeString, 2<<20)
		for i := range 2 << 20 {
			b.u64(1).raw(byte(i))
		}
	}},
	{"many strings of nine bytes", func(b *builder) {
		b.start(0, 1).key("a", TypeArray).array(TypeString, 1<<20)
		for range 1 << 20 {
			b.text("123456789")
		}
	}},
	{"many empty arrays", func(b *builder) { b.start(0, 1).key("a", TypeArray).array(TypeArray, 2<<20).zeros(24 << 20) }},
	{"many arrays of arrays", func(b *builder) {
		b.start(0, 1).key("a", TypeArray).array(TypeArray, 1<<10)
		for range 1 << 10 {
			b.array(TypeArray, 1<<10).zeros(12 << 10)
		}
	}},
	{"deep arrays with long contents", func(b *builder) {
		b.start(0, 1).key("a", TypeArray)
		for range maxDepth - 1 {
			b.array(TypeArray, 1)
		}
		b.array(TypeUint8, 10<<20).zeros(10 << 20)
	}},
	{"tensor larger than the file", func(b *builder) { b.start(1, 0).tensor("t", 0, math.MaxInt64/4).u64(0).pad().zeros(32) }},
}

// manyKeys starts a file with the most keys and the least alignment.
func manyKeys(b *builder, tensors uint64) {
	b.start(tensors, maxKeys).key("general.alignment", TypeUint8).raw(8)
	for i := range maxKeys - 1 {
		b.key(fmt.Sprintf("%04x", i), TypeUint8).raw(0)
	}
}

func manyTensors(b *builder) {
	for i := range maxTensors {
		b.tensor(fmt.Sprintf("%04x", i), 24, 1).u64(uint64(i) * 8)
	}
	b.pad().zeros(maxTensors * 8)
}

// TestAllocation measures what opening costs, and what decoding each value
// costs, against the bound that the package promises.
func TestAllocation(t *testing.T) {
	for _, test := range hostile {
		t.Run(test.name, func(t *testing.T) {
			b := &builder{}
			test.build(b)
			var f *File
			var err error
			n := allocated(func() { f, err = b.read() })
			t.Logf("%d bytes: %d allocated, %d allowed (%v)", len(b.b), n, allowed(len(b.b)), err)
			if n > allowed(len(b.b)) {
				t.Error("too much to open")
			}
			if err != nil {
				return
			}
			for key, v := range f.Metadata().All() {
				if v.Type() != TypeArray {
					continue
				}
				for name, decode := range decoders {
					n := allocated(func() { decode(v) })
					if n > allowed(len(b.b)) {
						t.Errorf("%s of %s allocates %d", name, key, n)
					}
				}
			}
		})
	}
}

// decoders are all methods of Value that decode arrays.
var decoders = map[string]func(Value) error{
	"Any":     func(v Value) error { _, err := v.Any(); return err },
	"Strings": func(v Value) error { _, err := v.Strings(); return err },
	"Ints":    func(v Value) error { _, err := v.Ints(); return err },
	"Uints":   func(v Value) error { _, err := v.Uints(); return err },
	"Floats":  func(v Value) error { _, err := v.Floats(); return err },
	"Bools":   func(v Value) error { _, err := v.Bools(); return err },
	"Arrays":  func(v Value) error { _, err := v.Arrays(); return err },
}
