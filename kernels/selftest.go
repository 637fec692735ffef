package kernels

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gorun/hipdyn"
	"gorun/tensor"
)

// Result is what became of a test of a kernel.
type Result struct {
	Kernel string
	Err    error
	// Bits are the results, for a comparison of devices: those of one Kernel are
	// the same on all, but for gemm_f16.
	Bits []byte
}

// gemmError is the most by which an element of a product of half floats may be
// wrong, in terms of the sum of its products without signs. Products are exact
// in float32, and a sum of k terms in any order has an error below k 2^-24.
func gemmError(k int) float64 { return float64(k) * 0x1p-23 }

// SelfTest computes known answers with all kernels on a device.
func SelfTest(d *hipdyn.Device) (results []Result, err error) {
	s, err := Load(d)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	stream, err := d.NewStream()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	for _, c := range cases() {
		r := Result{Kernel: c.name}
		r.Bits, r.Err = c.run(s, stream)
		results = append(results, r)
		if r.Err != nil {
			// Work that failed leaves an error on the device.
			if err := stream.Synchronize(); err != nil {
				break
			}
		}
	}
	return results, nil
}

// testCase is inputs, a launch, and a check of its output.
type testCase struct {
	name   string
	inputs [][]byte
	output int // bytes
	launch func(s *Set, stream *hipdyn.Stream, out Operand, in []Operand) error
	check  func(out []byte) error
}

// run runs a case, with each operand in a buffer of its own size.
func (c *testCase) run(s *Set, stream *hipdyn.Stream) (out []byte, err error) {
	var in []Operand
	alloc := func(size int) (Operand, error) {
		b, err := s.dev.Alloc(int64(size))
		if err == nil {
			in = append(in, Operand{b, 0})
		}
		return Operand{b, 0}, err
	}
	defer func() {
		for _, o := range in {
			err = errors.Join(err, o.Buffer.Free())
		}
	}()
	for _, data := range c.inputs {
		o, err := alloc(len(data))
		if err != nil {
			return nil, err
		}
		if err := stream.Write(o.Buffer, 0, data); err != nil {
			return nil, err
		}
	}
	to, err := alloc(c.output)
	if err != nil {
		return nil, err
	}
	if err := c.launch(s, stream, to, in); err != nil {
		return nil, err
	}
	out = make([]byte, c.output)
	if err := stream.Read(out, to.Buffer, 0); err != nil {
		return nil, err
	}
	return out, c.check(out)
}

// cases makes all cases; numbers are random, but always the same.
func cases() []*testCase {
	r := rand.New(rand.NewPCG(1, 2))
	var list []*testCase
	for _, t := range []tensor.Type{tensor.Q8_0, tensor.Q4_K} {
		// Rows that fill no block, and columns that leave lanes idle.
		for _, shape := range [][2]int{{1, t.BlockSize()}, {5, 3 * t.BlockSize()}, {18, 1024}} {
			list = append(list, matVecCase(r, t, shape[0], shape[1]))
		}
	}
	for _, shape := range [][2]int{{1, 1}, {2, 33}, {3, 256}, {2, 1000}} {
		list = append(list, rmsNormCase(r, shape[0], shape[1]), softmaxCase(r, shape[0], shape[1]))
	}
	for _, shape := range [][3]int{{1, 1, 8}, {16, 16, 16}, {70, 33, 40}, {64, 128, 96}} {
		list = append(list, gemmCase(r, shape[0], shape[1], shape[2]))
	}
	return list
}

