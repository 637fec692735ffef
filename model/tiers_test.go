package model

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorun/compute"
	"gorun/kvtier"
	"gorun/kvtier/store"
	"gorun/tensor"
)

// tiersUnderTest are places for the blocks of a KV cache: hot budgets of all,
// a quarter, a tenth and one block, with and without tiers below.
func tiersUnderTest(t *testing.T, geo kvtier.Geometry, sequences int) map[string]Options {
	block, all := geo.BlockBytes(), int64(geo.Blocks(tierContext, sequences))*geo.BlockBytes()
	cold := func() *Cold { return &Cold{Dir: t.TempDir() + "/kv"} }
	tiers := map[string]Options{"all hot, cold": {KVCold: cold()}}
	for name, hot := range map[string]int64{"quarter": max(block, all/4), "tenth": max(block, all/10), "one block": block} {
		tiers[name+", cold"] = Options{KVHot: hot, KVCold: cold()}
		tiers[name+", warm"] = Options{KVHot: hot, KVWarm: all}
		tiers[name+", as much warm, cold"] = Options{KVHot: hot, KVWarm: hot, KVCold: cold()}
	}
	return tiers
}

const tierContext = 256

func openTiers(t testing.TB, c tierCase, dev compute.Device, o Options) *Model {
	t.Helper()
	o.Context, o.Device = tierContext, dev
	if o.KVBlock == 0 {
		o.KVBlock = 4
	}
	m, err := Open(context.Background(), c.path, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// tierCase is a model and a text.
type tierCase struct {
	path   string
	tokens []int32
}

func goldenTierCase(t *testing.T, name string) tierCase {
	g := loadGolden(t, name)
	return tierCase{g.path, g.tokens}
}

// realTierCase takes the text that the model writes.
func realTierCase(t *testing.T, path string) tierCase {
	text, err := os.ReadFile(strings.TrimSuffix(path, ".gguf") + ".greedy.txt")
	if err != nil {
		t.Fatal(err)
	}
	m, err := Open(context.Background(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	tokens, err := m.Prompt(string(text))
	if err != nil || len(tokens) < 50 {
		t.Fatalf("%d tokens of %s: %v", len(tokens), path, err)
	}
	return tierCase{path, tokens[:min(len(tokens), 96)]}
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

// long asks for runs that take minutes: every model with every type.
//
//	GORUN_LONG=1 go test -timeout 1h -run Tiers -v ./model
var long = os.Getenv("GORUN_LONG") != ""

// TestTiers wants the same bits wherever blocks are, for one sequence, for
// eight side by side, and in a process that goes on from the disk.
func TestTiers(t *testing.T) {
	names := []string{"qwen35.q8_0", "gemma3.q8_0", "mistral3.q8_0", "deepseek2-experts.q4_0", "qwen35moe-experts.q4_0", "gpt-oss-experts.q4_0"}
	if long {
		names = nil
		for _, g := range goldens {
			names = append(names, g.name)
		}
	}
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			c := goldenTierCase(t, name)
			testTiersOfTypes(t, c, i)
			// A device that delays everything and poisons what is given back is
			// slow.
			c.tokens = c.tokens[:30]
			testTiers(t, c, strictDevice(t), Options{KV: &KVTypes{tensor.F16, tensor.Q8_0}}, 3, "one block, as much warm, cold")
		})
	}
}

// TestTiersOfRealModels is the same for models that people trained.
func TestTiersOfRealModels(t *testing.T) {
	const dir = "../../shared/data/models"
	paths, err := filepath.Glob(dir + "/*.gguf")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Skipf("no models in %s", dir)
	}
	for i, path := range paths {
		if name := strings.TrimSuffix(filepath.Base(path), ".gguf"); long || slices.Contains([]string{"stories260K-f16", "stories260K-wide256-moe-Q4_K_M", "tinystories656K-Q4_0"}, name) {
			t.Run(name, func(t *testing.T) { testTiersOfTypes(t, realTierCase(t, path), i) })
		}
	}
}

// testTiersOfTypes runs a model with all types, and some of them mixed, in all
// arrangements; or in some of them with two types, others for each model.
func testTiersOfTypes(t *testing.T, c tierCase, number int) {
	types, dev := kvtier.Types(), fastDevice(t, 2)
	n := len(types)
	if !long {
		testTiers(t, c, dev, Options{KV: &KVTypes{types[2*number%n], types[(2*number+1)%n]}}, 8,
			"all hot, cold", "quarter, cold", "tenth, as much warm, cold", "one block, cold", "one block, warm")
		return
	}
	for i, k := range types {
		testTiers(t, c, dev, Options{KV: &KVTypes{k, k}, KVBlock: []int{4, 4, 16, 64}[(i+number)%4]}, 8)
		if i%4 == number%4 {
			testTiers(t, c, dev, Options{KV: &KVTypes{k, types[(i+number+1)%n]}}, 8)
		}
	}
}

// testTiers compares a model with options o in every arrangement of tiers, or
// those that are named, with one that has all in hot memory.
func testTiers(t *testing.T, c tierCase, dev compute.Device, o Options, sequences int, only ...string) {
	other := slices.Clone(c.tokens)
	slices.Reverse(other)
	n := len(c.tokens)
	inputs := [][]int32{
		c.tokens, other[:20], c.tokens[:30], c.tokens[n/5 : n/2], other[:15],
		append(slices.Clone(c.tokens[:20]), other[:9]...), c.tokens[5:26], other[9 : n/3],
	}[:sequences]
	o.Sequences = sequences
	plain := openTiers(t, c, dev, o)
	defer plain.Close()
	var want [][]float32
	for _, tokens := range inputs {
		want = append(want, logitsOf(t, plain, tokens, len(tokens)))
	}
	for name, tiers := range tiersUnderTest(t, plain.plan.Geometry, sequences) {
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		name = fmt.Sprintf("%s, %v, blocks of %d, %s", dev.Name(), o.KV, plain.plan.Geometry.BlockTokens, name)
		tiers.KV, tiers.KVBlock, tiers.Sequences = o.KV, o.KVBlock, sequences
		m := openTiers(t, c, dev, tiers)
		if d := differ(logitsOf(t, m, inputs[0], n), want[0]); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		for i, got := range interleaved(t, m, inputs) {
			if d := differ(got, want[i]); d != "" {
				t.Errorf("%s, sequence %d of %d: %s", name, i, sequences, d)
			}
		}
		if tiers.KVCold != nil {
			saveText(t, m, c.tokens[:2*n/3])
		}
		if err := m.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if tiers.KVCold != nil {
			m := openTiers(t, c, dev, tiers)
			goOn(t, m, name, c.tokens, 2*n/3, want[0])
			if err := m.Close(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// saveText leaves a text on disk.
func saveText(t *testing.T, m *Model, tokens []int32) {
	t.Helper()
	seq := m.NewSequence()
	defer seq.Free()
	if err := m.Forward(context.Background(), []Run{{seq, tokens, NoLogits}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := seq.Save(); err != nil {
		t.Error(err)
	}
}

// goOn goes on from the first known tokens, which a model before this one left
// on disk.
func goOn(t *testing.T, m *Model, name string, tokens []int32, known int, want []float32) {
	t.Helper()
	seq := m.NewSequence()
	defer seq.Free()
	n, err := seq.Resume(context.Background(), tokens[:known])
	if err != nil || n != known {
		t.Errorf("%s: %d of %d tokens are known after a restart (%v)", name, n, known, err)
	}
	var got []float32
	err = m.Forward(context.Background(), []Run{{seq, tokens[n:], AllLogits}}, func(_, _ int, logits []float32) error {
		got = append(got, logits...)
		return nil
	})
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if d := differ(got, want[n*m.Spec().Vocab:]); d != "" {
		t.Errorf("%s, from %d on after a restart: %s", name, n, d)
	}
}

// TestRestart writes a text in one process, as it were, and goes on in the
// next, with types that are others for each model, or with all.
func TestRestart(t *testing.T) {
	for i, name := range []string{"qwen35.q8_0", "gemma3.q8_0", "mistral3.q8_0", "deepseek2-experts.q4_0"} {
		t.Run(name, func(t *testing.T) {
			for j, k := range kvtier.Types() {
				if long || j%4 == i {
					testRestart(t, goldenTierCase(t, name), KVTypes{k, k})
				}
			}
		})
	}
}

func testRestart(t *testing.T, c tierCase, kv KVTypes) {
	dev := fastDevice(t, 2)
	plain := openTiers(t, c, dev, Options{KV: &kv})
	defer plain.Close()
	vocab := plain.Spec().Vocab
	want := logitsOf(t, plain, c.tokens, 96)
	cold := &Cold{Dir: t.TempDir() + "/kv"}
	at := 0
	for _, stop := range []int{30, 41, 75, 96} {
		m := openTiers(t, c, dev, Options{KV: &kv, KVCold: cold})
		seq := m.NewSequence()
		n, err := seq.Resume(context.Background(), c.tokens[:stop-1])
		if err != nil || n > at || n < at-at%4 {
			t.Errorf("%v: %d of %d tokens resumed (%v)", kv, n, at, err)
		}
		var got []float32
		err = m.Forward(context.Background(), []Run{{seq, c.tokens[n:stop], AllLogits}}, func(_, _ int, logits []float32) error {
			got = append(got, logits...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if d := differ(got, want[n*vocab:stop*vocab]); d != "" {
			t.Errorf("%v, from %d to %d: %s", kv, n, stop, d)
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
