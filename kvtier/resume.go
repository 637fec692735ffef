package kvtier

import (
	"context"
	"errors"

	"gorun/internal/pageio"
	"gorun/kvtier/store"
)

// Known is the number of tokens, from the first on, that Resume would find.
func (s *Sequence) Known(tokens []int32) int {
	blocks, snapshot, n := s.search(tokens)
	s.giveBack(blocks, snapshot)
	return n
}

// Resume fills an empty sequence with as much of tokens as is known, from the
// first on, and returns how many that is. Blocks that are on disk stay there
// until a pass wants them.
func (s *Sequence) Resume(ctx context.Context, tokens []int32) (int, error) {
	if len(s.tokens) > 0 || len(s.blocks) > 0 {
		return 0, errors.New("kvtier: only an empty sequence can resume")
	}
	blocks, snapshot, n := s.search(tokens)
	if n == 0 {
		s.giveBack(blocks, snapshot)
		return 0, nil
	}
	s.blocks = blocks
	s.tokens = append(s.tokens, tokens[:n]...)
	for _, b := range blocks {
		s.pool.policy.Touch(&b.KVBlock)
	}
	if snapshot == nil {
		return n, nil
	}
	err := s.restore(ctx, snapshot)
	s.space.set.Store().Unpin(snapshot)
	if err != nil {
		s.Free()
		if errors.Is(err, store.ErrDamaged) {
			s.pool.log.Warn("a snapshot cannot be read back", "error", err)
			return s.Resume(ctx, tokens) // the next best
		}
		return 0, err
	}
	s.saved = n
	return n, nil
}

// search finds the blocks, and the snapshot behind them, of the longest prefix
// that can go on.
func (s *Sequence) search(tokens []int32) (blocks []*block, snapshot *store.Record, n int) {
	geo, size := s.pool.geo, s.pool.geo.BlockTokens
	keys := append(make([]store.Key, 0, len(tokens)/size+1), s.space.root)
	for i := 0; (i+1)*size <= len(tokens); i++ {
		part := tokens[i*size : (i+1)*size]
		key := keys[i].Next(part)
		if geo.blockBytes > 0 {
			b := s.space.find(key, keys[i], i*size, part)
			if b == nil {
				break
			}
			blocks = append(blocks, b)
		}
		keys = append(keys, key)
	}
	for i := len(keys) - 1; i >= 0 && s.space.set != nil; i-- {
		snapshot = s.space.set.Snapshot(keys[i], i*size, tokens[i*size:])
		if snapshot != nil || !geo.snapshots() {
			break
		}
	}
	n = len(blocks) * size
	if snapshot != nil {
		n = snapshot.Pos() + len(snapshot.Tokens())
	} else if geo.snapshots() {
		n = 0
	}
	if geo.blockBytes > 0 {
		for len(blocks) > n/size {
			s.pool.release(blocks[len(blocks)-1])
			blocks = blocks[:len(blocks)-1]
		}
	}
	return blocks, snapshot, n
}

func (s *Sequence) giveBack(blocks []*block, snapshot *store.Record) {
	for i := len(blocks) - 1; i >= 0; i-- {
		s.pool.release(blocks[i])
	}
	if snapshot != nil {
		s.space.set.Store().Unpin(snapshot)
	}
}

// A snapshot is, one after the other: the block that is not full, if there is
// one; the pages of windows, layer by layer; the states.

// last is the block that is not full; nil if there is none.
func (s *Sequence) last() *block {
	if geo := s.pool.geo; geo.blockBytes > 0 && len(s.tokens)%geo.BlockTokens > 0 {
		return s.blocks[len(s.tokens)/geo.BlockTokens]
	}
	return nil
}

// eachPart calls do with the memory of each part of a snapshot of the
// sequence as it is, but for the block that is not full.
func (s *Sequence) eachPart(do func(m memory) error) error {
	geo := s.pool.geo
	for i, l := range geo.Layers {
		if l.Window == 0 {
			continue
		}
		first, end := geo.windowRange(l, len(s.tokens))
		for page := first; page < end; page++ {
			if err := do(s.layers[i].slots[page-s.layers[i].first].memory); err != nil {
				return err
			}
		}
	}
	if geo.stateBytes > 0 {
		return do(s.states[0].memory)
	}
	return nil
}

