package cpu

import (
	"testing"

	"pgregory.net/rapid"

	"gorun/compute"
	"gorun/tensor/attn"
)

// work bounds what everyWay does.
func (c attentionCase) work() compute.Work {
	return compute.Work{Rows: c.rows, Cols: 256, Accumulator: c.a.AccumulatorCols(), Context: c.past + c.rows}
}

// TestFastAttention wants the values of the formula, and the same bits of
// every kernel set, number of threads, block size, and way to ask.
func TestFastAttention(t *testing.T) {
	best := attn.Sets.Current().Name()
	defer attn.Sets.Select(best)
	rapid.Check(t, func(t *rapid.T) {
		c := drawAttention(t, 2500, 80)
		var one []float32
		for i, set := range attn.Sets.All() {
			if err := attn.Sets.Select(set.Name()); err != nil {
				t.Fatal(err)
			}
			c.a.Layout.BlockTokens = rapid.SampledFrom([]int{4, 64, 256}).Draw(t, "block")
			b := newFastBench(t, rapid.IntRange(1, 3).Draw(t, "threads"), c.work())
			got := c.everyWay(b)
			b.close()
			if i == 0 {
				one = got
				close32(t, "attention", one, c.direct(), 1e-5)
			}
			same(t, set.Name(), got, one)
		}
	})
}
