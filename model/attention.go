package model

import "gorun/compute"

// mix computes the token-mixing branch of layer i from normed.
func (p *pass) mix(i int) error {
	l := p.d.spec.Layers[i]
	switch {
	case l.Delta.ValueHeads > 0:
		return p.delta(i, l.Delta, &p.d.weights.layers[i].delta)
	case l.Conv.Kernel > 0:
		return p.shortConv(i, l.Conv, &p.d.weights.layers[i].conv)
	case l.Attention.Latent.Rank > 0:
		return p.latent(i, l.Attention, &p.d.weights.layers[i])
	}
	return p.attention(i, l.Attention, &p.d.weights.layers[i])
}

// attention is grouped-query attention.
func (p *pass) attention(i int, a Attention, w *layerWeights) error {
	d, stream := p.d, p.d.stream
	q, k, v, gate, err := p.queryKeyValue(a, w)
	if err != nil {
		return err
	}
	p.normHeads(q, a, w.qNorm)
	if a.KVBack == 0 {
		if a.KeyAsValue {
			stream.Copy(v, k, compute.Rows{})
		}
		if a.ValueNorm {
			stream.Norm(v, v, w.vNorm)
		}
		p.normHeads(k, a, w.kNorm)
	}
	if a.Temperature.Scale != 0 {
		stream.ScaleRows(q, d.scratch.temperature.RowsAt(0, p.rows))
	}
	heads := view(d.scratch.heads, p.rows, a.Heads*a.VDim)
	if err := p.attend(i, a, w, heads, q, k, v); err != nil {
		return err
	}
	switch a.Gate {
	case GateFull:
		each := byHead(heads, a.Heads)
		stream.GatedUnit(each, gate, each, compute.Gated{F: compute.Sigmoid})
	case GateOwn:
		gates := view(d.scratch.headGate, p.rows, a.Heads*a.VDim)
		if err := p.linear(gates, p.normed, w.gate); err != nil {
			return err
		}
		stream.GatedUnit(heads, gates, heads, compute.Gated{F: compute.Sigmoid})
	case GatePerHead:
		gates := view(d.scratch.headGate, p.rows, a.Heads)
		if err := p.linear(gates, p.normed, w.gate); err != nil {
			return err
		}
		stream.Activate(gates, compute.Sigmoid)
		stream.ScaleRows(byHead(heads, a.Heads), byHead(gates, a.Heads))
	}
	err = p.linear(p.branch, heads, w.output)
	if a.OutScale != 0 {
		stream.Scale(p.branch, a.OutScale)
	}
	return err
}

// normHeads normalizes and rotates queries or keys.
func (p *pass) normHeads(x compute.Matrix, a Attention, norm compute.Norm) {
	if a.QKNorm == QKPerHead || a.QKNorm == QKWhole {
		p.d.stream.Norm(x, x, norm)
	}
	p.rotate(x, a, a.KDim)
	if a.QKNorm == QKRotated {
		p.d.stream.Norm(x, x, norm)
	}
}

// queryKeyValue projects normed. With a full gate, query and gate come head
// by head; gate is then a row for each token and head.
func (p *pass) queryKeyValue(a Attention, w *layerWeights) (q, k, v, gate compute.Matrix, err error) {
	nq, nk, nv := a.Heads*a.KDim, a.KVHeads*a.KDim, a.KVHeads*a.VDim
	if a.Gate != GateFull {
		qkv := view(p.d.scratch.qkv, p.rows, nq+nk+nv)
		err = p.project(qkv, p.normed, w.qkv)
		return qkv.ColsAt(0, nq), qkv.ColsAt(nq, nk), qkv.ColsAt(nq+nk, nv), gate, err
	}
	free := flat(p.d.scratch.qkv)
	q = carve(&free, p.rows, nq)
	kv := carve(&free, p.rows, nk+nv)
	both := view(p.d.scratch.mixed, p.rows, 2*nq)
	if err = p.project(both, p.normed, w.qkv[:1]); err == nil {
		err = p.project(kv, p.normed, w.qkv[1:])
	}
	pairs := byHead(both, a.Heads)
	p.d.stream.Copy(byHead(q, a.Heads), pairs.ColsAt(0, a.KDim), compute.Rows{})
	return q, kv.ColsAt(0, nk), kv.ColsAt(nk, nv), pairs.ColsAt(a.KDim, a.KDim), err
}

// rotate applies the layer's RoPE to heads of dim values.
func (p *pass) rotate(x compute.Matrix, a Attention, dim int) {
	if a.Rope == NoRope {
		return
	}
	table := p.d.scratch.ropes[a.Rope].RowsAt(0, p.rows)
	p.d.stream.Rotate(x, compute.Rotation{HeadDim: dim, Table: table, Halves: p.d.spec.Ropes[a.Rope].Halves})
}

