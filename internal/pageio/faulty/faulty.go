// Package faulty has files that misbehave, for tests of those who read them.
package faulty

import (
	"sync"
	"syscall"
	"time"

	"gorun/internal/pageio"
)

// Faults say how the reads of a file go wrong. Reads are counted over all
// handles, from 1.
type Faults struct {
	// EIO is the number of the read that fails; 0: none.
	EIO int64
	// Short is the number of bytes that every read gives less, down to none;
	// with ShortAt, only the read of that number.
	Short   int
	ShortAt int64
	// Delay is called before every read.
	Delay func()
	// Before is called with the number of every read.
	Before func(read int64)

	mu    sync.Mutex
	reads int64
}

// Reads is how many reads there were.
func (f *Faults) Reads() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reads
}

// Change changes the faults while files are read. next is the number of the
// next read.
func (f *Faults) Change(change func(next int64)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f.reads + 1)
}

// Wrap puts the faults before a handle; it is a pageio.Options.Wrap.
func (f *Faults) Wrap(h pageio.Handle) pageio.Handle { return &handle{h, f} }

// Sleep is a Delay.
func Sleep(d time.Duration) func() { return func() { time.Sleep(d) } }

type handle struct {
	pageio.Handle
	faults *Faults
}

func (h *handle) ReadAt(p []byte, off int64) (int, error) {
	f := h.faults
	f.mu.Lock()
	f.reads++
	read, eio, short, delay, before := f.reads, f.EIO, f.Short, f.Delay, f.Before
	if f.ShortAt != 0 && f.ShortAt != read {
		short = 0
	}
	f.mu.Unlock()
	if delay != nil {
		delay()
	}
	if before != nil {
		before(read)
	}
	if read == eio {
		return 0, syscall.EIO
	}
	n, err := h.Handle.ReadAt(p, off)
	return max(0, n-short), err
}
