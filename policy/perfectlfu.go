package policy

import (
	"container/heap"
	"math"
)

// PerfectLFU evicts the page that has been used least often; uses are counted
// for all pages, resident or not, so that a page that had to go is not a
// stranger when it comes back. Where popularity does not change, this comes to
// keep the best fixed set, which no other order by past uses can better.
//
// The use that brings a page in does not speak for it yet: otherwise pages of
// equal popularity would push each other out in turn.
//
// Popularity does change, with the text. How long to remember is a matter of the
// text, too, so counts are kept twice, with a long and a short memory, both of
// which fade exponentially. The long one decides. Beside it, two caches without
// pages are simulated, one for each memory; once the short one would have saved
// a number of reads (a CUSUM test: Page, "Continuous Inspection Schemes", 1954),
// what happened before is not what happens now, and the long memory is replaced
// by the short one, to grow long again.
type PerfectLFU struct {
	slots    int
	weight   [2]float64 // of a use, by memory: counts fade by new uses weighing more
	shadows  [2]ranking // the simulated caches
	resident ranking    // by the long memory
	pages    map[Page]*record
	clock    int64
	lead     int // reads that the short memory would have saved
}

const (
	long = iota
	short
)

// halfLives are those of the memories, in uses for each page: hundreds of
// tokens, and about ten.
var halfLives = [2]float64{long: 100, short: 2}

// leastLead is the fewest reads saved that say that popularity has changed.
const leastLead = 128

// record is what is known of a page.
type record struct {
	page  Page
	count [2]float64 // of uses, by memory
	ranks [3]rank    // in the shadows and among the resident
}

// rank says how a page compares to others of a ranking.
type rank struct {
	at    int // in the ranking, plus one
	worth float64
	last  int64 // use; negative: by a scan
}

// NewPerfectLFU makes an empty PerfectLFU for that many slots.
func NewPerfectLFU(slots int) *PerfectLFU {
	return &PerfectLFU{
		slots: slots, weight: [2]float64{1, 1}, pages: map[Page]*record{},
		shadows: [2]ranking{long: {number: long}, short: {number: short}}, resident: ranking{number: 2},
	}
}

// Name implements Policy.
func (l *PerfectLFU) Name() string { return "Perfect-LFU" }

// Touch implements Policy.
func (l *PerfectLFU) Touch(p Page) {
	r := l.pages[p]
	l.use(r)
	l.resident.put(r, r.count[long], l.clock)
}

// Admit implements Policy.
func (l *PerfectLFU) Admit(p Page, cold bool) {
	r := l.pages[p]
	if r == nil {
		r = &record{page: p}
		l.pages[p] = r
	}
	if cold { // a scan keeps what it read first
		l.clock++
		l.resident.put(r, r.count[long], -l.clock)
		return
	}
	l.use(r)
	l.resident.put(r, r.count[long]-l.weight[long], l.clock)
}

// Victim implements Policy.
func (l *PerfectLFU) Victim(may func(Page) bool) (Page, bool) { return l.resident.least(may) }

// Evict implements Policy.
func (l *PerfectLFU) Evict(p Page) { l.resident.remove(l.pages[p]) }

// use counts a use.
func (l *PerfectLFU) use(r *record) {
	l.clock++
	for i := range l.shadows {
		l.count(i, r)
		shadow, worth := &l.shadows[i], r.count[i]
		if !shadow.has(r) {
			worth -= l.weight[i]
			l.lead += 1 - 2*i // a miss of the long memory, or of the short one
			if shadow.Len() >= l.slots {
				shadow.remove(shadow.records[0])
			}
		}
		shadow.put(r, worth, l.clock)
	}
	l.lead = max(0, l.lead)
	if l.lead > max(leastLead, l.slots) {
		l.forget()
	}
}

// count adds a use to a memory.
func (l *PerfectLFU) count(i int, r *record) {
	l.weight[i] *= math.Exp2(1 / (halfLives[i] * float64(len(l.pages))))
	r.count[i] += l.weight[i]
	if l.weight[i] < 1e100 {
		return
	}
	for _, r := range l.pages {
		r.count[i] /= l.weight[i]
		r.ranks[i].worth /= l.weight[i]
		if i == long {
			r.ranks[l.resident.number].worth /= l.weight[i]
		}
	}
	l.weight[i] = 1
}

// forget replaces the long memory by the short one.
func (l *PerfectLFU) forget() {
	l.lead = 0
	for _, r := range l.pages {
		r.count[long] = r.count[short] / l.weight[short]
		r.ranks[long].worth, r.ranks[l.resident.number].worth = r.count[long], r.count[long]
	}
	l.weight[long] = 1
	heap.Init(&l.shadows[long])
	heap.Init(&l.resident)
}

// ranking is a heap of records, the least worth first; of equals, the one that
// was used the longest ago.
type ranking struct {
	records []*record
	number  int // in record.ranks
}

func (k *ranking) has(r *record) bool { return r.ranks[k.number].at > 0 }

// put adds a record, or moves it.
func (k *ranking) put(r *record, worth float64, last int64) {
	at := &r.ranks[k.number]
	at.worth, at.last = worth, last
	if k.has(r) {
		heap.Fix(k, at.at-1)
	} else {
		heap.Push(k, r)
	}
}

func (k *ranking) remove(r *record) { heap.Remove(k, r.ranks[k.number].at-1) }

// least is the first page that may.
func (k *ranking) least(may func(Page) bool) (Page, bool) {
	best := -1
	var search func(i int)
	search = func(i int) { // what is below i comes after it
		switch {
		case i >= len(k.records) || best >= 0 && k.Less(best, i):
		case may(k.records[i].page):
			best = i
		default:
			search(2*i + 1)
			search(2*i + 2)
		}
	}
	search(0)
	if best < 0 {
		return 0, false
	}
	return k.records[best].page, true
}

// Len implements heap.Interface.
func (k *ranking) Len() int { return len(k.records) }

// Less implements heap.Interface.
func (k *ranking) Less(i, j int) bool {
	a, b := &k.records[i].ranks[k.number], &k.records[j].ranks[k.number]
	if a.worth != b.worth {
		return a.worth < b.worth
	}
	return a.last < b.last
}

// Swap implements heap.Interface.
func (k *ranking) Swap(i, j int) {
	k.records[i], k.records[j] = k.records[j], k.records[i]
	k.records[i].ranks[k.number].at, k.records[j].ranks[k.number].at = i+1, j+1
}

// Push implements heap.Interface.
func (k *ranking) Push(x any) {
	r := x.(*record)
	k.records = append(k.records, r)
	r.ranks[k.number].at = len(k.records)
}

// Pop implements heap.Interface.
func (k *ranking) Pop() any {
	end := len(k.records) - 1
	r := k.records[end]
	k.records[end] = nil
	k.records, r.ranks[k.number].at = k.records[:end], 0
	return r
}
