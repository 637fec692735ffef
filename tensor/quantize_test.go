package tensor

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// quantizable lists the types of blocks that Quantize takes.
func quantizable() []Type {
	return slices.DeleteFunc(Types(), func(t Type) bool { return !t.CanQuantize() || t.BlockSize() == 1 })
}

func mustQuantize(t rapid.TB, typ Type, src, importance []float32) []byte {
	t.Helper()
	size, err := typ.RowSize(int64(len(src)))
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, size)
	if err := QuantizeWeighted(typ, dst, src, importance); err != nil {
		t.Fatal(err)
	}
	return dst
}

// requantized returns what src comes back as.
func requantized(t rapid.TB, typ Type, src, importance []float32) []float32 {
	t.Helper()
	back := make([]float32, len(src))
	Dequantize(typ, back, mustQuantize(t, typ, src, importance))
	return back
}

// relativeError is that of the vectors, each element with a weight; nil is 1.
func relativeError(got, want, weights []float32) float64 {
	var diff, norm float64
	for i := range want {
		w := 1.0
		if weights != nil {
			w = float64(weights[i%len(weights)])
		}
		e := float64(got[i]) - float64(want[i])
		diff += w * e * e
		norm += w * float64(want[i]) * float64(want[i])
	}
	return math.Sqrt(diff / norm)
}

func TestQuantizableTypes(t *testing.T) {
	for _, typ := range []Type{
		F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, MXFP4,
		Q4_0_ROCMFP4, Q4_0_ROCMFP4_FAST, Q2_0_ROCMFPX, Q3_0_ROCMFPX, Q6_0_ROCMFPX, Q8_0_ROCMFPX,
	} {
		if !typ.CanQuantize() {
			t.Errorf("no quantizer for %v", typ)
		}
	}
}

// The error without importance is at most 2 % above that of the reference
// quantizer, and as small as the project has had it (a regression test).
func TestQuantizationError(t *testing.T) {
	const rows = 6 // the others are special
	source := readFloats(t, "source.f32")
	for _, r := range references(t) {
		typ := Type(r.id)
		if !typ.CanQuantize() || r.plain < 0 {
			continue
		}
		got := relativeError(requantized(t, typ, source, nil)[:rows*1024], source[:rows*1024], nil)
		t.Logf("%v: %.5f, %.3f of the reference", typ, got, got/r.plain)
		if got > 1.001*r.plain { // the rounding of the table is worth that
			t.Errorf("%v: relative error %.5f, that of the reference is %.5f", typ, got, r.plain)
		}
	}
}

// The types without a reference have errors that suit their bits.
func TestQuantizationErrorROCmFP(t *testing.T) {
	source := readFloats(t, "source.f32")[:6*1024]
	for typ, most := range map[Type]float64{
		Q2_0_ROCMFPX: 0.307, Q3_0_ROCMFPX: 0.173, Q4_0_ROCMFP4: 0.081, Q4_0_ROCMFP4_FAST: 0.089, Q6_0_ROCMFPX: 0.0197, Q8_0_ROCMFPX: 0.0054,
	} {
		if got := relativeError(requantized(t, typ, source, nil), source, nil); got > most {
			t.Errorf("%v: relative error %.5f, want at most %g", typ, got, most)
		}
	}
}

// Importance lowers the error where it counts, to what the reference reaches
// with the same importance.
func TestImportance(t *testing.T) {
	source, importance := readFloats(t, "source.f32")[:6*1024], readFloats(t, "importance.f32")
	for _, typ := range quantizable() {
		if typ == Q8_0 {
			continue
		}
		plain := relativeError(requantized(t, typ, source, nil), source, importance)
		weighted := relativeError(requantized(t, typ, source, importance), source, importance)
		if weighted > plain*1.003 { // fp8 gains nothing
			t.Errorf("%v: weighted error %.5f with importance, %.5f without", typ, weighted, plain)
		}
		if !slices.Contains(withReference, typ) {
			continue
		}
		if reference := relativeError(readGolden(t, typ).values[:len(source)], source, importance); weighted > 1.005*reference {
			t.Errorf("%v: weighted error %.5f, that of the reference is %.5f", typ, weighted, reference)
		}
	}
}

