//go:build !linux

package attn

import "pgregory.net/rapid"

// guarded is memory for n values. Linux puts a guard page behind it.
func guarded[T any](_ *rapid.T, n int) []T { return make([]T, n) }
