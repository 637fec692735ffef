package model

import (
	"context"
	"testing"

	"gorun/kvtier"
)

// passAllocations is what a token that is written may allocate: a few small
// objects (the run of its sequence, block table and reader).
const passAllocations = 16

// TestAllocations holds decoding to a number of allocations that grows neither
// with the depth nor with what is attended to.
func TestAllocations(t *testing.T) {
	ctx := context.Background()
	m := openDemo(t, Options{Device: fastDevice(t, 2), Threads: 2, Context: 2048})
	emit := func(int, int, []float32) error { return nil }
	feed := func(seq *kvtier.Sequence, tokens []int32) {
		if err := m.Forward(ctx, []Run{{Seq: seq, Tokens: tokens, Want: LastLogits}}, emit); err != nil {
			t.Fatal(err)
		}
	}
	for _, depth := range []int{10, 1300} {
		seq := m.NewSequence()
		feed(seq, make([]int32, depth))
		runs := []Run{{Seq: seq, Tokens: []int32{1}, Want: LastLogits}}
		n := testing.AllocsPerRun(100, func() {
			if err := m.Forward(ctx, runs, emit); err != nil {
				t.Fatal(err)
			}
		})
		t.Logf("%v allocations a token at a depth of %d", n, depth)
		if n > passAllocations {
			t.Errorf("%v allocations a token at a depth of %d; want at most %v", n, depth, passAllocations)
		}
		seq.Free()
	}
}
