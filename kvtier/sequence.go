package kvtier

import (
	"context"
	"fmt"
	"slices"

	"gorun/compute"
	"gorun/kvtier/store"
	"gorun/policy"
)

// Sequence is what a model remembers of one token sequence: blocks, for each
// layer with a window a list of pages, and the state of recurrent layers.
type Sequence struct {
	pool   *Pool
	space  *space
	tokens []int32 // whose keys and values it holds
	blocks []*block
	layers []pageList
	// states[0] is that of all tokens, and is not written again; a pass writes
	// states[1].
	states [2]*slot
	saved  int // tokens at the last snapshot
}

// slot is memory of a page of a window, or a state. Sequences share what none
// of them will write again.
type slot struct {
	memory
	refs int
}

// pageList is the pages of a layer with a window, from block first on.
type pageList struct {
	first int
	slots []*slot
	pages []compute.Span // of slots
}

// NewSequence makes an empty sequence of the default user. It takes memory as
// it grows.
func (p *Pool) NewSequence() *Sequence { return p.main.newSequence() }

// NewSequenceFor makes an empty sequence of a user. Users share nothing. set
// is the user's records on disk, nil if there is no cold tier.
func (p *Pool) NewSequenceFor(user string, set *store.Set) *Sequence {
	s := p.spaces[user]
	if s == nil {
		s = p.newSpace(set, user)
	}
	return s.newSequence()
}

func (s *space) newSequence() *Sequence {
	return &Sequence{pool: s.pool, space: s, layers: make([]pageList, len(s.pool.geo.Layers))}
}

// Fork makes a second sequence with the same past. The two share memory until
// one of them writes. A fork that is kept is a snapshot; a fork of that is its
// restoration.
func (s *Sequence) Fork() *Sequence {
	fork := s.space.newSequence()
	fork.tokens, fork.saved = slices.Clone(s.tokens), s.saved
	fork.blocks = slices.Clone(s.blocks[:min(len(s.blocks), s.pool.geo.ceil(len(s.tokens)))])
	for _, b := range fork.blocks {
		s.pool.hold(b)
	}
	for i, l := range s.layers {
		fork.layers[i] = pageList{l.first, slices.Clone(l.slots), slices.Clone(l.pages)}
		for _, slot := range l.slots {
			share(slot)
		}
	}
	fork.states[0] = share(s.states[0])
	return fork
}

// share takes another reference.
func share(s *slot) *slot {
	if s != nil {
		s.refs++
	}
	return s
}

// Len is the number of positions that hold KV.
func (s *Sequence) Len() int { return len(s.tokens) }

// Tokens are those positions' tokens.
func (s *Sequence) Tokens() []int32 { return s.tokens }

// Room is the number of positions that a pass can add with no more than so
// many hot blocks.
func (s *Sequence) Room(blocks int) int {
	if s.pool.geo.blockBytes == 0 {
		return s.pool.o.Batch
	}
	return max(0, blocks*s.pool.geo.BlockTokens-len(s.tokens)%s.pool.geo.BlockTokens)
}

// Takes is the number of hot blocks that adding n positions writes to.
func (s *Sequence) Takes(n int) int {
	if s.pool.geo.blockBytes == 0 {
		return 0
	}
	return s.pool.geo.ceil(len(s.tokens)%s.pool.geo.BlockTokens + n)
}

// Reserve makes room for n positions after Len, and gives back pages that lie
// before the window of them all. On an error the sequence holds what it held.
func (s *Sequence) Reserve(n int) error {
	if err := s.reserveBlocks(n); err != nil {
		return err
	}
	for i := range s.layers {
		if err := s.reserveWindow(i, n); err != nil {
			return err
		}
	}
	return s.reserveStates()
}