// These were quantized without a search.
func TestQuantizeGivesTheBytesOfTheReference(t *testing.T) {
	source := readFloats(t, "source.f32")
	for _, typ := range []Type{F16, BF16, Q8_0, MXFP4} {
		if !bytes.Equal(mustQuantize(t, typ, source, nil), readGolden(t, typ).quantized) {
			t.Errorf("%v: the bytes differ", typ)
		}
	}
}

// The bytes are the same on every platform and in every version, unless a
// search is changed on purpose: then these checksums are too.
func TestQuantizedBytes(t *testing.T) {
	source, importance := readFloats(t, "source.f32"), readFloats(t, "importance.f32")
	for _, test := range []struct {
		typ             Type
		plain, weighted uint32
	}{
		{Q4_0, 0xbdcf17a2, 0x16dae683},
		{Q4_1, 0xcffdd880, 0xfbbeeca8},
		{Q5_0, 0x4ba4624c, 0x2680b7de},
		{Q5_1, 0x3812ce44, 0xd74901f8},
		{Q8_0, 0x0a936d5b, 0x0a936d5b},
		{Q2_K, 0xd2a7b5b6, 0x3588d9e2},
		{Q3_K, 0x221799f0, 0xfc5b01fc},
		{Q4_K, 0x70d12bbd, 0xe799a2c0},
		{Q5_K, 0xa7d96bf0, 0xaada5e50},
		{Q6_K, 0x0e92fff8, 0x89f1187b},
		{IQ4_NL, 0x49a9e4c5, 0xb1784304},
		{IQ4_XS, 0x015ab02d, 0xb5511f34},
		{MXFP4, 0x9f4b07f2, 0x3305d2a6},
		{Q4_0_ROCMFP4, 0x81fc68af, 0xf05bef47},
		{Q4_0_ROCMFP4_FAST, 0x00578da6, 0x200ffffe},
		{Q6_0_ROCMFPX, 0x1ce9a2b3, 0x06dd71d8},
		{Q8_0_ROCMFPX, 0xa96206e4, 0x7a3e194b},
		{Q3_0_ROCMFPX, 0xc1e28ab6, 0x5cc3e6d9},
		{Q2_0_ROCMFPX, 0xb9e80f8e, 0x9ab930c2},
	} {
		plain := crc32.ChecksumIEEE(mustQuantize(t, test.typ, source, nil))
		weighted := crc32.ChecksumIEEE(mustQuantize(t, test.typ, source, importance))
		if plain != test.plain || weighted != test.weighted {
			t.Errorf("{%v, %#08x, %#08x},", test.typ, plain, weighted)
		}
	}
}

// What has been in dst before does not matter, blocks do not depend on each
// other, and nothing beyond dst is written.
func TestQuantizeStaysInside(t *testing.T) {
	source, importance := readFloats(t, "source.f32"), readFloats(t, "importance.f32")
	for _, typ := range quantizable() {
		for _, importance := range [][]float32{nil, importance} {
			want := mustQuantize(t, typ, source, importance)
			around := bytes.Repeat([]byte{0xa5}, 9+len(want)+9)
			dst := around[9:][:len(want)]
			before := slices.Clone(source)
			if err := QuantizeWeighted(typ, dst, source, importance); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(dst, want) {
				t.Errorf("%v: the bytes depend on what was there before", typ)
			}
			if !bytes.Equal(slices.Concat(around[:9], around[9+len(want):]), bytes.Repeat([]byte{0xa5}, 18)) {
				t.Errorf("%v: wrote outside dst", typ)
			}
			if !slices.Equal(source, before) {
				t.Errorf("%v: the source has changed", typ)
			}
		}
		block := slices.Clone(source[typ.BlockSize():][:typ.BlockSize()])
		if got := mustQuantize(t, typ, block, nil); !bytes.Equal(got, mustQuantize(t, typ, source, nil)[typ.BlockBytes():][:typ.BlockBytes()]) {
			t.Errorf("%v: the second block alone gives other bytes", typ)
		}
	}
}

