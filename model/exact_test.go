package model

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"gorun/compute"
	"gorun/kvtier"
	"gorun/pager"
	"gorun/tensor"
)

// exactModels are small goldens and directs that between them have windows,
// experts, two RoPEs, fused projections, parallel branches, recurrent layers,
// latent attention, short convolutions, learned positions, and layers that
// share keys or have inputs of their own.
var exactModels = []string{
	"gemma3.q8_0", "qwen3moe-experts.q4_0", "phi3.q8_0", "command-r.q8_0", "qwen35.q8_0", "deepseek2-experts.q4_0",
	"lfm2", "gpt2", "gemma4/e2b", "gemma4/moe",
}

// exactModel is a golden, or a direct with tokens alone.
func exactModel(t *testing.T, name string) golden {
	i := slices.IndexFunc(directs, func(d direct) bool { return d.name == name })
	if i < 0 {
		return loadGolden(t, name)
	}
	return golden{path: directs[i].newTiny().write(t), tokens: directTokens(96)}
}

// TestBatches cuts three sequences into random runs, mixes them in random
// batches and passes, and wants the bits that each gives alone.
func TestBatches(t *testing.T) {
	for _, name := range exactModels {
		t.Run(name, func(t *testing.T) {
			g := exactModel(t, name)
			dev := cpuDevice(t, 2)
			alone := openGolden(t, g, dev, 1)
			inputs := [][]int32{g.tokens[:40], g.tokens[30:77], g.tokens[90:]}
			var want [][]float32
			for _, tokens := range inputs {
				want = append(want, logitsOf(t, alone, tokens, len(tokens)))
			}
			for seed := range uint64(6) {
				random := rand.New(rand.NewPCG(seed, 0))
				m, err := Open(context.Background(), g.path, Options{
					Context: 256, KV: &KVTypes{tensor.F32, tensor.F32}, Device: dev, Sequences: 3,
					KVBlock: []int{4, 16, 256}[random.IntN(3)],
					Batch:   1 + random.IntN(40),
				})
				if err != nil {
					t.Fatal(err)
				}
				seqs := []*kvtier.Sequence{m.NewSequence(), m.NewSequence(), m.NewSequence()}
				got := make([][]float32, 3)
				for {
					var runs []Run
					var which []int
					left := 0
					for i, tokens := range inputs {
						rest := tokens[seqs[i].Len():]
						left += len(rest)
						if n := random.IntN(min(len(rest), 25) + 1); n > 0 {
							runs, which = append(runs, Run{seqs[i], rest[:n], AllLogits}), append(which, i)
						}
					}
					if left == 0 {
						break
					}
					err := m.Forward(context.Background(), runs, func(run, _ int, logits []float32) error {
						got[which[run]] = append(got[which[run]], logits...)
						return nil
					})
					if err != nil {
						t.Fatal(err)
					}
				}
				for i := range got {
					if d := differ(got[i], want[i]); d != "" {
						t.Errorf("seed %d, sequence %d: %s", seed, i, d)
					}
				}
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestThreadsAndDeviceDoNotMatter(t *testing.T) {
	g := loadGolden(t, "qwen3moe-experts.q4_0")
	want := logitsOf(t, openGolden(t, g, cpuDevice(t, 1), 1), g.tokens, 96)
	for _, threads := range []int{2, 3, 8} {
		if d := differ(logitsOf(t, openGolden(t, g, cpuDevice(t, threads), 1), g.tokens, 96), want); d != "" {
			t.Errorf("%d threads: %s", threads, d)
		}
	}
	m, err := Open(context.Background(), g.path, Options{Reference: true, Weights: ResidentMemory, KV: &KVTypes{tensor.F32, tensor.F32}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if d := differ(logitsOf(t, m, g.tokens, 96), want); d != "" {
		t.Errorf("weights in memory: %s", d)
	}
}

func TestWanted(t *testing.T) {
	g := loadGolden(t, "phi3.q8_0")
	m := openGolden(t, g, cpuDevice(t, 2), 3)
	all := logitsOf(t, m, g.tokens[:20], 20)
	vocab := m.Spec().Vocab
	seqs := []*kvtier.Sequence{m.NewSequence(), m.NewSequence(), m.NewSequence()}
	type at struct{ run, i int }
	var seen []at
	err := m.Forward(context.Background(), []Run{
		{seqs[0], g.tokens[:20], LastLogits}, {seqs[1], g.tokens[:20], NoLogits}, {seqs[2], g.tokens[:3], AllLogits},
	}, func(run, i int, logits []float32) error {
		seen = append(seen, at{run, i})
		if d := differ(logits, all[i*vocab:][:vocab]); d != "" {
			t.Errorf("run %d, token %d: %s", run, i, d)
		}
		return nil
	})
	if want := []at{{0, 19}, {2, 0}, {2, 1}, {2, 2}}; err != nil || !slices.Equal(seen, want) {
		t.Fatalf("emitted %v, want %v (%v)", seen, want, err)
	}
}

// fleeting is a residency whose pages exist from Acquire to Release only: the
// strict device panics if anything uses one outside.
type fleeting struct {
	t     testing.TB
	m     *Model
	dev   compute.Device
	held  int
	total int
}

func (f *fleeting) Acquire(_ context.Context, id pager.PageID) (compute.Page, error) {
	p := f.m.plan.weights.catalog.Pages()[id]
	raw := make([]byte, p.Bytes)
	if _, err := io.ReadFull(io.NewSectionReader(f.m.file.Parts()[p.Part], p.Offset, p.Bytes), raw); err != nil {
		return compute.Page{}, err
	}
	buf, err := f.dev.NewBuffer(p.Bytes)
	if err != nil {
		return compute.Page{}, err
	}
	s, err := f.dev.NewStream(compute.Work{})
	if err != nil {
		return compute.Page{}, err
	}
	defer s.Close()
	span := compute.Span{Buf: buf, N: p.Bytes}
	s.Write(span, raw)
	if err := s.Sync(); err != nil {
		return compute.Page{}, err
	}
	f.held++
	f.total++
	return compute.Page{Data: span, Type: p.Type, First: p.First, Rows: p.Rows, Cols: p.Cols, Hold: &fleetingHold{f, buf}}, nil
}

func (f *fleeting) Begin(int, bool)       {}
func (f *fleeting) Expect([]pager.PageID) {}

func (f *fleeting) Rows(ctx context.Context, m *pager.Matrix, rows []int32) (compute.Page, []int32, error) {
	page, err := f.Acquire(ctx, m.Page(0))
	return page, rows, err
}

func (f *fleeting) Bytes() int64 { return 0 }
func (f *fleeting) Held() int    { return 5 }
func (f *fleeting) Close() error { return nil }

type fleetingHold struct {
	f   *fleeting
	buf compute.Buffer
}

func (h *fleetingHold) Release() {
	h.f.held--
	if err := h.buf.Free(); err != nil {
		h.f.t.Error(err)
	}
}

func TestPagesAreHeldWhileNeeded(t *testing.T) {
	for _, name := range exactModels {
		t.Run(name, func(t *testing.T) {
			g := exactModel(t, name)
			want := logitsOf(t, openGolden(t, g, cpuDevice(t, 2), 1), g.tokens, 32)
			dev := strictDevice(t)
			m := openGolden(t, g, dev, 1)
			f := &fleeting{t: t, m: m, dev: dev}
			m.decoder.pages = f
			if d := differ(logitsOf(t, m, g.tokens, 32), want); d != "" {
				t.Error(d)
			}
			if f.held != 0 || f.total == 0 {
				t.Errorf("%d of %d pages were not released", f.held, f.total)
			}
		})
	}
}

// failing is a residency that fails at a given acquisition.
type failing struct {
	pager.Residency
	after int
	err   error
	cause func()
}

func (f *failing) Acquire(ctx context.Context, id pager.PageID) (compute.Page, error) {
	if f.after--; f.after < 0 {
		if f.err != nil {
			return compute.Page{}, f.err
		}
		f.cause()
	}
	return f.Residency.Acquire(ctx, id)
}

// TestFailureLeavesSequence breaks a pass at every page and wants the
// sequence to go on as if nothing had been.
func TestFailureLeavesSequence(t *testing.T) {
	for _, name := range []string{"gemma3.q8_0", "qwen35.q8_0"} {
		t.Run(name, func(t *testing.T) { failEverywhere(t, loadGolden(t, name)) })
	}
}

func failEverywhere(t *testing.T, g golden) {
	m := openGolden(t, g, cpuDevice(t, 2), 1)
	want := logitsOf(t, m, g.tokens, 40)
	pages := m.decoder.pages
	broken := errors.New("the disk is broken")
	n := len(m.plan.weights.catalog.Pages())
	for after := 0; after < n; after += n/5 + 1 {
		seq := m.NewSequence()
		var got []float32
		emit := func(_, _ int, logits []float32) error { got = append(got, logits...); return nil }
		run := func(ctx context.Context, lo, hi int) error {
			return m.Forward(ctx, []Run{{seq, g.tokens[lo:hi], AllLogits}}, emit)
		}
		if err := run(context.Background(), 0, 40); err != nil {
			t.Fatal(err)
		}
		m.decoder.pages = &failing{Residency: pages, after: after, err: broken}
		if err := run(context.Background(), 40, 80); !errors.Is(err, broken) {
			t.Fatalf("got %v, want %v", err, broken)
		}
		ctx, cancel := context.WithCancel(context.Background())
		m.decoder.pages = &failing{Residency: pages, after: after, cause: cancel}
		if err := run(ctx, 40, 80); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want %v", err, context.Canceled)
		}
		cancel()
		m.decoder.pages = pages
		if seq.Len() != 40 {
			t.Fatalf("a failed pass left %d tokens", seq.Len())
		}
		if err := run(context.Background(), 40, 80); err != nil {
			t.Fatal(err)
		}
		if err := run(context.Background(), 80, 96); err != nil {
			t.Fatal(err)
		}
		if d := differ(got, want); d != "" {
			t.Errorf("after failure %d: %s", after, d)
		}
		seq.Free()
	}
}

func TestForwardErrors(t *testing.T) {
	g := loadGolden(t, "phi3.q8_0")
	m := openGolden(t, g, cpuDevice(t, 1), 1)
	seq := m.NewSequence()
	emit := func(int, int, []float32) error { return nil }
	forward := func(runs ...Run) error { return m.Forward(context.Background(), runs, emit) }
	for name, err := range map[string]error{
		"token too large": forward(Run{Seq: seq, Tokens: []int32{1, 288}}),
		"negative token":  forward(Run{Seq: seq, Tokens: []int32{-1}}),
		"twice":           forward(Run{Seq: seq, Tokens: []int32{1}}, Run{Seq: seq, Tokens: []int32{2}}),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := forward(Run{Seq: seq, Tokens: make([]int32, 257)}); !errors.Is(err, ErrContext) {
		t.Errorf("257 tokens: %v", err)
	}
	if err := forward(Run{Seq: seq, Tokens: make([]int32, 256)}); err != nil {
		t.Error(err)
	}
	if err := forward(Run{Seq: m.NewSequence(), Tokens: []int32{1}}); !errors.Is(err, kvtier.ErrFull) {
		t.Errorf("no room for a second sequence: %v", err)
	}
	if err := forward(); err != nil {
		t.Error(err)
	}
	seq.Free()
	sentinel := errors.New("enough")
	err := m.Forward(context.Background(), []Run{{seq, g.tokens, LastLogits}}, func(int, int, []float32) error { return sentinel })
	if !errors.Is(err, sentinel) || seq.Len() != len(g.tokens) {
		t.Errorf("emit's error: %v, %d tokens", err, seq.Len())
	}
}

// TestFork continues forks taken at every few tokens, beside the sequence
// that they come from, and wants the bits of a run without forks.
func TestFork(t *testing.T) {
	for _, name := range exactModels {
		t.Run(name, func(t *testing.T) {
			g := exactModel(t, name)
			m := openGolden(t, g, cpuDevice(t, 2), 4)
			vocab := m.Spec().Vocab
			other := slices.Clone(g.tokens)
			slices.Reverse(other)
			want := logitsOf(t, m, g.tokens, 96)
			seq := m.NewSequence()
			defer seq.Free()
			step := func(s *kvtier.Sequence, tokens []int32) (logits []float32) {
				err := m.Forward(context.Background(), []Run{{s, tokens, AllLogits}}, func(_, _ int, l []float32) error {
					logits = append(logits, l...)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				return logits
			}
			for at := 0; at < 90; at += 13 {
				snapshot := seq.Fork()
				// One way on, then another from the same snapshot.
				aside := snapshot.Fork()
				mixed := append(slices.Clone(g.tokens[:at]), other[:5]...)
				alone := logitsOf(t, m, mixed, 96)
				if d := differ(step(aside, other[:5]), alone[at*vocab:]); d != "" {
					t.Errorf("fork at %d: %s", at, d)
				}
				aside.Free()
				if d := differ(step(seq, g.tokens[at:at+13]), want[at*vocab:(at+13)*vocab]); d != "" {
					t.Errorf("after a fork at %d: %s", at, d)
				}
				again := snapshot.Fork()
				if d := differ(step(again, g.tokens[at:at+7]), want[at*vocab:(at+7)*vocab]); d != "" {
					t.Errorf("restored at %d: %s", at, d)
				}
				again.Free()
				snapshot.Free()
			}
		})
	}
}