func normals(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func floatBytes(x []float32) []byte {
	var b []byte
	for _, v := range x {
		b = le.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// expect checks that float32 have the bits wanted.
func expect(want []float32) func(out []byte) error {
	return func(out []byte) error {
		for i, w := range want {
			if got := math.Float32frombits(le.Uint32(out[4*i:])); math.Float32bits(got) != math.Float32bits(w) {
				return fmt.Errorf("element %d of %d is %v (0x%08x), want %v (0x%08x)", i, len(want), got, math.Float32bits(got), w, math.Float32bits(w))
			}
		}
		return nil
	}
}

// randomWeights makes a quantized matrix: normal numbers, and a few blocks of
// random bytes with finite scales, which no quantizer would make.
func randomWeights(r *rand.Rand, t tensor.Type, n int) []byte {
	size, err := t.RowSize(int64(n))
	if err != nil {
		panic(err) // the cases are whole blocks
	}
	w := make([]byte, size)
	if err := tensor.Quantize(t, w, normals(r, n)); err != nil {
		panic(err) // normal numbers can be quantized
	}
	for at := 0; at < len(w); at += 3 * t.BlockBytes() {
		block := w[at:][:t.BlockBytes()]
		for i := range block {
			block[i] = byte(r.Uint32())
		}
		halves := 1
		if t == tensor.Q4_K {
			halves = 2
		}
		for i := range halves {
			le.PutUint16(block[2*i:], tensor.F32ToF16(float32(r.NormFloat64())))
		}
	}
	return w
}

func matVecCase(r *rand.Rand, t tensor.Type, rows, columns int) *testCase {
	w := randomWeights(r, t, rows*columns)
	q, scales := make([]int8, columns), make([]float32, columns/32)
	raw := make([]byte, columns)
	for i := range q {
		q[i] = int8(r.IntN(255) - 127)
		if i < 8 {
			q[i] = int8(255 * (i % 2)) // 0 and -1
		} else if i < 16 {
			q[i] = -128
		}
		raw[i] = byte(q[i])
	}
	for i := range scales {
		scales[i] = float32(r.ExpFloat64() / 100)
	}
	row := len(w) / rows
	want := make([]float32, rows)
	for i := range want {
		if t == tensor.Q8_0 {
			want[i] = matVecQ8_0(w[i*row:][:row], q, scales)
		} else {
			want[i] = matVecQ4_K(w[i*row:][:row], q, scales)
		}
	}
	return &testCase{
		name:   fmt.Sprintf("matvec_%v %dx%d", t, rows, columns),
		inputs: [][]byte{w, raw, floatBytes(scales)},
		output: 4 * rows,
		launch: func(s *Set, stream *hipdyn.Stream, out Operand, in []Operand) error {
			return s.MatVec(stream, t, out, in[0], Activations{in[1], in[2]}, rows, columns)
		},
		check: expect(want),
	}
}

func rmsNormCase(r *rand.Rand, rows, columns int) *testCase {
	const eps = 1e-6
	x, weight := normals(r, rows*columns), normals(r, columns)
	clear(x[columns/2 : columns]) // zeros among the numbers
	var want []float32
	for i := range rows {
		want = append(want, rmsNorm(x[i*columns:][:columns], weight, eps)...)
	}
	return &testCase{
		name:   fmt.Sprintf("rms_norm %dx%d", rows, columns),
		inputs: [][]byte{floatBytes(x), floatBytes(weight)},
		output: 4 * rows * columns,
		launch: func(s *Set, stream *hipdyn.Stream, out Operand, in []Operand) error {
			return s.RMSNorm(stream, out, in[0], in[1], eps, rows, columns)
		},
		check: expect(want),
	}
}

func softmaxCase(r *rand.Rand, rows, columns int) *testCase {
	const scale = 7.5
	x := normals(r, rows*columns)
	x[0] = float32(math.Inf(-1)) // masked
	if columns == 1 {
		x[0] = 3
	}
	var want []float32
	for i := range rows {
		want = append(want, softmax(x[i*columns:][:columns], scale)...)
	}
	return &testCase{
		name:   fmt.Sprintf("softmax %dx%d", rows, columns),
		inputs: [][]byte{floatBytes(x)},
		output: 4 * rows * columns,
		launch: func(s *Set, stream *hipdyn.Stream, out Operand, in []Operand) error {
			return s.Softmax(stream, out, in[0], scale, rows, columns)
		},
		check: expect(want),
	}
}

func gemmCase(r *rand.Rand, m, n, k int) *testCase {
	halves := func(n int) (raw []byte, values []float32) {
		for _, v := range normals(r, n) {
			h := tensor.F32ToF16(v)
			raw, values = le.AppendUint16(raw, h), append(values, tensor.F16ToF32(h))
		}
		return raw, values
	}
	rawA, a := halves(m * k)
	rawB, b := halves(n * k)
	return &testCase{
		name:   fmt.Sprintf("gemm_f16 %dx%dx%d", m, n, k),
		inputs: [][]byte{rawA, rawB},
		output: 4 * m * n,
		launch: func(s *Set, stream *hipdyn.Stream, out Operand, in []Operand) error {
			return s.GEMM(stream, out, in[0], in[1], m, n, k)
		},
		check: func(out []byte) error {
			for i := range m * n {
				got := float64(math.Float32frombits(le.Uint32(out[4*i:])))
				want, size := gemm(a[i/n*k:][:k], b[i%n*k:][:k])
				if !(math.Abs(got-want) <= size*gemmError(k)) {
					return fmt.Errorf("row %d, column %d is %v, want %v within %v", i/n, i%n, got, want, size*gemmError(k))
				}
			}
			return nil
		},
	}
}
