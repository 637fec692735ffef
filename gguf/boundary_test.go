package gguf

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gorun/tensor"
)

// TestExactBoundary reads files that are just within a limit; one past each is
// in TestMalformed.
func TestExactBoundary(t *testing.T) {
	tests := []struct {
		name  string
		build func(b *builder)
	}{
		{"no keys and no tensors", func(b *builder) { b.start(0, 0) }},
		{"key of the greatest length", func(b *builder) { b.start(0, 1).key(strings.Repeat("k", 65535), TypeUint8).raw(0) }},
		{"string up to the end", func(b *builder) { b.start(0, 1).key("a", TypeString).u64(9).zeros(9) }},
		{"empty string at the end", func(b *builder) { b.start(0, 1).key("a", TypeString).u64(0) }},
		{"array up to the end", func(b *builder) { b.start(0, 1).key("a", TypeArray).array(TypeUint32, 3).zeros(12) }},
		{"empty array at the end", func(b *builder) { b.start(0, 1).key("a", TypeArray).array(TypeFloat64, 0) }},
		{"strings up to the end", func(b *builder) { b.start(0, 1).key("a", TypeArray).array(TypeString, 2).text("").text("x") }},
		{"deepest arrays", func(b *builder) {
			b.start(0, 1).key("a", TypeArray)
			for range maxDepth - 1 {
				b.array(TypeArray, 1)
			}
			b.array(TypeUint8, 1).raw(7)
		}},
		{"least alignment", func(b *builder) {
			b.start(1, 1).key("general.alignment", TypeUint8).raw(8).tensor("t", 0, 1).u64(0)
			b.zeros(-len(b.b) & 7).zeros(4)
		}},
		{"greatest alignment", func(b *builder) {
			b.start(1, 1).key("general.alignment", TypeUint64).u64(maxAlignment).tensor("t", 0, 1).u64(0)
			b.zeros(maxAlignment - len(b.b)).zeros(4)
		}},
		{"greatest product of dimensions", func(b *builder) {
			b.start(1, 0).tensor("t", 9, math.MaxInt64, 1, 1, 1).u64(0).pad().zeros(1)
		}},
		{"data up to the end", func(b *builder) { b.start(1, 0).tensor("t", 0, 8).u64(0).pad().zeros(32) }},
		{"data next to each other, out of order", func(b *builder) {
			b.start(2, 0).tensor("t", 0, 8).u64(32).tensor("u", 0, 8).u64(0).pad().zeros(64)
		}},
		{"version 2", func(b *builder) { b.plain("GGUF").u32(2).zeros(16) }},
		{"private type with all padding", func(b *builder) { b.start(1, 0).tensor("t", 107, 32).u64(0).pad().zeros(32) }},
		{"private type without padding", func(b *builder) { b.start(1, 0).tensor("t", 107, 32).u64(0).pad().zeros(10) }},
		{"private type before another tensor", func(b *builder) {
			b.start(2, 0).tensor("t", 100, 64, 8).u64(0).tensor("u", 0, 1).u64(288).pad().zeros(292)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := &builder{}
			test.build(b)
			f, err := b.read()
			if err != nil {
				t.Fatal(err)
			}
			if err := checkInvariants(f); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestUnknownType checks that a tensor of an unknown type is described as far
// as possible.
func TestUnknownType(t *testing.T) {
	b := &builder{}
	b.start(3, 0).tensor("a", 9, 32).u64(0).tensor("b", 0, 1).u64(64).tensor("c", 4242, 5, 3).u64(96).pad().zeros(101)
	f, err := b.read()
	if err != nil {
		t.Fatal(err)
	}
	data := f.Parts()[0].DataOffset
	want := []Tensor{
		{Name: "a", Type: 9, Dims: []int64{32}, Offset: data, Size: 64},
		{Name: "b", Type: tensor.F32, Dims: []int64{1}, Offset: data + 64, Size: 4},
		{Name: "c", Type: 4242, Dims: []int64{5, 3}, Offset: data + 96, Size: 5},
	}
	for i, got := range f.Tensors() {
		if got.Name != want[i].Name || got.Type != want[i].Type || !slices.Equal(got.Dims, want[i].Dims) ||
			got.Offset != want[i].Offset || got.Size != want[i].Size {
			t.Errorf("got %+v, want %+v", got, want[i])
		}
	}
	c, _ := f.Tensor("c")
	if c.Type.Known() || c.RowBytes() != 0 || c.Rows() != 3 || c.Elements() != 15 {
		t.Errorf("known %v, row bytes %d, rows %d, elements %d", c.Type.Known(), c.RowBytes(), c.Rows(), c.Elements())
	}
}

// TestTruncated cuts a small file at every byte: only the padding at the end
// may go.
func TestTruncated(t *testing.T) {
	whole := smallFile(t)
	f, err := readBytes(whole)
	if err != nil {
		t.Fatal(err)
	}
	end := int64(0)
	for _, tensor := range f.Tensors() {
		end = max(end, tensor.Offset+tensor.Size)
	}
	for n := range whole {
		_, err := readBytes(whole[:n])
		if int64(n) < end && err == nil {
			t.Errorf("no error with %d of %d bytes", n, len(whole))
		}
		if int64(n) >= end && err != nil {
			t.Errorf("with %d of %d bytes, all data present: %v", n, len(whole), err)
		}
	}
}

// TestShorterThanSize reads from a file that ends before the size says.
func TestShorterThanSize(t *testing.T) {
	whole := smallFile(t)
	for n := range 200 {
		_, err := Read("test.gguf", strings.NewReader(string(whole[:n])), int64(len(whole)))
		if err == nil || !strings.Contains(err.Error(), "test.gguf") || !strings.Contains(err.Error(), "unexpected EOF") {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
}
