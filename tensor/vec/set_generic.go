//go:build !amd64 || purego || noasm || race

package vec

// nativeSets lists the kernel sets in assembly that this CPU can execute.
func nativeSets() []*Set { return nil }
