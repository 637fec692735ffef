package policy

// Fixed keeps a fixed set of pages; all others pass through the slots that
// are left, in order.
//
// It is for cycles: a dense model uses its N pages in the same order again and
// again. Of C pages that are kept, C are hits in every round, and no policy can
// have more; whichever they are. LRU would have none.
type Fixed struct {
	keep func(Page) bool
	kept *order
	ring *order // the oldest use at the back
}

// NewFixed makes a policy that keeps the pages that keep names.
func NewFixed(keep func(Page) bool) *Fixed { return &Fixed{keep, newOrder(), newOrder()} }

// Name implements Policy.
func (f *Fixed) Name() string { return "fixed" }

// Touch implements Policy.
func (f *Fixed) Touch(p Page) { f.of(p).toFront(p) }

// Admit implements Policy.
func (f *Fixed) Admit(p Page, _ bool) { f.of(p).pushFront(p) }

// Victim implements Policy.
func (f *Fixed) Victim(may func(Page) bool) (Page, bool) {
	if p, ok := f.ring.fromBack(may); ok {
		return p, true
	}
	return f.kept.fromFront(may)
}

// Evict implements Policy.
func (f *Fixed) Evict(p Page) { f.of(p).remove(p) }

func (f *Fixed) of(p Page) *order {
	if f.keep(p) {
		return f.kept
	}
	return f.ring
}

// Spread chooses keep of n numbers, as evenly as can be, so that the reading of
// those between overlaps with computing.
func Spread(keep, n int) func(i int) bool {
	return func(i int) bool { return (i+1)*keep/n > i*keep/n }
}
