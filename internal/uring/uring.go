// Package uring reads files without a thread for each read that is under way.
//
// A read that waits in a system call holds one of the processors of a Go
// program until the runtime notices, and there are as few of these as the machine has cores.
// Linux takes reads from a ring in shared memory instead (io_uring) and puts
// their results into another one:
//
//	Start ──> [ submissions ] ──> kernel ──> [ completions ] ──> reaper ──> Done
//
// The reaper is a goroutine that sleeps in the network poller until an event
// descriptor tells it of completions. So who reads sleeps as one who waits for a network does.
// Reads that begin together cost one call of the system, and the disk is told once.
package uring

import "errors"

// ErrUnsupported is returned where the system has no io_uring, or not for us.
var ErrUnsupported = errors.New("no io_uring")

// Read is a read of len(Memory) bytes of a file; there may be fewer at its end.
type Read struct {
	FD     int
	Memory []byte
	Off    int64
	// Done is called once, by a goroutine that must not be held up.
	Done func(n int, err error)
}
