package cpu

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"gorun/internal/prefetch"
	"gorun/internal/spin"
)

// Pool splits loops among a fixed set of goroutines. Each has a run of indices
// of its own and takes chunks from its beginning, ever fewer at a time; who is done
// early takes chunks from the end of another's run. So a slow core does less, one that
// another program has for a while hardly anything, and since the caller takes part, a worker that has
// claimed nothing is never waited for.
//
// A worker without work spins for a moment, since the next loop of a forward
// pass begins within microseconds and waking a thread takes tens of them; then
// it lets other goroutines run, and then it sleeps. Before all that it fetches what it will
// read next, if that is known, so that memory is never idle.
type Pool struct {
	threads int
	workers sync.WaitGroup
	spins   bool

	// The loop under way. Who has claimed a chunk of it may read these: the
	// loop cannot end before that chunk is done.
	n, grain int
	body     func(worker, lo, hi int)

	upcoming   atomic.Pointer[upcoming] // of the loop after this one
	shares     []share                  // of each thread
	unfinished atomic.Int64             // chunks not yet done
	closed     atomic.Bool

	sleeping atomic.Int64  // workers that sleep and will be sent no token yet
	wake     chan struct{} // one token for each of them to be woken
	dozing   atomic.Bool   // the caller sleeps
	done     chan struct{}
}

// share is the run of chunks of one thread that nobody has claimed. It has a
// cache line of its own.
type share struct {
	chunks atomic.Uint64 // a chunks
	_      [56]byte
}

// chunks is a run of chunks, and how many are claimed at a time at most:
//
//	bit 63        38 37         12 11          0
//	   | first      | end         | most        |
type chunks uint64

const (
	mostBits, endBits = 12, 26
	mostChunks        = 1<<endBits - 1
	oneOfEnd, oneOf   = 1 << mostBits, 1 << (mostBits + endBits)
)

func newChunks(first, end, most int) chunks {
	return chunks(first*oneOf + end*oneOfEnd + min(most, oneOfEnd-1))
}

func (c chunks) first() int { return int(c >> (mostBits + endBits)) }
func (c chunks) end() int   { return int(c >> mostBits & mostChunks) }
func (c chunks) most() int  { return int(c & (oneOfEnd - 1)) }
func (c chunks) left() int  { return c.end() - c.first() }

// upcoming is memory that the threads will share in a loop. It does not change.
type upcoming []stretch

// stretch is memory that is read in pieces, of which the last may be shorter.
type stretch struct {
	memory []byte
	piece  int
}

func (s stretch) pieces() int { return (len(s.memory) + s.piece - 1) / s.piece }

// share is the beginning of what a thread will read.
func (u *upcoming) share(worker, threads int) []byte {
	if u == nil {
		return nil
	}
	all := 0
	for _, s := range *u {
		all += s.pieces()
	}
	first, end := worker*all/threads, (worker+1)*all/threads
	for _, s := range *u {
		n := s.pieces()
		if first < n {
			from := first * s.piece
			return s.memory[from:min(end*s.piece, from+fetching, len(s.memory))]
		}
		first, end = first-n, end-n
	}
	return nil
}

const (
	// fetching is how much of the next loop's memory a thread fetches at most, well
	// within its second cache; fetchingAtOnce is how much before it looks for work.
	fetching       = 256 << 10
	fetchingAtOnce = 1 << 10
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
	spins := threads <= runtime.GOMAXPROCS(0) // else a spinning one keeps a busy one from its core
	return newPool(threads, spins), nil
}

func newPool(threads int, spins bool) *Pool {
	p := &Pool{threads: threads, spins: spins, shares: make([]share, threads), wake: make(chan struct{}, threads), done: make(chan struct{}, 1)}
	for w := 1; w < threads; w++ {
		p.workers.Go(func() { p.serve(w) })
	}
	return p
}

// Threads is the number of goroutines that share a loop, the caller included.
func (p *Pool) Threads() int { return p.threads }

