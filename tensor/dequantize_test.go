package tensor

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// withReference lists the types that must have a file of reference values.
var withReference = []Type{
	F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K,
	IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S, IQ4_NL, IQ4_XS,
	TQ1_0, TQ2_0, MXFP4, NVFP4, Q1_0,
}

// dequantizable lists the types that Dequantize takes.
func dequantizable() []Type {
	return slices.DeleteFunc(Types(), func(t Type) bool { return !t.CanDequantize() })
}

// goldenRows is the content of a file of reference values.
type goldenRows struct {
	rows, cols int
	quantized  []byte
	values     []float32
}

// readGolden reads a file: int32 rows, columns, bytes of a row, type; the
// quantized rows; the dequantized rows as float32.
func readGolden(t testing.TB, typ Type) goldenRows {
	t.Helper()
	name := filepath.Join(quantDir, typ.String()+".bin")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) < 16 {
		t.Fatalf("%s: only %d bytes", name, len(b))
	}
	g := goldenRows{rows: int(le.Uint32(b)), cols: int(le.Uint32(b[4:]))}
	rowBytes, id := int(le.Uint32(b[8:])), Type(le.Uint32(b[12:]))
	if want, err := typ.RowSize(int64(g.cols)); id != typ || err != nil || int64(rowBytes) != want {
		t.Fatalf("%s: type %v, %d bytes a row; want %v, %d (%v)", name, id, rowBytes, typ, want, err)
	}
	if want := 16 + g.rows*(rowBytes+4*g.cols); g.rows < 1 || len(b) != want {
		t.Fatalf("%s: %d bytes, want %d", name, len(b), want)
	}
	g.quantized, g.values = b[16:][:g.rows*rowBytes], floats(b[16+g.rows*rowBytes:])
	return g
}

func readFloats(t testing.TB, name string) []float32 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(quantDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return floats(b)
}

func floats(b []byte) []float32 {
	f := make([]float32, len(b)/4)
	for i := range f {
		f[i] = math.Float32frombits(le.Uint32(b[4*i:]))
	}
	return f
}

// sameBits reports the first element in which got differs from want.
func sameBits(t testing.TB, what any, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%v: %d elements, want %d", what, len(got), len(want))
	}
	for i := range want {
		if g, w := math.Float32bits(got[i]), math.Float32bits(want[i]); g != w {
			t.Errorf("%v: element %d is %g (%#08x), want %g (%#08x)", what, i, got[i], g, want[i], w)
			return
		}
	}
}

func TestDequantizeIsBitExact(t *testing.T) {
	for _, typ := range withReference {
		t.Run(typ.String(), func(t *testing.T) {
			g := readGolden(t, typ)
			got := make([]float32, len(g.values))
			Dequantize(typ, got, g.quantized)
			sameBits(t, typ, got, g.values)
		})
	}
}

// Every type is covered by some test of its values, and every file is used.
func TestReferencesAreComplete(t *testing.T) {
	for _, typ := range dequantizable() {
		if typ != F32 && !typ.Private() && !slices.Contains(withReference, typ) {
			t.Errorf("%v has no reference", typ)
		}
	}
	files, err := filepath.Glob(filepath.Join(quantDir, "*.bin"))
	if err != nil || len(files) != len(withReference) {
		t.Errorf("%d files, want %d (%v)", len(files), len(withReference), err)
	}
	for _, r := range references(t) {
		if !slices.Contains(withReference, Type(r.id)) {
			t.Errorf("errors.tsv has %s, which is not tested", r.name)
		}
	}
}

