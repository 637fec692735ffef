package cpu

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestPool wants every index once, by workers with numbers of their own, and
// For back after the last of them.
func TestPool(t *testing.T) {
	for _, threads := range []int{1, 2, 3, runtime.GOMAXPROCS(0) + 5} {
		t.Run(fmt.Sprint(threads), func(t *testing.T) {
			p, err := NewPool(threads)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			rapid.Check(t, func(t *rapid.T) {
				n, grain := rapid.IntRange(0, 300).Draw(t, "n"), rapid.IntRange(0, 40).Draw(t, "grain")
				most := rapid.IntRange(0, 5).Draw(t, "most")
				pause := rapid.SampledFrom([]time.Duration{0, 0, 0, time.Microsecond, 300 * time.Microsecond}).Draw(t, "pause")
				seen, busy := make([]atomic.Int32, n), make([]atomic.Int32, threads)
				p.ForRuns(n, grain, most, func(worker, lo, hi int) {
					if busy[worker].Add(1) != 1 {
						t.Errorf("two runs as worker %d", worker)
					}
					if lo >= hi || lo%max(grain, 1) != 0 || hi-lo > max(grain, 1)*max(most, 1) {
						t.Errorf("run of [%d, %d) with grain %d, at most %d", lo, hi, grain, most)
					}
					if next := p.Next(worker, hi); next != n && (next < 0 || next > n || next%max(grain, 1) != 0) {
						t.Errorf("run of [%d, %d) of %d: %d is next", lo, hi, n, next)
					}
					for i := lo; i < hi; i++ {
						seen[i].Add(1)
					}
					busy[worker].Add(-1)
				})
				for i := range seen {
					if seen[i].Load() != 1 {
						t.Fatalf("index %d of %d: %d times", i, n, seen[i].Load())
					}
				}
				time.Sleep(pause) // workers spin, yield or sleep
			})
		})
	}
	if _, err := NewPool(0); err == nil {
		t.Error("a pool of no threads")
	}
}

// TestPoolWaitsForTheSlow holds a chunk up for long after all others are done.
func TestPoolWaitsForTheSlow(t *testing.T) {
	p, err := NewPool(2)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 20 {
		var done atomic.Int32
		p.For(8, 1, func(_, lo, _ int) {
			if lo == 7 {
				time.Sleep(2 * time.Millisecond)
			}
			done.Add(1)
		})
		if done.Load() != 8 {
			t.Fatalf("back after %d of 8", done.Load())
		}
	}
}

// TestPoolForetells keeps all threads but one from work once they have begun: then what is next is known, and
// what they do not do is done in long runs.
func TestPoolForetells(t *testing.T) {
	for _, threads := range []int{1, 2, 3} {
		p, err := NewPool(threads)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		const n, grain, most = 1000, 2, 16
		next, runs, begun, done := -1, 0, make(chan struct{}), make(chan struct{})
		p.ForRuns(n, grain, most, func(worker, lo, hi int) {
			if worker > 0 {
				begun <- struct{}{}
				<-done
				return
			}
			if runs++; runs == 1 {
				for range threads - 1 {
					<-begun
				}
			} else if lo != next {
				t.Errorf("%d threads: went on with %d instead of %d", threads, lo, next)
			}
			if next = p.Next(worker, hi); next == n {
				close(done)
			}
		})
		if next != n || runs < n/(grain*most) || runs > n/(grain*most)+20*threads {
			t.Errorf("%d threads: %d runs, the last one before %d", threads, runs, next)
		}
	}
}

// TestPoolAllocatesNothing, once it has begun.
func TestPoolAllocatesNothing(t *testing.T) {
	p, err := NewPool(2)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	body := func(_, _, _ int) {}
	if n := testing.AllocsPerRun(100, func() { p.For(64, 1, body) }); n != 0 {
		t.Errorf("%v allocations a loop", n)
	}
}
