package gemm

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorun/tensor"
)

// A column's results do not depend on the columns beside it, a row's not on
// how the rows are split into calls.
func TestProductsDoNotDependOnTheSplit(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	const rows, n = 70, 33
	for _, s := range Sets.All() {
		use(t, s)
		for _, typ := range testedTypes() {
			if s == generic && typ != tensor.Q4_K && typ != tensor.F16 {
				continue
			}
			cols := 3 * typ.BlockSize()
			if cols < 256 {
				cols = 1280 // more than a chunk
			}
			w := randomWeights(rng, typ, rows, cols)
			x := prepare(typ, randomActivations(rng, n*cols), n, cols)
			whole := mul(typ, w, rows, cols, x, n)
			rowBytes, xBytes := len(w)/rows, len(x)/n
			for c := 0; c < n; {
				width := min(1+rng.IntN(9), n-c)
				for r := 0; r < rows; {
					count := min(1+rng.IntN(40), rows-r)
					part := mul(typ, w[r*rowBytes:][:count*rowBytes], count, cols, x[c*xBytes:][:width*xBytes], width)
					for i := range width {
						if err := same(part[i*count:][:count], whole[(c+i)*rows+r:][:count]); err != nil {
							t.Fatalf("%v, %v: columns [%d, %d), rows [%d, %d): %v", s.Name(), typ, c, c+width, r, r+count, err)
						}
					}
					r += count
				}
				c += width
			}
		}
	}
}

// Rows of activations are gathered and results scattered; nothing else is
// written.
func TestRowLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	const rows, cols, n, stride, offset = 21, 512, 11, 40, 7
	for _, s := range Sets.All() {
		use(t, s)
		for _, typ := range []tensor.Type{tensor.Q4_0, tensor.Q6_K, tensor.F16, tensor.IQ1_S} {
			w := randomWeights(rng, typ, rows, cols)
			x := prepare(typ, randomActivations(rng, n*cols), n, cols)
			plain := mul(typ, w, rows, cols, x, n)
			for _, used := range []int{1, 5, n} {
				var from, to []int32
				for _, i := range rng.Perm(n)[:used] {
					from = append(from, int32(i))
				}
				for _, i := range rng.Perm(2 * n)[:used] {
					to = append(to, int32(i))
				}
				dst := slices.Repeat([]float32{-1}, 2*n*stride)
				Mul(typ, dst[offset:], stride, to, w, nil, rows, cols, x, from, used, make([]byte, ScratchBytes(typ, cols)))
				want := slices.Repeat([]float32{-1}, 2*n*stride)
				for i := range from {
					copy(want[offset+int(to[i])*stride:], plain[int(from[i])*rows:][:rows])
				}
				if err := same(dst, want); err != nil {
					t.Fatalf("%v, %v, %d rows: %v", s.Name(), typ, used, err)
				}
			}
		}
	}
}

// Any bytes are weights, and any floats activations: the results may be NaN,
// in all sets alike.
func TestStrangeNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	const rows, n = 17, 9
	strange := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32,
		math.SmallestNonzeroFloat32, 0x1p-126, 0x1p-111, 0x1p-109, -0x1p-120, 0, float32(math.Copysign(0, -1))}
	forSets(t, func(t *testing.T, s *Set) {
		for _, typ := range testedTypes() {
			cols := max(256, typ.BlockSize())
			w := randomWeights(rng, typ, rows, cols)
			for i := range w {
				if rng.IntN(3) == 0 {
					w[i] = []byte{0, 0xff, 0x7c, 0x80, 0x7f, byte(rng.Uint32())}[rng.IntN(6)]
				}
			}
			x := randomActivations(rng, n*cols)
			for c := 1; c < n; c++ { // the first column is ordinary
				for range 3 {
					x[c*cols+rng.IntN(cols)] = strange[rng.IntN(len(strange))]
				}
				if c >= n-2 { // all tiny
					for k := range cols {
						x[c*cols+k] *= float32(math.Ldexp(1, -100-20*(n-c)))
					}
				}
			}
			product := func() []float32 { return mul(typ, w, rows, cols, prepare(typ, x, n, cols), n) }
			if err := same(with(generic, product), with(s, product)); err != nil {
				t.Errorf("%v: %v", typ, err)
			}
		}
	})
}