// The files belong to source.f32: the relative error of rows 0 to 5 is the one
// that the reference quantizer had, given importance.f32 as the importance of
// the columns. The error itself counts all columns alike.
func TestErrorAgainstSource(t *testing.T) {
	const rows = 6 // the others are special
	source := readFloats(t, "source.f32")
	for _, r := range references(t) {
		g := readGolden(t, Type(r.id))
		if len(source) != len(g.values) {
			t.Fatalf("%s: %d values; the source has %d", r.name, len(g.values), len(source))
		}
		got := make([]float32, rows*g.cols)
		Dequantize(Type(r.id), got, g.quantized[:len(g.quantized)/g.rows*rows])
		var diff, norm float64
		for i, f := range got {
			s := float64(source[i])
			diff += (float64(f) - s) * (float64(f) - s)
			norm += s * s
		}
		if e := math.Sqrt(diff / norm); math.Abs(e-r.err) > 0.00001 {
			t.Errorf("%s: relative error %.5f, want %.5f", r.name, e, r.err)
		}
	}
}

func TestQuantizeFloats(t *testing.T) {
	source := readFloats(t, "source.f32")
	for _, typ := range []Type{F16, BF16} {
		got := make([]byte, 2*len(source))
		if err := Quantize(typ, got, source); err != nil {
			t.Fatal(err)
		}
		if want := readGolden(t, typ).quantized; !bytes.Equal(got, want) {
			t.Errorf("%v: the bytes differ from the reference", typ)
		}
	}
	got, back := make([]byte, 4*len(source)), make([]float32, len(source))
	if err := Quantize(F32, got, source); err != nil {
		t.Fatal(err)
	}
	Dequantize(F32, back, got)
	sameBits(t, F32, back, source)
}

func TestQuantizeNamesTheType(t *testing.T) {
	for _, typ := range append(Types(), 4, 1000) {
		if typ.CanQuantize() {
			continue
		}
		if err := Quantize(typ, nil, nil); err == nil || !strings.Contains(err.Error(), typ.String()) {
			t.Errorf("Quantize to %v: error %v, want one with the name", typ, err)
		}
	}
}

// A row of any number of blocks gives what its blocks give one by one, and
// nothing outside the slices is read or written: the slices lie in larger
// ones whose rest is poisoned, at an odd address, and src has no spare
// capacity that an over-long read could use.
func TestDequantizeStaysInside(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const poison = -12345
	for _, typ := range dequantizable() {
		for _, blocks := range []int{0, 1, 2, 3, 5, 7} {
			n, size := blocks*typ.BlockSize(), blocks*typ.BlockBytes()
			memory := make([]byte, 1+size)
			src := memory[1:]
			for i := range src {
				src[i] = byte(random.Uint32())
			}
			before := slices.Clone(src)

			want := make([]float32, n)
			for i := range blocks {
				Dequantize(typ, want[i*typ.BlockSize():][:typ.BlockSize()], src[i*typ.BlockBytes():][:typ.BlockBytes()])
			}
			around := make([]float32, 300+n+300)
			for i := range around {
				around[i] = poison
			}
			dst := around[300:][:n] // with capacity beyond its end
			Dequantize(typ, dst, src)

			sameBits(t, typ, dst, want)
			if !bytes.Equal(src, before) {
				t.Errorf("%v: the source has changed", typ)
			}
			for _, f := range slices.Concat(around[:300], around[300+n:]) {
				if f != poison {
					t.Fatalf("%v: %d blocks: wrote outside dst", typ, blocks)
				}
			}
		}
	}
}

func TestWrongLengthsPanic(t *testing.T) {
	for _, typ := range dequantizable() {
		n, size := typ.BlockSize(), typ.BlockBytes()
		for _, l := range [][2]int{{n, size - 1}, {n, size + 1}, {n, 0}, {0, size}, {2 * n, size}, {n, 2 * size}, {n + 1, size}, {n + 1, size + 1}} {
			mustPanic(t, typ, func() { Dequantize(typ, make([]float32, l[0]), make([]byte, l[1])) })
			if typ.CanQuantize() {
				mustPanic(t, typ, func() { _ = Quantize(typ, make([]byte, l[1]), make([]float32, l[0])) })
			}
		}
	}
	for _, typ := range []Type{F64, I8, I16, I32, I64, 4, 105, 108, math.MaxUint32} {
		if typ.CanDequantize() {
			t.Errorf("%v can be dequantized", typ)
		}
		mustPanic(t, typ, func() { Dequantize(typ, nil, nil) })
	}
}

