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
func (m *Model) Cost(pos int) Cost {
	var c Cost
	w := m.plan.weights
	for _, matrix := range w.catalog.Matrices() {
		if matrix.Use == pager.Always {
			c.add(matrix, 1)
		}
	}
	for i, l := range m.plan.Spec.Layers {
		if experts := w.layers[i].experts; len(experts) > 0 {
			for _, matrix := range experts[0].matrices() {
				c.add(matrix, int64(l.FFN.Experts.Used))
			}
		}
		g := m.plan.Geometry.Layers[i-l.Attention.KVBack]
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
