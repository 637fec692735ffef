package gguf

import (
	"fmt"
	"unicode/utf8"
)

// Limits on what a file may hold. They are far above what any model needs and
// keep what a hostile file can make the reader allocate within 16 MiB beyond
// twice its size.
const (
	maxKeys    = 1 << 14 // in all parts of a split set
	maxTensors = 1 << 16 // in all parts of a split set
	maxName    = 1<<16 - 1
	maxDims    = 4
	maxDepth   = 8 // arrays within arrays

	defaultAlignment = 32
	minAlignment     = 8
	maxAlignment     = 1 << 24
)

// badName says why name cannot be a key or the name of a tensor, or returns
// "" if it can.
func badName(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > maxName:
		return fmt.Sprintf("has %d bytes, more than %d", len(name), maxName)
	case !utf8.ValidString(name):
		return fmt.Sprintf("%q is not valid UTF-8", name)
	}
	return ""
}

// alignUp returns the smallest multiple of alignment, a power of two, that is
// not below n.
func alignUp(n, alignment int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }
