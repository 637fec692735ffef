package gemm

import (
	"gorun/internal/kernelset"
	"gorun/tensor"
)

type (
	// quantizeFunc quantizes whole blocks of activations.
	quantizeFunc func(dst []byte, x []float32)

	// unpackFunc makes a tile of blocks blocks of 16 rows; row r begins at
	// w[r*stride].
	unpackFunc func(tile, w []byte, stride, blocks int)

	// dotFunc multiplies all blocks blocks of tiles times 16 rows, which begin at
	// w[r*stride], with few columns: the activations of column c begin at
	// x[xAt[c]], its results at dst[dstAt[c]]. tile is memory for one block of 16 rows. While it
	// multiplies 16 rows it fetches as many bytes ahead of them.
	dotFunc func(tile, w []byte, stride int, x []byte, xAt []int, dst []float32, dstAt []int, blocks, tiles, ahead int)

	// productFunc multiplies blocks blocks of 32 elements of a tile with
	// columns: the activations of column c begin at x[xAt[c]], the results
	// at dst[dstAt[c]]. It writes the first rows of the 16 results; with
	// carry, sums go on from what is there.
	productFunc func(tile, x []byte, xAt []int, dst []float32, dstAt []int, blocks, rows int, carry bool)

	// floatFunc adds to partial sums the products of rows of float weights,
	// which begin at w[r*stride], with columns: steps times 16 elements. The
	// partial sums of row r and column c begin at partial[16*(partialAt[c]+r)].
	// The bytes from w[ahead] on will be needed next.
	floatFunc func(w []byte, stride int, x []byte, xAt []int, partial []float32, partialAt []int, steps, ahead int)

	// reduceFunc sums up each 16 partial sums.
	reduceFunc func(dst, partial []float32)
)

// maxColumns is the number of columns that a kernel takes at most.
const maxColumns = 8

// productKey finds a product kernel: the form without its bias, and top.
type productKey struct {
	group, top int
	min, wide  bool
}

// A Set is a complete set of kernels for one kind of CPU.
type Set struct {
	name     string
	quantize map[Form]quantizeFunc
	unpack   map[tensor.Type]unpackFunc
	dot      map[tensor.Type]*[dotColumns]dotFunc // for one and for two columns
	dot256   map[tensor.Type]*[dotColumns]dotFunc // with 256 elements counted as one block
	product  map[productKey]*[len(widths)]productFunc
	float    map[tensor.Type]*floatKernels
	reduce   reduceFunc
}

// widths lists the numbers of columns that there are kernels for; a set need
// not have the widest.
var widths = [...]int{8, 4, 2, 1}

// floatKernels are those for four rows and for one, for each of floatWidths columns.
type floatKernels struct {
	rows4, row1 [len(floatWidths)]floatFunc
}

var floatWidths = [...]int{6, 4, 2, 1}

// Name is "generic", "avx2" or "avx512".
func (s *Set) Name() string { return s.name }

// Sets are the kernel sets for this CPU.
var Sets = kernelset.New("gemm", append(nativeSets(), generic)...)

func (f *format) productKey() productKey {
	return productKey{f.form.group, f.top, f.form.min, f.form.wide}
}
