// Package pager gives a forward pass the pages of a model's weights.
//
// A Catalog cuts the tensors of a model file into matrices and these into
// pages, runs of whole rows. Where the bytes of a page are is the business of
// a Residency: mapped from the file, or read into the memory of a device. The
// forward pass acquires a page, hands it to one operation, and that operation
// releases it, wherever the page came from.
package pager

import (
	"context"
	"fmt"

	"gorun/compute"
	"gorun/gguf"
	"gorun/tensor"
)

// PageID numbers the pages of a catalog.
type PageID int

// Page says where the bytes of a page are in the model file.
type Page struct {
	Tensor string
	Expert int // -1: the tensor is not a stack of experts
	Part   int // of the split set
	Offset int64
	Bytes  int64
	Type   tensor.Type
	First  int // first row in its matrix
	Rows   int
	Cols   int
}

// Catalog lists all pages of the matrices that a model uses.
type Catalog struct {
	pages []Page
	bytes int64
}

// Pages is the list of pages, by PageID.
func (c *Catalog) Pages() []Page { return c.pages }

// Bytes is the size of all pages together.
func (c *Catalog) Bytes() int64 { return c.bytes }

// Matrix is a weight matrix of Rows rows of Cols values: a run of pages.
type Matrix struct {
	Name       string
	Type       tensor.Type
	Rows, Cols int
	first, n   PageID
}

// Add catalogs a tensor of one or two dimensions as one matrix, and one of
// three as a stack of matrices, one for each expert.
func (c *Catalog) Add(t gguf.Tensor) ([]*Matrix, error) {
	dims := [3]int64{1, 1, 1}
	if len(t.Dims) > 3 {
		return nil, fmt.Errorf("tensor %q has %d dimensions, a weight has at most 3", t.Name, len(t.Dims))
	}
	copy(dims[:], t.Dims)
	if !t.Type.CanDequantize() {
		return nil, fmt.Errorf("tensor %q: gorun cannot compute with %v", t.Name, t.Type)
	}
	rowBytes, err := t.Type.RowSize(dims[0])
	if err != nil {
		return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	matrices := make([]*Matrix, dims[2])
	size := rowBytes * dims[1]
	for e := range matrices {
		expert := e
		if len(t.Dims) < 3 {
			expert = -1
		}
		matrices[e] = &Matrix{t.Name, t.Type, int(dims[1]), int(dims[0]), PageID(len(c.pages)), 1}
		c.pages = append(c.pages, Page{
			Tensor: t.Name, Expert: expert, Part: t.Part, Offset: t.Offset + int64(e)*size, Bytes: size,
			Type: t.Type, Rows: int(dims[1]), Cols: int(dims[0]),
		})
		c.bytes += size
	}
	return matrices, nil
}

// Residency holds the bytes of a catalog's pages.
type Residency interface {
	// Acquire returns a page in device memory, which stays until the
	// operation that it is given to has completed.
	Acquire(ctx context.Context, id PageID) (compute.Page, error)
	// Bytes is the memory that the residency holds beside the model file.
	Bytes() int64
	Close() error
}

// Pages is the number of pages of the matrix.
func (m *Matrix) Pages() int { return int(m.n) }

// Page is the id of its i-th page.
func (m *Matrix) Page(i int) PageID { return m.first + PageID(i) }