// attend stores keys and values, if the layer has its own, and writes the result of each head to out.
func (p *pass) attend(i int, a Attention, w *layerWeights, out, q, k, v compute.Matrix) error {
	d, stream, kvOf := p.d, p.d.stream, i-a.KVBack
	layer := d.pool.Geometry().Layers[kvOf]
	p.kv = p.kv[:0]
	for _, c := range p.pieces {
		p.kv = append(p.kv, c.seq.Run(kvOf, c.row, len(c.tokens)))
	}
	att := compute.Attention{
		Layout: layer.KVLayout, Heads: a.Heads, Scale: a.Scale, Cap: a.Cap, Window: a.Window, Sinks: w.sinks, Reset: true,
	}
	acc := view(d.scratch.acc, p.rows, att.AccumulatorCols())
	if a.KVBack == 0 {
		stream.StoreKV(att.Layout, k, v, p.kv)
	}
	if d.spec.Bidirectional {
		p.kv = fromTheEnd(p.kv)
	}
	inPlace, streamed := p.kv, []piece(nil)
	if layer.Full() && p.reader.Streams() {
		inPlace = nil
		for j, c := range p.pieces {
			if c.seq.InPlace() {
				inPlace = append(inPlace, p.kv[j])
			} else {
				streamed = append(streamed, c)
			}
		}
	}
	stream.Attend(acc, q, att, inPlace)
	att.Reset = false
	for _, c := range streamed {
		err := p.reader.Each(kvOf, c.seq, func(first int, pages []compute.Span) {
			run := compute.KVRun{Row: c.row, Count: len(c.tokens), Pos: c.seq.Len(), Pages: pages, FirstBlock: first}
			stream.Attend(acc, q, att, []compute.KVRun{run})
		})
		if err != nil {
			return err
		}
	}
	stream.FinishAttention(out, acc, att)
	return nil
}

// fromTheEnd makes a run of each row, at the last position of its run: so it
// sees all of them.
func fromTheEnd(runs []compute.KVRun) (rows []compute.KVRun) {
	for _, run := range runs {
		for i := range run.Count {
			row := run
			row.Row, row.Count, row.Pos = run.Row+i, 1, run.Pos+run.Count-1
			rows = append(rows, row)
		}
	}
	return rows
}

// latent is multi-head latent attention in its absorbed form: the query of
// each head is brought into the space of the latent, and the mean of latents
// back to values.
func (p *pass) latent(i int, a Attention, w *layerWeights) error {
	d, stream, l, lw := p.d, p.d.stream, a.Latent, &w.latent
	headDim := l.NoPE + l.RoPE
	free := flat(d.scratch.qkv)
	q := carve(&free, p.rows, a.Heads*headDim)
	kv := carve(&free, p.rows, l.Rank+l.RoPE)

	x := p.normed
	if l.QRank > 0 {
		x = view(d.scratch.mixed, p.rows, l.QRank)
		if err := p.linear(x, p.normed, lw.queryDown); err != nil {
			return err
		}
		stream.Norm(x, x, lw.queryNorm)
	}
	if err := p.linear(q, x, lw.query); err != nil {
		return err
	}
	if err := p.linear(kv, p.normed, lw.kvDown); err != nil {
		return err
	}
	stream.Norm(kv.ColsAt(0, l.Rank), kv.ColsAt(0, l.Rank), lw.kvNorm)
	p.rotate(kv.ColsAt(l.Rank, l.RoPE), a, l.RoPE)

	absorbed := view(d.scratch.mixed, p.rows, a.Heads*a.KDim)
	for h := range a.Heads {
		from, to := q.ColsAt(h*headDim, headDim), absorbed.ColsAt(h*a.KDim, a.KDim)
		p.product(to.ColsAt(0, l.Rank), lw.keyUp[h], from.ColsAt(0, l.NoPE), compute.Rows{})
		stream.Copy(to.ColsAt(l.Rank, l.RoPE), from.ColsAt(l.NoPE, l.RoPE), compute.Rows{})
		p.rotate(to.ColsAt(l.Rank, l.RoPE), a, l.RoPE)
	}
	if err := p.matMul(); err != nil {
		return err
	}

	free = flat(d.scratch.heads)
	means := carve(&free, p.rows, a.Heads*a.VDim)
	heads := carve(&free, p.rows, a.Heads*l.VDim)
	if err := p.attend(i, a, w, means, absorbed, kv, compute.Matrix{}); err != nil {
		return err
	}
	for h := range a.Heads {
		p.product(heads.ColsAt(h*l.VDim, l.VDim), lw.valueUp[h], means.ColsAt(h*a.VDim, a.VDim), compute.Rows{})
	}
	if err := p.matMul(); err != nil {
		return err
	}
	return p.linear(p.branch, heads, w.output)
}
