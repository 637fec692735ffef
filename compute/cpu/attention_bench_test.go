package cpu

import (
	"fmt"
	"runtime"
	"testing"

	"gorun/compute"
	"gorun/internal/pageio"
	"gorun/tensor"
)

// attentionShape is what a benchmark attends with.
type attentionShape struct {
	heads, kvHeads, dim int
	block               int // tokens of a page
}

// llama3 has heads like Llama 3 8B, in pages as large as they are by default.
var llama3 = attentionShape{32, 8, 128, 32}

// attentionBench is a fast stream with keys and values of several layers, more
// than caches hold.
type attentionBench struct {
	*bench
	a       compute.Attention
	layers  [][]compute.Span
	rows    int
	depth   int // positions, those of the rows included
	acc, q  compute.Matrix
	out     compute.Matrix
	kvBytes int64 // of a layer
}

func newAttentionBench(b *testing.B, s attentionShape, t tensor.Type, depth, rows, layers int) *attentionBench {
	l, err := compute.NewKVLayout(s.kvHeads, s.dim, s.dim, false, t, t, s.block)
	if err != nil {
		b.Fatal(err)
	}
	c := &attentionBench{a: compute.Attention{Layout: l, Heads: s.heads, Scale: 0.088, Reset: true}, rows: rows, depth: depth}
	c.bench = newFastBench(b, runtime.GOMAXPROCS(0), compute.Work{
		Rows: rows, Cols: s.heads * s.dim, Accumulator: c.a.AccumulatorCols(), Context: depth,
	})
	page := make([]byte, l.PageBytes())
	for i := range page {
		page[i] = byte(i*i>>7) & 0x3f // finite in all types
	}
	blocks := (depth + l.BlockTokens - 1) / l.BlockTokens
	for range layers {
		all := c.largePages(int64(blocks * len(page)))
		var pages []compute.Span
		for i := range blocks {
			pages = append(pages, all.At(int64(i*len(page)), int64(len(page))))
			c.s.Write(pages[i], page)
		}
		c.layers = append(c.layers, pages)
	}
	zeros := func(cols int) compute.Matrix { return c.matrix(rows, cols, make([]float32, rows*cols)) }
	c.acc, c.q, c.out = zeros(c.a.AccumulatorCols()), zeros(s.heads*s.dim), zeros(s.heads*s.dim)
	c.kvBytes = int64(depth) * (l.KRow() + l.VRow())
	return c
}

// largePages is memory as KV pools have it.
func (c *attentionBench) largePages(n int64) compute.Span {
	mem, free, err := pageio.NewMemory(n)
	if err != nil {
		c.t.Fatal(err)
	}
	buf := &buffer{mem: mem, free: free}
	c.buffers = append(c.buffers, buf)
	return compute.Span{Buf: buf, N: n}
}

// layer attends in one layer.
func (c *attentionBench) layer(i int) {
	run := []compute.KVRun{{Count: c.rows, Pos: c.depth - c.rows, Pages: c.layers[i%len(c.layers)]}}
	c.s.Attend(c.acc, c.q, c.a, run)
	c.s.FinishAttention(c.out, c.acc, c.a)
}

// BenchmarkDecodeAttention tells the bytes of keys and values that are read a
// second: compare with what package machine measures.
func BenchmarkDecodeAttention(b *testing.B) {
	for _, t := range tensor.KVTypes() {
		for _, depth := range []int{8192, 32768} {
			b.Run(fmt.Sprintf("%v/%d", t, depth), func(b *testing.B) {
				c := newAttentionBench(b, llama3, t, depth, 1, 65536/depth)
				defer c.close()
				b.SetBytes(c.kvBytes)
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					c.layer(i)
					i++
				}
			})
		}
	}
}

// BenchmarkPrefillAttention tells the multiply-adds a second, of the keys that
// are seen: compare with what package machine measures.
func BenchmarkPrefillAttention(b *testing.B) {
	for _, c := range []struct {
		name  string
		shape attentionShape
		t     tensor.Type
		depth int
	}{
		{"llama3/f16", llama3, tensor.F16, 512},
		{"llama3/f16", llama3, tensor.F16, 4096},
		{"llama3/q8_0", llama3, tensor.Q8_0, 4096},
		{"llama3/q4_0", llama3, tensor.Q4_0, 4096},
		{"llama3/turbo3", llama3, tensor.Turbo3, 4096},
		{"one head of 64/f16", attentionShape{1, 1, 64, 256}, tensor.F16, 65536},
	} {
		b.Run(fmt.Sprintf("%s/512/%d", c.name, c.depth), func(b *testing.B) {
			bench := newAttentionBench(b, c.shape, c.t, c.depth, 512, 1)
			defer bench.close()
			for b.Loop() {
				bench.layer(0)
			}
			seen := float64(c.depth)*512 - 512*511/2
			b.ReportMetric(4*seen*float64(c.shape.heads*c.shape.dim)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
