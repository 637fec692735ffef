package gguf

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

const maxU64 = math.MaxUint64

// words are what an error must mention.
type words []string

// malformed lists files with one thing wrong each. Every build marks where the
// error must point to, and the error must contain all words.
var malformed = []struct {
	name  string
	build func(b *builder)
	words words
}{
	// The fixed fields.
	{"empty file", func(b *builder) {}, words{"0 bytes"}},
	{"one byte short of the fixed fields", func(b *builder) { b.start(0, 0).b = b.b[:23]; b.here() }, words{"23 bytes"}},
	{"other format", func(b *builder) { b.plain("GGML").zeros(20) }, words{`"GGML"`, "not a GGUF file"}},
	{"last byte of magic wrong", func(b *builder) { b.plain("GGUf").zeros(20) }, words{`"GGUf"`, "not a GGUF file"}},
	{"first byte of magic wrong", func(b *builder) { b.plain("gGUF").zeros(20) }, words{`"gGUF"`, "not a GGUF file"}},
	{"magic swapped", func(b *builder) { b.plain("FUGG").zeros(20) }, words{"big-endian", `"FUGG"`}},
	{"version 0", func(b *builder) { b.plain("GGUF").here().u32(0).zeros(16) }, words{"version 0 "}},
	{"version 1", func(b *builder) { b.plain("GGUF").here().u32(1).zeros(16) }, words{"version 1 ", "convert"}},
	{"version 4", func(b *builder) { b.plain("GGUF").here().u32(4).zeros(16) }, words{"version 4 "}},
	{"greatest version", func(b *builder) { b.plain("GGUF").here().u32(math.MaxUint32).zeros(16) }, words{"version 4294967295 "}},
	{"big-endian version 2", func(b *builder) { b.plain("GGUF").here().raw(0, 0, 0, 2).zeros(16) }, words{"big-endian", "is 2 "}},
	{"big-endian version 3", func(b *builder) { b.plain("GGUF").here().raw(0, 0, 0, 3).zeros(16) }, words{"big-endian", "is 3 "}},

	// Counts.
	{"greatest tensor count", func(b *builder) { b.start(maxU64, 0).bad = 8 }, words{"tensor count 18446744073709551615", "0 bytes that are left"}},
	{"tensor count one past", func(b *builder) { b.start(3, 0).zeros(2*24 + 23).bad = 8 }, words{"tensor count 3", "71 bytes that are left"}},
	{"tensor count that overflows when multiplied", func(b *builder) { b.start(1<<61+1, 0).zeros(100).bad = 8 }, words{"tensor count 2305843009213693953"}},
	{"more tensors than allowed", func(b *builder) { b.start(maxTensors+1, 0).zeros((maxTensors + 1) * 24).bad = 8 }, words{"tensor count 65537 is more than 65536"}},
	{"greatest key count", func(b *builder) { b.start(0, maxU64).bad = 16 }, words{"metadata key count 18446744073709551615"}},
	{"key count one past", func(b *builder) { b.start(0, 3).zeros(3*12 - 1).bad = 16 }, words{"metadata key count 3", "35 bytes"}},
	{"more keys than allowed", func(b *builder) { b.start(0, maxKeys+1).zeros((maxKeys + 1) * 12).bad = 16 }, words{"metadata key count 16385 is more than 16384"}},
	{"keys where the tensor table must be", func(b *builder) { b.start(1, 2).zeros(24 + 23).bad = 16 }, words{"metadata key count 2", "23 bytes"}},

	// Keys.
	{"greatest key length", func(b *builder) { b.start(0, 1).here().u64(maxU64).zeros(20) }, words{"key length 18446744073709551615"}},
	{"key length one past", func(b *builder) { b.start(0, 1).here().u64(6).zeros(5 + 4) }, words{"key length 6", "5 bytes"}},
	{"empty key", func(b *builder) { b.start(0, 1).here().key("", TypeUint8).raw(0) }, words{"key is empty"}},
	{"key too long", func(b *builder) { b.start(0, 1).here().key(strings.Repeat("k", 65536), TypeUint8).raw(0) }, words{"key length 65536", "65535"}},
	{"key not UTF-8", func(b *builder) { b.start(0, 1).here().key("a\xff", TypeUint8).raw(0) }, words{`"a\xff"`, "UTF-8"}},
	{"key twice", func(b *builder) {
		b.start(0, 2).key("general.name", TypeUint8).raw(7).here().key("general.name", TypeUint8).raw(7)
	}, words{`key "general.name"`, "twice"}},

	// Values.
	{"value type one past", func(b *builder) { b.start(0, 1).text("a.b").here().u32(13).zeros(8) }, words{`key "a.b"`, "value type 13"}},
	{"greatest value type", func(b *builder) { b.start(0, 1).text("a.b").here().u32(math.MaxUint32).zeros(8) }, words{`key "a.b"`, "value type 4294967295"}},
	{"scalar cut off", func(b *builder) { b.start(0, 1).text("a.b").here().u32(uint32(TypeUint64)).zeros(7) }, words{`key "a.b"`, "value length 8", "7 bytes"}},
	{"no room for a value", func(b *builder) { b.start(0, 1).text("a.b").here().u32(uint32(TypeUint8)) }, words{`key "a.b"`, "value length 1", "0 bytes"}},
	{"bool 2", func(b *builder) { b.start(0, 1).key("a.b", TypeBool).here().raw(2) }, words{`key "a.b"`, "bool 2"}},
	{"bool 255", func(b *builder) { b.start(0, 1).key("a.b", TypeBool).here().raw(255) }, words{`key "a.b"`, "bool 255"}},
	{"greatest string length", func(b *builder) { b.start(0, 1).key("a.b", TypeString).here().u64(maxU64).zeros(9) }, words{`key "a.b"`, "string length 18446744073709551615"}},
	{"string length that is negative when signed", func(b *builder) { b.start(0, 1).key("a.b", TypeString).here().u64(1 << 63).zeros(9) }, words{`key "a.b"`, "string length 9223372036854775808"}},
	{"string length one past", func(b *builder) { b.start(0, 1).key("a.b", TypeString).here().u64(10).zeros(9) }, words{`key "a.b"`, "string length 10", "9 bytes"}},

	// Arrays.
	{"element type one past", func(b *builder) { b.start(0, 1).key("a.b", TypeArray).here().array(13, 0) }, words{`key "a.b"`, "element type 13"}},
	{"greatest array length", func(b *builder) {
		b.start(0, 1).key("a.b", TypeArray).u32(uint32(TypeUint8)).here().u64(maxU64).zeros(9)
	}, words{`key "a.b"`, "array length 18446744073709551615"}},
	{"array length that overflows when multiplied", func(b *builder) {
		b.start(0, 1).key("a.b", TypeArray).u32(uint32(TypeUint32)).here().u64(1<<62 + 1).zeros(9)
	}, words{`key "a.b"`, "array length 4611686018427387905"}},
	{"array length one past", func(b *builder) {
		b.start(0, 1).key("a.b", TypeArray).u32(uint32(TypeUint32)).here().u64(3).zeros(11)
	}, words{`key "a.b"`, "array length 3", "11 bytes"}},
	{"string array length one past", func(b *builder) {
		b.start(0, 1).key("a.b", TypeArray).u32(uint32(TypeString)).here().u64(3).zeros(23)
	}, words{`key "a.b"`, "array length 3", "23 bytes"}},
	{"greatest length of a string in an array", func(b *builder) {
		b.start(0, 1).key("a.b", TypeArray).array(TypeString, 2).text("x").here().u64(maxU64).zeros(9)
	}, words{`key "a.b"`, "string length 18446744073709551615"}},
	{"string in an array takes the length of the next", func(b *builder) {
		b.start(0, 1).key("a.b", TypeArray).array(TypeString, 2).here().u64(2).raw('x').u64(0)
	}, words{`key "a.b"`, "string length 2", "1 bytes"}},
	{"bool 2 in an array", func(b *builder) {
		b.start(0, 1).key("a.b", TypeArray).array(TypeBool, 3).raw(0, 1).here().raw(2)
	}, words{`key "a.b"`, "bool 2"}},
	{"element type one past in a nested array", func(b *builder) {
		b.start(0, 1).key("a.b", TypeArray).array(TypeArray, 1).here().array(13, 0)
	}, words{`key "a.b"`, "element type 13"}},
	{"greatest length of a nested array", func(b *builder) {
		b.start(0, 1).key("a.b", TypeArray).array(TypeArray, 1).u32(uint32(TypeInt16)).here().u64(maxU64)
	}, words{`key "a.b"`, "array length 18446744073709551615"}},
	{"array of arrays length one past", func(b *builder) {
		b.start(0, 1).key("a.b", TypeArray).u32(uint32(TypeArray)).here().u64(2).zeros(23)
	}, words{`key "a.b"`, "array length 2", "23 bytes"}},
	{"arrays too deep", func(b *builder) {
		b.start(0, 1).key("a.b", TypeArray)
		for range maxDepth {
			b.array(TypeArray, 1)
		}
		b.here().array(TypeUint8, 0)
	}, words{`key "a.b"`, "8 deep"}},

	// Alignment.
	{"alignment 0", alignmentOf(TypeUint32, 0), words{`key "general.alignment"`, "alignment 0 "}},
	{"alignment not a power of two", alignmentOf(TypeUint32, 24), words{`key "general.alignment"`, "alignment 24 "}},
	{"alignment too small", alignmentOf(TypeUint32, 4), words{`key "general.alignment"`, "alignment 4 "}},
	{"alignment too large", alignmentOf(TypeUint32, maxAlignment*2), words{`key "general.alignment"`, "alignment 33554432 "}},
	{"greatest power of two as alignment", alignmentOf(TypeUint64, 1<<63), words{`key "general.alignment"`, "alignment 9223372036854775808 "}},
	{"negative alignment", alignmentOf(TypeInt32, 1<<32-32), words{`key "general.alignment"`, "-32"}},
	{"alignment is a float", alignmentOf(TypeFloat32, 32), words{`key "general.alignment"`, "f32", "integer"}},
	{"alignment is a string", func(b *builder) { b.start(0, 1).text("general.alignment").here().u32(uint32(TypeString)).text("32") }, words{`key "general.alignment"`, "string", "integer"}},

	// The tensor table.
	{"greatest tensor name length", func(b *builder) { b.start(1, 0).here().u64(maxU64).zeros(99) }, words{"tensor name length 18446744073709551615"}},
	{"tensor name length one past", func(b *builder) { b.start(1, 0).here().u64(6).zeros(5 + 16) }, words{"tensor name length 6", "5 bytes"}},
	{"empty tensor name", func(b *builder) { b.start(1, 0).here().tensor("", 0, 1).u64(0).pad().zeros(4) }, words{"tensor name is empty"}},
	{"tensor name not UTF-8", func(b *builder) { b.start(1, 0).here().tensor("\xc3(", 0, 1).u64(0).pad().zeros(4) }, words{`"\xc3("`, "UTF-8"}},
	{"tensor twice", func(b *builder) {
		b.start(2, 0).tensor("t.w", 0, 1).u64(0).here().tensor("t.w", 0, 1).u64(32).pad().zeros(36)
	}, words{`tensor "t.w"`, "twice"}},
	{"no dimensions", func(b *builder) { b.start(1, 0).text("t.w").here().u32(0).u32(0).u64(0).pad().zeros(4) }, words{`tensor "t.w"`, "0 dimensions"}},
	{"five dimensions", func(b *builder) {
		b.start(1, 0).text("t.w").here().u32(5).u64(1).u64(1).u64(1).u64(1).u64(1).u32(0).u64(0).pad().zeros(4)
	}, words{`tensor "t.w"`, "5 dimensions"}},
	{"greatest number of dimensions", func(b *builder) { b.start(1, 0).text("t.w").here().u32(math.MaxUint32).zeros(99) }, words{`tensor "t.w"`, "4294967295 dimensions"}},
	{"no room for the dimensions", func(b *builder) { b.start(1, 0).text("t.w").here().u32(2).zeros(12 + 15) }, words{`tensor "t.w"`, "dimension count 2", "15 bytes"}},
	{"first dimension 0", dimsOf(0, 0, 7), words{`tensor "t.w"`, "dimension 0 is 0"}},
	{"last dimension 0", dimsOf(0, 7, 0), words{`tensor "t.w"`, "dimension 1 is 0"}},
	{"dimension 0 beside an overflow", dimsOf(0, maxU64, 0), words{`tensor "t.w"`, "18446744073709551615"}},
	{"greatest dimension", dimsOf(0, maxU64), words{`tensor "t.w"`, "18446744073709551615", "overflows"}},
	{"product of dimensions overflows to 0", dimsOf(0, 1<<32, 1<<32), words{`tensor "t.w"`, "[4294967296 4294967296]", "overflows"}},
	{"product of dimensions one past", dimsOf(0, 1<<31, 1<<32), words{`tensor "t.w"`, "[2147483648 4294967296]", "overflows"}},
	{"bytes of a row overflow", typeOf(28, 1<<60), words{`tensor "t.w"`, "1152921504606846976", "f64", "overflows"}},
	{"bytes of all rows overflow", typeOf(28, 1<<30, 1<<30), words{`tensor "t.w"`, "[1073741824 1073741824]", "f64"}},
	{"row of q4_K is no whole number of blocks", typeOf(12, 255, 4), words{`tensor "t.w"`, "255", "q4_K", "256"}},
	{"row of q4_0 is no whole number of blocks", typeOf(2, 16, 2), words{`tensor "t.w"`, "16", "q4_0", "32"}},

	// Places of data.
	{"offset not aligned", func(b *builder) { b.start(1, 0).tensor("t.w", 0, 1).here().u64(4).pad().zeros(64) }, words{`tensor "t.w"`, "data offset 4", "alignment 32"}},
	{"offset not aligned to general.alignment", func(b *builder) {
		b.start(1, 1).key("general.alignment", TypeUint32).u32(64).tensor("t.w", 0, 1).here().u64(32).zeros(256)
	}, words{`tensor "t.w"`, "data offset 32", "alignment 64"}},
	{"greatest aligned offset", func(b *builder) { b.start(1, 0).tensor("t.w", 0, 1).here().u64(maxU64 - 31).pad().zeros(64) }, words{`tensor "t.w"`, "data offset 18446744073709551584", "64 bytes"}},
	{"offset at the end of the file", func(b *builder) { b.start(1, 0).tensor("t.w", 0, 1).here().u64(64).pad().zeros(64) }, words{`tensor "t.w"`, "data offset 64", "64 bytes"}},
	{"no data section", func(b *builder) { b.start(1, 0).tensor("t.w", 0, 1).here().u64(0) }, words{`tensor "t.w"`, "data offset 0", "0 bytes"}},
	{"padding before the data section cut off", func(b *builder) { b.start(1, 0).tensor("t.w", 0, 1).here().u64(0).raw(0) }, words{`tensor "t.w"`, "data offset 0", "0 bytes"}},
	{"data end one byte past", func(b *builder) { b.start(1, 0).tensor("t.w", 0, 8).here().u64(0).pad().zeros(31) }, words{`tensor "t.w"`, "32 bytes", "end of the file"}},
	{"huge tensor", func(b *builder) { b.start(1, 0).tensor("t.w", 24, math.MaxInt64).here().u64(0).pad().zeros(31) }, words{`tensor "t.w"`, "9223372036854775807 bytes", "end of the file"}},
	{"data overlap", func(b *builder) {
		b.start(2, 0).tensor("a.w", 0, 9).here().u64(0).tensor("b.w", 0, 1).u64(32).pad().zeros(64)
	}, words{`tensor "a.w"`, "36 bytes", `tensor "b.w"`}},
	{"data overlap in reverse order", func(b *builder) {
		b.start(2, 0).tensor("b.w", 0, 1).u64(32).tensor("a.w", 0, 9).here().u64(0).pad().zeros(64)
	}, words{`tensor "a.w"`, "36 bytes", `tensor "b.w"`}},
	{"two tensors at one place", func(b *builder) {
		b.start(2, 0).tensor("a.w", 0, 1).here().u64(32).tensor("b.w", 0, 1).u64(32).pad().zeros(64)
	}, words{`tensor "a.w"`, "4 bytes", `tensor "b.w"`}},
	{"tensor of unknown type at the place of another", func(b *builder) {
		b.start(2, 0).tensor("a.w", 9, 32).here().u64(0).tensor("b.w", 0, 1).u64(0).pad().zeros(64)
	}, words{`tensor "a.w"`, `tensor "b.w"`}},
	{"private type id with too little data", func(b *builder) {
		b.start(1, 0).tensor("t.w", 100, 64, 8).here().u64(0).pad().zeros(287)
	}, words{`tensor "t.w"`, "id 100", "q4_0_rocmfp4", "other forks", "288 bytes", "287"}},
	{"private type id with too much data", func(b *builder) {
		b.start(2, 0).tensor("t.w", 101, 64, 8).here().u64(0).tensor("u.w", 0, 1).u64(320).pad().zeros(324)
	}, words{`tensor "t.w"`, "id 101", "q4_0_rocmfp4_fast", "other forks", "272 bytes", "320", `tensor "u.w"`}},
	{"private type id with too much data at the end", func(b *builder) {
		b.start(1, 0).tensor("t.w", 107, 32).here().u64(0).pad().zeros(42)
	}, words{`tensor "t.w"`, "id 107", "q2_0_rocmfpx", "10 bytes", "42", "end of the file"}},
	{"private type id, row is no whole number of blocks", typeOf(102, 33), words{`tensor "t.w"`, "33", "q6_0_rocmfpx"}},
}

