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
					if follows := p.Follows(worker, hi); hi == n && follows || threads == 1 && hi < n && !follows {
						t.Errorf("run of [%d, %d) of %d: %d follows: %v", lo, hi, n, hi, follows)
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
