//go:build unix

package gemm

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// guarded returns n bytes right before a page that must not be touched.
func guarded(t *testing.T, n int) []byte {
	page := unix.Getpagesize()
	size := roundUp(n, page)
	mem, err := unix.Mmap(-1, 0, size+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(mem) })
	if err := unix.Mprotect(mem[size:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return mem[size-n : size : size]
}

// Nothing is read or written beyond the end of any operand.
func TestGuardPages(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for _, s := range Sets.All() {
		use(t, s)
		for _, typ := range testedTypes() {
			for _, rows := range []int{1, 15, 16, 17, 36} {
				for _, n := range []int{1, 15} {
					cols := typ.BlockSize()
					switch {
					case FormOf(typ).group != 0 || cols > 1:
					case rows < 17:
						cols = 35
					default:
						cols = 48
					}
					source := randomWeights(rng, typ, rows, cols)
					w := guarded(t, len(source))
					copy(w, source)
					values := randomActivations(rng, n*cols)
					size := ActivationBytes(typ, cols)
					x := guarded(t, n*size)
					row := guarded(t, 4*cols)
					floats := unsafe.Slice((*float32)(unsafe.Pointer(&row[0])), cols)
					for c := range n {
						copy(floats, values[c*cols:])
						PrepareRow(typ, x[c*size:][:size], floats)
					}
					out := guarded(t, 4*n*rows)
					dst := unsafe.Slice((*float32)(unsafe.Pointer(&out[0])), n*rows)
					Mul(typ, dst, rows, nil, w, guarded(t, 1), rows, cols, x, nil, n, guarded(t, ScratchBytes(typ, cols)))
					if err := same(dst, mul(typ, source, rows, cols, x, n)); err != nil {
						t.Fatalf("%v, %v, %d rows, %d columns: %v", s.Name(), typ, rows, n, err)
					}
				}
			}
		}
	}
}
