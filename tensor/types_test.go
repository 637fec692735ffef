package tensor

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// quantDir holds, for each type that has a reference, a file with quantized
// and dequantized values, and errors.tsv.
var quantDir = filepath.Join("..", "testdata", "quant")

// A reference is one line of errors.tsv.
type reference struct {
	name             string
	id, block, bytes int
	err, plain       float64 // relative error with importance weights, and without (-1: no such file)
}

func references(t testing.TB) []reference {
	t.Helper()
	f, err := os.Open(filepath.Join(quantDir, "errors.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var refs []reference
	lines := bufio.NewScanner(f)
	lines.Scan() // the heading
	for lines.Scan() {
		var r reference
		if _, err := fmt.Sscan(lines.Text(), &r.name, &r.id, &r.block, &r.bytes, &r.err, &r.plain); err != nil {
			t.Fatalf("errors.tsv: %q: %v", lines.Text(), err)
		}
		refs = append(refs, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return refs
}

func TestTypesAgainstReference(t *testing.T) {
	for _, r := range references(t) {
		got, err := ParseType(r.name)
		if err != nil {
			t.Error(err)
			continue
		}
		if got != Type(r.id) || got.BlockSize() != r.block || got.BlockBytes() != r.bytes {
			t.Errorf("%s: id %d, block of %d in %d bytes; the reference has %d, %d, %d",
				r.name, uint32(got), got.BlockSize(), got.BlockBytes(), r.id, r.block, r.bytes)
		}
	}
}

func TestTypeTable(t *testing.T) {
	types := Types()
	if len(types) != len(table) || !slices.IsSorted(types) {
		t.Errorf("Types() = %v: want all %d types in order", types, len(table))
	}
	names := map[string]bool{}
	for _, typ := range types {
		name := strings.ToLower(typ.String())
		if names[name] {
			t.Errorf("two types are named %s", name)
		}
		names[name] = true
		for _, spelling := range []string{typ.String(), name, strings.ToUpper(name)} {
			if got, err := ParseType(spelling); got != typ || err != nil {
				t.Errorf("ParseType(%q) = %v, %v", spelling, got, err)
			}
		}
		if !typ.Known() || typ.BlockSize() < 1 || typ.BlockBytes() < 1 {
			t.Errorf("%v: known %t, block of %d in %d bytes", typ, typ.Known(), typ.BlockSize(), typ.BlockBytes())
		}
		if private := typ >= 100; typ.Private() != private {
			t.Errorf("%v: private = %t", typ, typ.Private())
		}
	}
}

func TestUnknownTypes(t *testing.T) {
	for _, typ := range []Type{4, 5, 9, 15, 31, 42, 99, 105, 106, 108, math.MaxUint32} {
		if typ.Known() || typ.Private() || typ.CanDequantize() || typ.CanQuantize() || typ.BlockSize() != 0 || typ.BlockBytes() != 0 {
			t.Errorf("%v is known", typ)
		}
		if got, want := typ.String(), fmt.Sprintf("type(%d)", uint32(typ)); got != want {
			t.Errorf("String() = %q, want %q", got, want)
		}
		if _, err := typ.RowSize(256); err == nil || !strings.Contains(err.Error(), typ.String()) {
			t.Errorf("%v.RowSize(256): error %v, want one with the type's number", typ, err)
		}
	}
	for _, name := range []string{"", "q4", "q4_k ", "type(2)"} {
		if got, err := ParseType(name); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) {
			t.Errorf("ParseType(%q) = %v, %v, want an error with the name", name, got, err)
		}
	}
}

func TestRowSize(t *testing.T) {
	const most = math.MaxInt64
	for _, test := range []struct {
		t    Type
		n    int64
		want int64 // -1: error
	}{
		{F32, 0, 0},
		{F32, 1, 4},
		{F32, 1023, 4092},
		{F32, -1, -1},
		{F32, most / 4, most / 4 * 4},
		{F32, most/4 + 1, -1},
		{F32, most, -1},
		{I8, most, most},
		{I8, math.MinInt64, -1},
		{I64, 3, 24},
		{F64, most / 8, most / 8 * 8},
		{F64, most/8 + 1, -1},
		{Q4_0, 0, 0},
		{Q4_0, 31, -1},
		{Q4_0, 32, 18},
		{Q4_0, 33, -1},
		{Q4_0, -32, -1},
		{Q4_0, most &^ 31, most / 32 * 18},
		{Q4_0, most, -1},
		{Q8_0, most &^ 31, -1}, // more bytes than elements
		{Q8_0, most / 34 * 32, most / 34 * 34},
		{Q8_0, most/34*32 + 32, -1},
		{Q6_K, 4096, 3360},
		{Q6_K, 128, -1},
		{NVFP4, 96, -1},
		{NVFP4, 128, 72},
		{Q1_0, 128, 18},
		{Q8_0_ROCMFPX, 64, 66},
	} {
		got, err := test.t.RowSize(test.n)
		if test.want < 0 {
			if err == nil || !strings.Contains(err.Error(), fmt.Sprint(test.n)) {
				t.Errorf("%v.RowSize(%d) = %d, %v, want an error with the number", test.t, test.n, got, err)
			}
		} else if got != test.want || err != nil {
			t.Errorf("%v.RowSize(%d) = %d, %v, want %d", test.t, test.n, got, err, test.want)
		}
	}
}