// mustPanic checks that f panics with a message that names the type.
func mustPanic(t *testing.T, typ Type, f func()) {
	t.Helper()
	defer func() {
		if msg, _ := recover().(string); !strings.Contains(msg, typ.String()) {
			t.Errorf("%v: panic %q, want one with the type's name", typ, msg)
		}
	}()
	f()
}

// On arm64 the compiler fuses a product and a sum where it may. It must not
// find a place in a dequantizer.
func TestNothingIsFused(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for arm64")
	}
	object := filepath.Join(t.TempDir(), "tensor.a")
	build := exec.Command("go", "build", "-o", object, ".")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("no compiler for arm64: %v: %s", err, out)
	}
	code, err := exec.Command("go", "tool", "objdump", "-s", `tensor\.dequantize`, object).Output()
	if err != nil || !bytes.Contains(code, []byte("FMULS")) {
		t.Fatalf("no code found: %v", err)
	}
	fused := regexp.MustCompile(`FN?M(ADD|SUB)`)
	for line := range strings.Lines(string(code)) {
		if fused.MatchString(line) {
			t.Error(strings.TrimSpace(line))
		}
	}
}

func TestDequantizeDoesNotAllocate(t *testing.T) {
	for _, typ := range dequantizable() {
		dst, src := make([]float32, 4*typ.BlockSize()), make([]byte, 4*typ.BlockBytes())
		if n := testing.AllocsPerRun(10, func() { Dequantize(typ, dst, src) }); n != 0 {
			t.Errorf("%v: %v allocations", typ, n)
		}
	}
}

// Any bytes are valid blocks: no type panics, and equal bytes give equal bits.
func FuzzDequantize(f *testing.F) {
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, 300))
	f.Add(bytes.Repeat([]byte{0x7f, 0x80, 0x01}, 200))
	for _, typ := range withReference {
		f.Add(readGolden(f, typ).quantized[:typ.BlockBytes()])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, typ := range dequantizable() {
			blocks := len(data) / typ.BlockBytes()
			src := slices.Clip(data[:blocks*typ.BlockBytes()])
			a, b := make([]float32, blocks*typ.BlockSize()), make([]float32, blocks*typ.BlockSize())
			Dequantize(typ, a, src)
			Dequantize(typ, b, src)
			sameBits(t, typ, a, b)
		}
	})
}

// MB/s are of float32 values written.
func BenchmarkDequantize(b *testing.B) {
	const n = 16384
	random := rand.New(rand.NewPCG(1, 2))
	for _, typ := range dequantizable() {
		b.Run(typ.String(), func(b *testing.B) {
			dst, src := make([]float32, n), make([]byte, n/typ.BlockSize()*typ.BlockBytes())
			if slices.Contains(withReference, typ) {
				q := readGolden(b, typ).quantized[:4*1024/typ.BlockSize()*typ.BlockBytes()] // real scales
				for i := 0; i < len(src); i += copy(src[i:], q) {
				}
			} else {
				for i := range src {
					src[i] = byte(random.Uint32()) & 0x3f // ordinary scales, no NaN
				}
			}
			b.SetBytes(4 * n)
			for b.Loop() {
				Dequantize(typ, dst, src)
			}
		})
	}
}

func ExampleDequantize() {
	// One block of q8_0: the scale 0.5 as f16, then 32 int8.
	block := make([]byte, Q8_0.BlockBytes())
	le.PutUint16(block, F32ToF16(0.5))
	block[2], block[3] = 7, 0xfe
	values := make([]float32, Q8_0.BlockSize())
	Dequantize(Q8_0, values, block)
	fmt.Println(values[:4])
	// Output: [3.5 -1 0 0]
}
