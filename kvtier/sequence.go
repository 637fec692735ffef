package kvtier

import (
	"fmt"
	"slices"

	"gorun/compute"
)

// Sequence is what a model remembers of one token sequence: for each layer a
// list of pages, and the state of recurrent layers.
type Sequence struct {
	pool   *Pool
	length int
	layers []pageList
	// states[0] is that of length, and is not written again; a pass writes
	// states[1].
	states [2]*slot
}

// pageList is the pages of one layer, from block first on.
type pageList struct {
	first int
	slots []*slot
	pages []compute.Span // of slots
}

// Fork makes a second sequence with the same past. The two share pages and
// state until one of them writes. A fork that is kept is a snapshot; a fork of
// that is its restoration.
func (s *Sequence) Fork() *Sequence {
	fork := s.pool.NewSequence()
	fork.length = s.length
	for i, l := range s.layers {
		fork.layers[i] = pageList{l.first, slices.Clone(l.slots), slices.Clone(l.pages)}
		for _, slot := range l.slots {
			share(slot)
		}
	}
	fork.states[0] = share(s.states[0])
	return fork
}

// NewSequence makes an empty sequence. It takes pages as it grows.
func (p *Pool) NewSequence() *Sequence {
	return &Sequence{pool: p, layers: make([]pageList, len(p.geo.Layers))}
}

// Len is the number of positions that hold KV.
func (s *Sequence) Len() int { return s.length }

// Reserve makes room for n positions after Len, and gives back pages that lie
// before the window of them all. On an error the sequence holds what it held.
func (s *Sequence) Reserve(n int) error {
	for i := range s.layers {
		if err := s.reserve(i, n); err != nil {
			return err
		}
	}
	return s.reserveStates()
}

func (s *Sequence) reserveStates() error {
	size := s.pool.geo.stateBytes
	if size == 0 {
		return nil
	}
	if next := s.states[1]; next != nil && next.refs > 1 {
		s.pool.release(next) // a fork still has it as its present
		s.states[1] = nil
	}
	for i := range s.states {
		if s.states[i] == nil {
			slot, err := s.pool.alloc(size)
			if err != nil {
				return fmt.Errorf("recurrent state: %w", err)
			}
			s.states[i] = slot
		}
	}
	return nil
}

func (s *Sequence) reserve(layer, n int) error {
	l, geo := &s.layers[layer], s.pool.geo
	shape := geo.Layers[layer]
	if !shape.Holds() {
		return nil
	}
	if shape.Window > 0 {
		// The token at Len is the first to look back.
		oldest := max(0, s.length-shape.Window+1)
		s.drop(l, oldest/geo.BlockTokens-l.first)
	}
	if last := s.length/geo.BlockTokens - l.first; n > 0 && last < len(l.slots) {
		own, err := s.pool.private(l.slots[last]) // it is about to be written
		if err != nil {
			return fmt.Errorf("layer %d at %d tokens: %w", layer, s.length, err)
		}
		l.slots[last], l.pages[last] = own, own.Span
	}
	for (l.first+len(l.slots))*geo.BlockTokens < s.length+n {
		own, err := s.pool.alloc(shape.SlotBytes())
		if err != nil {
			return fmt.Errorf("layer %d at %d tokens: %w", layer, s.length, err)
		}
		l.slots, l.pages = append(l.slots, own), append(l.pages, own.Span)
	}
	return nil
}

// drop gives back the first n pages of a layer.
func (s *Sequence) drop(l *pageList, n int) {
	n = max(0, min(n, len(l.slots)))
	for _, slot := range l.slots[:n] {
		s.pool.release(slot)
	}
	l.slots, l.pages = slices.Delete(l.slots, 0, n), slices.Delete(l.pages, 0, n)
	l.first += n
}

// Advance counts n positions, for which Reserve made room, as filled.
func (s *Sequence) Advance(n int) {
	for i, l := range s.layers {
		if s.pool.geo.Layers[i].Holds() && (l.first+len(l.slots))*s.pool.geo.BlockTokens < s.length+n {
			panic(fmt.Sprintf("kvtier: advance by %d at %d without room in layer %d", n, s.length, i))
		}
	}
	s.length += n
	if n > 0 {
		s.states[0], s.states[1] = s.states[1], s.states[0]
	}
}

// Truncate forgets all positions from n on. It fails if a sliding window has
// already given back keys that the token at n would look at, or if a recurrent
// layer cannot go back.
func (s *Sequence) Truncate(n int) error {
	if n < 0 || n > s.length {
		return fmt.Errorf("cannot cut a sequence of %d tokens to %d", s.length, n)
	}
	geo := s.pool.geo
	if geo.stateBytes > 0 && 0 < n && n < s.length {
		return fmt.Errorf("cannot cut a sequence of %d tokens to %d: it has recurrent layers", s.length, n)
	}
	for i, l := range s.layers {
		if w := geo.Layers[i].Window; n > 0 && w > 0 && max(0, n-w+1) < l.first*geo.BlockTokens {
			return fmt.Errorf("cannot cut a sequence of %d tokens to %d: layer %d keeps a window of %d tokens only", s.length, n, i, w)
		}
	}
	for i := range s.layers {
		l := &s.layers[i]
		keep := max(0, (n+geo.BlockTokens-1)/geo.BlockTokens-l.first)
		for len(l.slots) > keep {
			end := len(l.slots) - 1
			s.pool.release(l.slots[end])
			l.slots, l.pages = l.slots[:end], l.pages[:end]
		}
		if n == 0 {
			l.first = 0
		}
	}
	s.length = n
	return nil
}

// Free gives all pages back.
func (s *Sequence) Free() {
	for i := range s.layers {
		s.drop(&s.layers[i], len(s.layers[i].slots))
		s.layers[i].first = 0
	}
	for i := range s.states {
		s.pool.release(s.states[i])
		s.states[i] = nil
	}
	s.length = 0
}

// Run describes count positions from Len on, at rows [row, row+count) of a
// batch, to operations of layer.
func (s *Sequence) Run(layer, row, count int) compute.KVRun {
	l := s.layers[layer]
	return compute.KVRun{Row: row, Count: count, Pos: s.length, Pages: l.pages, FirstBlock: l.first}
}

// State describes rows [row, row+count) of a batch, the positions from Len on,
// to an operation that carries bytes [off, off+n) of the layer's state.
func (s *Sequence) State(layer, row, count int, off, n int64) compute.StateRun {
	at := s.pool.geo.Layers[layer].stateAt + off
	return compute.StateRun{Row: row, Count: count, First: s.length == 0, From: s.states[0].At(at, n), To: s.states[1].At(at, n)}
}
