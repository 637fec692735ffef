// Package kvtier owns the KV cache: its geometry, its blocks and the three
// tiers that they live in, and the sequences that are lists of blocks.
//
// The unit is the token block: BlockTokens consecutive positions of one
// sequence, in all layers that keep all positions. A page is one layer's keys
// and values of one block. Every size comes from compute.KVLayout, and so from
// tensor's row-size function, for plan, pool, kernels and disk alike.
//
//	block      0                 1                 2
//	         [ layer 0, K | V ][ layer 0, K | V ][ layer 0, K | V ]
//	         [ layer 2, K | V ][ layer 2, K | V ][ layer 2, K | V ]
//
// Blocks are written once, at their end, and immutable when they are full.
// Sequences share them by prefix and count references; a full block is found
// by the hash of all tokens up to its end, and these are compared. The block
// that is not full belongs to one sequence.
//
// # Tiers
//
// Hot blocks are in the memory of the device that computes, warm ones in the
// host's, cold ones on disk (package store). Which ones leave is the decision
// of policy.KV. No block needs to be hot to be attended to: pages are visited
// in their order, hot ones in place, others through a small ring that is read
// ahead across layers (Reader). Only what a pass writes must be hot. Where a
// block lives changes no bit, since attention accumulates in spans of absolute
// positions (package compute).
//
// # What is no block
//
// Layers with a sliding window keep their window only, in pages of their own.
// A recurrent layer has no pages: the states of all of them are one slot,
// twice. A pass reads the one and writes the other, so that a pass that fails
// has changed nothing. Both stay with the device, and both can only go on from
// where they are, or from a snapshot.
package kvtier

import (
	"fmt"

	"gorun/compute"
	"gorun/internal/pageio"
	"gorun/tensor"
)

// MaxBlockTokens is the largest token block.
const MaxBlockTokens = 256

// Shape is what a model says a layer remembers of a sequence: the keys and
// values of positions, or a state of fixed size (a recurrent layer).
type Shape struct {
	Heads, KDim, VDim int   // zero heads: no KV
	VInK              bool  // values are the beginning of keys
	Window            int   // positions that a token sees, itself included; 0: all
	State             int64 // bytes
}

// Layer is the geometry of one layer.
type Layer struct {
	compute.KVLayout
	Window  int
	State   int64
	stateAt int64 // in the states of a sequence
	blockAt int64 // of its page in a block
	piece   int   // number of that page
}

// Holds reports whether the layer has any KV.
func (l Layer) Holds() bool { return l.Heads > 0 }

// Full reports whether the layer keeps all positions, in blocks.
func (l Layer) Full() bool { return l.Holds() && l.Window == 0 }

// BytesPerToken is what one position costs while it is within the window.
func (l Layer) BytesPerToken() int64 { return l.KRow() + l.VRow() }

// Waste is the part of BytesPerToken that pads heads to whole blocks.
func (l Layer) Waste() int64 {
	if !l.Holds() {
		return 0
	}
	used := float64(l.KDim) * bytesPerValue(l.KType)
	if !l.VInK {
		used += float64(l.VDim) * bytesPerValue(l.VType)
	}
	return l.BytesPerToken() - int64(float64(l.Heads)*used)
}

func bytesPerValue(t tensor.Type) float64 { return float64(t.BlockBytes()) / float64(t.BlockSize()) }

// SlotBytes is the memory that a page of the layer takes in a pool.
func (l Layer) SlotBytes() int64 { return (l.PageBytes() + slotAlign - 1) &^ (slotAlign - 1) }

// slotAlign keeps pages apart on cache lines.
const slotAlign = 64

// Geometry is the KV cache of a model in numbers.
type Geometry struct {
	KType, VType tensor.Type
	BlockTokens  int
	Layers       []Layer

	stateBytes int64
	blockBytes int64 // data of a block
	full       []int // layers that are in blocks
}

// NewGeometry lays out the KV of a model. blockTokens must be a power of two
// from 4 to MaxBlockTokens; 0 chooses the smallest with which every page is a
// multiple of 4 KiB and at least leastPage, or MaxBlockTokens if none is.
func NewGeometry(shapes []Shape, kType, vType tensor.Type, blockTokens int) (Geometry, error) {
	if err := checkTypes(kType, vType); err != nil {
		return Geometry{}, err
	}
	if blockTokens == 0 {
		for blockTokens = 4; blockTokens < MaxBlockTokens; blockTokens *= 2 {
			if g, err := layOut(shapes, kType, vType, blockTokens); err != nil || g.wellSized() {
				break
			}
		}
	}
	if blockTokens < 4 || blockTokens > MaxBlockTokens || blockTokens&(blockTokens-1) != 0 {
		return Geometry{}, fmt.Errorf("a KV block of %d tokens: want a power of two from 4 to %d", blockTokens, MaxBlockTokens)
	}
	return layOut(shapes, kType, vType, blockTokens)
}

// Types lists the types that the cache can hold.
func Types() []tensor.Type { return tensor.KVTypes() }

func checkTypes(types ...tensor.Type) error {
	for _, t := range types {
		known := false
		for _, k := range Types() {
			known = known || t == k
		}
		if !known {
			return fmt.Errorf("the KV cache cannot hold %v: it holds %v", t, Types())
		}
	}
	return nil
}

