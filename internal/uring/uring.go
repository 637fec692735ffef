// Package uring reads files without a thread for each read that is under way.
//
// A read that waits in a system call holds one of the processors of a Go
// program until the runtime notices, and there are as few of these as the machine has cores.
// Linux takes reads from a ring in shared memory instead (io_uring) and puts
// their results into another one:
//
//	Start ──> [ submissions ] ──> kernel ──> [ completions ] ──> Done
//
// Reads that begin together cost one call of the system, and the disk is told once.
//
// A Ring is for reads of many goroutines that wait for one each. Its completions are collected by a
// goroutine that sleeps in the network poller until an event descriptor tells it of them, so who
// reads sleeps as one who waits for a network does.
//
// A Queue is for one goroutine with many reads under way, which collects completions itself: what
// it begins next is with the disk before anybody else is woken.
package uring

import "errors"

// ErrUnsupported is returned where the system has no io_uring, or not for us.
var ErrUnsupported = errors.New("no io_uring")

// Read is a read of len(Memory) bytes of a file; there may be fewer at its end.
type Read struct {
	FD     int
	Memory []byte
	Off    int64
	// Done is called once, by the goroutine that collects completions, which must not be held up.
	Done func(n int, err error)
}
