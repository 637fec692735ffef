package gguf

import (
	"fmt"
	"math"

	"gorun/tensor"
)

// Tensor is one line of the tensor table.
type Tensor struct {
	Name string
	Type tensor.Type
	// Dims are the dimensions in ggml's order: Dims[0] is the length of a
	// row. There are one to four, none of them zero, and their product fits
	// an int64.
	Dims []int64
	// Part is the index in File.Parts of the file that holds the data.
	Part int
	// Offset is where the data begins in that file.
	Offset int64
	// Size is the number of bytes of data. If the type is not known it is
	// the distance to the next tensor or to the end of the file, which
	// includes padding.
	Size int64
}

// Elements is the number of elements.
func (t Tensor) Elements() int64 {
	n := int64(1)
	for _, d := range t.Dims {
		n *= d
	}
	return n
}

// Rows is the number of rows: the product of all dimensions but the first.
func (t Tensor) Rows() int64 {
	n := int64(1)
	for _, d := range t.Dims[1:] {
		n *= d
	}
	return n
}

// RowBytes is the number of bytes of one row. It is 0 if the type is not
// known.
func (t Tensor) RowBytes() int64 {
	n, err := t.Type.RowSize(t.Dims[0])
	if err != nil {
		return 0
	}
	return n
}

// String describes the tensor, `blk.0.attn_q.weight q4_K [4096 4096]` for
// example.
func (t Tensor) String() string { return fmt.Sprintf("%s %v %v", t.Name, t.Type, t.Dims) }

// checkDims returns an error if one of one to four dimensions is not positive
// or if their product overflows.
func checkDims(dims []int64) error {
	n := int64(1)
	for i, d := range dims {
		switch {
		case d == 0:
			return fmt.Errorf("dimension %d is 0", i)
		case d < 0 || n > math.MaxInt64/d:
			return fmt.Errorf("the product of dimensions %d overflows", asUnsigned(dims))
		}
		n *= d
	}
	return nil
}

// asUnsigned returns dimensions as the file has them.
func asUnsigned(dims []int64) []uint64 {
	u := make([]uint64, len(dims))
	for i, d := range dims {
		u[i] = uint64(d)
	}
	return u
}

// dataSize is the number of bytes that the data of a tensor of a known type
// takes. Its dimensions have been checked.
func (t Tensor) dataSize() (int64, error) {
	row, err := t.Type.RowSize(t.Dims[0])
	if err != nil {
		return 0, err
	}
	if t.Rows() > math.MaxInt64/row {
		return 0, fmt.Errorf("%v of %v take more than 2^63 bytes", t.Dims, t.Type)
	}
	return t.Rows() * row, nil
}