// Special blocks come back as well as the format allows.
func TestSpecialBlocks(t *testing.T) {
	for _, typ := range quantizable() {
		n := typ.BlockSize()
		block := func(f func(i int) float32) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = f(i)
			}
			return x
		}
		for name, x := range map[string][]float32{
			"zeros":          block(func(int) float32 { return 0 }),
			"minus zeros":    block(func(int) float32 { return float32(math.Copysign(0, -1)) }),
			"tiny":           block(func(i int) float32 { return float32(i%3-1) * 1e-44 }),
			"below all":      block(func(i int) float32 { return float32(i%3-1) * 1e-30 }),
			"one element":    block(func(i int) float32 { return float32(max(1-i, 0)) }),
			"minus one":      block(func(i int) float32 { return -float32(max(1-i, 0)) }),
			"equal":          block(func(int) float32 { return 0.75 }),
			"equal negative": block(func(int) float32 { return -0.75 }),
			"largest":        block(func(i int) float32 { return typ.limit() * float32(1-2*(i%2)) }),
			"least":          block(func(int) float32 { return -typ.limit() }),
			"far apart":      block(func(i int) float32 { return []float32{1e-3, -100, 1e-20, 0}[i%4] }),
		} {
			back := requantized(t, typ, x, nil)
			most := slices.MaxFunc(x, func(a, b float32) int { return int(math.Copysign(1, float64(abs32(a)-abs32(b)))) })
			for i, f := range back {
				if e := abs32(f - x[i]); !(e <= abs32(most)*0.51+1e-6) {
					t.Errorf("%v: %s: element %d comes back as %g, was %g", typ, name, i, f, x[i])
					break
				}
			}
		}
	}
}

func TestQuantizeRefusesValues(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, typ := range quantizable() {
		n := 2 * typ.BlockSize()
		for _, bad := range []float32{float32(math.NaN()), inf, -inf, math.Nextafter32(typ.limit(), inf), -math.Nextafter32(typ.limit(), inf)} {
			src := make([]float32, n)
			src[n-3] = bad
			dst := bytes.Repeat([]byte{7}, 2*typ.BlockBytes())
			err := Quantize(typ, dst, src)
			var value *ValueError
			if !errors.As(err, &value) || value.Index != n-3 || value.Type != typ {
				t.Errorf("%v: %v gives error %v", typ, bad, err)
				continue
			}
			for _, part := range []string{typ.String(), fmt.Sprint(n - 3), fmt.Sprint(bad)} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v: error %q lacks %q", typ, err, part)
				}
			}
			if !bytes.Equal(dst, bytes.Repeat([]byte{7}, len(dst))) {
				t.Errorf("%v: dst is written in spite of the error", typ)
			}
		}
	}
	for typ, limit := range map[Type]float32{F32: math.MaxFloat32, F16: 65504, BF16: math.Float32frombits(0x7f7f7fff)} {
		if err := CheckValues(typ, []float32{limit, -limit}); err != nil {
			t.Errorf("%v: %v", typ, err)
		}
		if err := CheckValues(typ, []float32{0, math.Nextafter32(limit, inf)}); err == nil || !strings.Contains(err.Error(), "element 1") {
			t.Errorf("%v: beyond %g: error %v", typ, limit, err)
		}
		dst := make([]byte, typ.BlockBytes())
		if err := Quantize(typ, dst, []float32{limit}); err != nil {
			t.Errorf("%v: %v", typ, err)
		}
		back := make([]float32, 1)
		if Dequantize(typ, back, dst); math.IsInf(float64(back[0]), 0) {
			t.Errorf("%v: %g becomes infinite", typ, limit)
		}
	}
}

