package model

import (
	"fmt"
	"slices"
	"strings"

	"gorun/compute"
	"gorun/gguf"
	"gorun/pager"
)

// binder finds the tensors of a description in a file and checks their
// shapes. The first error sticks.
type binder struct {
	file    *gguf.File
	catalog pager.Catalog
	used    map[string]bool
	vectors []vector
	err     error
}

// vector is a small tensor that is kept as float32 in device memory.
type vector struct {
	tensor gguf.Tensor
	ones   bool            // it is no tensor, but all ones
	view   *compute.Matrix // its Buf is set when it is loaded
}

func (b *binder) fail(err error) {
	if b.err == nil && err != nil {
		b.err = err
	}
}

func (b *binder) has(name string) bool {
	_, ok := b.file.Tensor(name)
	return ok
}

// take finds a tensor of the given shape, the row length first.
func (b *binder) take(name string, shape ...int) (gguf.Tensor, bool) {
	t, ok := b.file.Tensor(name)
	if !ok {
		b.fail(fmt.Errorf("the file lacks the tensor %q %v", name, shape))
		return t, false
	}
	want := make([]int64, len(shape))
	for i, n := range shape {
		want[i] = int64(n)
	}
	if !slices.Equal(trimOnes(t.Dims), trimOnes(want)) {
		b.fail(fmt.Errorf("tensor %q has the shape %v, not %v", name, t.Dims, want))
		return t, false
	}
	b.used[name] = true
	return t, true
}

// trimOnes drops trailing dimensions of one, which files may or may not have.
func trimOnes(dims []int64) []int64 {
	for len(dims) > 1 && dims[len(dims)-1] == 1 {
		dims = dims[:len(dims)-1]
	}
	return dims
}

// matrix binds a weight of rows by cols.
func (b *binder) matrix(name string, rows, cols int) *pager.Matrix {
	t, ok := b.take(name, cols, rows)
	if !ok {
		return nil
	}
	t.Dims = []int64{int64(cols), int64(rows)}
	m, err := b.catalog.Add(t)
	if err != nil {
		b.fail(err)
		return nil
	}
	return m[0]
}

// stack binds the n experts of a tensor.
func (b *binder) stack(name string, rows, cols, n int) []*pager.Matrix {
	t, ok := b.take(name, cols, rows, n)
	if !ok {
		return make([]*pager.Matrix, n)
	}
	t.Dims = []int64{int64(cols), int64(rows), int64(n)}
	m, err := b.catalog.Add(t)
	b.fail(err)
	return m
}

// vector binds a small tensor into view.
func (b *binder) vector(view *compute.Matrix, name string, shape ...int) {
	t, ok := b.take(name, shape...)
	if !ok {
		return
	}
	if !t.Type.CanDequantize() {
		b.fail(fmt.Errorf("tensor %q: gorun cannot compute with %v", name, t.Type))
		return
	}
	cols, rows := shape[0], 1
	if len(shape) > 1 {
		rows = shape[1]
	}
	*view = compute.Matrix{Rows: rows, Cols: cols, Stride: cols}
	b.vectors = append(b.vectors, vector{tensor: t, view: view})
}

// ones makes a vector of n ones.
func (b *binder) ones(view *compute.Matrix, n int) {
	*view = compute.Matrix{Rows: 1, Cols: n, Stride: n}
	b.vectors = append(b.vectors, vector{ones: true, view: view})
}

// optional binds a vector if the file has it.
func (b *binder) optional(view *compute.Matrix, name string, shape ...int) {
	if b.has(name) {
		b.vector(view, name, shape...)
	}
}

// linear is a matrix with an optional bias.
type linear struct {
	w    *pager.Matrix
	bias compute.Matrix
}

func (b *binder) linear(l *linear, name string, rows, cols int) {
	l.w = b.matrix(name+".weight", rows, cols)
	b.optional(&l.bias, name+".bias", rows)
}

// norm binds a normalization over groups of n values.
func (b *binder) norm(dst *compute.Norm, s *Spec, name string, n int) {
	b.vector(&dst.Weight, name+".weight", n)
	b.optional(&dst.Bias, name+".bias", n)
	dst.Eps, dst.Center = s.Eps, s.Norm == LayerNorm
}

// headNorm binds a normalization of each of the heads, which may share their
// dim weights or have their own.
func (b *binder) headNorm(dst *compute.Norm, s *Spec, name string, dim, heads int) {
	shape := []int{dim}
	if t, ok := b.file.Tensor(name + ".weight"); ok && len(trimOnes(t.Dims)) == 2 {
		shape = append(shape, heads)
	}
	b.vector(&dst.Weight, name+".weight", shape...)
	dst.Eps, dst.Center = s.Eps, s.Norm == LayerNorm
}

// finish refuses a file with tensors that nothing has asked for: computing
// without them would give wrong text.
func (b *binder) finish(ignore func(name string) bool) error {
	if b.err != nil {
		return b.err
	}
	var unused []string
	for _, t := range b.file.Tensors() {
		if !b.used[t.Name] && !ignore(t.Name) {
			unused = append(unused, t.Name)
		}
	}
	if len(unused) == 0 {
		return nil
	}
	rest := ""
	if len(unused) > 8 {
		rest = fmt.Sprintf(" and %d more", len(unused)-8)
		unused = unused[:8]
	}
	return fmt.Errorf("the file has tensors that are not part of this architecture as gorun knows it, so its text would be wrong: %s%s",
		strings.Join(unused, ", "), rest)
}
