// Package policy decides which pages stay in memory. Its policies are pure
// state machines: they see uses of pages and name victims, do no I/O, read no
// clock, and start no goroutine. So the pager, the KV cache, the replay of
// traces, the audit and the tests run the same code.
//
// All pages of a policy are of one size; a policy learns how many fit from
// who asks for victims. The policies, in the words of their papers:
//
//   - LRU, MRU and CLOCK (Corbató, "A Paging Experiment with the Multics
//     System", 1968);
//   - LFU with constant time (Matani, Shah and Mitra, "An O(1) algorithm for
//     implementing the LFU cache eviction scheme", 2010);
//   - S3-FIFO (Yang, Zhang, Qiu, Yue and Rashmi, "FIFO queues are all you need
//     for cache eviction", SOSP 2023);
//   - W-TinyLFU (Einziger, Friedman and Manes, "TinyLFU: A Highly Efficient
//     Cache Admission Policy", 2017);
//   - Perfect-LFU (Breslau, Cao, Fan, Phillips and Shenker, "Web Caching and
//     Zipf-like Distributions", 1999), with a memory that fades;
//   - a fixed set with a ring for the rest, which is what a cyclic scan needs:
//     LRU drops each page of a cycle just before it is needed again;
//   - OPT (Belady, "A study of replacement algorithms for a virtual-storage
//     computer", 1966), which knows the future and bounds all others.
//
// The package also defines the trace of page decisions (see Writer), and
// replays traces (see Replay).
package policy

// Page numbers the pages that a policy knows.
type Page uint64

// Policy ranks the pages that are resident. It belongs to one goroutine.
type Policy interface {
	// Name is what users call the policy.
	Name() string
	// Touch tells of a use of a resident page.
	Touch(p Page)
	// Admit tells that a page has become resident, and is used. cold pages
	// came with a scan: they should leave again before others.
	Admit(p Page, cold bool)
	// Victim names the resident page that should leave first among those that
	// may. ok is false if none may. The page stays until Evict.
	Victim(may func(Page) bool) (p Page, ok bool)
	// Evict tells that a resident page has left.
	Evict(p Page)
}

// Any lets every page leave.
func Any(Page) bool { return true }

// Maker makes a policy for a number of slots.
type Maker struct {
	Name string
	New  func(slots int) Policy
}

// Online lists the policies that need no knowledge of the future nor of what
// the pages are.
func Online() []Maker {
	return []Maker{
		{"LRU", func(int) Policy { return NewLRU() }},
		{"MRU", func(int) Policy { return NewMRU() }},
		{"CLOCK", func(int) Policy { return NewClock() }},
		{"LFU", func(int) Policy { return NewLFU() }},
		{"S3-FIFO", func(slots int) Policy { return NewS3FIFO(slots) }},
		{"W-TinyLFU", func(slots int) Policy { return NewTinyLFU(slots) }},
		{"Perfect-LFU", func(slots int) Policy { return NewPerfectLFU(slots) }},
	}
}
