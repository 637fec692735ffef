package policy

// LRU evicts the page whose last use is the longest ago.
type LRU struct{ pages *order }

// NewLRU makes an empty LRU.
func NewLRU() *LRU { return &LRU{newOrder()} }

// Name implements Policy.
func (l *LRU) Name() string { return "LRU" }

// Touch implements Policy.
func (l *LRU) Touch(p Page) { l.pages.toFront(p) }

// Admit implements Policy.
func (l *LRU) Admit(p Page, cold bool) {
	if cold {
		l.pages.pushBack(p)
	} else {
		l.pages.pushFront(p)
	}
}

// Victim implements Policy.
func (l *LRU) Victim(may func(Page) bool) (Page, bool) { return l.pages.fromBack(may) }

// Evict implements Policy.
func (l *LRU) Evict(p Page) { l.pages.remove(p) }

// MRU evicts the page that was used last.
type MRU struct{ LRU }

// NewMRU makes an empty MRU.
func NewMRU() *MRU { return &MRU{*NewLRU()} }

// Name implements Policy.
func (m *MRU) Name() string { return "MRU" }

// Admit implements Policy.
func (m *MRU) Admit(p Page, _ bool) { m.pages.pushFront(p) }

// Victim implements Policy.
func (m *MRU) Victim(may func(Page) bool) (Page, bool) { return m.pages.fromFront(may) }

// Clock is CLOCK: a hand goes round the pages and evicts the first that has
// not been used since it last came by. The hand is the back of the list, and
// what it passes goes to the front.
type Clock struct {
	pages *order
	used  map[Page]bool
}

// NewClock makes an empty CLOCK.
func NewClock() *Clock { return &Clock{newOrder(), map[Page]bool{}} }

// Name implements Policy.
func (c *Clock) Name() string { return "CLOCK" }

// Touch implements Policy.
func (c *Clock) Touch(p Page) { c.used[p] = true }

// Admit implements Policy.
func (c *Clock) Admit(p Page, cold bool) {
	if cold {
		c.pages.pushBack(p)
	} else {
		c.pages.pushFront(p)
	}
}

// Victim implements Policy.
func (c *Clock) Victim(may func(Page) bool) (Page, bool) {
	for range 2 * c.pages.len() {
		p, _ := c.pages.last()
		if may(p) && !c.used[p] {
			return p, true
		}
		if may(p) {
			delete(c.used, p)
		}
		c.pages.toFront(p)
	}
	return 0, false
}

// Evict implements Policy.
func (c *Clock) Evict(p Page) {
	c.pages.remove(p)
	delete(c.used, p)
}
