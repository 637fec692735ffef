package model

import (
	"fmt"

	"gorun/internal/units"
	"gorun/kvtier"
	"gorun/policy"
)

// coldPage is what pages have at least if they are to be streamed from a disk,
// if blocks may be chosen: disks are faster with larger ones.
const coldPage = 256 << 10

// geometry lays out the KV cache.
func (o Options) geometry(spec *Spec) (kvtier.Geometry, error) {
	shapes := spec.Shapes()
	g, err := kvtier.NewGeometry(shapes, o.KV.K, o.KV.V, o.KVBlock)
	for err == nil && o.KVBlock == 0 && o.KVCold != nil && g.BlockTokens < kvtier.MaxBlockTokens && 0 < g.SmallestPage() && g.SmallestPage() < coldPage {
		g, err = kvtier.NewGeometry(shapes, o.KV.K, o.KV.V, 2*g.BlockTokens)
	}
	return g, err
}

// tiers is where the options put the KV cache.
func (p *Plan) tiers() kvtier.Tiers {
	o := p.Options
	t := kvtier.Tiers{Hot: o.KVHot, Warm: o.KVWarm}
	if o.KVShares != nil {
		all := int64(p.Geometry.Blocks(o.Context, o.Sequences)) * p.Geometry.BlockBytes()
		t.Hot, t.Warm = max(all*int64(o.KVShares[0])/100, p.Geometry.BlockBytes()), all*int64(o.KVShares[1])/100
	}
	if o.KVCold != nil {
		t.Cold, t.ColdBytes = true, o.KVCold.Bytes
	}
	t.Copies = !o.hostMemory()
	return t
}

// kvTracePool describes the hot tier for the header of a trace.
func (p *Plan) kvTracePool() policy.Pool {
	g := p.Geometry
	return policy.Pool{Name: "kv", Policy: "KV", Slots: p.sizes.HotBlocks, SlotBytes: g.BlockBytes()}
}

// kvItems are the lines of a plan for the KV cache.
func (p *Plan) kvItems(s kvtier.Sizes) []Item {
	o, g := p.Options, p.Geometry
	hot := fmt.Sprintf("%d x %d tokens of %v, %d B a token, blocks of %d", o.Sequences, o.Context, o.KV, g.BytesPerToken(), g.BlockTokens)
	if all := g.Blocks(o.Context, o.Sequences); s.HotBlocks < all {
		hot = fmt.Sprintf("hot: %d of %d blocks of %d tokens of %v, %v each", s.HotBlocks, all, g.BlockTokens, o.KV, units.Size(g.BlockBytes()))
	}
	items := []Item{{"kv", s.Hot, hot}}
	add := func(name string, bytes int64, detail string) {
		if bytes > 0 {
			items = append(items, Item{name, bytes, detail})
		}
	}
	states := 2 * int64(o.Sequences) * g.StateBytes()
	add("kv warm", s.Warm, fmt.Sprintf("%d blocks in the host's memory", s.WarmBlocks))
	add("kv windows", s.Fixed-states, "of layers with a sliding window: not moved")
	add("kv ring", s.Ring, "pages on their way from other tiers")
	add("kv staging", s.Stage, "blocks on their way to the disk")
	add("state", states, fmt.Sprintf("%d x 2 x %d B of recurrent layers", o.Sequences, g.StateBytes()))
	return items
}
