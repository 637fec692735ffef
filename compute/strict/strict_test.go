package strict

import (
	"math"
	"strings"
	"testing"

	"gorun/compute"
	"gorun/compute/cpu"
	"gorun/tensor"
)

func newDevice(t *testing.T) (*Device, compute.Stream) {
	t.Helper()
	inner, err := cpu.NewReference(1)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Wrap(inner)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.NewStream(compute.Work{})
	if err != nil {
		t.Fatal(err)
	}
	return d, s
}

func newMatrix(t *testing.T, d compute.Device, rows, cols int) compute.Matrix {
	t.Helper()
	b, err := d.NewBuffer(int64(4 * rows * cols))
	if err != nil {
		t.Fatal(err)
	}
	return compute.MatrixOf(compute.Span{Buf: b, N: b.Bytes()}, rows, cols)
}

// panics returns what do panics with.
func panics(t *testing.T, do func()) (text string) {
	t.Helper()
	defer func() {
		r := recover()
		if r == nil {
			t.Fatal("no panic")
		}
		text, _ = r.(string)
	}()
	do()
	return ""
}

func read(t *testing.T, s compute.Stream, m compute.Matrix) float32 {
	t.Helper()
	var b [4]byte
	if err := s.Read(b[:], m.Span().At(0, 4)); err != nil {
		t.Fatal(err)
	}
	v := make([]float32, 1)
	tensor.Dequantize(tensor.F32, v, b[:])
	return v[0]
}

func TestNewMemoryIsNaN(t *testing.T) {
	d, s := newDevice(t)
	if v := read(t, s, newMatrix(t, d, 1, 8)); !math.IsNaN(float64(v)) {
		t.Errorf("new memory holds %v", v)
	}
}

// TestOperationsAreDelayed changes what operations were given after they were
// enqueued: they must have taken it before, and run after.
func TestOperationsAreDelayed(t *testing.T) {
	d, s := newDevice(t)
	x, y := newMatrix(t, d, 2, 1), newMatrix(t, d, 2, 1)
	host := []byte{0, 0, 128, 63, 0, 0, 0, 64} // 1, 2
	rows := []int32{1, 0}
	s.Write(x.Span(), host)
	s.Copy(y, x, compute.Rows{From: rows})
	clear(host)
	rows[0] = 0
	inner := y
	inner.Buf = y.Buf.(*buffer).inner
	if v := read(t, d.setup, inner); !math.IsNaN(float64(v)) {
		t.Errorf("an operation ran before anything was read: %v", v)
	}
	if v := read(t, s, y); v != 2 {
		t.Errorf("copied %v, want 2", v)
	}
}

func TestMisuse(t *testing.T) {
	d, s := newDevice(t)
	x := newMatrix(t, d, 1, 4)
	s.Scale(x, 2)
	if text := panics(t, func() { x.Buf.Free() }); !strings.Contains(text, "under 1 operations") {
		t.Errorf("freed under an operation: %q", text)
	}
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := x.Buf.Free(); err != nil {
		t.Fatal(err)
	}
	if text := panics(t, func() { x.Buf.Free() }); !strings.Contains(text, "twice") {
		t.Errorf("freed twice: %q", text)
	}
	if text := panics(t, func() { s.Scale(x, 2) }); !strings.Contains(text, "freed buffer") {
		t.Errorf("used after free: %q", text)
	}
	other, err := d.inner.NewBuffer(16)
	if err != nil {
		t.Fatal(err)
	}
	if text := panics(t, func() { s.Scale(compute.MatrixOf(compute.Span{Buf: other, N: 16}, 1, 4), 2) }); !strings.Contains(text, "another device") {
		t.Errorf("foreign memory: %q", text)
	}
}

type hold struct{ released int }

func (h *hold) Release() { h.released++ }

func TestPageIsReleasedAfterItsOperation(t *testing.T) {
	d, s := newDevice(t)
	w, x, y := newMatrix(t, d, 2, 4), newMatrix(t, d, 1, 4), newMatrix(t, d, 1, 2)
	h := &hold{}
	p := compute.Product{Dst: y, W: compute.Page{Data: w.Span(), Type: tensor.F32, Rows: 2, Cols: 4, Hold: h}, X: x}
	s.MatMul(p, p)
	if h.released != 0 {
		t.Error("released when it was enqueued")
	}
	if err := s.Close(); err != nil || h.released != 2 {
		t.Errorf("released %d times, want once for each of two products (%v)", h.released, err)
	}
}
