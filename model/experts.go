package model

import (
	"slices"

	"gorun/compute"
)

// experts computes a mixture of experts from normed. The router's choice is
// read back, for it decides which pages are needed. Each expert then computes
// all rows that chose it; the results go to one slot for each (row, choice),
// and are summed in the order of the choices, so that a row's sum does not
// depend on the other rows.
func (p *pass) experts(f FFN, w *layerWeights) error {
	d, e, stream := p.d, f.Experts, p.d.stream
	logits := view(d.scratch.router, p.rows, e.Count)
	if err := p.linear(logits, p.normed, w.router); err != nil {
		return err
	}
	n := p.rows * e.Used
	ids, weights := d.scratch.expertIDs.At(0, 4*int64(n)), view(d.scratch.expertWeight, p.rows, e.Used)
	stream.Route(ids, weights, logits, e.Routing)
	d.routeIDs = slices.Grow(d.routeIDs[:0], n)[:n]
	if err := stream.Read(intBytes(d.routeIDs), ids); err != nil {
		return err
	}
	d.groups.group(d.routeIDs, e.Count, e.Used)

	hidden := view(d.scratch.gateUp, n, 2*e.Hidden)
	slots := view(d.scratch.slots, n, p.d.spec.Width)
	for id, x := range w.experts {
		tokens, targets := d.groups.of(id)
		if len(tokens) == 0 {
			continue
		}
		in := hidden.RowsAt(d.groups.first(id), len(tokens))
		for i, m := range x.gateUp {
			if err := p.matMul(in.ColsAt(i*e.Hidden, m.Rows), m, p.normed, compute.Rows{From: tokens}); err != nil {
				return err
			}
		}
		gate := in.ColsAt(0, e.Hidden)
		stream.GatedUnit(gate, gate, in.ColsAt(e.Hidden, e.Hidden), f.Activation)
		if err := p.matMul(slots, x.down, gate, compute.Rows{To: targets}); err != nil {
			return err
		}
	}
	stream.Combine(p.branch, slots, weights)
	return nil
}

// grouping sorts slots, numbered row*used + choice, by the expert that they
// belong to.
type grouping struct {
	ends   []int // of each expert's group
	tokens []int32
	slots  []int32
}

func (g *grouping) group(ids []int32, experts, used int) {
	g.ends = slices.Grow(g.ends[:0], experts)[:experts]
	g.tokens = slices.Grow(g.tokens[:0], len(ids))[:len(ids)]
	g.slots = slices.Grow(g.slots[:0], len(ids))[:len(ids)]
	clear(g.ends)
	for _, id := range ids {
		g.ends[id]++
	}
	sum := 0
	for i, n := range g.ends {
		g.ends[i] = sum // the begin, for now
		sum += n
	}
	for slot, id := range ids {
		at := g.ends[id]
		g.tokens[at], g.slots[at] = int32(slot/used), int32(slot)
		g.ends[id]++
	}
}

// first is where the group of an expert begins.
func (g *grouping) first(expert int) int {
	if expert == 0 {
		return 0
	}
	return g.ends[expert-1]
}

// of returns the rows that chose an expert, and the slots for its results.
func (g *grouping) of(expert int) (tokens, slots []int32) {
	lo, hi := g.first(expert), g.ends[expert]
	return g.tokens[lo:hi], g.slots[lo:hi]
}
