package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"gorun/compute"
	"gorun/tensor"
)

// attentionCase is one random attention problem of a single sequence.
type attentionCase struct {
	a             compute.Attention
	past, rows    int // keys before the queries, and queries
	q, k, v, sink []float32
}

func drawAttention(t *rapid.T, longest, widest int) attentionCase {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
	group, kvHeads := 1+r.IntN(3), 1+r.IntN(2)
	kt := rapid.SampledFrom(tensor.KVTypes()).Draw(t, "K type")
	vt := rapid.SampledFrom(tensor.KVTypes()).Draw(t, "V type")
	block := rapid.SampledFrom([]int{4, 64, 256}).Draw(t, "block")
	inK, kDim, vDim := rapid.Bool().Draw(t, "V in K"), 1+r.IntN(widest), 1+r.IntN(widest)
	if inK {
		vDim = min(vDim, kDim)
	}
	l, err := compute.NewKVLayout(kvHeads, kDim, vDim, inK, kt, vt, block)
	if err != nil {
		t.Fatal(err)
	}
	c := attentionCase{a: compute.Attention{Layout: l, Heads: group * kvHeads, Scale: .4, Reset: true}}
	c.past, c.rows = rapid.IntRange(0, longest).Draw(t, "past"), rapid.IntRange(1, 20).Draw(t, "rows")
	if rapid.Bool().Draw(t, "window") {
		c.a.Window = rapid.IntRange(1, longest).Draw(t, "width")
	}
	if rapid.Bool().Draw(t, "cap") {
		c.a.Cap = 2
	}
	n := c.past + c.rows
	c.q, c.k, c.v = normal(r, c.rows*c.a.Heads*l.KDim), normal(r, n*l.Heads*l.KDim), normal(r, n*l.Heads*l.VDim)
	if rapid.Bool().Draw(t, "sinks") {
		c.sink = normal(r, c.a.Heads)
	}
	return c
}

// rounded is what the cache keeps of heads of dim values.
func rounded(t tensor.Type, values []float32, dim int) []float32 {
	var out []float32
	padded := make([]float32, (dim+t.BlockSize()-1)/t.BlockSize()*t.BlockSize())
	coded := make([]byte, len(padded)/t.BlockSize()*t.BlockBytes())
	for ; len(values) > 0; values = values[dim:] {
		clear(padded[copy(padded, values[:dim]):])
		if err := tensor.Quantize(t, coded, padded); err != nil {
			panic(err)
		}
		tensor.Dequantize(t, padded, coded)
		out = append(out, padded[:dim]...)
	}
	return out
}

// direct computes attention as the formula has it, with keys and values as the
// cache keeps them.
func (c attentionCase) direct() []float32 {
	a, l := c.a, c.a.Layout
	k := rounded(l.KType, c.k, l.KDim)
	v, vDim := k, l.KDim
	if !l.VInK {
		v, vDim = rounded(l.VType, c.v, l.VDim), l.VDim
	}
	out := make([]float32, c.rows*a.Heads*l.VDim)
	for r := range c.rows {
		for h := range a.Heads {
			kv := h / (a.Heads / l.Heads)
			sum, result := 0.0, make([]float64, l.VDim)
			if c.sink != nil {
				sum = math.Exp(float64(c.sink[h]))
			}
			for p := a.Visible(c.past + r); p <= c.past+r; p++ {
				score := 0.0
				for d := range l.KDim {
					score += float64(c.q[(r*a.Heads+h)*l.KDim+d]) * float64(k[(p*l.Heads+kv)*l.KDim+d])
				}
				score *= float64(a.Scale)
				if a.Cap > 0 {
					score = float64(a.Cap) * math.Tanh(score/float64(a.Cap))
				}
				w := math.Exp(score)
				sum += w
				for d := range l.VDim {
					result[d] += w * float64(v[(p*l.Heads+kv)*vDim+d])
				}
			}
			for d := range l.VDim {
				out[(r*a.Heads+h)*l.VDim+d] = float32(result[d] / sum)
			}
		}
	}
	return out
}

// pages stores all keys and values in pages whose unused bytes are NaN.
func (c attentionCase) pages(b *bench) []compute.Span {
	l, n := c.a.Layout, c.past+c.rows
	var pages []compute.Span
	for at := 0; at < n; at += l.BlockTokens {
		poison := make([]byte, l.PageBytes())
		for i := range poison {
			poison[i] = 0xff
		}
		pages = append(pages, b.span(poison))
	}
	b.s.StoreKV(l, b.matrix(n, l.Heads*l.KDim, c.k), b.matrix(n, l.Heads*l.VDim, c.v),
		[]compute.KVRun{{Row: 0, Count: n, Pos: 0, Pages: pages}})
	return pages
}

func TestAttention(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawAttention(t, 2500, 12)
		b := newBench(t, rapid.IntRange(1, 3).Draw(t, "threads"))
		defer b.close()
		one := c.everyWay(b)
		close32(t, "attention", one, c.direct(), 1e-5)
	})
}

// everyWay computes attention in all ways that must give the same bits.
func (c attentionCase) everyWay(b *bench) []float32 {
	a, l := c.a, c.a.Layout
	if c.sink != nil {
		a.Sinks = b.matrix(1, a.Heads, c.sink)
	}
	pages := c.pages(b)
	q := b.matrix(c.rows, a.Heads*l.KDim, c.q)
	newAcc := func(rows int) compute.Matrix {
		return b.matrix(rows, a.AccumulatorCols(), make([]float32, rows*a.AccumulatorCols()))
	}
	finish := func(acc compute.Matrix) []float32 {
		out := b.matrix(c.rows, a.Heads*l.VDim, make([]float32, c.rows*a.Heads*l.VDim))
		b.s.FinishAttention(out, acc, a)
		return b.read(out)
	}
	whole := []compute.KVRun{{Row: 0, Count: c.rows, Pos: c.past, Pages: pages}}
	acc := newAcc(c.rows)
	b.s.Attend(acc, q, a, whole)
	one := finish(acc)

	// Row by row, as decoding has it.
	acc = newAcc(c.rows)
	for r := range c.rows {
		b.s.Attend(acc.RowsAt(r, 1), q.RowsAt(r, 1), a, []compute.KVRun{{Row: 0, Count: 1, Pos: c.past + r, Pages: pages}})
	}
	same(b.t, "row by row", finish(acc), one)

	// A span at a time, as pages stream through a ring, and without the
	// pages before the window.
	acc = newAcc(c.rows)
	step := a
	perSpan := compute.SpanTokens / l.BlockTokens
	first := a.Visible(c.past) / l.BlockTokens
	for begin := first; begin < len(pages); begin = (begin/perSpan + 1) * perSpan {
		end := min(len(pages), (begin/perSpan+1)*perSpan)
		b.s.Attend(acc, q, step, []compute.KVRun{{Row: 0, Count: c.rows, Pos: c.past, Pages: pages[begin:end], FirstBlock: begin}})
		step.Reset = false
	}
	same(b.t, "span by span", finish(acc), one)

	// Partials computed elsewhere and merged.
	spans := (c.past+c.rows-1)/compute.SpanTokens + 1
	partials := newAcc(spans * c.rows)
	b.s.AttendSpans(partials, q, a, whole, 0)
	acc = newAcc(c.rows)
	b.s.Attend(acc, q, a, nil)
	b.s.MergeSpans(acc, partials, a)
	same(b.t, "partials", finish(acc), one)
	return one
}

// same fails unless all bits are the same.
func same(t failer, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: value %d is %v, not %v", what, i, got[i], want[i])
		}
	}
}
