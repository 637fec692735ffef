package model

import (
	"math"
	"slices"

	"gorun/compute"
	"gorun/pager"
)

// experts computes a mixture of experts from normed. The router's choice is
// read back, for it decides which pages are needed. The experts then compute
// side by side, each all rows that chose it; the results go to one slot for
// each (row, choice), and are summed in the order of the choices, so that a
// row's sum does not depend on the other rows.
func (p *pass) experts(e Experts, w *layerWeights) error {
	if err := p.route(e, w); err != nil {
		return err
	}
	return p.chosen(e, w)
}

// route chooses experts for each row of normed.
func (p *pass) route(e Experts, w *layerWeights) error {
	d, stream := p.d, p.d.stream
	logits := view(d.scratch.router, p.rows, e.Count)
	if err := p.linear(logits, p.normed, w.router); err != nil {
		return err
	}
	n := p.rows * e.Used
	ids, weights := d.scratch.expertIDs.At(0, 4*int64(n)), view(d.scratch.expertWeight, p.rows, e.Used)
	routing := e.Routing
	routing.Bias = w.routerBias
	stream.Route(ids, weights, logits, routing)
	d.routeIDs = slices.Grow(d.routeIDs[:0], n)[:n]
	if err := stream.Read(intBytes(d.routeIDs), ids); err != nil {
		return err
	}
	d.groups.group(d.routeIDs, e.Count, e.Used)
	return nil
}

// chosen computes the experts that have been chosen.
func (p *pass) chosen(e Experts, w *layerWeights) error {
	d, stream := p.d, p.d.stream
	n := p.rows * e.Used
	weights := view(d.scratch.expertWeight, p.rows, e.Used)
	hidden := view(d.scratch.gateUp, n, 2*e.Hidden) // rows of the first expert, then of the next
	slots := view(d.scratch.slots, n, d.spec.Width)
	p.expect(w)
	for _, id := range d.groups.chosen {
		tokens, _ := d.groups.of(id)
		in := hidden.RowsAt(d.groups.first(id), len(tokens))
		for i, m := range w.experts[id].gateUp {
			p.product(in.ColsAt(i*e.Hidden, m.Rows), m, p.normed, compute.Rows{From: tokens})
		}
	}
	if err := p.matMul(); err != nil {
		return err
	}
	gate, up := hidden.ColsAt(0, e.Hidden), hidden.ColsAt(e.Hidden, e.Hidden)
	p.addBiases(gate, w.gateBias)
	p.addBiases(up, w.upBias)
	stream.GatedUnit(gate, gate, up, e.Unit)
	for _, id := range d.groups.chosen {
		tokens, targets := d.groups.of(id)
		x := gate.RowsAt(d.groups.first(id), len(tokens))
		if !w.downScale.IsZero() {
			stream.ScaleRows(x, repeated(w.downScale, id, x.Rows))
		}
		p.product(slots, w.experts[id].down, x, compute.Rows{To: targets})
	}
	if err := p.matMul(); err != nil {
		return err
	}
	p.addDownBias(slots, w.downBias)
	stream.Combine(p.branch, slots, weights)
	if e.Shared.Hidden > 0 {
		return p.sharedExpert(e, w)
	}
	return nil
}

// expect tells which pages the chosen experts need.
func (p *pass) expect(w *layerWeights) {
	p.pages = p.pages[:0]
	for _, id := range p.d.groups.chosen {
		for _, m := range w.experts[id].gateUp {
			p.expectAll(m)
		}
	}
	for _, id := range p.d.groups.chosen {
		p.expectAll(w.experts[id].down)
	}
	p.d.pages.Expect(p.pages)
}

func (p *pass) expectAll(m *pager.Matrix) {
	for i := range m.Pages() {
		p.pages = append(p.pages, m.Page(i))
	}
}

// addBiases adds to the rows of each expert its row of biases, if there are any.
func (p *pass) addBiases(x, biases compute.Matrix) {
	if biases.IsZero() {
		return
	}
	for _, id := range p.d.groups.chosen {
		tokens, _ := p.d.groups.of(id)
		p.d.stream.AddRow(x.RowsAt(p.d.groups.first(id), len(tokens)), biases.RowsAt(id, 1))
	}
}

// addDownBias is likewise for slots, where the rows of an expert are not together.
func (p *pass) addDownBias(slots, biases compute.Matrix) {
	if biases.IsZero() {
		return
	}
	added := p.branch // is still free
	for first := 0; first < slots.Rows; first += added.Rows {
		p.d.stream.Copy(added, biases, compute.Rows{From: p.d.routeIDs[first:][:added.Rows]})
		p.d.stream.AddScaled(slots.RowsAt(first, added.Rows), added, 1)
	}
}

// beside computes a dense block and a mixture side by side. The block has
// normed; router and experts normalize x for themselves.
func (p *pass) beside(f FFN, w *layerWeights) error {
	d, stream := p.d, p.d.stream
	dense := d.scratch.shared.RowsAt(0, p.rows)
	if err := p.dense(dense, f.Block, &w.dense); err != nil {
		return err
	}
	stream.Norm(dense, dense, w.densePost)
	stream.Norm(p.normed, p.x, w.routerNorm)
	stream.Scale(p.normed, float32(1/math.Sqrt(float64(d.spec.Width))))
	if err := p.route(f.Experts, w); err != nil {
		return err
	}
	stream.Norm(p.normed, p.x, w.expertsNorm)
	if err := p.chosen(f.Experts, w); err != nil {
		return err
	}
	stream.Norm(p.branch, p.branch, w.expertsPost)
	stream.AddScaled(p.branch, dense, 1)
	return nil
}

// sharedExpert adds the block that every token goes through.
func (p *pass) sharedExpert(e Experts, w *layerWeights) error {
	stream, out := p.d.stream, p.d.scratch.shared.RowsAt(0, p.rows)
	if err := p.dense(out, e.Shared, &w.shared); err != nil {
		return err
	}
	if e.SharedGate {
		gate := p.d.scratch.sharedGate.RowsAt(0, p.rows)
		if err := p.linear(gate, p.normed, w.sharedGate); err != nil {
			return err
		}
		stream.Activate(gate, compute.Sigmoid)
		stream.ScaleRows(out, gate)
	}
	stream.AddScaled(p.branch, out, 1)
	return nil
}

// grouping sorts slots, numbered row*used + choice, by the expert that they
// belong to.
type grouping struct {
	chosen []int // experts that have rows, in ascending order
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
	g.chosen = g.chosen[:0]
	sum := 0
	for i, n := range g.ends {
		if n > 0 {
			g.chosen = append(g.chosen, i)
		}
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