// alignmentOf builds a file with an alignment that the reader should refuse.
func alignmentOf(t ValueType, bits uint64) func(*builder) {
	return func(b *builder) {
		b.start(0, 1).text("general.alignment").here().u32(uint32(t))
		Value{typ: t, bits: bits}.writeTo(b)
	}
}

func (b *builder) Write(p []byte) (int, error) { b.raw(p...); return len(p), nil }

// dimsOf builds a file whose one tensor has dimensions that the reader should
// refuse.
func dimsOf(typ uint32, dims ...uint64) func(*builder) {
	return func(b *builder) {
		b.start(1, 0).tensor("t.w", typ, dims...).u64(0).pad().zeros(64)
		b.bad = 24 + 8 + len("t.w") + 4
	}
}

// typeOf is like dimsOf where it is the type that does not go with them.
func typeOf(typ uint32, dims ...uint64) func(*builder) {
	return func(b *builder) {
		dimsOf(typ, dims...)(b)
		b.bad += 8 * len(dims)
	}
}

func TestMalformed(t *testing.T) {
	for _, test := range malformed {
		t.Run(test.name, func(t *testing.T) {
			b := &builder{}
			test.build(b)
			_, err := b.read()
			if err == nil {
				t.Fatal("no error")
			}
			var format *FormatError
			if !errors.As(err, &format) {
				t.Fatalf("not a FormatError: %v", err)
			}
			if format.Offset != int64(b.bad) {
				t.Errorf("offset %d, want %d", format.Offset, b.bad)
			}
			for _, w := range append(test.words, "test.gguf", fmt.Sprintf("offset %d: ", b.bad)) {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error does not mention %q: %v", w, err)
				}
			}
		})
	}
	if len(malformed) < 45 {
		t.Errorf("%d cases", len(malformed))
	}
}
