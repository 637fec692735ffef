package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"gorun/compute"
	"gorun/tensor"
)

// failer is a test of testing or of rapid.
type failer interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// bench is a device with helpers to move values in and out.
type bench struct {
	t       failer
	d       *Device
	s       compute.Stream
	buffers []compute.Buffer
}

// newBench is a bench with the reference.
func newBench(t failer, threads int) *bench {
	d, err := NewReference(threads)
	return startBench(t, d, err, compute.Work{})
}

// newFastBench is a bench with the fast path.
func newFastBench(t failer, threads int, w compute.Work) *bench {
	d, err := New(threads)
	return startBench(t, d, err, w)
}

func startBench(t failer, d *Device, err error, w compute.Work) *bench {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.NewStream(w)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, d: d, s: s}
}

func (b *bench) close() {
	if err := b.s.Close(); err != nil {
		b.t.Fatal(err)
	}
	for _, buf := range b.buffers {
		if err := buf.Free(); err != nil {
			b.t.Fatal(err)
		}
	}
	if err := b.d.Close(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) span(bytes []byte) compute.Span {
	buf, err := b.d.NewBuffer(int64(len(bytes)))
	if err != nil {
		b.t.Fatal(err)
	}
	b.buffers = append(b.buffers, buf)
	s := compute.Span{Buf: buf, N: int64(len(bytes))}
	b.s.Write(s, bytes)
	return s
}

func (b *bench) matrix(rows, cols int, values []float32) compute.Matrix {
	return compute.MatrixOf(b.span(asBytes(values)), rows, cols)
}

func (b *bench) read(m compute.Matrix) []float32 {
	values := make([]float32, m.Rows*m.Cols)
	if err := b.s.Read(asBytes(values), m.Span()); err != nil {
		b.t.Fatal(err)
	}
	return values
}

func asBytes(v []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))
}

func normal(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func close32(t failer, what string, got, want []float32, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= tolerance*(1+math.Abs(float64(want[i])))) {
			t.Fatalf("%s: value %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// TestMatMul checks rows lists, several pages of one matrix, strides and odd
// sizes against a sum in plain order.
func TestMatMul(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t, rapid.IntRange(1, 3).Draw(t, "threads"))
		defer b.close()
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		rows, cols, n := 1+r.IntN(9), 1+r.IntN(70), 1+r.IntN(5)
		w, x := normal(r, rows*cols), normal(r, n*(cols+3))
		split := r.IntN(rows + 1)
		dst := b.matrix(2*n, rows+2, make([]float32, 2*n*(rows+2)))
		var list compute.Rows
		for i := range n {
			list.From = append(list.From, int32(r.IntN(n)))
			list.To = append(list.To, int32(2*i+r.IntN(2)))
		}
		in := b.matrix(n, cols+3, x).ColsAt(2, cols)
		released := 0
		for _, page := range [][2]int{{0, split}, {split, rows}} {
			if page[0] == page[1] {
				continue
			}
			b.s.MatMul(compute.Product{Dst: dst, W: compute.Page{
				Data: b.span(asBytes(w[page[0]*cols : page[1]*cols])), Type: tensor.F32,
				First: page[0], Rows: page[1] - page[0], Cols: cols, Hold: counter{&released},
			}, X: in, Rows: list})
		}
		want := make([]float32, 2*n*(rows+2))
		for i := range n {
			for j := range rows {
				sum := 0.0
				for k := range cols {
					sum += float64(w[j*cols+k]) * float64(x[int(list.From[i])*(cols+3)+2+k])
				}
				want[int(list.To[i])*(rows+2)+j] = float32(sum)
			}
		}
		close32(b.t, "product", b.read(dst), want, 1e-6)
		if released == 0 {
			t.Fatal("the page was not released")
		}
	})
}

type counter struct{ n *int }

func (c counter) Release() { *c.n++ }

func TestRoute(t *testing.T) {
	b := newBench(t, 2)
	defer b.close()
	logits := []float32{1, 3, 2, 3, 0, -1}
	exp := func(x float64) float64 { return math.Exp(x) }
	for _, c := range []struct {
		name    string
		p       compute.Routing
		bias    []float32
		ids     []int32
		weights []float32
	}{
		{
			"softmax, normalized", compute.Routing{Used: 2, Gating: compute.GateSoftmax, Normalize: true, Scale: 1}, nil,
			[]int32{1, 3}, []float32{.5, .5},
		}, {
			"softmax", compute.Routing{Used: 1, Gating: compute.GateSoftmax, Scale: 2}, nil,
			[]int32{1}, []float32{float32(2 * exp(3) / (exp(1) + 2*exp(3) + exp(2) + 1 + exp(-1)))},
		}, {
			"sigmoid with bias", compute.Routing{Used: 2, Gating: compute.GateSigmoid, Scale: 1}, []float32{0, 0, 0, 0, 0, 9},
			[]int32{5, 1}, []float32{float32(1 / (1 + exp(1))), float32(1 / (1 + exp(-3)))},
		}, {
			"softmax over the selected", compute.Routing{Used: 3, Gating: compute.GateSoftmaxSelected, Scale: 1}, nil,
			[]int32{1, 3, 2}, []float32{float32(exp(3) / (2*exp(3) + exp(2))), float32(exp(3) / (2*exp(3) + exp(2))), float32(exp(2) / (2*exp(3) + exp(2)))},
		},
	} {
		if c.bias != nil {
			c.p.Bias = b.matrix(1, 6, c.bias)
		}
		ids, weights := b.span(make([]byte, 4*c.p.Used)), b.matrix(1, c.p.Used, make([]float32, c.p.Used))
		b.s.Route(ids, weights, b.matrix(1, 6, logits), c.p)
		if got := int32s(ids); !slices.Equal(got, c.ids) {
			t.Errorf("%s: chose %v, want %v", c.name, got, c.ids)
		}
		close32(t, c.name, b.read(weights), c.weights, 1e-6)
	}
}

