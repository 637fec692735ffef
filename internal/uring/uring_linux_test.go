package uring

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestSetUpFails has kernels without plain reads, and a file that is no ring:
// an error each, and nothing left open.
func TestSetUpFails(t *testing.T) {
	for _, features := range []uint32{0, featSingleMmap, featSingleMmap | featRWCurPos} {
		fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		r := &kernelRing{fd: fd}
		if err := r.setUp(&params{sqEntries: 1, cqEntries: 1, features: features}); err == nil {
			t.Errorf("features %x: set up", features)
		}
		if err := r.close(); err != nil {
			t.Errorf("features %x: %v", features, err)
		}
	}
}
