package cpu

import (
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// TestForesight repeats passes over the same weights, some of which change from
// pass to pass as experts do: what is foretold after two passes is what comes.
func TestForesight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := make([][]byte, 12)
		for i := range weights {
			weights[i] = make([]byte, 100*(i+1))
		}
		order := rapid.SliceOfN(rapid.IntRange(0, 8), 2, 9).Draw(t, "order")
		var f foresight
		for range 3 {
			for _, i := range order {
				f.see(weights[i], 64)
			}
		}
		for at, i := range order {
			next := order[(at+1)%len(order)]
			u := f.see(weights[i], 64)
			unique := true // the weights have one successor
			for other, j := range order {
				unique = unique && (j != i || order[(other+1)%len(order)] == next)
			}
			if unique && (u == nil || &u.memory[0] != &weights[next][0]) {
				t.Fatalf("%v: after %d comes %d", order, i, next)
			}
		}
		// Another one after each: nothing is sure any more, nor after a prompt.
		f.see(weights[order[0]], 64)
		f.see(weights[11], 64)
		if u := f.see(weights[order[0]], 64); u != nil {
			t.Fatalf("%v: sure of what has changed", order)
		}
		// What comes after a prompt does not follow what came before it.
		before := f.known[&weights[order[0]][0]].next
		f.forget()
		f.see(weights[10], 64)
		if f.known[&weights[order[0]][0]].next != before {
			t.Fatal("a prompt between two products went unnoticed")
		}
	})
}

// TestUpcoming wants the threads' shares to begin where their pieces will.
func TestUpcoming(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		memory := make([]byte, rapid.IntRange(1, 4*fetching).Draw(t, "bytes"))
		piece := rapid.IntRange(1, len(memory)).Draw(t, "piece")
		threads := rapid.IntRange(1, 5).Draw(t, "threads")
		u := &upcoming{memory, piece}
		pieces := (len(memory) + piece - 1) / piece
		for worker := range threads {
			share := u.share(worker, threads)
			c := newChunks(worker*pieces/threads, (worker+1)*pieces/threads, 1)
			if len(share) > fetching || (len(share) == 0) != (c.left() == 0) {
				t.Fatalf("%d bytes for %d pieces", len(share), c.left())
			}
			if len(share) > 0 && unsafe.SliceData(share) != &memory[c.first()*piece] {
				t.Fatal("a share begins elsewhere")
			}
		}
	})
	if share := (*upcoming)(nil).share(0, 2); share != nil {
		t.Fatalf("%d bytes of nothing", len(share))
	}
}

// TestForesightWhileThreadsLookAhead changes the lengths of weights that begin at the same
// place, as pages of a pool do, under the eyes of workers.
func TestForesightWhileThreadsLookAhead(t *testing.T) {
	p := newPool(3, true)
	defer p.Close()
	var f foresight
	weights := make([]byte, 64<<10)
	for i := range 2000 {
		long := weights[:len(weights)>>(i/4%6)]
		p.upcoming.Store(f.see(long, 4096))
		p.For(64, 1, func(int, int, int) {})
		p.upcoming.Store(f.see(weights[1:1024], 64))
		p.For(64, 1, func(int, int, int) {})
	}
}
