package model

import "gorun/pager"

// Cost is what computing one token takes.
type Cost struct {
	// WeightBytes are the bytes of weights that are read: of a mixture, the
	// experts that a token uses.
	WeightBytes int64
	// KVBytes are the bytes of keys, values and recurrent state that are read
	// at the position.
	KVBytes int64
	// MultiplyAdds are those of matrix products, attention not counted.
	MultiplyAdds int64
}

// Cost is the cost of the token at a position.
func (m *Model) Cost(pos int) Cost { return m.plan.Cost(pos) }

// Cost is the cost of the token at a position.
func (p *Plan) Cost(pos int) Cost {
	var c Cost
	w := p.weights
	for _, matrix := range w.catalog.Matrices() {
		if matrix.Use == pager.Always {
			c.add(matrix, 1)
		}
	}
	for i, l := range p.Spec.Layers {
		if experts := w.layers[i].experts; len(experts) > 0 {
			for _, matrix := range experts[0].matrices() {
				c.add(matrix, int64(l.FFN.Experts.Used))
			}
		}
		g := p.Geometry.Layers[i-l.Attention.KVBack]
		seen := int64(pos + 1)
		if g.Window > 0 {
			seen = min(seen, int64(g.Window))
		}
		c.KVBytes += seen*g.BytesPerToken() + g.State
	}
	return c
}

func (c *Cost) add(m *pager.Matrix, times int64) {
	c.WeightBytes += times * m.Bytes()
	c.MultiplyAdds += times * int64(m.Rows) * int64(m.Cols)
}

// DiskBytes is how much of paged weights is read from disk for a token that is
// written alone, once the pool is full: of what every pass uses the pages that
// are not kept, and of the experts that a token uses as many as do not fit. That
// is if all experts are equally popular; they are not, and less is read.
func (p *Plan) DiskBytes() int64 {
	l := p.paging
	if l == nil {
		return 0
	}
	n := l.Streamed()
	experts := l.Pools[pager.Routed]
	if experts.Pages == experts.Slots {
		return n
	}
	missing := 1 - float64(experts.Slots)/float64(experts.Pages)
	for i, layer := range p.Spec.Layers {
		if x := p.weights.layers[i].experts; len(x) > 0 {
			for _, m := range x[0].matrices() {
				n += int64(missing * float64(m.Bytes()) * float64(layer.FFN.Experts.Used))
			}
		}
	}
	return n
}
