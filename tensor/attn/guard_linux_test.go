package attn

import (
	"syscall"
	"unsafe"

	"pgregory.net/rapid"
)

// guarded is memory for n values before a page that must not be touched.
func guarded[T any](t *rapid.T, n int) []T {
	var zero T
	page, size := syscall.Getpagesize(), n*int(unsafe.Sizeof(zero))
	whole := (size + page - 1) / page * page
	m, err := syscall.Mmap(-1, 0, whole+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(m); err != nil {
			t.Error(err)
		}
	})
	if err := syscall.Mprotect(m[whole:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&m[whole-size])), n)
}