// For calls body with runs of at most grain indices until [0, n) is covered,
// and returns when all is done. worker is below Threads and differs between
// calls that run at the same time. Only one For runs at a time.
func (p *Pool) For(n, grain int, body func(worker, lo, hi int)) {
	p.ForRuns(n, grain, 1, body)
}

// ForRuns is For with runs of up to most times grain indices, which get shorter towards the end.
func (p *Pool) ForRuns(n, grain, most int, body func(worker, lo, hi int)) {
	grain, most = max(grain, 1), max(most, 1)
	if n <= 0 {
		return
	}
	p.n, p.grain = n, grain
	if p.threads == 1 || n <= grain {
		for lo := 0; lo < n; lo += grain * most {
			body(0, lo, min(lo+grain*most, n))
		}
		return
	}
	all := (n + grain - 1) / grain
	require(all <= mostChunks, "a loop of %d chunks", all)
	p.body = body
	p.unfinished.Store(int64(all))
	for i := range p.shares {
		p.shares[i].chunks.Store(uint64(newChunks(i*all/p.threads, (i+1)*all/p.threads, most)))
	}
	p.rouse(all - 1)
	p.work(0)
	p.await()
	p.body = nil
}

// Next is the index that a thread will most likely go on with after the run that ends
// before i; the length of the loop if there is none.
func (p *Pool) Next(worker, i int) int {
	if p.threads == 1 || p.n <= p.grain {
		return i
	}
	for w := range p.threads {
		c := chunks(p.shares[(worker+w)%p.threads].chunks.Load())
		if c.left() > 0 {
			first, _, _ := c.claim(w > 0)
			return first * p.grain
		}
	}
	return p.n
}

// work does chunks until none is left, and reports whether it did any.
func (p *Pool) work(worker int) bool {
	done := 0
	for {
		first, n := p.shares[worker].claim(false)
		for i := 1; n == 0 && i < p.threads; i++ {
			first, n = p.shares[(worker+i)%p.threads].claim(true)
		}
		if n == 0 {
			break
		}
		p.body(worker, first*p.grain, min((first+n)*p.grain, p.n))
		done += n
	}
	// Threads count together as seldom as can be: it takes each as long as a
	// few kilobytes of weights.
	if done > 0 && p.unfinished.Add(-int64(done)) == 0 && p.dozing.CompareAndSwap(true, false) {
		p.done <- struct{}{}
	}
	return done > 0
}

// claim takes a quarter of the chunks that are left, so that threads end together: the first ones, or
// for another thread the last.
func (c chunks) claim(last bool) (first, n int, rest chunks) {
	n = min((c.left()+3)/4, c.most())
	if last {
		return c.end() - n, n, c - chunks(n)*oneOfEnd
	}
	return c.first(), n, c + chunks(n)*oneOf
}

// claim claims chunks of the share; none if none is left.
func (s *share) claim(last bool) (first, n int) {
	for {
		c := chunks(s.chunks.Load())
		if c.left() <= 0 {
			return 0, 0
		}
		first, n, rest := c.claim(last)
		if s.chunks.CompareAndSwap(uint64(c), uint64(rest)) {
			return first, n
		}
	}
}

// unclaimed reports whether a chunk is left.
func (p *Pool) unclaimed() bool {
	for i := range p.shares {
		if chunks(p.shares[i].chunks.Load()).left() > 0 {
			return true
		}
	}
	return false
}

// await returns when all chunks are done.
func (p *Pool) await() {
	if p.patient(0, waiting, func() bool { return p.unfinished.Load() == 0 }) {
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
		p.work(worker)
		if p.patient(worker, idling, ready) {
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
func (p *Pool) patient(worker int, long time.Duration, ready func() bool) bool {
	if ready() {
		return true
	}
	for rest := p.upcoming.Load().share(worker, p.threads); len(rest) > 0; {
		n := min(len(rest), fetchingAtOnce)
		prefetch.Lines(rest[:n])
		rest = rest[n:]
		if ready() {
			return true
		}
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
