//go:build amd64 || arm64

package spin

// pause takes n of at least 1.
func pause(n uint32)
