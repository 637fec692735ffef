// Package guard has memory for tests of assembly: it ends in a page that
// cannot be accessed, so that whoever reads or writes beyond its end faults.
package guard

// T is a test.
type T interface {
	Fatal(...any)
	Cleanup(func())
}

// Copy is memory that holds values.
func Copy[V any](t T, values []V) []V {
	m := Memory[V](t, len(values))
	copy(m, values)
	return m
}
