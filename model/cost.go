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
	pages := w.catalog.Pages()
	for _, page := range pages {
		if page.Expert >= 0 || w.isTable(page.Tensor) {
			continue // experts are counted below; of tables one row is read
		}
		c.add(page.Bytes, page.Rows, page.Cols, 1)
	}
	for i, l := range m.plan.Spec.Layers {
		lw := &w.layers[i]
		used := int64(l.FFN.Experts.Used)
		if len(lw.experts) > 0 {
			x := lw.experts[0]
			for _, matrix := range append(x.gateUp[:len(x.gateUp):len(x.gateUp)], x.down) {
				c.add(pages[matrix.Page(0)].Bytes, matrix.Rows, matrix.Cols, used)
			}
		}
		for _, heads := range [][]*pager.Matrix{lw.latent.keyUp, lw.latent.valueUp} {
			for _, matrix := range heads {
				c.add(pages[matrix.Page(0)].Bytes, matrix.Rows, matrix.Cols, 1)
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

func (c *Cost) add(bytes int64, rows, cols int, times int64) {
	c.WeightBytes += times * bytes
	c.MultiplyAdds += times * int64(rows) * int64(cols)
}
