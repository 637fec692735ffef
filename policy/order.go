package policy

import "container/list"

// order is a list of distinct pages, found in constant time.
type order struct {
	list list.List
	at   map[Page]*list.Element
}

func newOrder() *order { return &order{at: map[Page]*list.Element{}} }

func (o *order) len() int        { return o.list.Len() }
func (o *order) has(p Page) bool { return o.at[p] != nil }

func (o *order) pushFront(p Page) { o.at[p] = o.list.PushFront(p) }
func (o *order) pushBack(p Page)  { o.at[p] = o.list.PushBack(p) }

// remove reports whether the page was there.
func (o *order) remove(p Page) bool {
	e := o.at[p]
	if e == nil {
		return false
	}
	o.list.Remove(e)
	delete(o.at, p)
	return true
}

func (o *order) toFront(p Page) { o.list.MoveToFront(o.at[p]) }

// last is the page at the back.
func (o *order) last() (Page, bool) {
	if e := o.list.Back(); e != nil {
		return e.Value.(Page), true
	}
	return 0, false
}

// fromBack is the page nearest to the back that may.
func (o *order) fromBack(may func(Page) bool) (Page, bool) {
	for e := o.list.Back(); e != nil; e = e.Prev() {
		if p := e.Value.(Page); may(p) {
			return p, true
		}
	}
	return 0, false
}

// fromFront is the page nearest to the front that may.
func (o *order) fromFront(may func(Page) bool) (Page, bool) {
	for e := o.list.Front(); e != nil; e = e.Next() {
		if p := e.Value.(Page); may(p) {
			return p, true
		}
	}
	return 0, false
}
