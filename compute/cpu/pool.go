package cpu

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// Pool splits loops among a fixed set of goroutines. Work is claimed in small
// chunks from a shared counter, so that a slow core takes less of it, and the
// caller takes part: a worker that has claimed nothing is never waited for.
type Pool struct {
	threads int
	jobs    chan *job
	workers sync.WaitGroup
}

type job struct {
	n, grain  int
	body      func(worker, lo, hi int)
	next      atomic.Int64 // first index not yet claimed
	remaining atomic.Int64 // indices not yet done
	done      chan struct{}
}

// NewPool starts threads-1 workers.
func NewPool(threads int) (*Pool, error) {
	if threads < 1 {
		return nil, fmt.Errorf("cpu: %d threads: need at least one", threads)
	}
	p := &Pool{threads: threads, jobs: make(chan *job, threads-1)}
	for w := 1; w < threads; w++ {
		p.workers.Go(func() {
			for j := range p.jobs {
				j.work(w)
			}
		})
	}
	return p, nil
}

// Threads is the number of goroutines that share a loop, the caller included.
func (p *Pool) Threads() int { return p.threads }

// For calls body with runs of at most grain indices until [0, n) is covered,
// and returns when all is done. worker is below Threads and differs between
// calls that run at the same time. Only one For runs at a time.
func (p *Pool) For(n, grain int, body func(worker, lo, hi int)) {
	grain = max(grain, 1)
	if n <= 0 {
		return
	}
	if p.threads == 1 || n <= grain {
		for lo := 0; lo < n; lo += grain {
			body(0, lo, min(lo+grain, n))
		}
		return
	}
	j := &job{n: n, grain: grain, body: body, done: make(chan struct{})}
	j.remaining.Store(int64(n))
	for range min(p.threads-1, (n-1)/grain) {
		select {
		case p.jobs <- j:
		default: // the workers are behind; they are not needed
		}
	}
	j.work(0)
	<-j.done
}

func (j *job) work(worker int) {
	for {
		lo := int(j.next.Add(int64(j.grain))) - j.grain
		if lo >= j.n {
			return
		}
		hi := min(lo+j.grain, j.n)
		j.body(worker, lo, hi)
		if j.remaining.Add(int64(lo-hi)) == 0 {
			close(j.done)
		}
	}
}

// Close ends the workers.
func (p *Pool) Close() {
	close(p.jobs)
	p.workers.Wait()
}
