//go:build !purego

package machine

import "golang.org/x/sys/cpu"

// multiplyAdd is a loop of the widest multiply-adds of this CPU, and the
// operations of a turn; nil if it has none.
func multiplyAdd() (loop func(n int), flops int) {
	switch {
	case cpu.X86.HasAVX512F:
		return fmaAVX512, 24 * 16 * 2
	case cpu.X86.HasFMA && cpu.X86.HasAVX2:
		return fmaAVX2, 12 * 8 * 2
	}
	return nil, 0
}

// read reads memory, a multiple of 256 bytes.
func read(b []byte) {
	if cpu.X86.HasAVX2 {
		readAVX2(&b[0], len(b))
		return
	}
	readWords(b)
}