// reserveBlocks makes the blocks of the next n positions hot and the
// sequence's own.
func (s *Sequence) reserveBlocks(n int) error {
	p, geo := s.pool, s.pool.geo
	if geo.blockBytes == 0 {
		return nil
	}
	s.trim()
	if n > 0 && len(s.tokens)%geo.BlockTokens > 0 {
		if err := s.ownLast(); err != nil {
			return fmt.Errorf("at %d tokens: %w", len(s.tokens), err)
		}
	}
	for len(s.blocks)*geo.BlockTokens < len(s.tokens)+n {
		m, err := p.hotSlot()
		if err != nil {
			return fmt.Errorf("at %d tokens: %w", len(s.tokens), err)
		}
		b := p.newBlock(s.space, len(s.blocks))
		p.enterHot(b, m)
		p.policy.Pin(&b.KVBlock)
		p.trace(policy.Move, b, geo.BlockBytes(), policy.Nowhere, policy.Hot, policy.Write)
		s.blocks = append(s.blocks, b)
	}
	return nil
}

// trim gives back blocks that a pass reserved and did not fill.
func (s *Sequence) trim() {
	for keep := s.pool.geo.ceil(len(s.tokens)); len(s.blocks) > keep; {
		s.dropLast()
	}
}

func (s *Sequence) dropLast() {
	end := len(s.blocks) - 1
	s.pool.release(s.blocks[end])
	s.blocks[end] = nil
	s.blocks = s.blocks[:end]
}

// ownLast makes the last block, which is about to be written, hot, and nobody
// else's.
func (s *Sequence) ownLast() error {
	p := s.pool
	b := s.blocks[len(s.blocks)-1]
	p.policy.Pin(&b.KVBlock)
	if !b.isHot() {
		m, err := p.hotSlot()
		if err != nil {
			return err
		}
		if err := p.finish(context.Background(), []load{p.load(b, m)}); err != nil {
			return err
		}
	}
	if b.Users == 1 {
		// What others could find of it is about to change.
		s.space.forget(b)
		p.leaveWarm(b)
		p.leaveCold(b)
		b.Open = true
		return nil
	}
	m, err := p.hotSlot()
	if err != nil {
		return err
	}
	own := p.newBlock(s.space, b.Pos)
	p.copySlot(m, b.hot)
	p.enterHot(own, m)
	p.policy.Pin(&own.KVBlock)
	p.release(b)
	s.blocks[len(s.blocks)-1] = own
	return nil
}

// copySlot copies a slot of the device, in the order of operations.
func (p *Pool) copySlot(dst, src memory) {
	values := int(min(dst.N, src.N) / 4)
	p.stream.Copy(compute.MatrixOf(dst.Span, 1, values), compute.MatrixOf(src.Span, 1, values), compute.Rows{})
}

// allocFixed takes a slot of a window or state, with one reference.
func (p *Pool) allocFixed(size int64) (*slot, error) {
	m, ok, err := p.fixed[size].take(p.dev)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%w: all %d slots of %d bytes for windows and states are in use", ErrFull, p.fixed[size].capacity, size)
	}
	return &slot{m, 1}, nil
}

// releaseFixed gives a reference back.
func (p *Pool) releaseFixed(s *slot) {
	if s == nil {
		return
	}
	if s.refs--; s.refs == 0 {
		p.fixed[s.N].give(s.memory)
	}
}

// private returns a slot with the contents of s that nobody else refers to,
// in exchange for a reference to s.
func (p *Pool) private(s *slot) (*slot, error) {
	if s.refs == 1 {
		return s, nil
	}
	own, err := p.allocFixed(s.N)
	if err != nil {
		return nil, err
	}
	p.copySlot(own.memory, s.memory)
	p.releaseFixed(s)
	return own, nil
}

