package cpu

import (
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// multiplied is a product of weights that are read in such pieces.
func multiplied(weights []byte, piece int) []product {
	return []product{{weights: weights, grain: 1, rowBytes: piece / tileRows}}
}

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
				f.see(multiplied(weights[i], 64))
			}
		}
		for at, i := range order {
			next := order[(at+1)%len(order)]
			u := f.see(multiplied(weights[i], 64))
			unique := true // the weights have one successor
			for other, j := range order {
				unique = unique && (j != i || order[(other+1)%len(order)] == next)
			}
			if unique && (u == nil || &(*u)[0].memory[0] != &weights[next][0]) {
				t.Fatalf("%v: after %d comes %d", order, i, next)
			}
		}
		// Another one after each: nothing is sure any more, nor after a prompt.
		f.see(multiplied(weights[order[0]], 64))
		f.see(multiplied(weights[11], 64))
		if u := f.see(multiplied(weights[order[0]], 64)); u != nil {
			t.Fatalf("%v: sure of what has changed", order)
		}
		// What comes after a prompt does not follow what came before it.
		before := f.known[&weights[order[0]][0]].next
		f.forget()
		f.see(multiplied(weights[10], 64))
		if f.known[&weights[order[0]][0]].next != before {
			t.Fatal("a prompt between two products went unnoticed")
		}
	})
}

// TestForesightBeyondExperts foretells what follows experts, which are others
// in each pass, and foretells no experts.
func TestForesightBeyondExperts(t *testing.T) {
	weights := make([][]byte, 20)
	for i := range weights {
		weights[i] = make([]byte, 100)
	}
	var f foresight
	chosen := func(i int) *upcoming {
		p := multiplied(weights[i], 64)
		p[0].chosen = true
		return f.see(p)
	}
	if chosen(3) != nil {
		t.Error("experts before anything else foretell something")
	}
	for pass := range 5 {
		var got []*upcoming
		for layer := range 2 {
			got = append(got, f.see(multiplied(weights[layer], 64)), chosen(5+pass), chosen(10+pass+layer))
		}
		for i, u := range got {
			next := (i/3 + 1) % 2
			switch known := i%3 == 2 && pass > 1; {
			case (u != nil) != known:
				t.Errorf("pass %d, operation %d: foretold: %v", pass, i, u != nil)
			case known && &(*u)[0].memory[0] != &weights[next][0]:
				t.Errorf("pass %d, operation %d: not the next layer", pass, i)
			}
		}
	}
}

// TestUpcoming wants the threads' shares to begin where their pieces will.
func TestUpcoming(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var u upcoming
		var starts []*byte // of all pieces
		for range rapid.IntRange(1, 4).Draw(t, "products") {
			memory := make([]byte, rapid.IntRange(1, 4*fetching).Draw(t, "bytes"))
			piece := rapid.IntRange(1+len(memory)/100, len(memory)).Draw(t, "piece")
			u = append(u, stretch{memory, piece})
			for at := 0; at < len(memory); at += piece {
				starts = append(starts, &memory[at])
			}
		}
		threads := rapid.IntRange(1, 5).Draw(t, "threads")
		for worker := range threads {
			share := u.share(worker, threads)
			c := newChunks(worker*len(starts)/threads, (worker+1)*len(starts)/threads, 1)
			if len(share) > fetching || (len(share) == 0) != (c.left() == 0) {
				t.Fatalf("%d bytes for %d pieces", len(share), c.left())
			}
			if len(share) > 0 && unsafe.SliceData(share) != starts[c.first()] {
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
		p.upcoming.Store(f.see(multiplied(long, 4096)))
		p.For(64, 1, func(int, int, int) {})
		p.upcoming.Store(f.see(multiplied(weights[1:1024], 64)))
		p.For(64, 1, func(int, int, int) {})
	}
}
