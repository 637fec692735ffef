package guard

import (
	"syscall"
	"unsafe"
)

// Memory is n zeros before a page that must not be touched.
func Memory[V any](t T, n int) []V {
	var zero V
	page, size := syscall.Getpagesize(), n*int(unsafe.Sizeof(zero))
	whole := (size + page - 1) / page * page
	m, err := syscall.Mmap(-1, 0, whole+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(m); err != nil {
			t.Fatal(err)
		}
	})
	if err := syscall.Mprotect(m[whole:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return unsafe.Slice((*V)(unsafe.Pointer(&m[whole-size])), n)
}
