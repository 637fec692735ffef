package strict

import (
	"slices"

	"gorun/compute"
)

func (s *stream) Write(dst compute.Span, src []byte) {
	o := s.op()
	dst, src = o.span(dst), slices.Clone(src)
	o.then(func() { s.inner.Write(dst, src) })
}

func (s *stream) Read(dst []byte, src compute.Span) error {
	s.run()
	return s.inner.Read(dst, compute.Span{Buf: src.Buf.(*buffer).inner, Off: src.Off, N: src.N})
}

func (s *stream) Sync() error {
	s.run()
	return s.inner.Sync()
}

func (s *stream) Close() error {
	s.run()
	return s.inner.Close()
}

func (s *stream) Copy(dst, x compute.Matrix, rows compute.Rows) {
	o := s.op()
	dst, x, rows = o.matrix(dst), o.matrix(x), captured(rows)
	o.then(func() { s.inner.Copy(dst, x, rows) })
}

func (s *stream) Embed(dst compute.Matrix, w compute.Page, rows compute.Rows) {
	o := s.op()
	dst, w, rows = o.matrix(dst), o.page(w), captured(rows)
	o.then(func() { s.inner.Embed(dst, w, rows) })
}

// MatMul computes the products in the opposite order.
func (s *stream) MatMul(products ...compute.Product) {
	o := s.op()
	products = slices.Clone(products)
	for i, p := range products {
		products[i] = compute.Product{Dst: o.matrix(p.Dst), W: o.page(p.W), X: o.matrix(p.X), Rows: captured(p.Rows)}
	}
	slices.Reverse(products)
	o.then(func() { s.inner.MatMul(products...) })
}

func (s *stream) Norm(dst, x compute.Matrix, p compute.Norm) {
	o := s.op()
	dst, x, p.Weight, p.Bias = o.matrix(dst), o.matrix(x), o.matrix(p.Weight), o.matrix(p.Bias)
	o.then(func() { s.inner.Norm(dst, x, p) })
}

func (s *stream) AddScaled(dst, x compute.Matrix, scale float32) {
	o := s.op()
	dst, x = o.matrix(dst), o.matrix(x)
	o.then(func() { s.inner.AddScaled(dst, x, scale) })
}

func (s *stream) AddRow(dst, bias compute.Matrix) {
	o := s.op()
	dst, bias = o.matrix(dst), o.matrix(bias)
	o.then(func() { s.inner.AddRow(dst, bias) })
}

func (s *stream) Scale(x compute.Matrix, scale float32) {
	o := s.op()
	x = o.matrix(x)
	o.then(func() { s.inner.Scale(x, scale) })
}

func (s *stream) ScaleRows(x, factors compute.Matrix) {
	o := s.op()
	x, factors = o.matrix(x), o.matrix(factors)
	o.then(func() { s.inner.ScaleRows(x, factors) })
}

func (s *stream) Softcap(x compute.Matrix, limit float32) {
	o := s.op()
	x = o.matrix(x)
	o.then(func() { s.inner.Softcap(x, limit) })
}

func (s *stream) Activate(x compute.Matrix, f compute.Activation) {
	o := s.op()
	x = o.matrix(x)
	o.then(func() { s.inner.Activate(x, f) })
}

func (s *stream) GatedUnit(dst, gate, up compute.Matrix, g compute.Gated) {
	o := s.op()
	dst, gate, up = o.matrix(dst), o.matrix(gate), o.matrix(up)
	o.then(func() { s.inner.GatedUnit(dst, gate, up, g) })
}

func (s *stream) Rotate(x compute.Matrix, p compute.Rotation) {
	o := s.op()
	x, p.Table = o.matrix(x), o.matrix(p.Table)
	o.then(func() { s.inner.Rotate(x, p) })
}

func (s *stream) StoreKV(l compute.KVLayout, k, v compute.Matrix, seqs []compute.KVRun) {
	o := s.op()
	k, v, seqs = o.matrix(k), o.matrix(v), o.runs(seqs)
	o.then(func() { s.inner.StoreKV(l, k, v, seqs) })
}

func (s *stream) Attend(acc, q compute.Matrix, a compute.Attention, seqs []compute.KVRun) {
	o := s.op()
	acc, q, a, seqs = o.matrix(acc), o.matrix(q), o.attention(a), o.runs(seqs)
	o.then(func() { s.inner.Attend(acc, q, a, seqs) })
}

func (s *stream) AttendSpans(partials, q compute.Matrix, a compute.Attention, seqs []compute.KVRun, firstSpan int) {
	o := s.op()
	partials, q, a, seqs = o.matrix(partials), o.matrix(q), o.attention(a), o.runs(seqs)
	o.then(func() { s.inner.AttendSpans(partials, q, a, seqs, firstSpan) })
}

func (s *stream) MergeSpans(acc, partials compute.Matrix, a compute.Attention) {
	o := s.op()
	acc, partials, a = o.matrix(acc), o.matrix(partials), o.attention(a)
	o.then(func() { s.inner.MergeSpans(acc, partials, a) })
}

func (s *stream) FinishAttention(out, acc compute.Matrix, a compute.Attention) {
	o := s.op()
	out, acc, a = o.matrix(out), o.matrix(acc), o.attention(a)
	o.then(func() { s.inner.FinishAttention(out, acc, a) })
}

func (s *stream) Conv(dst, x, kernel compute.Matrix, seqs []compute.StateRun) {
	o := s.op()
	dst, x, kernel, seqs = o.matrix(dst), o.matrix(x), o.matrix(kernel), o.states(seqs)
	o.then(func() { s.inner.Conv(dst, x, kernel, seqs) })
}

func (s *stream) DeltaNet(dst compute.Matrix, p compute.DeltaNet, seqs []compute.StateRun) {
	o := s.op()
	dst, seqs = o.matrix(dst), o.states(seqs)
	for _, m := range []*compute.Matrix{&p.Q, &p.K, &p.V, &p.Alpha, &p.Beta, &p.A, &p.DtBias} {
		*m = o.matrix(*m)
	}
	o.then(func() { s.inner.DeltaNet(dst, p, seqs) })
}

func (s *stream) Route(ids compute.Span, weights, logits compute.Matrix, p compute.Routing) {
	o := s.op()
	ids, weights, logits, p.Bias = o.span(ids), o.matrix(weights), o.matrix(logits), o.matrix(p.Bias)
	o.then(func() { s.inner.Route(ids, weights, logits, p) })
}

func (s *stream) Combine(dst, slots, weights compute.Matrix) {
	o := s.op()
	dst, slots, weights = o.matrix(dst), o.matrix(slots), o.matrix(weights)
	o.then(func() { s.inner.Combine(dst, slots, weights) })
}
