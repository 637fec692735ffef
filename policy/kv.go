package policy

import (
	"cmp"
	"slices"
)

// KV ranks the blocks of a KV cache. A sequence that is being decoded uses
// all of its blocks in each pass, a cycle, of which LRU would keep nothing: so
// it keeps the beginning, and what lies beyond is streamed. Between sequences
// those that have not run for a while go first. In full, first to leave are:
//
//  1. blocks that no sequence holds, the one used longest ago first;
//  2. blocks of idle sequences, likewise, and of one sequence the last first;
//  3. blocks of sequences that ran in the last IdleAfter passes, the one
//     farthest from its beginning first: so sequences side by side come to
//     have equal shares;
//  4. among those, blocks that are not full yet, which their sequence will
//     write to next.
//
// Blocks that the pass under way writes to do not leave.
type KV struct {
	pass  uint64
	tiers [2]kvTier
}

// IdleAfter is the number of passes after which a sequence counts as idle.
const IdleAfter = 64

// kvTier is the blocks of one tier, and those of them that should leave, the
// first at the end, as of some pass.
type kvTier struct {
	blocks []*KVBlock
	queue  []*KVBlock
	pass   uint64
}

// KVBlock is what the policy knows of a block. The owner of the block keeps
// Pos, Open and Users true.
type KVBlock struct {
	Pos   int  // in its sequence
	Open  bool // it is not full
	Users int  // sequences that hold it
	Owner any  // whatever the owner finds it by

	last   uint64 // pass of the last use
	pinned uint64 // pass that writes to it
	at     [2]int // place in the lists of the tiers, plus one
}

// NewKV makes a policy without blocks.
func NewKV() *KV { return &KV{pass: 1} }

// Begin begins a pass. What the one before pinned may leave again.
func (k *KV) Begin() { k.pass++ }

// Touch tells that the pass uses a block, wherever it is.
func (k *KV) Touch(b *KVBlock) { b.last = k.pass }

// Pin keeps a block where it is for this pass.
func (k *KV) Pin(b *KVBlock) { b.last, b.pinned = k.pass, k.pass }

// Pinned reports whether the pass writes to the block, for a sequence.
func (k *KV) Pinned(b *KVBlock) bool { return b.pinned == k.pass && b.Users > 0 }

// Put tells that a block is now in a tier, Hot or Warm, perhaps among others.
func (k *KV) Put(t Tier, b *KVBlock) {
	tier := &k.tiers[t-Hot]
	if b.at[t-Hot] == 0 {
		tier.blocks = append(tier.blocks, b)
		b.at[t-Hot] = len(tier.blocks)
	}
}

// Take tells that a block is no longer in a tier.
func (k *KV) Take(t Tier, b *KVBlock) {
	tier, at := &k.tiers[t-Hot], b.at[t-Hot]
	if at == 0 {
		return
	}
	end := len(tier.blocks)
	moved := tier.blocks[end-1]
	tier.blocks[at-1], moved.at[t-Hot] = moved, at
	tier.blocks[end-1] = nil
	tier.blocks, b.at[t-Hot] = tier.blocks[:end-1], 0
}

// In reports whether a block is in a tier.
func (k *KV) In(t Tier, b *KVBlock) bool { return b.at[t-Hot] != 0 }

// Len is the number of blocks in a tier.
func (k *KV) Len(t Tier) int { return len(k.tiers[t-Hot].blocks) }

// Victim names the block of a tier that should leave first, or nil.
func (k *KV) Victim(t Tier) *KVBlock {
	tier := &k.tiers[t-Hot]
	for range 2 {
		for n := len(tier.queue); tier.pass == k.pass && n > 0; n-- {
			b := tier.queue[n-1]
			if k.In(t, b) && !k.Pinned(b) {
				tier.queue = tier.queue[:n]
				return b
			}
		}
		k.rank(t)
	}
	return nil
}

// rank makes the queue of a tier anew.
func (k *KV) rank(t Tier) {
	tier := &k.tiers[t-Hot]
	clear(tier.queue)
	tier.queue, tier.pass = tier.queue[:0], k.pass
	for _, b := range tier.blocks {
		if !k.Pinned(b) {
			tier.queue = append(tier.queue, b)
		}
	}
	slices.SortFunc(tier.queue, func(a, b *KVBlock) int { return k.compare(b, a) })
}

// Before reports whether a should leave before b.
func (k *KV) Before(a, b *KVBlock) bool { return k.compare(a, b) < 0 }

// Idle reports whether a block may make room for one that is needed now.
func (k *KV) Idle(b *KVBlock) bool { return k.class(b) < active }

const (
	unused = iota
	idle
	active
	open
)

func (k *KV) class(b *KVBlock) int {
	switch {
	case b.Users == 0:
		return unused
	case b.last+IdleAfter < k.pass:
		return idle
	case b.Open:
		return open
	}
	return active
}

// compare is negative if a should leave before b.
func (k *KV) compare(a, b *KVBlock) int {
	class := k.class(a)
	if c := cmp.Compare(class, k.class(b)); c != 0 {
		return c
	}
	if class < active {
		if c := cmp.Compare(a.last, b.last); c != 0 {
			return c
		}
	}
	return cmp.Compare(b.Pos, a.Pos)
}
