package kernels

import (
	"errors"
	"fmt"
	"math"

	"gorun/hipdyn"
	"gorun/tensor"
)

// waveSize is the number of lanes that the kernels are made for.
const waveSize = 32

// Set is the kernels on a device. One goroutine at a time may use it.
//
// Functions enqueue one kernel each. Operands are checked: their bytes are in
// their buffer, and what is written overlaps nothing that is read.
type Set struct {
	dev     *hipdyn.Device
	modules []*hipdyn.Module
	args    *hipdyn.Args

	matVec           map[tensor.Type]*hipdyn.Function
	rmsNorm, softmax *hipdyn.Function
	gemmF16          *hipdyn.Function
}

// Load loads the kernels for a device.
func Load(d *hipdyn.Device) (*Set, error) {
	s := &Set{dev: d, args: hipdyn.NewArgs(), matVec: map[tensor.Type]*hipdyn.Function{}}
	if d.WaveSize != waveSize {
		return nil, fmt.Errorf("kernels: device %v runs waves of %d lanes, want %d", d, d.WaveSize, waveSize)
	}
	if err := s.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("kernels for device %v: %w", d, err), s.Close())
	}
	return s, nil
}

func (s *Set) load() error {
	q8, q4 := new(*hipdyn.Function), new(*hipdyn.Function)
	for _, object := range []struct {
		name      string
		functions map[string]**hipdyn.Function
	}{
		{"matvec", map[string]**hipdyn.Function{"matvec_q8_0": q8, "matvec_q4_K": q4}},
		{"rows", map[string]**hipdyn.Function{"rms_norm": &s.rmsNorm, "softmax": &s.softmax}},
		{"gemm", map[string]**hipdyn.Function{"gemm_f16": &s.gemmF16}},
	} {
		code, err := Object(object.name, s.dev.GFX)
		if err != nil {
			return err
		}
		m, err := s.dev.LoadModule(code)
		if err != nil {
			return err
		}
		s.modules = append(s.modules, m)
		for name, f := range object.functions {
			if *f, err = m.Function(name); err != nil {
				return err
			}
		}
	}
	s.matVec[tensor.Q8_0], s.matVec[tensor.Q4_K] = *q8, *q4
	return nil
}

// Close waits for the device and unloads the kernels.
func (s *Set) Close() error {
	var err error
	for _, m := range s.modules {
		err = errors.Join(err, m.Unload())
	}
	return err
}

// Operand is a place in a buffer, Offset bytes from its beginning.
type Operand struct {
	Buffer *hipdyn.Buffer
	Offset int64
}

// Activations are a vector of signed bytes, and a float32 scale for each 32 of
// them: x[i] = Scales[i/32] * Q[i].
type Activations struct{ Q, Scales Operand }

// operand is an Operand with what a kernel does to it.
type operand struct {
	name  string
	at    Operand
	bytes int64
	align int64
	write bool
}

// check finds operands that are too short, or misplaced.
func check(operands ...operand) error {
	for i, a := range operands {
		size := a.at.Buffer.Size()
		if a.at.Offset < 0 || a.at.Offset > size || a.bytes > size-a.at.Offset {
			return fmt.Errorf("%s: %d bytes at %d of a buffer of %d", a.name, a.bytes, a.at.Offset, size)
		}
		if a.at.Offset%a.align != 0 {
			return fmt.Errorf("%s: offset %d is not a multiple of %d", a.name, a.at.Offset, a.align)
		}
		for j, b := range operands {
			if i != j && a.write && a.at.Buffer == b.at.Buffer && a.at.Offset < b.at.Offset+b.bytes && b.at.Offset < a.at.Offset+a.bytes {
				return fmt.Errorf("%s overlaps %s", a.name, b.name)
			}
		}
	}
	return nil
}

// shape checks numbers of rows and columns: positive, the columns in whole
// blocks, and few enough for the kernels' indices.
func shape(rows, columns, block int) error {
	if rows <= 0 || columns <= 0 || columns%block != 0 || rows > math.MaxInt32 || columns > math.MaxInt32 {
		return fmt.Errorf("%d rows of %d columns: want at least one, and columns in blocks of %d", rows, columns, block)
	}
	return nil
}

// operands begins the arguments with operands.
func (s *Set) operands(operands ...operand) *hipdyn.Args {
	s.args.Reset()
	for _, o := range operands {
		s.args.Buffer(o.at.Buffer, o.at.Offset)
	}
	return s.args
}

func divideUp(n, unit int) int { return (n + unit - 1) / unit }