func (s *Sequence) reserveStates() error {
	size := s.pool.geo.stateBytes
	if size == 0 {
		return nil
	}
	if next := s.states[1]; next != nil && next.refs > 1 {
		s.pool.releaseFixed(next) // a fork still has it as its present
		s.states[1] = nil
	}
	for i := range s.states {
		if s.states[i] == nil {
			slot, err := s.pool.allocFixed(size)
			if err != nil {
				return fmt.Errorf("recurrent state: %w", err)
			}
			s.states[i] = slot
		}
	}
	return nil
}

func (s *Sequence) reserveWindow(layer, n int) error {
	l, geo, length := &s.layers[layer], s.pool.geo, len(s.tokens)
	shape := geo.Layers[layer]
	if shape.Window == 0 {
		return nil
	}
	// The token at Len is the first to look back.
	oldest, _ := geo.windowRange(shape, length)
	s.drop(l, oldest-l.first)
	if last := length/geo.BlockTokens - l.first; n > 0 && last < len(l.slots) {
		own, err := s.pool.private(l.slots[last]) // it is about to be written
		if err != nil {
			return fmt.Errorf("layer %d at %d tokens: %w", layer, length, err)
		}
		l.slots[last], l.pages[last] = own, own.Span
	}
	for (l.first+len(l.slots))*geo.BlockTokens < length+n {
		own, err := s.pool.allocFixed(shape.SlotBytes())
		if err != nil {
			return fmt.Errorf("layer %d at %d tokens: %w", layer, length, err)
		}
		l.slots, l.pages = append(l.slots, own), append(l.pages, own.Span)
	}
	return nil
}

// drop gives back the first n pages of a layer.
func (s *Sequence) drop(l *pageList, n int) {
	n = max(0, min(n, len(l.slots)))
	for _, slot := range l.slots[:n] {
		s.pool.releaseFixed(slot)
	}
	l.slots, l.pages = slices.Delete(l.slots, 0, n), slices.Delete(l.pages, 0, n)
	l.first += n
}

// Advance counts positions, for which Reserve made room, as filled with the
// keys and values of these tokens. All operations that fill them must have
// completed.
func (s *Sequence) Advance(tokens []int32) {
	geo, n := s.pool.geo, len(tokens)
	if geo.blockBytes > 0 && len(s.blocks)*geo.BlockTokens < len(s.tokens)+n {
		panic(fmt.Sprintf("kvtier: advance by %d at %d without room", n, len(s.tokens)))
	}
	for i, l := range s.layers {
		if geo.Layers[i].Window > 0 && (l.first+len(l.slots))*geo.BlockTokens < len(s.tokens)+n {
			panic(fmt.Sprintf("kvtier: advance by %d at %d without room in layer %d", n, len(s.tokens), i))
		}
	}
	full := len(s.tokens) / geo.BlockTokens
	s.tokens = append(s.tokens, tokens...)
	if n > 0 {
		s.states[0], s.states[1] = s.states[1], s.states[0]
	}
	if geo.blockBytes > 0 {
		for ; full < len(s.tokens)/geo.BlockTokens; full++ {
			s.learn(full)
		}
	}
	s.snapshotNow()
}

// keyBefore is the key of the block before block i.
func (s *Sequence) keyBefore(i int) store.Key {
	if i == 0 {
		return s.space.root
	}
	if s.pool.geo.blockBytes == 0 {
		return s.keyOfTokens(i)
	}
	return s.blocks[i-1].key
}

// keyOfTokens is the same where there are no blocks.
func (s *Sequence) keyOfTokens(i int) store.Key {
	key, n := s.space.root, s.pool.geo.BlockTokens
	for b := range i {
		key = key.Next(s.tokens[b*n : (b+1)*n])
	}
	return key
}

