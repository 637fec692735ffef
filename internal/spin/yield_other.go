//go:build !linux

package spin

import "runtime"

// Yield lets another goroutine have this core: no thread can be made way for here.
func Yield() { runtime.Gosched() }
