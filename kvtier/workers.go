package kvtier

import "sync"

// ioDepth is the number of reads that may be under way at once.
const ioDepth = 32

// queuedReads is more than the ring has slots: those who compute never wait
// for room in the queue.
const queuedReads = 4096

// workers do what waits for the disk. They own no state.
type workers struct {
	jobs chan func()
	all  sync.WaitGroup
}

func newWorkers(n int) *workers {
	w := &workers{jobs: make(chan func(), queuedReads)}
	for range n {
		w.all.Go(func() {
			for job := range w.jobs {
				job()
			}
		})
	}
	return w
}

func (w *workers) do(job func()) { w.jobs <- job }

func (w *workers) close() {
	close(w.jobs)
	w.all.Wait()
}
