package pageio

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Depth is how many reads a queue has under way by default. Disks reach their
// speed with several.
const Depth = 8

// Request asks for a page.
type Request struct {
	File *File
	Off  int64
	N    int64
	Mem  []byte // where to, as ReadPage wants it
	// Urgent requests go before others.
	Urgent bool
	// Done is called once, by a worker, with the page or an error. Until then
	// Mem belongs to the queue.
	Done func(page []byte, err error)
}

// ErrClosed is what requests get that a closing queue has not begun.
var ErrClosed = errors.New("pageio: the queue is closed")

// Queue reads pages, Depth at a time.
type Queue struct {
	mu      sync.Mutex
	some    sync.Cond // of mu: there is something to do
	urgent  []job
	later   []job
	closed  bool
	workers sync.WaitGroup

	active int // reads under way
	since  time.Time
	busy   time.Duration // with at least one read under way
}

type job struct {
	ctx context.Context
	Request
}

// NewQueue starts depth workers.
func NewQueue(depth int) *Queue {
	q := &Queue{}
	q.some.L = &q.mu
	for range depth {
		q.workers.Go(q.work)
	}
	return q
}

// Read enqueues a request. A context that is cancelled before the read begins
// makes it fail; a read that has begun cannot be interrupted.
func (q *Queue) Read(ctx context.Context, r Request) {
	q.mu.Lock()
	closed := q.closed
	switch {
	case closed:
	case r.Urgent:
		q.urgent = append(q.urgent, job{ctx, r})
	default:
		q.later = append(q.later, job{ctx, r})
	}
	q.mu.Unlock()
	if closed {
		r.Done(nil, ErrClosed)
		return
	}
	q.some.Signal()
}

func (q *Queue) work() {
	for {
		j, ok := q.next()
		if !ok {
			return
		}
		err := j.ctx.Err()
		var page []byte
		if err == nil {
			q.begin()
			page, err = j.File.ReadPage(j.Mem, j.Off, j.N)
			q.end()
		}
		j.Done(page, err)
	}
}

// next waits for a request.
func (q *Queue) next() (j job, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.urgent) == 0 && len(q.later) == 0 {
		if q.closed {
			return job{}, false
		}
		q.some.Wait()
	}
	from := &q.urgent
	if len(*from) == 0 {
		from = &q.later
	}
	j = (*from)[0]
	(*from)[0] = job{}
	*from = (*from)[1:]
	return j, true
}

func (q *Queue) begin() {
	q.mu.Lock()
	if q.active++; q.active == 1 {
		q.since = time.Now()
	}
	q.mu.Unlock()
}

func (q *Queue) end() {
	q.mu.Lock()
	if q.active--; q.active == 0 {
		q.busy += time.Since(q.since)
	}
	q.mu.Unlock()
}

// Busy is for how long the queue has had at least one read under way.
func (q *Queue) Busy() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.active > 0 {
		return q.busy + time.Since(q.since)
	}
	return q.busy
}

// Close waits for reads under way and fails those that have not begun.
func (q *Queue) Close() error {
	q.mu.Lock()
	q.closed = true
	left := append(q.urgent, q.later...)
	q.urgent, q.later = nil, nil
	q.mu.Unlock()
	q.some.Broadcast()
	for _, j := range left {
		j.Done(nil, ErrClosed)
	}
	q.workers.Wait()
	return nil
}
