package gguf

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
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
		b.start(0, 2).key("a", TypeString).u64(9<<20).zeros(9<<20).key("b", TypeString).u64(9 << 20).zeros(9 << 20)
	}},
	{"long array of u8", func(b *builder) { b.start(0, 1).key("a", TypeArray).array(TypeUint8, 8<<20).zeros(8 << 20) }},
	{"long array of bool", func(b *builder) { b.start(0, 1).key("a", TypeArray).array(TypeBool, 8<<20).zeros(8 << 20) }},
	{"long array of empty strings", func(b *builder) { b.start(0, 1).key("a", TypeArray).array(TypeString, 3<<20).zeros(24 << 20) }},
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
		b.array(TypeUint8, 4<<20).zeros(4 << 20)
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

func manyTensors(b *builder) { tensorsFrom(b, 0, maxTensors) }

// tensorsFrom writes n tensors, numbered from first, and their data.
func tensorsFrom(b *builder, first, n int) {
	for i := range n {
		b.tensor(fmt.Sprintf("%04x", first+i), 24, 1).u64(uint64(i) * 8)
	}
	b.pad().zeros(n * 8)
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

// TestAllocationSplit is the same for a split set of the most keys and tensors.
func TestAllocationSplit(t *testing.T) {
	const parts = 8
	prefix := filepath.Join(t.TempDir(), "m")
	size := 0
	for i := range parts {
		b := &builder{}
		b.start(maxTensors/parts, maxKeys/parts).key("general.alignment", TypeUint8).raw(8)
		b.key(keySplitNo, TypeUint8).raw(byte(i)).key(keySplitCount, TypeUint8).raw(parts)
		for k := range maxKeys/parts - 3 {
			b.key(fmt.Sprintf("%04x", k), TypeUint8).raw(0)
		}
		tensorsFrom(b, i*maxTensors/parts, maxTensors/parts)
		size += len(b.b)
		if err := os.WriteFile(PartPath(prefix, i, parts), b.b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var f *File
	var err error
	n := allocated(func() { f, err = Open(PartPath(prefix, 0, parts)) })
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := checkInvariants(f); err != nil {
		t.Error(err)
	}
	t.Logf("%d bytes: %d allocated, %d allowed", size, n, allowed(size))
	if n > allowed(size) {
		t.Error("too much")
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
