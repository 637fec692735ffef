package gemm

import "unsafe"

// alignment of what is taken from scratch memory, the size of a cache line.
const alignment = 64

// take splits n bytes, aligned, off scratch memory. That needs at most
// alignment bytes more.
func take(scratch []byte, n int) (head, rest []byte) {
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(scratch))) & (alignment - 1))
	return scratch[skip : skip+n : skip+n], scratch[skip+n:]
}

// takeFloats splits n float32 off scratch memory.
func takeFloats(scratch []byte, n int) (values []float32, rest []byte) {
	head, rest := take(scratch, 4*n)
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(head))), n), rest
}

// columns lists the places of the columns of one kernel call. The lists live
// in scratch memory: what is passed to a function value would be allocated
// otherwise.
type columns struct{ from, to []int }

// columnsSize is the memory of a columns.
const columnsSize = 2 * 8 * maxColumns

func takeColumns(scratch []byte) (columns, []byte) {
	head, rest := take(scratch, columnsSize)
	list := unsafe.Slice((*int)(unsafe.Pointer(unsafe.SliceData(head))), 2*maxColumns)
	return columns{list[:maxColumns], list[maxColumns:]}, rest
}

// bytesOf views float32 as memory.
func bytesOf(values []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 4*len(values))
}
