package attn

import (
	"gorun/internal/kernelset"
	"gorun/tensor"
)

// lanes is the number of partial sums, and the floats of a vector.
const lanes = 16

// Kernels fetch what is at the same place ahead bytes behind the rows that
// they read. They do not use it: it may be anywhere.
type (
	// dotsFunc computes dst[r*stride+j] = scale * q[r].k[j] for the rows of
	// the kernel and keys rows, a multiple of 16, that begin at k[j*kStride].
	// Rows are vectors times 16 values, whole blocks of the type; those of q
	// follow one another.
	dotsFunc func(dst []float32, stride int, q []float32, k []byte, kStride, ahead, vectors, keys int, scale float32)

	// roundFunc rounds whole blocks of a query row in place, at least one.
	roundFunc func(row []float32)

	// addFunc adds w[r*stride+j] * v[j] to dst[r] for the rows of the kernel
	// and n rows, at least one, that begin at v[j*vStride]. Rows are vectors
	// times 16 values, whole blocks of the type; those of dst follow one
	// another.
	addFunc func(dst, w []float32, stride int, v []byte, vStride, ahead, vectors, n int)

	// softmaxFunc replaces scores, a multiple of 16, by the exponentials of
	// their distance to the largest one, which it returns with the sum. A NaN
	// is not the largest.
	softmaxFunc func(scores []float32) (top, sum float32)

	// softcapFunc computes limit * tanh(x/limit) of a multiple of 16 values.
	softcapFunc func(x []float32, limit float32)

	// blendFunc computes acc = ca*acc + cx*x of a multiple of 16 values, at
	// least that, each product rounded.
	blendFunc func(acc, x []float32, ca, cx float32)

	// loadFunc converts the first n values of each of the rows, which begin
	// at src[i*stride], to float32 at dst[i*width]. n is a multiple of 16 and
	// of the block of the type, and at least that.
	loadFunc func(dst []float32, width int, src []byte, stride, ahead, rows, n int)
)

// heights lists the numbers of query rows that there are kernels for.
var heights = [...]int{4, 2, 1}

// A Set is a complete set of kernels for one kind of CPU.
type Set struct {
	name    string
	types   map[tensor.Type]*kernels // all of tensor.KVTypes, in all their forms
	softmax softmaxFunc
	softcap softcapFunc
	blend   blendFunc
}

// kernels are those that know a type. Some types have no dots and no add:
// their rows are loaded.
type kernels struct {
	dots  [len(heights)]dotsFunc
	add   [len(heights)]addFunc
	load  loadFunc
	round roundFunc // of queries, if dots wants them rounded
}

// Name is "generic", "avx2" or "avx512".
func (s *Set) Name() string { return s.name }

// Sets are the kernel sets for this CPU. A block keeps the one that it was made with.
var Sets = kernelset.New("attn", append(nativeSets(), generic)...)
