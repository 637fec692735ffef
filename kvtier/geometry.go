// Package kvtier owns the KV cache: its geometry, the pool of pages, and the
// sequences that are lists of pages.
//
// The unit is the token block: BlockTokens consecutive positions of one
// sequence. A page is one layer's keys and values of one block. Every size
// comes from compute.KVLayout, and so from tensor's row-size function, for
// plan, pool and kernels alike.
//
//	sequence   block 0        block 1        block 2
//	layer 0  [ K | V page ] [ K | V page ] [ K | V page ]
//	layer 1       ·         [ K | V page ] [ K | V page ]   a sliding window
//	layer 2  [ K | V page ] [ K | V page ] [ K | V page ]   keeps its window only
//
// A recurrent layer has no pages. The states of all of them are one slot,
// twice: a pass reads the one and writes the other, so that a pass that fails
// has changed nothing.
package kvtier

import (
	"fmt"

	"gorun/compute"
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
}

// Holds reports whether the layer has any KV.
func (l Layer) Holds() bool { return l.Heads > 0 }

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
}

// NewGeometry lays out the KV of a model. blockTokens must be a power of two
// from 4 to MaxBlockTokens; 0 chooses the smallest with which every page is a
// multiple of 4 KiB and at least 64 KiB, or MaxBlockTokens if none is.
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
		g.Layers[i] = l
	}
	return g, nil
}

// wellSized reports whether pages suit a disk.
func (g Geometry) wellSized() bool {
	for _, l := range g.Layers {
		if n := l.PageBytes(); l.Holds() && (n%4096 != 0 || n < 64<<10) {
			return false
		}
	}
	return true
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

// blocks is the most pages of layer l that a sequence of ctx positions holds
// at once when it grows by at most batch positions at a time.
func (g Geometry) blocks(l Layer, ctx, batch int) int {
	ceil := func(n int) int { return (n + g.BlockTokens - 1) / g.BlockTokens }
	n := ceil(ctx)
	if l.Window > 0 {
		// The window and the batch may begin and end inside a block.
		n = min(n, ceil(l.Window+batch)+1)
	}
	return n
}

// PoolBytes is the memory of a pool for the given number of sequences of ctx
// positions each that grow by at most batch positions at a time.
func (g Geometry) PoolBytes(ctx, batch, sequences int) int64 {
	var n int64
	for size, slots := range g.slots(ctx, batch, sequences) {
		n += size * int64(slots)
	}
	return n
}

// slots counts the slots of each size that such a pool has.
func (g Geometry) slots(ctx, batch, sequences int) map[int64]int {
	slots := map[int64]int{}
	for _, l := range g.Layers {
		if l.Holds() {
			slots[l.SlotBytes()] += sequences * g.blocks(l, ctx, batch)
		}
	}
	if g.stateBytes > 0 {
		slots[g.stateBytes] += 2 * sequences
	}
	return slots
}
