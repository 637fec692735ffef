package machine

import (
	"runtime"
	"unsafe"
)

// readWords reads memory, a multiple of 64 bytes, in plain Go.
func readWords(b []byte) {
	words := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
	var s0, s1, s2, s3 uint64
	for len(words) >= 8 {
		w := (*[8]uint64)(words)
		s0 |= w[0] | w[4]
		s1 |= w[1] | w[5]
		s2 |= w[2] | w[6]
		s3 |= w[3] | w[7]
		words = words[8:]
	}
	runtime.KeepAlive(s0 | s1 | s2 | s3)
}