// learn lets others find block i, which is full now. If there is one with the
// same tokens, it has the same bits, and one of the two is enough.
func (s *Sequence) learn(i int) {
	p, b, n := s.pool, s.blocks[i], s.pool.geo.BlockTokens
	parent, tokens := s.keyBefore(i), s.tokens[i*n:(i+1)*n]
	key := parent.Next(tokens)
	other := s.space.index[key]
	if other == nil || !slices.Equal(other.tokens, tokens) {
		s.space.learn(b, key, parent, slices.Clone(tokens))
		if p.stage != nil && s.space.set != nil {
			p.dirty = append(p.dirty, b)
		}
		return
	}
	p.hold(other)
	p.policy.Touch(&other.KVBlock)
	if !other.isHot() {
		m := b.hot
		b.hot = memory{}
		p.policy.Take(policy.Hot, &b.KVBlock)
		p.enterHot(other, m)
	}
	p.release(b)
	s.blocks[i] = other
}

// Truncate forgets all positions from n on. It fails if a sliding window has
// already given back keys that the token at n would look at, or if a recurrent
// layer cannot go back.
func (s *Sequence) Truncate(n int) error {
	length := len(s.tokens)
	if n < 0 || n > length {
		return fmt.Errorf("cannot cut a sequence of %d tokens to %d", length, n)
	}
	geo := s.pool.geo
	if geo.stateBytes > 0 && 0 < n && n < length {
		return fmt.Errorf("cannot cut a sequence of %d tokens to %d: it has recurrent layers", length, n)
	}
	for i, l := range s.layers {
		if w := geo.Layers[i].Window; n > 0 && w > 0 && max(0, n-w+1) < l.first*geo.BlockTokens {
			return fmt.Errorf("cannot cut a sequence of %d tokens to %d: layer %d keeps a window of %d tokens only", length, n, i, w)
		}
	}
	for i := range s.layers {
		l := &s.layers[i]
		keep := max(0, geo.ceil(n)-l.first)
		for len(l.slots) > keep {
			end := len(l.slots) - 1
			s.pool.releaseFixed(l.slots[end])
			l.slots, l.pages = l.slots[:end], l.pages[:end]
		}
		if n == 0 {
			l.first = 0
		}
	}
	s.tokens = s.tokens[:n]
	s.saved = min(s.saved, n)
	s.trim()
	return nil
}

// Free gives everything back. What others may ask for stays while there is
// room.
func (s *Sequence) Free() {
	for len(s.blocks) > 0 {
		s.dropLast()
	}
	for i := range s.layers {
		s.drop(&s.layers[i], len(s.layers[i].slots))
		s.layers[i].first = 0
	}
	for i := range s.states {
		s.pool.releaseFixed(s.states[i])
		s.states[i] = nil
	}
	s.tokens, s.saved = s.tokens[:0], 0
}

// Run describes count positions from Len on, at rows [row, row+count) of a
// batch, to an operation of layer that writes them, and the pages that it
// writes to. If the sequence is in place, the operation may also read all
// others.
func (s *Sequence) Run(layer, row, count int) compute.KVRun {
	run := compute.KVRun{Row: row, Count: count, Pos: len(s.tokens)}
	l := s.pool.geo.Layers[layer]
	if l.Window > 0 {
		run.Pages, run.FirstBlock = s.layers[layer].pages, s.layers[layer].first
		return run
	}
	if !s.InPlace() {
		run.FirstBlock = len(s.tokens) / s.pool.geo.BlockTokens
	}
	run.Pages = make([]compute.Span, 0, len(s.blocks)-run.FirstBlock)
	for _, b := range s.blocks[run.FirstBlock:] {
		span, _ := s.pool.inPlace(b)
		run.Pages = append(run.Pages, span.At(l.blockAt, l.PageBytes()))
	}
	return run
}

// State describes rows [row, row+count) of a batch, the positions from Len on,
// to an operation that carries bytes [off, off+n) of the layer's state.
func (s *Sequence) State(layer, row, count int, off, n int64) compute.StateRun {
	at := s.pool.geo.Layers[layer].stateAt + off
	return compute.StateRun{Row: row, Count: count, First: len(s.tokens) == 0, From: s.states[0].At(at, n), To: s.states[1].At(at, n)}
}
