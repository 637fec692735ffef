package policy

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// Ref is a use of a page.
type Ref struct {
	Page Page
	Cold bool // by a scan
}

// Outcome is what a replay came to.
type Outcome struct{ Hits, Misses int }

// Replay runs references through a policy with a number of slots.
func Replay(p Policy, slots int, refs []Ref) Outcome { return ReplayFrom(p, slots, refs, 0) }

// ReplayFrom runs references through a policy and counts those from the given
// one on.
func ReplayFrom(p Policy, slots int, refs []Ref, from int) Outcome {
	var o Outcome
	resident := make(map[Page]bool, slots)
	for i, r := range refs {
		hit := resident[r.Page]
		if i >= from {
			o.add(hit)
		}
		if hit {
			if !r.Cold { // a scan tells little about what comes after it
				p.Touch(r.Page)
			}
			continue
		}
		if len(resident) == slots {
			victim, _ := p.Victim(Any) // slots > 0 are full
			p.Evict(victim)
			delete(resident, victim)
		}
		p.Admit(r.Page, r.Cold)
		resident[r.Page] = true
	}
	return o
}

func (o *Outcome) add(hit bool) {
	if hit {
		o.Hits++
	} else {
		o.Misses++
	}
}

// OPT is Belady's optimum: the least misses that any policy can have, had by
// evicting the page whose next use is the farthest. References before from are
// run but not counted.
func OPT(slots int, refs []Ref, from int) Outcome {
	next := make([]int, len(refs)) // where the page is used again
	at := map[Page]int{}
	for i, r := range slices.Backward(refs) {
		next[i] = math.MaxInt
		if j, ok := at[r.Page]; ok {
			next[i] = j
		}
		at[r.Page] = i
	}
	var o Outcome
	var farthest uses
	resident := make(map[Page]int, slots) // its next use
	for i, r := range refs {
		_, hit := resident[r.Page]
		if i >= from {
			o.add(hit)
		}
		for !hit && len(resident) == slots {
			u := heap.Pop(&farthest).(use)
			if resident[u.page] == u.next { // otherwise it was used since
				delete(resident, u.page)
			}
		}
		resident[r.Page] = next[i]
		heap.Push(&farthest, use{r.Page, next[i]})
	}
	return o
}

type use struct {
	page Page
	next int
}

// uses is a heap, the farthest use first.
type uses []use

func (u uses) Len() int           { return len(u) }
func (u uses) Less(i, j int) bool { return u[i].next > u[j].next }
func (u uses) Swap(i, j int)      { u[i], u[j] = u[j], u[i] }
func (u *uses) Push(x any)        { *u = append(*u, x.(use)) }
func (u *uses) Pop() any {
	last := (*u)[len(*u)-1]
	*u = (*u)[:len(*u)-1]
	return last
}

// MostUsed are the n pages that refs use most often, of equals the lowest.
func MostUsed(n int, refs []Ref) []Page {
	counts := map[Page]int{}
	for _, r := range refs {
		counts[r.Page]++
	}
	pages := make([]Page, 0, len(counts))
	for p := range counts {
		pages = append(pages, p)
	}
	slices.SortFunc(pages, func(a, b Page) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	return pages[:min(n, len(pages))]
}

// BestFixed keeps the pages that learn uses most often, as many as fit beside
// one slot for the others.
func BestFixed(slots int, learn []Ref) Policy {
	set := map[Page]bool{}
	for _, p := range MostUsed(slots-1, learn) {
		set[p] = true
	}
	return NewFixed(func(p Page) bool { return set[p] })
}
