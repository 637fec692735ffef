//go:build !amd64 || purego

package machine

func multiplyAdd() (loop func(n int), flops int) { return nil, 0 }

func read(b []byte) { readWords(b) }
