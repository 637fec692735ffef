package cpu

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"gorun/internal/spin"
)

// Pool splits loops among a fixed set of goroutines. Each has a run of indices
// of its own and takes small chunks of it, in ascending order; who is done
// early takes chunks from the end of another's run. So a slow core does less,
// and since the caller takes part, a worker that has claimed nothing is never
// waited for.
//
// A worker without work spins for a moment, since the next loop of a forward
// pass begins within microseconds and waking a thread takes tens of them; then
// it lets other goroutines run, and then it sleeps.
type Pool struct {
	threads int
	workers sync.WaitGroup
	spins   bool

	// The loop under way. Who has claimed a chunk of it may read these: the
	// loop cannot end before that chunk is done.
	n, grain int
	body     func(worker, lo, hi int)

	shares     []share      // of each thread
	unfinished atomic.Int64 // chunks not yet done
	closed     atomic.Bool

	sleeping atomic.Int64  // workers that sleep and will be sent no token yet
	wake     chan struct{} // one token for each of them to be woken
	dozing   atomic.Bool   // the caller sleeps
	done     chan struct{}
}

// share is the run of chunks of one thread that nobody has claimed: the first
// in the upper half, the end in the lower half. It has a cache line of its own.
type share struct {
	chunks atomic.Uint64
	_      [56]byte
}

const (
	// idling is how long a worker spins for the next loop.
	idling = 200 * time.Microsecond
	// waiting is how long the caller spins for the last chunk of others. They are
	// short. One that takes longer may be that of a worker which has lost its
	// core, and gets this one if the caller sleeps.
	waiting = 30 * time.Microsecond
)

// NewPool starts threads-1 workers.
func NewPool(threads int) (*Pool, error) {
	if threads < 1 {
		return nil, fmt.Errorf("cpu: %d threads: need at least one", threads)
	}
	p := &Pool{threads: threads, shares: make([]share, threads), wake: make(chan struct{}, threads), done: make(chan struct{}, 1)}
	if threads <= runtime.GOMAXPROCS(0) { // else a spinning one keeps a busy one from its core
		p.spins = true
	}
	for w := 1; w < threads; w++ {
		p.workers.Go(func() { p.serve(w) })
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
	chunks := (n + grain - 1) / grain
	p.n, p.grain, p.body = n, grain, body
	p.unfinished.Store(int64(chunks))
	for i := range p.shares {
		p.shares[i].chunks.Store(uint64(i*chunks/p.threads)<<32 | uint64((i+1)*chunks/p.threads))
	}
	p.rouse(chunks - 1)
	for p.work(0) {
	}
	p.await()
	p.body = nil
}

// work does a chunk, if one is left.
func (p *Pool) work(worker int) bool {
	chunk, ok := p.shares[worker].claim(false)
	for i := 1; !ok && i < p.threads; i++ {
		chunk, ok = p.shares[(worker+i)%p.threads].claim(true)
	}
	if !ok {
		return false
	}
	lo := chunk * p.grain
	p.body(worker, lo, min(lo+p.grain, p.n))
	if p.unfinished.Add(-1) == 0 && p.dozing.CompareAndSwap(true, false) {
		p.done <- struct{}{}
	}
	return true
}

// claim takes the first chunk of a share, or the last one.
func (s *share) claim(last bool) (chunk int, ok bool) {
	for {
		v := s.chunks.Load()
		first, end := int(v>>32), int(uint32(v))
		if first >= end {
			return 0, false
		}
		chunk, rest := first, v+1<<32
		if last {
			chunk, rest = end-1, v-1
		}
		if s.chunks.CompareAndSwap(v, rest) {
			return chunk, true
		}
	}
}

// unclaimed reports whether a chunk is left.
func (p *Pool) unclaimed() bool {
	for i := range p.shares {
		if v := p.shares[i].chunks.Load(); v>>32 < v&math.MaxUint32 {
			return true
		}
	}
	return false
}

// await returns when all chunks are done.
func (p *Pool) await() {
	if p.patient(waiting, func() bool { return p.unfinished.Load() == 0 }) {
		return
	}
	p.dozing.Store(true)
	if p.unfinished.Load() == 0 && p.dozing.CompareAndSwap(true, false) {
		return
	}
	<-p.done
}

// serve is the life of a worker.
func (p *Pool) serve(worker int) {
	ready := func() bool { return p.unclaimed() || p.closed.Load() }
	for !p.closed.Load() {
		for p.work(worker) {
		}
		if p.patient(idling, ready) {
			continue
		}
		p.sleeping.Add(1)
		if ready() && p.claimSleeper() {
			continue
		}
		<-p.wake
	}
}

// patient spins for so long and reports whether what is waited for has come.
// After a moment it makes way for others: first for threads on the same core,
// which may be what is waited for, at last for goroutines.
func (p *Pool) patient(long time.Duration, ready func() bool) bool {
	if ready() {
		return true
	}
	if !p.spins {
		return false
	}
	for range 64 {
		spin.Pause(4)
		if ready() {
			return true
		}
	}
	for begin := time.Now(); time.Since(begin) < long; {
		spin.Yield()
		for range 4 {
			if ready() {
				return true
			}
			spin.Pause(4)
		}
	}
	runtime.Gosched()
	return ready()
}

// rouse wakes up to n sleeping workers.
func (p *Pool) rouse(n int) {
	for ; n > 0 && p.claimSleeper(); n-- {
		p.wake <- struct{}{}
	}
}

// claimSleeper takes one worker from the count of those that sleep: it must
// then be woken, or is the caller itself.
func (p *Pool) claimSleeper() bool {
	for {
		n := p.sleeping.Load()
		if n == 0 {
			return false
		}
		if p.sleeping.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

// Close ends the workers.
func (p *Pool) Close() {
	p.closed.Store(true)
	p.rouse(p.threads)
	p.workers.Wait()
}