func layOut(shapes []Shape, kType, vType tensor.Type, blockTokens int) (Geometry, error) {
	g := Geometry{KType: kType, VType: vType, BlockTokens: blockTokens, Layers: make([]Layer, len(shapes))}
	for i, s := range shapes {
		l := Layer{Window: s.Window, State: s.State, stateAt: g.stateBytes}
		g.stateBytes += (s.State + slotAlign - 1) &^ (slotAlign - 1)
		if s.Heads != 0 {
			layout, err := compute.NewKVLayout(s.Heads, s.KDim, s.VDim, s.VInK, kType, vType, blockTokens)
			if err != nil {
				return Geometry{}, fmt.Errorf("layer %d: %w", i, err)
			}
			l.KVLayout = layout
		}
		if l.Full() {
			l.blockAt, l.piece = g.blockBytes, len(g.full)
			g.blockBytes += l.SlotBytes()
			g.full = append(g.full, i)
		}
		g.Layers[i] = l
	}
	return g, nil
}

// leastPage is what pages have at least, if the size of blocks may be chosen:
// larger ones are attended to faster (a tenth from 64 KiB to 256), smaller ones
// leave less unused at the end of a sequence.
const leastPage = 128 << 10

// wellSized reports whether pages suit a disk, and attention.
func (g Geometry) wellSized() bool {
	for _, l := range g.Layers {
		if n := l.PageBytes(); l.Holds() && (n%4096 != 0 || n < leastPage) {
			return false
		}
	}
	return true
}

// SmallestPage is the bytes of the smallest page in blocks; 0 if there is none.
func (g Geometry) SmallestPage() int64 {
	var n int64
	for _, i := range g.full {
		if page := g.Layers[i].PageBytes(); n == 0 || page < n {
			n = page
		}
	}
	return n
}

// BytesPerToken is the cost of a position in all layers.
func (g Geometry) BytesPerToken() int64 {
	var n int64
	for _, l := range g.Layers {
		n += l.BytesPerToken()
	}
	return n
}

// StateBytes is the size of the states of all recurrent layers of a sequence.
// A pool keeps two of them for each: one that is true, and one that a pass
// writes.
func (g Geometry) StateBytes() int64 { return g.stateBytes }

// Waste is the padding in BytesPerToken.
func (g Geometry) Waste() int64 {
	var n int64
	for _, l := range g.Layers {
		n += l.Waste()
	}
	return n
}

// BlockBytes is the memory of a block in a pool; 0 if no layer keeps all
// positions.
func (g Geometry) BlockBytes() int64 {
	if g.blockBytes >= 4*pageio.Block {
		return roundUp(g.blockBytes, pageio.Block) // so that disks can read to it
	}
	return g.blockBytes
}

func roundUp(n, multiple int64) int64 { return (n + multiple - 1) / multiple * multiple }

// Blocks is the number of blocks of so many sequences of ctx positions.
func (g Geometry) Blocks(ctx, sequences int) int {
	if g.blockBytes == 0 {
		return 0
	}
	return sequences * g.ceil(ctx)
}

func (g Geometry) ceil(n int) int { return (n + g.BlockTokens - 1) / g.BlockTokens }

// windowPages is the most pages of a layer with a window that a sequence of
// ctx positions holds at once when it grows by at most batch positions at a
// time.
func (g Geometry) windowPages(l Layer, ctx, batch int) int {
	// The window and the batch may begin and end inside a block.
	return min(g.ceil(ctx), g.ceil(l.Window+batch)+1)
}

// FixedBytes is the memory of windows and states of the given number of
// sequences of ctx positions each that grow by at most batch positions at a
// time.
func (g Geometry) FixedBytes(ctx, batch, sequences int) int64 {
	var n int64
	for size, slots := range g.fixedSlots(ctx, batch, sequences) {
		n += size * int64(slots)
	}
	return n
}

// fixedSlots counts their slots of each size.
func (g Geometry) fixedSlots(ctx, batch, sequences int) map[int64]int {
	slots := map[int64]int{}
	for _, l := range g.Layers {
		if l.Window > 0 {
			slots[l.SlotBytes()] += sequences * g.windowPages(l, ctx, batch)
		}
	}
	if g.stateBytes > 0 {
		slots[g.stateBytes] += 2 * sequences
	}
	return slots
}

// snapshots reports whether a sequence goes on from snapshots only.
func (g Geometry) snapshots() bool {
	if g.stateBytes > 0 {
		return true
	}
	for _, l := range g.Layers {
		if l.Window > 0 {
			return true
		}
	}
	return false
}

// windowRange is the pages [first, end) of a layer with a window that the
// token at pos looks at.
func (g Geometry) windowRange(l Layer, pos int) (first, end int) {
	return max(0, pos-l.Window+1) / g.BlockTokens, g.ceil(pos)
}

// SnapshotBytes is the most data of a snapshot: the block that is not full,
// windows and states.
func (g Geometry) SnapshotBytes() int64 {
	n := g.blockBytes + g.stateBytes
	for _, l := range g.Layers {
		if l.Window > 0 {
			n += int64(g.ceil(l.Window)+1) * l.SlotBytes()
		}
	}
	return n
}

// pieces are the bytes of the pages of a block.
func (g Geometry) pieces() []int64 {
	var list []int64
	for _, i := range g.full {
		list = append(list, g.Layers[i].SlotBytes())
	}
	return list
}
