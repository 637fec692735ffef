package policy

import "container/list"

// LFU is in-cache LFU: it evicts the page that has been used least often since it
// was admitted; of equals, the one that was used the longest ago.
type LFU struct {
	groups list.List // of *frequency, the least first
	at     map[Page]*list.Element
}

// frequency is a group of pages that were used equally often, the latest
// first.
type frequency struct {
	uses  int
	pages *order
}

// NewLFU makes an empty LFU.
func NewLFU() *LFU { return &LFU{at: map[Page]*list.Element{}} }

// Name implements Policy.
func (l *LFU) Name() string { return "LFU" }

// Touch implements Policy.
func (l *LFU) Touch(p Page) {
	e := l.at[p]
	group := e.Value.(*frequency)
	next := e.Next()
	if next == nil || next.Value.(*frequency).uses != group.uses+1 {
		next = l.groups.InsertAfter(&frequency{group.uses + 1, newOrder()}, e)
	}
	l.leave(p, e)
	next.Value.(*frequency).pages.pushFront(p)
	l.at[p] = next
}

// Admit implements Policy.
func (l *LFU) Admit(p Page, cold bool) {
	uses := 1
	if cold {
		uses = 0
	}
	e := l.groups.Front()
	if e != nil && e.Value.(*frequency).uses < uses {
		e = e.Next()
	}
	if e == nil || e.Value.(*frequency).uses != uses {
		group := &frequency{uses, newOrder()}
		if e == nil {
			e = l.groups.PushBack(group)
		} else {
			e = l.groups.InsertBefore(group, e)
		}
	}
	if cold { // a scan keeps what it read first
		e.Value.(*frequency).pages.pushBack(p)
	} else {
		e.Value.(*frequency).pages.pushFront(p)
	}
	l.at[p] = e
}

// Victim implements Policy.
func (l *LFU) Victim(may func(Page) bool) (Page, bool) {
	for e := l.groups.Front(); e != nil; e = e.Next() {
		if p, ok := e.Value.(*frequency).pages.fromBack(may); ok {
			return p, true
		}
	}
	return 0, false
}

// Evict implements Policy.
func (l *LFU) Evict(p Page) {
	l.leave(p, l.at[p])
	delete(l.at, p)
}

func (l *LFU) leave(p Page, e *list.Element) {
	group := e.Value.(*frequency)
	group.pages.remove(p)
	if group.pages.len() == 0 {
		l.groups.Remove(e)
	}
}