// The shapes of blocks, as in the sources.
const (
	matVecRows   = 4 // each of a wave
	rowThreads   = 256
	gemmTile     = 64
	gemmThreads  = 128
	gemmMultiple = 8 // of the inner dimension
)

// MatVec computes y = W x: W is rows of a type that CanMatVec, and y gets a
// float32 for each. columns is a multiple of the type's block, and of 32.
func (s *Set) MatVec(stream *hipdyn.Stream, t tensor.Type, y, w Operand, x Activations, rows, columns int) error {
	f := s.matVec[t]
	if f == nil {
		return fmt.Errorf("kernels: no product of a matrix of %v and a vector", t)
	}
	if err := shape(rows, columns, t.BlockSize()); err != nil {
		return fmt.Errorf("kernels: MatVec: %w", err)
	}
	row, err := t.RowSize(int64(columns))
	if err != nil {
		return err
	}
	align := int64(2)
	if t == tensor.Q4_K {
		align = 16 // blocks are multiples of it, and have their scales in the first 16 bytes
	}
	ops := []operand{
		{"y", y, 4 * int64(rows), 4, true}, {"W", w, row * int64(rows), align, false},
		{"x", x.Q, int64(columns), 4, false}, {"the scales of x", x.Scales, int64(columns) / 32 * 4, 8, false},
	}
	if err := check(ops...); err != nil {
		return fmt.Errorf("kernels: MatVec: %w", err)
	}
	args := s.operands(ops...).Int32(int32(rows)).Int32(int32(columns))
	return f.Launch(stream, hipdyn.Linear(divideUp(rows, matVecRows)), hipdyn.Linear(matVecRows*waveSize), 0, args)
}

// CanMatVec tells whether MatVec takes a type.
func (s *Set) CanMatVec(t tensor.Type) bool { return s.matVec[t] != nil }

// RMSNorm computes y = x / sqrt(mean(x²) + eps) * weight for rows of float32;
// the weight is one row.
func (s *Set) RMSNorm(stream *hipdyn.Stream, y, x, weight Operand, eps float32, rows, columns int) error {
	if err := shape(rows, columns, 1); err != nil {
		return fmt.Errorf("kernels: RMSNorm: %w", err)
	}
	size := 4 * int64(rows) * int64(columns)
	ops := []operand{{"y", y, size, 4, true}, {"x", x, size, 4, false}, {"the weight", weight, 4 * int64(columns), 4, false}}
	if err := check(ops...); err != nil {
		return fmt.Errorf("kernels: RMSNorm: %w", err)
	}
	args := s.operands(ops...).Float32(eps).Int32(int32(columns))
	return s.rmsNorm.Launch(stream, hipdyn.Linear(rows), hipdyn.Linear(rowThreads), 0, args)
}

// Softmax computes y = softmax(scale x) for rows of float32.
func (s *Set) Softmax(stream *hipdyn.Stream, y, x Operand, scale float32, rows, columns int) error {
	if err := shape(rows, columns, 1); err != nil {
		return fmt.Errorf("kernels: Softmax: %w", err)
	}
	size := 4 * int64(rows) * int64(columns)
	ops := []operand{{"y", y, size, 4, true}, {"x", x, size, 4, false}}
	if err := check(ops...); err != nil {
		return fmt.Errorf("kernels: Softmax: %w", err)
	}
	args := s.operands(ops...).Float32(scale).Int32(int32(columns))
	return s.softmax.Launch(stream, hipdyn.Linear(rows), hipdyn.Linear(rowThreads), 0, args)
}

// GEMM computes c = a bᵀ: a is m rows of k half floats, b is n rows of k, and c
// is m rows of n float32. k is a multiple of 8; a and b begin at a multiple of
// 16 bytes.
func (s *Set) GEMM(stream *hipdyn.Stream, c, a, b Operand, m, n, k int) error {
	if err := errors.Join(shape(m, k, gemmMultiple), shape(n, k, gemmMultiple)); err != nil {
		return fmt.Errorf("kernels: GEMM: %w", err)
	}
	ops := []operand{
		{"c", c, 4 * int64(m) * int64(n), 4, true}, {"a", a, 2 * int64(m) * int64(k), 16, false}, {"b", b, 2 * int64(n) * int64(k), 16, false},
	}
	if err := check(ops...); err != nil {
		return fmt.Errorf("kernels: GEMM: %w", err)
	}
	args := s.operands(ops...).Int32(int32(m)).Int32(int32(n)).Int32(int32(k))
	grid := hipdyn.Dim{X: uint32(divideUp(n, gemmTile)), Y: uint32(divideUp(m, gemmTile)), Z: 1}
	return s.gemmF16.Launch(stream, grid, hipdyn.Linear(gemmThreads), 0, args)
}
