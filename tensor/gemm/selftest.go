package gemm

import (
	"fmt"
	"hash/crc32"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"gorun/tensor"
)

// selfTestSum is the checksum of the products that SelfTest computes. It
// belongs to Numerics.
const selfTestSum = 0xf7d06c38

// SelfTest computes small products of every native type with the kernels of a
// set and compares them with a known checksum, bit for bit. A set that fails
// must not be used: the error names the first type that differs from plain Go.
// It takes some milliseconds.
func SelfTest(s *Set) error {
	var bytes [4]byte
	sum, types, scratchBytes := crc32.NewIEEE(), nativeTypes(), 0
	for _, t := range types {
		scratchBytes = max(scratchBytes, ScratchBytes(t, selfTestCols))
	}
	// Side by side, in little memory: every process begins with this.
	products := make([][]float32, len(types))
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(len(types), runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			scratch := make([]byte, scratchBytes)
			for i := next.Add(1) - 1; int(i) < len(types); i = next.Add(1) - 1 {
				products[i] = selfTestProducts(s, types[i], scratch)
			}
		})
	}
	all.Wait()
	for _, ofType := range products {
		for _, v := range ofType {
			le.PutUint32(bytes[:], math.Float32bits(v))
			sum.Write(bytes[:])
		}
	}
	if sum.Sum32() == selfTestSum {
		return nil
	}
	scratch := make([]byte, scratchBytes)
	for of, t := range types {
		want := selfTestProducts(generic, t, scratch)
		for i, v := range products[of] {
			if math.Float32bits(v) != math.Float32bits(want[i]) {
				return fmt.Errorf("gemm: self-test of kernel set %q: %v product %d is %g, not %g", s.name, t, i, v, want[i])
			}
		}
	}
	return fmt.Errorf("gemm: self-test of kernel set %q: checksum %#x, not %#x", s.name, sum.Sum32(), selfTestSum)
}

func nativeTypes() (list []tensor.Type) {
	for _, t := range tensor.Types() {
		if Native(t) {
			list = append(list, t)
		}
	}
	return list
}

// selfTestCols is the length of rows of the self-test.
const selfTestCols = 256

// selfTestProducts multiplies rows of different lengths, up to selfTestCols.
func selfTestProducts(s *Set, t tensor.Type, scratch []byte) []float32 {
	products := selfTestShape(s, t, selfTestCols, scratch)
	switch t.BlockSize() {
	case 1:
		products = append(products, selfTestShape(s, t, 35, scratch)...)
	case 32:
		products = append(products, selfTestShape(s, t, 96, scratch)...)
	}
	return products
}

// selfTestShape multiplies 17 made rows, a tile and a tail, with one column,
// with two, and with 15, a group of every width.
func selfTestShape(s *Set, t tensor.Type, cols int, scratch []byte) []float32 {
	const rows, n = 17, 15
	size, _ := t.RowSize(int64(cols))
	state := uint32(t) + 1
	random := func() uint32 { // xorshift (Marsaglia 2003)
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		return state
	}
	w := make([]byte, rows*int(size))
	for i := range w {
		w[i] = byte(random() >> 24)
	}
	tameScales(t, w)
	rowBytes := ActivationBytes(t, cols)
	x, row := make([]byte, n*rowBytes), make([]float32, cols)
	for c := range n {
		for k := range row {
			row[k] = float32(int32(random())>>20) / 1024
		}
		s.prepare(t, x[c*rowBytes:][:rowBytes], row)
	}
	dst := make([]float32, (n+3)*rows)
	s.mul(t, dst[:rows], rows, nil, w, nil, rows, cols, x, nil, 1, scratch)
	s.mul(t, dst[rows:3*rows], rows, nil, w, nil, rows, cols, x, nil, 2, scratch)
	s.mul(t, dst[3*rows:], rows, nil, w, nil, rows, cols, x, nil, n, scratch)
	return dst
}

// tameScales clears exponent bits of the f16 fields and float elements of
// random blocks, so that no product is infinite or NaN.
func tameScales(t tensor.Type, w []byte) {
	fields := map[tensor.Type][]int{
		tensor.Q4_1: {0, 2}, tensor.Q5_1: {0, 2}, tensor.Q2_K: {80, 82}, tensor.Q3_K: {108},
		tensor.Q4_K: {0, 2}, tensor.Q5_K: {0, 2}, tensor.Q6_K: {208},
		tensor.MXFP4: {}, tensor.F32: {2}, tensor.Q4_0_ROCMFP4: {}, tensor.Q4_0_ROCMFP4_FAST: {},
		tensor.Q2_0_ROCMFPX: {}, tensor.Q3_0_ROCMFPX: {}, tensor.Q6_0_ROCMFPX: {}, tensor.Q8_0_ROCMFPX: {},
	}
	list, ok := fields[t]
	if !ok {
		list = []int{0}
	}
	for b := 0; b < len(w); b += t.BlockBytes() {
		for _, at := range list {
			w[b+at+1] &^= 0x60 // an f16 below 2^-7, an f32 or bf16 below 2^-63
		}
		if t == tensor.MXFP4 {
			w[b] = w[b]&15 + 112
		}
	}
}
