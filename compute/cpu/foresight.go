package cpu

import "unsafe"

// foresight remembers which weights were multiplied after which, when weights were
// read for a few rows only. A forward pass multiplies the same ones in the same order, but
// for experts, so what follows is known after two passes that agree.
type foresight struct {
	known map[*byte]*foreseen
	last  *foreseen
}

// foreseen is the weights of a product, and what followed it.
type foreseen struct {
	upcoming *upcoming // threads may be reading it: it is replaced, never changed
	next     *foreseen
	sure     bool // the last two times
}

// see takes note of a product of weights that are read in such pieces, and
// returns what will be read after it; nil if that is not known.
func (f *foresight) see(weights []byte, piece int) *upcoming {
	key := unsafe.SliceData(weights)
	this := f.known[key]
	if this == nil {
		if f.known == nil {
			f.known = map[*byte]*foreseen{}
		}
		this = &foreseen{}
		f.known[key] = this
	}
	if u := this.upcoming; u == nil || len(u.memory) != len(weights) || u.piece != piece {
		this.upcoming = &upcoming{weights, piece}
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

// forget is for a product that reads no weights from memory for most of its time.
func (f *foresight) forget() { f.last = nil }
