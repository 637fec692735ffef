package model

import "gorun/compute"

// delta is a gated delta net: a short convolution over query, key and value,
// the recurrence, and a gated norm of each head.
func (p *pass) delta(i int, n Delta, w *deltaWeights) error {
	d, stream := p.d, p.d.stream
	keys, values := n.KeyHeads*n.KeyDim, n.ValueHeads*n.ValueDim
	qkv := view(d.scratch.qkv, p.rows, n.channels())
	if err := p.linear(qkv, p.normed, w.qkv); err != nil {
		return err
	}
	alpha, beta, err := p.deltaGates(n, w)
	if err != nil {
		return err
	}

	convState := compute.ConvStateBytes(n.channels(), n.Kernel)
	mixed := view(d.scratch.mixed, p.rows, n.channels())
	stream.Conv(mixed, qkv, w.conv, p.stateRuns(i, 0, convState))
	stream.Activate(mixed, compute.SiLU)

	free := flat(d.scratch.heads)
	out, z := carve(&free, p.rows, values), carve(&free, p.rows, values)
	rule := n.rule()
	rule.Q, rule.K, rule.V = mixed.ColsAt(0, keys), mixed.ColsAt(keys, keys), mixed.ColsAt(2*keys, values)
	rule.Alpha, rule.Beta, rule.A, rule.DtBias, rule.Eps = alpha, beta, w.a, w.dtBias, d.spec.Eps
	stream.DeltaNet(out, rule, p.stateRuns(i, convState, rule.StateBytes()))

	if err := p.linear(z, p.normed, w.z); err != nil {
		return err
	}
	stream.Norm(out, out, w.norm)
	stream.GatedUnit(out, z, out, compute.Gated{F: compute.SiLU})
	return p.linear(p.branch, out, w.output)
}

// deltaGates projects normed to the values that set decay and step.
func (p *pass) deltaGates(n Delta, w *deltaWeights) (alpha, beta compute.Matrix, err error) {
	free := flat(p.d.scratch.headGate)
	alpha, beta = carve(&free, p.rows, n.ValueHeads), carve(&free, p.rows, n.ValueHeads)
	if !n.Fused {
		if err = p.linear(alpha, p.normed, w.alpha); err == nil {
			err = p.linear(beta, p.normed, w.beta)
		}
		return alpha, beta, err
	}
	// Each key head has the betas, then the alphas of its value heads.
	both := carve(&free, p.rows, 2*n.ValueHeads)
	err = p.linear(both, p.normed, w.beta)
	pairs, group := byHead(both, n.KeyHeads), n.ValueHeads/n.KeyHeads
	p.d.stream.Copy(byHead(beta, n.KeyHeads), pairs.ColsAt(0, group), compute.Rows{})
	p.d.stream.Copy(byHead(alpha, n.KeyHeads), pairs.ColsAt(group, group), compute.Rows{})
	return alpha, beta, err
}

// rule is the recurrence without its operands.
func (n Delta) rule() compute.DeltaNet {
	return compute.DeltaNet{KeyHeads: n.KeyHeads, ValueHeads: n.ValueHeads, KeyDim: n.KeyDim, ValueDim: n.ValueDim, Grouped: n.Grouped}
}

// stateBytes is the state of the layer of one sequence: of the convolution,
// then of the recurrence.
func (n Delta) stateBytes() int64 {
	if n.ValueHeads == 0 {
		return 0
	}
	return compute.ConvStateBytes(n.channels(), n.Kernel) + n.rule().StateBytes()
}

func (p *pass) stateRuns(layer int, off, n int64) []compute.StateRun {
	p.states = p.states[:0]
	for _, c := range p.pieces {
		p.states = append(p.states, c.seq.State(layer, c.row, len(c.tokens), off, n))
	}
	return p.states
}
