//go:build !linux

package guard

// Memory is n zeros. Linux puts a guard page behind them.
func Memory[V any](_ T, n int) []V { return make([]V, n) }