func TestElementwise(t *testing.T) {
	b := newBench(t, 2)
	defer b.close()
	in := []float32{1, -2, 3, .5, 0, -4}
	m := func() compute.Matrix { return b.matrix(2, 3, slices.Clone(in)) }
	each := func(f func(float64) float64) []float32 {
		out := make([]float32, len(in))
		for i, v := range in {
			out[i] = float32(f(float64(v)))
		}
		return out
	}
	silu := func(v float64) float64 { return v / (1 + math.Exp(-v)) }
	gelu := func(v float64) float64 { return v / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v))) }
	for _, c := range []struct {
		name string
		do   func(compute.Matrix)
		want []float32
	}{
		{"Scale", func(x compute.Matrix) { b.s.Scale(x, 3) }, each(func(v float64) float64 { return 3 * v })},
		{"AddScaled", func(x compute.Matrix) { b.s.AddScaled(x, m(), .5) }, each(func(v float64) float64 { return 1.5 * v })},
		{"AddRow", func(x compute.Matrix) { b.s.AddRow(x, b.matrix(1, 3, []float32{1, 2, 3})) }, []float32{2, 0, 6, 1.5, 2, -1}},
		{"ScaleRows", func(x compute.Matrix) { b.s.ScaleRows(x, b.matrix(2, 1, []float32{2, -1})) }, []float32{2, -4, 6, -.5, 0, 4}},
		{"Softcap", func(x compute.Matrix) { b.s.Softcap(x, 2) }, each(func(v float64) float64 { return 2 * math.Tanh(v/2) })},
		{"SiLU", func(x compute.Matrix) { b.s.Activate(x, compute.SiLU) }, each(silu)},
		{"GELU", func(x compute.Matrix) { b.s.Activate(x, compute.GELU) }, each(gelu)},
		{"GatedUnit", func(x compute.Matrix) { b.s.GatedUnit(x, x, m(), compute.Gated{F: compute.SiLU}) }, each(func(v float64) float64 { return v * silu(v) })},
		{"Copy", func(x compute.Matrix) { b.s.Copy(x, m(), compute.Rows{From: []int32{1, 0}}) }, []float32{.5, 0, -4, 1, -2, 3}},
		{"RMSNorm", func(x compute.Matrix) {
			b.s.Norm(x, x, compute.Norm{Weight: b.matrix(1, 3, []float32{1, 2, 1}), Eps: 0})
		}, []float32{.46291, -1.85164, 1.38873, .21483, 0, -1.71863}},
		{"LayerNorm", func(x compute.Matrix) {
			b.s.Norm(x, x, compute.Norm{Weight: b.matrix(1, 3, []float32{1, 1, 1}), Bias: b.matrix(1, 3, []float32{0, 0, 1}), Center: true})
		}, []float32{.16222, -1.29777, 2.13555, .82761, .57932, -.40693}},
		{"NormOfGroups", func(x compute.Matrix) {
			b.s.Norm(x, x, compute.Norm{Weight: b.matrix(3, 1, []float32{1, 2, 3})})
		}, []float32{1, -2, 3, 1, float32(math.NaN()), -3}},
	} {
		x := m()
		c.do(x)
		got := b.read(x)
		for i := range c.want { // 0/0 is NaN on both sides
			if math.IsNaN(float64(c.want[i])) && math.IsNaN(float64(got[i])) {
				c.want[i], got[i] = 0, 0
			}
		}
		close32(t, c.name, got, c.want, 1e-4)
	}
}

func TestRotate(t *testing.T) {
	b := newBench(t, 1)
	defer b.close()
	angles := []float64{.3, 1.1}
	table := []float32{}
	for _, a := range angles {
		table = append(table, float32(math.Cos(a)), float32(math.Sin(a)))
	}
	for _, halves := range []bool{false, true} {
		x := []float32{1, 2, 3, 4, 5 /* not turned */, -1, -2, -3, -4, -5}
		m := b.matrix(1, 10, slices.Clone(x))
		b.s.Rotate(m, compute.Rotation{HeadDim: 5, Table: b.matrix(1, 4, table), Halves: halves})
		want := slices.Clone(x)
		for h := 0; h < 10; h += 5 {
			for i, a := range angles {
				lo, hi := h+2*i, h+2*i+1
				if halves {
					lo, hi = h+i, h+i+2
				}
				z := complex(float64(x[lo]), float64(x[hi])) * complex(math.Cos(a), math.Sin(a))
				want[lo], want[hi] = float32(real(z)), float32(imag(z))
			}
		}
		close32(t, "rotated", b.read(m), want, 1e-6)
	}
}
