package pageio

import (
	"testing"
	"unsafe"
)

// TestNewMemory wants memory that begins on a block, or on a large page.
func TestNewMemory(t *testing.T) {
	for _, n := range []int64{1, Block, largePage - 1, largePage, 5*largePage + 1} {
		mem, free, err := NewMemory(n)
		if err != nil {
			t.Fatal(err)
		}
		unit := uintptr(Block)
		if n >= largePage {
			unit = largePage
		}
		if int64(len(mem)) != n || int64(cap(mem)) != n || uintptr(unsafe.Pointer(&mem[0]))%unit != 0 {
			t.Errorf("%d bytes: %d at %p", n, len(mem), &mem[0])
		}
		mem[n-1] = 1
		if err := free(); err != nil {
			t.Error(err)
		}
	}
}
