package kvtier

import (
	"slices"

	"gorun/kvtier/store"
	"gorun/policy"
)

// block is a token block. At least one tier has it, or it is being filled.
type block struct {
	policy.KVBlock
	space *space
	id    uint64

	hot  memory        // Buf is nil if it is not hot
	warm []byte        // nil if it is not warm
	cold *store.Record // pinned; nil if it is not cold

	// Of a full block whose tokens are known. Others may then find it.
	known       bool
	key, parent store.Key
	tokens      []int32
	writing     bool // a copy is on its way to the disk
	writeErr    error
	loading     bool // it is on its way to hot memory
	streamed    bool // a pass has used it since it was last hot
}

// isHot reports whether the block is in the device's memory.
func (b *block) isHot() bool { return b.hot.Buf != nil }

// space is what the sequences of one user may share.
type space struct {
	pool  *Pool
	set   *store.Set // nil: nothing is kept on disk
	root  store.Key
	index map[store.Key]*block
}

// find returns the block of those tokens behind parent, with the key that follows:
// one that is there, or one that is on disk. The caller holds it once more.
func (s *space) find(key, parent store.Key, pos int, tokens []int32) *block {
	if b := s.index[key]; b != nil && b.parent == parent && slices.Equal(b.tokens, tokens) {
		s.pool.hold(b)
		return b
	}
	if s.set == nil {
		return nil
	}
	r := s.set.Block(key, parent, pos, tokens)
	if r == nil {
		return nil
	}
	b := s.pool.newBlock(s, pos/len(tokens))
	b.cold = r
	s.learn(b, key, parent, r.Tokens())
	return b
}

// learn makes a full block one that others find. tokens do not change any more.
func (s *space) learn(b *block, key, parent store.Key, tokens []int32) {
	b.known, b.Open = true, false
	b.key, b.parent, b.tokens = key, parent, tokens
	s.index[b.key] = b
}

// forget is the opposite: the block is about to change, or to end.
func (s *space) forget(b *block) {
	if b.known && s.index[b.key] == b {
		delete(s.index, b.key)
	}
	b.known, b.tokens = false, nil
}

// newBlock makes a block that one sequence holds, in no tier.
func (p *Pool) newBlock(s *space, pos int) *block {
	p.blocks++
	b := &block{space: s, id: p.blocks, KVBlock: policy.KVBlock{Pos: pos, Open: true, Users: 1}}
	b.Owner = b
	return b
}

// hold takes another reference.
func (p *Pool) hold(b *block) {
	if b.Users == 0 {
		p.cached--
	}
	b.Users++
}

// release gives a reference back. A block that others may ask for stays as
// long as nobody needs its room.
func (p *Pool) release(b *block) {
	if b.Users--; b.Users > 0 {
		return
	}
	p.cached++
	if !b.known || !b.isHot() && b.warm == nil {
		p.end(b)
	}
}

// end gives up a block that no sequence holds.
func (p *Pool) end(b *block) {
	p.cached--
	b.space.forget(b)
	p.leaveHot(b)
	p.leaveWarm(b)
	p.leaveCold(b)
}

func (p *Pool) leaveHot(b *block) {
	if b.isHot() {
		p.hot.give(b.hot)
		b.hot = memory{}
		p.policy.Take(policy.Hot, &b.KVBlock)
	}
}

func (p *Pool) leaveWarm(b *block) {
	if b.warm != nil {
		p.warmFree = append(p.warmFree, b.warm)
		b.warm = nil
		p.policy.Take(policy.Warm, &b.KVBlock)
	}
}

func (p *Pool) leaveCold(b *block) {
	if b.cold != nil {
		b.space.set.Store().Unpin(b.cold)
		b.cold = nil
	}
}

func (p *Pool) enterHot(b *block, m memory) {
	b.hot = m
	p.policy.Put(policy.Hot, &b.KVBlock)
}
