package cpu

import "unsafe"

// foresight remembers which weights were multiplied after which, when weights were
// read for a few rows only. A forward pass multiplies the same ones in the same order,
// so what follows is known after two passes that agree. Experts are others each time,
// but what comes after them is the same.
type foresight struct {
	known map[*byte]*foreseen
	last  *foreseen
}

// foreseen is the weights of an operation, and what followed it.
type foreseen struct {
	upcoming *upcoming // threads may be reading it: it is replaced, never changed
	next     *foreseen
	sure     bool      // the last two times
	chosen   *foreseen // stands for the experts that follow, whichever they are
}

// see takes note of products side by side, and returns what will be read after
// them; nil if that is not known.
func (f *foresight) see(products []product) *upcoming {
	this := f.find(&products[0])
	if this == nil {
		return nil
	}
	if !products[0].chosen && !this.upcoming.is(products) {
		u := make(upcoming, len(products))
		for i := range products {
			u[i] = products[i].stretch()
		}
		this.upcoming = &u
	}
	if f.last != nil {
		f.last.sure = f.last.next == this
		f.last.next = this
	}
	f.last = this
	if !this.sure {
		return nil
	}
	return this.next.upcoming
}

// find is what is known of an operation that begins with a product; nil for experts after nothing known.
func (f *foresight) find(first *product) *foreseen {
	if first.chosen {
		if f.last == nil {
			return nil
		}
		if f.last.chosen == nil {
			f.last.chosen = &foreseen{}
		}
		return f.last.chosen
	}
	if f.known == nil {
		f.known = map[*byte]*foreseen{}
	}
	key := unsafe.SliceData(first.weights)
	if f.known[key] == nil {
		f.known[key] = &foreseen{}
	}
	return f.known[key]
}

// stretch is the weights, in the pieces of the loop.
func (p *product) stretch() stretch { return stretch{p.weights, p.grain * tileRows * p.rowBytes} }

// is reports whether u is the weights of products.
func (u *upcoming) is(products []product) bool {
	if u == nil || len(*u) != len(products) {
		return false
	}
	for i := range products {
		s := products[i].stretch()
		if (*u)[i].piece != s.piece || len((*u)[i].memory) != len(s.memory) || unsafe.SliceData((*u)[i].memory) != unsafe.SliceData(s.memory) {
			return false
		}
	}
	return true
}

// forget is for a product that reads no weights from memory for most of its time.
func (f *foresight) forget() { f.last = nil }
