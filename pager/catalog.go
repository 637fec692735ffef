// Package pager gives a forward pass the pages of a model's weights.
//
// A Catalog cuts the tensors of a model file into matrices and these into
// pages, runs of whole rows. Where the bytes of a page are is the business of
// a Residency: mapped from the file, read into the memory of a device, or paged:
// some of them in slots, the others read from the file when they are needed. The
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
	matrices []*Matrix
	pages    []Page
	bytes    int64
}

// Pages is the list of pages, by PageID.
func (c *Catalog) Pages() []Page { return c.pages }

// Matrices is the list of all matrices.
func (c *Catalog) Matrices() []*Matrix { return c.matrices }

// Bytes is the size of all pages together.
func (c *Catalog) Bytes() int64 { return c.bytes }

// Use says how a forward pass uses a matrix.
type Use int

// The uses.
const (
	Always   Use = iota // in every pass, whole
	Routed              // when a router has chosen it
	LookedUp            // only by rows
)

// Matrix is a weight matrix of Rows rows of Cols values: a run of pages.
type Matrix struct {
	Name       string
	Type       tensor.Type
	Rows, Cols int
	Use        Use
	Table      bool // rows of it are looked up, whatever else its use is
	whole      Page // all of it
	first, n   PageID
}

// Bytes is the size of the matrix.
func (m *Matrix) Bytes() int64 { return m.whole.Bytes }

func (m *Matrix) rowBytes() int64 { return m.whole.Bytes / int64(m.Rows) }

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
		m := &Matrix{Name: t.Name, Type: t.Type, Rows: int(dims[1]), Cols: int(dims[0])}
		m.whole = Page{
			Tensor: t.Name, Expert: expert, Part: t.Part, Offset: t.Offset + int64(e)*size, Bytes: size,
			Type: t.Type, Rows: m.Rows, Cols: m.Cols,
		}
		matrices[e] = m
		c.matrices = append(c.matrices, m)
		c.place(m, m.Rows)
		c.bytes += size
	}
	return matrices, nil
}

// place appends the pages of a matrix, of at most rows rows each.
func (c *Catalog) place(m *Matrix, rows int) {
	m.first = PageID(len(c.pages))
	for first := 0; first < m.Rows || first == 0; first += rows {
		p := m.whole
		p.First, p.Rows = first, min(rows, m.Rows-first)
		p.Offset += int64(first) * m.rowBytes()
		p.Bytes = int64(p.Rows) * m.rowBytes()
		c.pages = append(c.pages, p)
	}
	m.n = PageID(len(c.pages)) - m.first
}

// cut cuts every matrix into pages of at most limit bytes, or of one row.
// Page ids from before mean nothing then.
func (c *Catalog) cut(limit func(Use) int64) {
	c.pages = c.pages[:0:0]
	for _, m := range c.matrices {
		c.place(m, rowsWithin(m, limit(m.Use)))
	}
}

// tileRows is what rows of a page are a multiple of, if a matrix is cut: the
// rows that kernels compute side by side.
const tileRows = 16

// rowsWithin is how many rows a page of at most limit bytes has, such that all
// pages of the matrix are about equal.
func rowsWithin(m *Matrix, limit int64) int {
	most := int(limit / m.rowBytes())
	if most >= m.Rows {
		return m.Rows
	}
	if most > tileRows {
		most -= most % tileRows
	}
	most = max(1, most)
	n := (m.Rows + most - 1) / most
	rows := (m.Rows + n - 1) / n
	if most >= tileRows {
		rows = (rows + tileRows - 1) / tileRows * tileRows
	}
	return min(rows, most)
}

// Residency holds the bytes of a catalog's pages. It belongs to the goroutine
// of the forward pass.
type Residency interface {
	// Begin tells that a pass of so many tokens begins. A scan uses nearly
	// all experts, once: it reads a prompt.
	Begin(tokens int, scan bool)
	// Expect names pages that will be acquired next, in that order.
	Expect(ids []PageID)
	// Rows returns a page that holds rows of a matrix which is looked up in:
	// row rows[i] is row from[i] of the page.
	Rows(ctx context.Context, m *Matrix, rows []int32) (page compute.Page, from []int32, err error)
	// Acquire returns a page in device memory, which stays until the
	// operation that it is given to has completed.
	Acquire(ctx context.Context, id PageID) (compute.Page, error)
	// Held is how many pages may be held at a time, before they are given to an operation.
	Held() int
	// Bytes is the memory that the residency holds beside the model file.
	Bytes() int64
	Close() error
}

// Pages is the number of pages of the matrix.
func (m *Matrix) Pages() int { return int(m.n) }

// Page is the id of its i-th page.
func (m *Matrix) Page(i int) PageID { return m.first + PageID(i) }
