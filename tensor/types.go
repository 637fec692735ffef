package tensor

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Type is the element type of a tensor, numbered as in GGUF files (ggml's
// type ids; ids 100 and above are the ROCmFP fork's).
type Type uint32

// The element types that gorun knows.
const (
	F32     Type = 0
	F16     Type = 1
	Q4_0    Type = 2
	Q4_1    Type = 3
	Q5_0    Type = 6
	Q5_1    Type = 7
	Q8_0    Type = 8
	Q2_K    Type = 10
	Q3_K    Type = 11
	Q4_K    Type = 12
	Q5_K    Type = 13
	Q6_K    Type = 14
	IQ2_XXS Type = 16
	IQ2_XS  Type = 17
	IQ3_XXS Type = 18
	IQ1_S   Type = 19
	IQ4_NL  Type = 20
	IQ3_S   Type = 21
	IQ2_S   Type = 22
	IQ4_XS  Type = 23
	I8      Type = 24
	I16     Type = 25
	I32     Type = 26
	I64     Type = 27
	F64     Type = 28
	IQ1_M   Type = 29
	BF16    Type = 30
	TQ1_0   Type = 34
	TQ2_0   Type = 35
	MXFP4   Type = 39
	NVFP4   Type = 40
	Q1_0    Type = 41

	Q4_0_ROCMFP4      Type = 100
	Q4_0_ROCMFP4_FAST Type = 101
	Q6_0_ROCMFPX      Type = 102
	Q8_0_ROCMFPX      Type = 103
	Q3_0_ROCMFPX      Type = 104
	Q2_0_ROCMFPX      Type = 107
)

// info is one line of the type table.
type info struct {
	name  string
	block int // elements per block
	bytes int // bytes per block
}

var table = map[Type]info{
	F32:     {"f32", 1, 4},
	F16:     {"f16", 1, 2},
	BF16:    {"bf16", 1, 2},
	F64:     {"f64", 1, 8},
	I8:      {"i8", 1, 1},
	I16:     {"i16", 1, 2},
	I32:     {"i32", 1, 4},
	I64:     {"i64", 1, 8},
	Q4_0:    {"q4_0", 32, 18},
	Q4_1:    {"q4_1", 32, 20},
	Q5_0:    {"q5_0", 32, 22},
	Q5_1:    {"q5_1", 32, 24},
	Q8_0:    {"q8_0", 32, 34},
	Q2_K:    {"q2_K", 256, 84},
	Q3_K:    {"q3_K", 256, 110},
	Q4_K:    {"q4_K", 256, 144},
	Q5_K:    {"q5_K", 256, 176},
	Q6_K:    {"q6_K", 256, 210},
	IQ2_XXS: {"iq2_xxs", 256, 66},
	IQ2_XS:  {"iq2_xs", 256, 74},
	IQ3_XXS: {"iq3_xxs", 256, 98},
	IQ1_S:   {"iq1_s", 256, 50},
	IQ4_NL:  {"iq4_nl", 32, 18},
	IQ3_S:   {"iq3_s", 256, 110},
	IQ2_S:   {"iq2_s", 256, 82},
	IQ4_XS:  {"iq4_xs", 256, 136},
	IQ1_M:   {"iq1_m", 256, 56},
	TQ1_0:   {"tq1_0", 256, 54},
	TQ2_0:   {"tq2_0", 256, 66},
	MXFP4:   {"mxfp4", 32, 17},
	NVFP4:   {"nvfp4", 64, 36},
	Q1_0:    {"q1_0", 128, 18},

	Q4_0_ROCMFP4:      {"q4_0_rocmfp4", 32, 18},
	Q4_0_ROCMFP4_FAST: {"q4_0_rocmfp4_fast", 32, 17},
	Q6_0_ROCMFPX:      {"q6_0_rocmfpx", 32, 26},
	Q8_0_ROCMFPX:      {"q8_0_rocmfpx", 32, 33},
	Q3_0_ROCMFPX:      {"q3_0_rocmfpx", 32, 14},
	Q2_0_ROCMFPX:      {"q2_0_rocmfpx", 32, 10},
}

// Types returns every type that files may hold, in the order of their ids.
func Types() []Type {
	types := make([]Type, 0, len(table))
	for t := range table {
		types = append(types, t)
	}
	slices.Sort(types)
	return types
}

// ParseType returns the type whose String is name, ignoring case.
func ParseType(name string) (Type, error) {
	for t, i := range table {
		if strings.EqualFold(i.name, name) {
			return t, nil
		}
	}
	return 0, fmt.Errorf("tensor: unknown type %q", name)
}

// Known reports whether files may hold the type.
func (t Type) Known() bool { _, ok := table[t]; return ok }

// Private reports whether the type id belongs to the ROCmFP fork. Other forks
// use the same ids for other formats, so a reader accepts such a tensor only
// after checking its size in the file against RowSize.
func (t Type) Private() bool { return t >= 100 && t.Known() }

// String returns the type's name as users write it, "q4_K" for example.
func (t Type) String() string {
	if i, ok := t.info(); ok {
		return i.name
	}
	return fmt.Sprintf("type(%d)", uint32(t))
}

// info finds the type in the table, or among those of the KV cache.
func (t Type) info() (info, bool) {
	if t >= kvOnly && int(t-kvOnly) < len(kvTable) {
		return kvTable[t-kvOnly], true
	}
	i, ok := table[t]
	return i, ok
}

// BlockSize is the number of elements that one block holds.
func (t Type) BlockSize() int { i, _ := t.info(); return i.block }

// BlockBytes is the number of bytes of one block.
func (t Type) BlockBytes() int { i, _ := t.info(); return i.bytes }

// RowSize returns the bytes of a row of n elements. It is the one function
// that sizes rows in files, pages, plans and kernels.
func (t Type) RowSize(n int64) (int64, error) {
	i, ok := t.info()
	switch {
	case !ok:
		return 0, fmt.Errorf("tensor: %v is not a known type", t)
	case n < 0 || n%int64(i.block) != 0:
		return 0, fmt.Errorf("tensor: a row of %d elements is not a whole number of %v blocks of %d", n, t, i.block)
	case n/int64(i.block) > math.MaxInt64/int64(i.bytes):
		return 0, fmt.Errorf("tensor: a row of %d elements of %v overflows", n, t)
	}
	return n / int64(i.block) * int64(i.bytes), nil
}