// Rows of activations are quantized to the same bytes by every set.
func TestActivationsAreIdentical(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	forSets(t, func(t *testing.T, s *Set) {
		for typ := range formats {
			for blocks := range 9 {
				x := randomActivations(rng, 32*blocks)
				for i := range x {
					switch rng.IntN(40) {
					case 0:
						x[i] = float32(math.Ldexp(float64(x[i]), rng.IntN(250)-125))
					case 1:
						x[i] = float32(rng.IntN(255)-127) / 2 // ties
					case 2:
						x[i] = math.Float32frombits(rng.Uint32())
					}
				}
				quantize := func(s *Set) []byte {
					dst := make([]byte, ActivationBytes(typ, len(x)))
					s.prepare(typ, dst, x)
					return dst
				}
				want, got := quantize(generic), quantize(s)
				for i := range want {
					if want[i] != got[i] {
						size := FormOf(typ).blockBytes()
						t.Fatalf("%v, block %d, byte %d: %#x, want %#x (%v)", typ, i/size, i%size, got[i], want[i], x[i/size*32:][:32])
					}
				}
			}
		}
	})
}

func TestNoAllocations(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 20))
	const rows, cols, n = 33, 256, 13
	for _, s := range Sets.All() {
		use(t, s)
		for _, typ := range testedTypes() {
			w, x := randomWeights(rng, typ, rows, cols), randomActivations(rng, n*cols)
			prepared := prepare(typ, x, n, cols)
			row, scratch := make([]byte, ActivationBytes(typ, cols)), make([]byte, ScratchBytes(typ, cols))
			dst := make([]float32, n*rows)
			if allocated := testing.AllocsPerRun(3, func() {
				PrepareRow(typ, row, x[:cols])
				Mul(typ, dst, rows, nil, w, nil, rows, cols, prepared, nil, n, scratch)
				Mul(typ, dst, rows, nil, w, nil, rows, cols, prepared, nil, 1, scratch)
			}); allocated != 0 {
				t.Errorf("%v, %v: %v allocations", s.Name(), typ, allocated)
			}
		}
	}
}

func TestScratchIsBounded(t *testing.T) {
	for _, typ := range testedTypes() {
		for _, cols := range []int{typ.BlockSize(), 65536} {
			if n := ScratchBytes(typ, cols); n <= 0 || n > 1<<20 {
				t.Errorf("%v rows of %d: %d bytes of scratch memory", typ, cols, n)
			}
		}
	}
}

func TestMistakesPanic(t *testing.T) {
	const rows, cols, n = 16, 64, 2
	typ := tensor.Q4_0
	w, x := make([]byte, rows*36), make([]byte, n*ActivationBytes(typ, cols))
	dst, scratch := make([]float32, n*rows), make([]byte, ScratchBytes(typ, cols))
	for name, call := range map[string]func(){
		"short weights":     func() { Mul(typ, dst, rows, nil, w[1:], nil, rows, cols, x, nil, n, scratch) },
		"short activations": func() { Mul(typ, dst, rows, nil, w, nil, rows, cols, x[1:], nil, n, scratch) },
		"short results":     func() { Mul(typ, dst[1:], rows, nil, w, nil, rows, cols, x, nil, n, scratch) },
		"short scratch":     func() { Mul(typ, dst, rows, nil, w, nil, rows, cols, x, nil, n, scratch[1:]) },
		"odd row":           func() { Mul(typ, dst, rows, nil, w, nil, rows, cols+1, x, nil, n, scratch) },
		"negative stride":   func() { Mul(typ, dst, -rows, nil, w, nil, rows, cols, x, nil, n, scratch) },
		"negative row":      func() { Mul(typ, dst, rows, []int32{0, -1}, w, nil, rows, cols, x, nil, n, scratch) },
		"large row":         func() { Mul(typ, dst, rows, nil, w, nil, rows, cols, x, []int32{0, 2}, n, scratch) },
		"short list":        func() { Mul(typ, dst, rows, nil, w, nil, rows, cols, x, []int32{0}, n, scratch) },
		"unknown type":      func() { Mul(4, dst, rows, nil, w, nil, rows, cols, x, nil, n, scratch) },
		"type of no weight": func() {
			Mul(tensor.I32, dst, rows, nil, make([]byte, 4*rows*cols), nil, rows, cols, x, nil, n, scratch)
		},
		"short row":       func() { PrepareRow(typ, x, make([]float32, 32)) },
		"part of a block": func() { PrepareRow(typ, x, make([]float32, 33)) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			call()
		})
	}
	Mul(typ, nil, 0, nil, nil, nil, 0, cols, x, nil, n, nil)
	Mul(typ, nil, 0, nil, w, nil, rows, cols, nil, nil, 0, nil)
	dst[0] = 1
	Mul(typ, dst, rows, nil, nil, nil, rows, 0, nil, nil, n, scratch)
	if dst[0] != 0 {
		t.Error("a product over nothing is not zero")
	}
}