func TestQuantizeWeightedRefuses(t *testing.T) {
	src, dst := make([]float32, 512), make([]byte, 2*144)
	nan := float32(math.NaN())
	for name, importance := range map[string][]float32{
		"no columns": {}, "no whole block": make([]float32, 128), "no whole rows": make([]float32, 768),
		"negative": slices.Concat(make([]float32, 255), []float32{-1}), "NaN": slices.Concat(make([]float32, 255), []float32{nan}),
		"infinite": slices.Concat(make([]float32, 255), []float32{float32(math.Inf(1))}),
	} {
		if err := QuantizeWeighted(Q4_K, dst, src, importance); err == nil || !strings.Contains(err.Error(), "importance") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if err := QuantizeWeighted(IQ1_S, nil, nil, make([]float32, 256)); err == nil {
		t.Error("no error for a type without a quantizer")
	}
	// No importance at all counts as equal importance.
	source := readFloats(t, "source.f32")[:1024]
	zeros := mustQuantize(t, Q4_K, source, make([]float32, 1024))
	if !bytes.Equal(zeros, mustQuantize(t, Q4_K, source, nil)) {
		t.Error("an importance of zeros does not count as none")
	}
}

// On other processors the compiler fuses a product and a sum where it may. It
// must not find a place in this package.
func TestNothingIsFusedInQuantizers(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for arm64")
	}
	object := filepath.Join(t.TempDir(), "tensor.a")
	build := exec.Command("go", "build", "-o", object, ".")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("no compiler for arm64: %v: %s", err, out)
	}
	code, err := exec.Command("go", "tool", "objdump", "-s", `tensor\.`, object).Output()
	if err != nil || !bytes.Contains(code, []byte("FMULS")) || !bytes.Contains(code, []byte("offsetBlock")) {
		t.Fatalf("no code found: %v", err)
	}
	fused := regexp.MustCompile(`FN?M(ADD|SUB)`)
	for line := range strings.Lines(string(code)) {
		if fused.MatchString(line) {
			t.Error(strings.TrimSpace(line))
		}
	}
}

func TestQuantizeDoesNotAllocate(t *testing.T) {
	source, importance := readFloats(t, "source.f32"), readFloats(t, "importance.f32")
	for _, typ := range quantizable() {
		dst := mustQuantize(t, typ, source, nil)
		if n := testing.AllocsPerRun(2, func() { _ = Quantize(typ, dst, source) }); n != 0 {
			t.Errorf("%v: %v allocations", typ, n)
		}
		if n := testing.AllocsPerRun(2, func() { _ = QuantizeWeighted(typ, dst, source, importance) }); n > 1 {
			t.Errorf("%v: %v allocations with importance", typ, n)
		}
	}
}

// MB/s are of float32 values read.
func BenchmarkQuantize(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	src := make([]float32, 16384)
	for i := range src {
		src[i] = float32(random.NormFloat64()) * 0.02
	}
	for _, typ := range Types() {
		if !typ.CanQuantize() {
			continue
		}
		b.Run(typ.String(), func(b *testing.B) {
			dst := mustQuantize(b, typ, src, nil)
			b.SetBytes(int64(4 * len(src)))
			for b.Loop() {
				if err := Quantize(typ, dst, src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func ExampleQuantize() {
	values := make([]float32, Q8_0.BlockSize())
	values[0], values[1] = 1.27, -0.5
	block := make([]byte, Q8_0.BlockBytes())
	if err := Quantize(Q8_0, block, values); err != nil {
		panic(err)
	}
	fmt.Println(F16ToF32(le.Uint16(block)), int8(block[2]), int8(block[3]))

	values[7] = float32(math.NaN())
	fmt.Println(Quantize(Q8_0, block, values))
	// Output:
	// 0.010002136 127 -50
	// tensor: element 7 is NaN, which q8_0 cannot hold
}
