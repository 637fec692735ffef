package kvtier

import (
	"fmt"

	"gorun/compute"
	"gorun/internal/pageio"
	"gorun/internal/units"
)

// Tiers says how much of the KV cache may be where. The zero value keeps all
// of it hot.
type Tiers struct {
	Hot  int64 // bytes; 0: all blocks have room
	Warm int64 // bytes; 0: there is no such tier
	Cold bool
	// ColdBytes bounds the cold tier; 0: nothing does.
	ColdBytes int64
	// Copies is set for a device that cannot use the host's memory in place.
	Copies bool
}

// Sizes is the memory of a pool, tier by tier.
type Sizes struct {
	HotBlocks, WarmBlocks int
	Hot, Warm             int64
	Fixed                 int64 // windows and states
	Ring                  int64 // pages on their way to attention
	Stage                 int64 // blocks on their way to the disk
}

// Sizes plans a pool for the given number of sequences of ctx positions each
// that grow by at most batch positions at a time.
func (g Geometry) Sizes(ctx, batch, sequences int, t Tiers) (Sizes, error) {
	all := g.Blocks(ctx, sequences)
	s := Sizes{HotBlocks: all, Fixed: g.FixedBytes(ctx, batch, sequences)}
	block := g.BlockBytes()
	if all > 0 {
		if t.Hot > 0 {
			s.HotBlocks = int(min(int64(all), t.Hot/block))
			if s.HotBlocks == 0 {
				return s, fmt.Errorf("a hot KV tier of %v holds no block: one of %d tokens takes %v; give more, or smaller blocks",
					units.Size(t.Hot), g.BlockTokens, units.Size(block))
			}
		}
		rest := int64(all - s.HotBlocks)
		s.WarmBlocks = int(min(rest, t.Warm/block))
		rest -= int64(s.WarmBlocks)
		switch {
		case rest == 0:
		case !t.Cold:
			return s, fmt.Errorf("a context of %d tokens for %d sequences needs %v of KV cache: the hot tier holds %v, the warm one %v; give a cold one, or a smaller context",
				ctx, sequences, units.Size(int64(all)*block), units.Size(int64(s.HotBlocks)*block), units.Size(int64(s.WarmBlocks)*block))
		case t.ColdBytes > 0 && rest*block > t.ColdBytes:
			return s, fmt.Errorf("a context of %d tokens for %d sequences needs %v of KV cache: hot and warm tiers hold %v, and the cold one is limited to %v; give more, or a smaller context",
				ctx, sequences, units.Size(int64(all)*block), units.Size(int64(s.HotBlocks+s.WarmBlocks)*block), units.Size(t.ColdBytes))
		}
	}
	s.Hot, s.Warm = int64(s.HotBlocks)*block, int64(s.WarmBlocks)*block
	if n := g.ringSlots(s, t); n > 0 {
		s.Ring = int64(n) * g.ringSlotBytes()
		if t.Copies {
			s.Ring *= 2 // the device has one, too
		}
	}
	if t.Cold {
		s.Stage = int64(stageBlocks)*roundUp(g.blockBytes, pageio.Block) + roundUp(g.SnapshotBytes(), pageio.Block)
	}
	return s, nil
}

// The ring is attended to in parts, each of whole spans, while all others are read. So
// much memory keeps a disk busy, if pages are not so small that they would be too many; and it stays in
// the third cache, which is worth more than longer reads are: neither the disk nor attention waits for memory.
const (
	ringBytes = 8 << 20
	ringPages = 1024
	ringParts = 4
	leastRing = 3 // spans
)

// ringSlots is the number of pages in the ring; 0: none is needed.
func (g Geometry) ringSlots(s Sizes, t Tiers) int {
	streamed := t.Cold && s.HotBlocks > 0 || t.Copies && s.WarmBlocks > 0
	if !streamed {
		return 0
	}
	span := g.ceil(compute.SpanTokens)
	pages := min(int(ringBytes/g.SmallestPage()), ringPages)
	return span * max(leastRing, (pages+span-1)/span)
}

// ringSlotBytes is the memory of a page in the ring, wherever it begins on
// disk.
func (g Geometry) ringSlotBytes() int64 {
	var n int64
	for _, i := range g.full {
		n = max(n, pageio.Room(g.Layers[i].SlotBytes()))
	}
	return n
}

// stageBlocks is the number of blocks that may be on their way to the disk.
const stageBlocks = 8
