package prefetch

import (
	"testing"

	"gorun/internal/guard"
)

// TestLines fetches up to the very end of memory, and beyond it, which must not matter.
func TestLines(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 4096} {
		Lines(guard.Memory[byte](t, n))
		Lines(make([]byte, n))
	}
}
