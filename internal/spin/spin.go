// Package spin waits for another core for a moment without giving up the own one.
package spin

// Pause waits for n turns of the CPU's hint for waiting loops, some ten
// nanoseconds each; elsewhere than on amd64 and arm64 it returns at once.
func Pause(n uint32) { pause(n) }
