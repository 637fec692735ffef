package policy

// TinyLFU is W-TinyLFU: a small LRU window before a segmented LRU. What leaves
// the window enters the main part only if it has been used more often than the
// page that it would push out. Frequencies are of all pages ever used, resident
// or not, and are halved after every sample so that old fame fades. The paper
// keeps them in a sketch; there are few enough pages of weights and KV to
// count them exactly.
type TinyLFU struct {
	window, probation, protected *order
	freq                         map[Page]int
	sample, seen                 int
	windowSlots, protectedSlots  int
}

// NewTinyLFU makes an empty W-TinyLFU for that many slots, a hundredth of them in
// the window and four fifths of the others protected, as in the paper.
func NewTinyLFU(slots int) *TinyLFU {
	window := max(1, slots/100)
	return &TinyLFU{newOrder(), newOrder(), newOrder(), map[Page]int{}, max(100, 10*slots), 0, window, (slots - window) * 4 / 5}
}

// Name implements Policy.
func (t *TinyLFU) Name() string { return "W-TinyLFU" }

func (t *TinyLFU) count(p Page) {
	t.freq[p]++
	if t.seen++; t.seen < t.sample {
		return
	}
	t.seen = 0
	for p, n := range t.freq {
		if n /= 2; n == 0 {
			delete(t.freq, p)
		} else {
			t.freq[p] = n
		}
	}
}

// Touch implements Policy.
func (t *TinyLFU) Touch(p Page) {
	t.count(p)
	switch {
	case t.window.has(p):
		t.window.toFront(p)
	case t.protected.has(p):
		t.protected.toFront(p)
	default:
		t.probation.remove(p)
		t.protected.pushFront(p)
		if t.protected.len() > t.protectedSlots {
			demoted, _ := t.protected.last()
			t.protected.remove(demoted)
			t.probation.pushFront(demoted)
		}
	}
}

// Admit implements Policy.
func (t *TinyLFU) Admit(p Page, cold bool) {
	if cold {
		t.window.pushBack(p)
	} else {
		t.count(p)
		t.window.pushFront(p)
	}
	if t.window.len() > t.windowSlots { // there was room without a victim
		next, _ := t.window.last()
		t.window.remove(next)
		t.probation.pushFront(next)
	}
}

// Victim implements Policy.
func (t *TinyLFU) Victim(may func(Page) bool) (Page, bool) {
	candidate, some := t.window.fromBack(may)
	victim, ok := t.mainVictim(may)
	switch {
	case !ok:
		return candidate, some
	case !some || t.window.len() < t.windowSlots:
		return victim, true
	case t.freq[candidate] <= t.freq[victim]:
		return candidate, true
	}
	t.window.remove(candidate)
	t.probation.pushFront(candidate)
	return victim, true
}

func (t *TinyLFU) mainVictim(may func(Page) bool) (Page, bool) {
	if p, ok := t.probation.fromBack(may); ok {
		return p, true
	}
	return t.protected.fromBack(may)
}

// Evict implements Policy.
func (t *TinyLFU) Evict(p Page) {
	_ = t.window.remove(p) || t.probation.remove(p) || t.protected.remove(p)
}
