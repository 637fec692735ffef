package model

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"gorun/compute"
	"gorun/kvtier"
	"gorun/kvtier/store"
)

// tiersUnderTest are places for the blocks of a KV cache of so many bytes.
func tiersUnderTest(t *testing.T, geo kvtier.Geometry, sequences int) map[string]Options {
	all := int64(geo.Blocks(256, sequences)) * geo.BlockBytes()
	block := geo.BlockBytes()
	cold := func() *Cold { return &Cold{Dir: t.TempDir() + "/kv"} }
	return map[string]Options{
		"all hot, cold":         {KVCold: cold()},
		"quarter hot, cold":     {KVHot: max(block, all/4), KVCold: cold()},
		"tenth hot, warm":       {KVHot: max(block, all/10), KVWarm: all},
		"tenth hot, warm, cold": {KVHot: max(block, all/10), KVWarm: max(block, all/10), KVCold: cold()},
		"one block, cold":       {KVHot: block, KVCold: cold()},
		"one block, warm":       {KVHot: block, KVWarm: all},
		"one of each, cold":     {KVHot: block, KVWarm: block, KVCold: cold()},
	}
}

func openTiers(t testing.TB, g golden, dev compute.Device, o Options) *Model {
	t.Helper()
	o.Context, o.Device = 256, dev
	if o.KVBlock == 0 {
		o.KVBlock = 4
	}
	m, err := Open(context.Background(), g.path, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// interleaved feeds sequences in turn, a few tokens of each at a time, and
// returns the logits of each.
func interleaved(t testing.TB, m *Model, inputs [][]int32) [][]float32 {
	t.Helper()
	seqs, got := make([]*kvtier.Sequence, len(inputs)), make([][]float32, len(inputs))
	for i := range seqs {
		seqs[i] = m.NewSequence()
		defer seqs[i].Free()
	}
	for step := 0; ; step++ {
		var runs []Run
		var which []int
		left := 0
		for i, tokens := range inputs {
			rest := tokens[seqs[i].Len():]
			left += len(rest)
			if n := min(len(rest), (step*7+i*5)%11); n > 0 {
				runs, which = append(runs, Run{seqs[i], rest[:n], AllLogits}), append(which, i)
			}
		}
		if left == 0 {
			return got
		}
		err := m.Forward(context.Background(), runs, func(run, _ int, logits []float32) error {
			got[which[run]] = append(got[which[run]], logits...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// long asks for runs that take minutes: GORUN_LONG=1 go test -run Tiers.
var long = os.Getenv("GORUN_LONG") != ""

// TestTiers wants the same bits wherever blocks are, for one sequence, and for
// eight side by side.
func TestTiers(t *testing.T) {
	for i, name := range []string{"qwen35.q8_0", "gemma3.q8_0", "mistral3.q8_0", "deepseek2-experts.q4_0", "qwen35moe-experts.q4_0", "gpt-oss-experts.q4_0"} {
		t.Run(name, func(t *testing.T) {
			g := loadGolden(t, name)
			types := kvtier.Types()
			if long {
				for j, k := range types {
					testTiers(t, g, fastDevice(t, 2), KVTypes{k, types[(j+i)%len(types)]})
				}
			}
			testTiers(t, g, fastDevice(t, 2), KVTypes{types[2*i], types[2*i+1]})
			testTiers(t, g, strictDevice(t), KVTypes{types[1], types[1]}, "one of each, cold", "one block, warm")
		})
	}
}

func testTiers(t *testing.T, g golden, dev compute.Device, kv KVTypes, only ...string) {
	other := slices.Clone(g.tokens)
	slices.Reverse(other)
	inputs := [][]int32{g.tokens, other[:20], g.tokens[:30], g.tokens[20:50], other[:15], append(slices.Clone(g.tokens[:20]), other[:9]...), g.tokens[5:26], other[9:31]}
	plain := openTiers(t, g, dev, Options{KV: &kv, Sequences: 8})
	defer plain.Close()
	var want [][]float32
	for _, tokens := range inputs {
		want = append(want, logitsOf(t, plain, tokens, len(tokens)))
	}
	for name, o := range tiersUnderTest(t, plain.plan.Geometry, 8) {
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		name = fmt.Sprintf("%s, %v, %s", dev.Name(), kv, name)
		o.KV, o.Sequences = &kv, 8
		m := openTiers(t, g, dev, o)
		if d := differ(logitsOf(t, m, inputs[0], 96), want[0]); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		for i, got := range interleaved(t, m, inputs) {
			if d := differ(got, want[i]); d != "" {
				t.Errorf("%s, sequence %d of 8: %s", name, i, d)
			}
		}
		if err := m.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRestart writes a text in one process, as it were, and goes on in the
// next.
func TestRestart(t *testing.T) {
	for _, name := range []string{"qwen35.q8_0", "gemma3.q8_0", "mistral3.q8_0", "deepseek2-experts.q4_0"} {
		t.Run(name, func(t *testing.T) {
			g := loadGolden(t, name)
			dev := fastDevice(t, 2)
			plain := openTiers(t, g, dev, Options{})
			defer plain.Close()
			vocab := plain.Spec().Vocab
			want := logitsOf(t, plain, g.tokens, 96)
			cold := &Cold{Dir: t.TempDir() + "/kv"}
			at := 0
			for _, stop := range []int{30, 41, 75, 96} {
				m := openTiers(t, g, dev, Options{KVCold: cold})
				seq := m.NewSequence()
				n, err := seq.Resume(context.Background(), g.tokens[:stop-1])
				if err != nil || n > at || n < at-at%4 {
					t.Errorf("%d of %d tokens resumed (%v)", n, at, err)
				}
				var got []float32
				err = m.Forward(context.Background(), []Run{{seq, g.tokens[n:stop], AllLogits}}, func(_, _ int, logits []float32) error {
					got = append(got, logits...)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				if d := differ(got, want[n*vocab:stop*vocab]); d != "" {
					t.Errorf("from %d to %d: %s", n, stop, d)
				}
				if err := seq.Save(); err != nil {
					t.Error(err)
				}
				seq.Free()
				if err := m.Close(); err != nil {
					t.Error(err)
				}
				at = stop
				checkStore(t, cold.Dir)
			}
		})
	}
}

// checkStore wants a store without faults.
func checkStore(t *testing.T, dir string) store.Report {
	t.Helper()
	s, err := store.Open(store.Options{FS: store.Dir(dir), Look: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.Check(nil)
	if err != nil || len(r.Damaged) > 0 || len(r.Lost) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	return r
}