// restore fills what is not in blocks from a snapshot of all tokens.
func (s *Sequence) restore(ctx context.Context, r *store.Record) error {
	p, geo, n := s.pool, s.pool.geo, len(s.tokens)
	mem, free, err := pageio.NewMemory(roundUp(r.Bytes(), pageio.Block))
	if err != nil {
		return err
	}
	defer free()
	if _, err := r.Read(mem, store.Whole); err != nil {
		if errors.Is(err, store.ErrDamaged) {
			s.space.set.Store().Discard(r)
		}
		return err
	}
	if geo.blockBytes > 0 && n%geo.BlockTokens > 0 {
		m, err := p.hotSlot()
		if err != nil {
			return err
		}
		b := p.newBlock(s.space, len(s.blocks))
		p.enterHot(b, m)
		p.policy.Touch(&b.KVBlock)
		s.blocks = append(s.blocks, b)
	}
	for i, l := range geo.Layers {
		if l.Window == 0 {
			continue
		}
		list := &s.layers[i]
		first, end := geo.windowRange(l, n)
		for list.first = first; list.first+len(list.slots) < end; {
			own, err := p.allocFixed(l.SlotBytes())
			if err != nil {
				return err
			}
			list.slots, list.pages = append(list.slots, own), append(list.pages, own.Span)
		}
	}
	if geo.stateBytes > 0 {
		if s.states[0], err = p.allocFixed(geo.stateBytes); err != nil {
			return err
		}
	}
	data := mem[:r.Bytes()]
	if b := s.last(); b != nil {
		if int64(len(data)) < geo.blockBytes {
			return store.ErrDamaged
		}
		if err := p.put(b.hot.at(0, geo.blockBytes), data[:geo.blockBytes]); err != nil {
			return err
		}
		data = data[geo.blockBytes:]
	}
	err = s.eachPart(func(m memory) error {
		if int64(len(data)) < m.N {
			return store.ErrDamaged
		}
		err := p.put(m, data[:m.N])
		data = data[m.N:]
		return err
	})
	if err == nil && len(data) > 0 {
		err = store.ErrDamaged
	}
	return errors.Join(err, ctx.Err())
}

// Save writes what cannot be computed from blocks to disk, in the background:
// a snapshot of the sequence as it is. Nothing happens without a cold tier, or
// if there is nothing to save.
func (s *Sequence) Save() error {
	p, geo, n := s.pool, s.pool.geo, len(s.tokens)
	if p.stage == nil || s.space.set == nil || n == 0 || n == s.saved || !geo.snapshots() && n%geo.BlockTokens == 0 {
		return nil
	}
	for p.stage.state == nil {
		p.await()
	}
	mem := p.stage.state
	data := mem[:0]
	if b := s.last(); b != nil {
		data = mem[:geo.blockBytes]
		if err := p.copyOut(data, b); err != nil {
			return err
		}
	}
	err := s.eachPart(func(m memory) error {
		at := len(data)
		data = mem[:at+int(m.N)]
		return p.fetch(data[at:], m)
	})
	if err != nil {
		return err
	}
	p.stage.state = nil
	i := n / geo.BlockTokens
	s.space.set.Store().Enqueue(store.Entry{
		Set: s.space.set, State: true, Parent: s.keyBefore(i), Pos: i * geo.BlockTokens, Tokens: s.tokens[i*geo.BlockTokens : n : n], Data: data,
		Done: func(r *store.Record, err error) { p.stage.complete(completion{mem: mem, record: r, err: err}) },
	})
	s.saved = n
	return nil
}

// Snapshots are taken while a text grows whenever the blocks written since the
// last one are snapshotShare times its size, so that they stay a small part of
// what is written; where there are no blocks, every snapshotTokens.
const (
	snapshotShare  = 8
	snapshotTokens = 4096
)

// snapshotNow takes a snapshot if it is time for one.
func (s *Sequence) snapshotNow() {
	geo := s.pool.geo
	if s.pool.stage == nil || s.space.set == nil || !geo.snapshots() {
		return
	}
	grown := len(s.tokens) - s.saved
	if geo.blockBytes > 0 {
		if int64(grown)*geo.blockBytes < snapshotShare*geo.SnapshotBytes()*int64(geo.BlockTokens) {
			return
		}
	} else if grown < snapshotTokens {
		return
	}
	if err := s.Save(); err != nil {
		s.pool.log.Warn("no snapshot is taken", "error", err)
		s.saved = len(s.tokens) // until the next one is due
	}
}
