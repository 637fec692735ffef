package kvtier

import (
	"fmt"
	"testing"

	"gorun/tensor"
)

// TestRowBytes holds the bytes of a position to formulas of their own: values
// in a block, bytes of a block, for each type.
func TestRowBytes(t *testing.T) {
	blocks := map[string]func(dim int) (n, bytes int){}
	for name, b := range map[string][2]int{
		"f32": {1, 4}, "f16": {1, 2}, "bf16": {1, 2}, "q8_0": {32, 34}, "q5_0": {32, 22}, "q5_1": {32, 24},
		"q4_0": {32, 18}, "q4_1": {32, 20}, "iq4_nl": {32, 18},
	} {
		blocks[name] = func(int) (int, int) { return b[0], b[1] }
	}
	for name, bits := range map[string]int{"turbo4": 4, "turbo3": 3, "turbo2": 2} {
		blocks[name] = func(dim int) (int, int) {
			n := 128
			if dim%128 != 0 && (dim+63)/64%2 == 1 {
				n = 64
			}
			return n, 2 + n*bits/8
		}
	}
	if len(blocks) != len(Types()) {
		t.Fatalf("%d types, the test knows %d", len(Types()), len(blocks))
	}
	head := func(name string, dim int) int64 {
		n, bytes := blocks[name](dim)
		return int64((dim + n - 1) / n * bytes)
	}
	dims := [][2]int{{8, 8}, {16, 16}, {32, 32}, {64, 64}, {72, 72}, {80, 80}, {96, 96}, {112, 112}, {128, 128}, {192, 192}, {192, 128}, {256, 256}, {576, 512}}
	for _, k := range Types() {
		for _, v := range Types() {
			for _, dim := range dims {
				for _, heads := range []int{1, 3, 8} {
					for _, mla := range []bool{false, true} {
						g, err := NewGeometry(repeat(3, Shape{Heads: heads, KDim: dim[0], VDim: dim[1], VInK: mla}), k, v, 0)
						if err != nil {
							t.Fatal(err)
						}
						want := int64(heads) * head(k.String(), dim[0])
						if !mla {
							want += int64(heads) * head(v.String(), dim[1])
						}
						what := fmt.Sprintf("%v:%v, %d heads of %v, MLA %v", k, v, heads, dim, mla)
						l := g.Layers[1]
						if l.BytesPerToken() != want || g.BytesPerToken() != 3*want {
							t.Errorf("%s: %d bytes a token, want %d", what, l.BytesPerToken(), want)
						}
						if page := l.PageBytes(); page != want*int64(g.BlockTokens) || g.BlockTokens < MaxBlockTokens && (page%4096 != 0 || page < leastPage) {
							t.Errorf("%s: pages of %d bytes in blocks of %d", what, page, g.BlockTokens)
						}
						if g.Waste() < 0 || g.Waste() >= g.BytesPerToken() {
							t.Errorf("%s: %d of %d bytes are padding", what, g.Waste(), g.BytesPerToken())
						}
					}
				}
			}
		}
	}
}

// TestEqualSizesAreNotEqual: q4_0 and iq4_nl have blocks of one size.
func TestEqualSizesAreNotEqual(t *testing.T) {
	if tensor.Q4_0.BlockBytes() != tensor.IQ4_NL.BlockBytes() {
		t.Skip("no longer of one size")
	}
	one := repeat(1, Shape{Heads: 1, KDim: 64, VDim: 64})
	a, err := NewGeometry(one, tensor.Q4_0, tensor.Q4_0, 4)
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewGeometry(one, tensor.IQ4_NL, tensor.IQ4_NL, 4)
	if err != nil {
		t.Fatal(err)
	}
	if a.Layers[0] == b.Layers[0] {
		t.Error("the layouts do not differ")
	}
}
