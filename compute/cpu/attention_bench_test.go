package cpu

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"gorun/compute"
	"gorun/tensor"
)

// attentionBench is a fast stream with keys and values of several layers, more
// than caches hold, of a model with heads like those of Llama 3.
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

func newAttentionBench(b *testing.B, t tensor.Type, depth, rows, layers int) *attentionBench {
	const heads, kvHeads, dim = 32, 8, 128
	l, err := compute.NewKVLayout(kvHeads, dim, dim, false, t, t, 256)
	if err != nil {
		b.Fatal(err)
	}
	c := &attentionBench{a: compute.Attention{Layout: l, Heads: heads, Scale: 0.088, Reset: true}, rows: rows, depth: depth}
	c.bench = newFastBench(b, runtime.GOMAXPROCS(0), compute.Work{
		Rows: rows, Cols: heads * dim, Accumulator: c.a.AccumulatorCols(), Context: depth,
	})
	page := make([]byte, l.PageBytes())
	for i := range page {
		page[i] = byte(i*i>>7) & 0x3f // finite in all types
	}
	blocks := (depth + l.BlockTokens - 1) / l.BlockTokens
	for range layers {
		all := c.span(bytes.Repeat(page, blocks))
		var pages []compute.Span
		for i := range blocks {
			pages = append(pages, all.At(int64(i*len(page)), int64(len(page))))
		}
		c.layers = append(c.layers, pages)
	}
	zeros := func(cols int) compute.Matrix { return c.matrix(rows, cols, make([]float32, rows*cols)) }
	c.acc, c.q, c.out = zeros(c.a.AccumulatorCols()), zeros(heads*dim), zeros(heads*dim)
	c.kvBytes = int64(depth) * (l.KRow() + l.VRow())
	return c
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
	for _, t := range []tensor.Type{tensor.F16, tensor.Q8_0} {
		for _, depth := range []int{8192, 32768} {
			b.Run(fmt.Sprintf("%v/%d", t, depth), func(b *testing.B) {
				c := newAttentionBench(b, t, depth, 1, 65536/depth)
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
// are seen.
func BenchmarkPrefillAttention(b *testing.B) {
	for _, depth := range []int{512, 4096} {
		b.Run(fmt.Sprintf("512/%d", depth), func(b *testing.B) {
			c := newAttentionBench(b, tensor.F16, depth, 512, 1)
			defer c.close()
			for b.Loop() {
				c.layer(0)
			}
			seen := float64(depth)*512 - 512*511/2
			b.ReportMetric(4*seen*32*128*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
