// Package sysmem tells how much memory a process may still use.
package sysmem

// Available is the memory that can be had without swapping, in bytes, under
// whatever limit this process has. ok is false where that is not known.
func Available() (bytes int64, ok bool) { return available() }
