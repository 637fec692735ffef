package uring

import (
	"time"

	"golang.org/x/sys/unix"
)

// Queue is an io_uring for reads of one goroutine, which begins them and waits for
// them itself. Nobody else must be woken, and what it begins next is with the
// disk as soon as it knows of what has ended.
type Queue struct{ kernelRing }

// NewQueue returns ErrUnsupported where the system has none.
func NewQueue() (*Queue, error) {
	q := &Queue{}
	if err := q.open(); err != nil {
		return nil, err
	}
	return q, nil
}

// Start begins reads, with one call of the system if there is room for all. Those that
// the kernel refuses are told now, others by Poll and Wait.
func (q *Queue) Start(reads []Read) {
	q.waiting = append(q.waiting, reads...)
	q.more()
}

// more submits what waits. The kernel refuses what it cannot take, and that would
// not be different later.
func (q *Queue) more() {
	for {
		failed, err := q.submit()
		if len(failed) == 0 {
			return
		}
		fail(failed, err)
	}
}

// Poll tells of reads that have ended.
func (q *Queue) Poll() {
	if !q.collected() {
		q.collect()
		q.release()
		q.more()
	}
}

// Wait is Poll once a read has ended, if one is under way.
func (q *Queue) Wait() {
	for q.collected() {
		if len(q.free) == entries {
			return
		}
		if _, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(q.fd), 0, 1, enterGetEvents, 0, 0); errno != 0 && errno != unix.EINTR {
			time.Sleep(time.Millisecond) // they end without being waited for
		}
	}
	q.Poll()
}

// Close ends the queue. No read may be under way.
func (q *Queue) Close() error { return q.close() }
