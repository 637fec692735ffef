package model

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gorun/demo"
	"gorun/gguf"
	"gorun/internal/pageio/faulty"
	"gorun/synth"
	"gorun/tensor"
)

// pagedModel is a model that is run resident and paged.
type pagedModel struct {
	name string
	open func(t *testing.T) *gguf.File
}

// pagedModels are the goldens, the architectures without, the embedded model,
// and all models in a folder that is not part of the project.
func pagedModels(t *testing.T) []pagedModel {
	file := func(path string) func(*testing.T) *gguf.File {
		return func(t *testing.T) *gguf.File {
			f, err := gguf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			return f
		}
	}
	models := []pagedModel{{"embedded", func(t *testing.T) *gguf.File {
		f, err := demo.Open()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}}}
	for _, g := range goldens {
		models = append(models, pagedModel{g.name, func(t *testing.T) *gguf.File {
			return file(goldenFile(t, g.name+".gguf"))(t)
		}})
	}
	for _, d := range directs {
		models = append(models, pagedModel{d.name, func(t *testing.T) *gguf.File { return file(d.newTiny().write(t))(t) }})
	}
	paths, err := filepath.Glob("../../shared/data/models/*.gguf")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		models = append(models, pagedModel{strings.TrimSuffix(filepath.Base(path), ".gguf"), file(path)})
	}
	return models
}

// somePools are sizes of pools to try: all pages, half, a tenth, the minimum;
// each size once.
func somePools(t *testing.T, f *gguf.File, o Options) map[string]int64 {
	t.Helper()
	o.Weights, o.WeightsMemory = ResidentPaged, 0
	p, err := NewPlan(f, o)
	if err != nil {
		t.Fatal(err)
	}
	all, least := p.Paging().TotalBytes(), p.Paging().Least
	pools := map[string]int64{"100 %": all, "minimum": least}
	for name, bytes := range map[string]int64{"50 %": all / 2, "10 %": all / 10} {
		if bytes > least {
			pools[name] = bytes
		}
	}
	return pools
}

// leastPool is the smallest pool that a model can be paged with.
func leastPool(t *testing.T, f *gguf.File, o Options) int64 {
	t.Helper()
	return somePools(t, f, o)["minimum"]
}

// values are the logits of tokens read in chunks and then one by one, or the
// hidden states of an encoder.
func values(t *testing.T, f *gguf.File, o Options, n int) []float32 {
	t.Helper()
	m, err := New(context.Background(), f, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	want, single := AllLogits, 2
	if m.Spec().Bidirectional {
		want, single = AllHidden, 0
	}
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = int32((i*37 + 5) % min(m.Spec().Vocab, 250))
	}
	seq := m.NewSequence()
	defer seq.Free()
	var all []float32
	run := func(tokens []int32) {
		err := m.Forward(context.Background(), []Run{{seq, tokens, want}}, func(_, _ int, values []float32) error {
			all = append(all, values...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	run(tokens[:n-single])
	for i := n - single; i < n; i++ {
		run(tokens[i : i+1])
	}
	return all
}

// TestPagedEqualsResident is the test of paging: whatever fits into memory and
// however reads end, the bits are those of the resident model.
func TestPagedEqualsResident(t *testing.T) {
	for i, m := range pagedModels(t) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel() // some compute while others read
			f := m.open(t)
			o := Options{Context: 64, Batch: 20, Threads: 2}
			want := values(t, f, o, 22)
			random := rand.New(rand.NewPCG(uint64(i), 0))
			for name, bytes := range somePools(t, f, o) {
				o.Weights, o.WeightsMemory, o.readers, o.tail = ResidentPaged, bytes, 1+random.IntN(16), 0xff
				if d := differ(values(t, f, o, 22), want); d != "" {
					t.Errorf("a pool of %s, %d readers: %s", name, o.readers, d)
				}
			}
		})
	}
}

// TestPagedWithDelays lets every read take a while of its own, on 1 to 16
// readers.
func TestPagedWithDelays(t *testing.T) {
	for _, name := range []string{"qwen3moe-experts.q4_0", "qwen35.q8_0"} {
		g := loadGolden(t, name)
		f, err := gguf.Open(g.path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		o := Options{Context: 64, Batch: 20, Threads: 2}
		want := values(t, f, o, 22)
		for readers := 1; readers <= 16; readers *= 2 {
			for pool, bytes := range somePools(t, f, o) {
				var mu sync.Mutex
				random := rand.New(rand.NewPCG(uint64(readers), 0))
				faults := faulty.Faults{Delay: func() {
					mu.Lock()
					d := time.Duration(random.IntN(300)) * time.Microsecond
					mu.Unlock()
					time.Sleep(d)
				}}
				p := o
				p.Weights, p.WeightsMemory, p.readers, p.wrapFiles = ResidentPaged, bytes, readers, faults.Wrap
				if d := differ(values(t, f, p, 22), want); d != "" {
					t.Errorf("%s, a pool of %s, %d readers: %s", name, pool, readers, d)
				}
				if faults.Reads() == 0 {
					t.Error("nothing was read")
				}
			}
		}
	}
}

// TestPagedOnStrict pages on a device that runs behind the host and has memory
// of its own.
func TestPagedOnStrict(t *testing.T) {
	for _, name := range exactModels {
		t.Run(name, func(t *testing.T) {
			f, err := gguf.Open(exactModel(t, name).path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			o := Options{Context: 64, Batch: 20, Device: strictDevice(t)}
			want := values(t, f, o, 22)
			for pool, bytes := range somePools(t, f, o) {
				p := o
				p.Weights, p.WeightsMemory, p.tail = ResidentPaged, bytes, 0xff
				if d := differ(values(t, f, p, 22), want); d != "" {
					t.Errorf("a pool of %s: %s", pool, d)
				}
			}
		})
	}
}

// synthFile makes a model of a named shape.
func synthFile(t testing.TB, o synth.Options) *gguf.File {
	t.Helper()
	m, err := synth.New(o)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "synth.gguf")
	if err := m.WriteFile(context.Background(), path); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestPagedLayers pages models of 24 layers, where the smallest pool is far
// below a tenth.
func TestPagedLayers(t *testing.T) {
	for _, like := range []string{"tiny", "tiny-moe"} {
		t.Run(like, func(t *testing.T) {
			s := synth.Options{Like: like, Type: tensor.Q4_K, Layers: 24, Seed: 1}
			if like == "tiny-moe" {
				s.Routing.Exponent = 1
			}
			f := synthFile(t, s)
			o := Options{Context: 64, Batch: 20, Threads: 2}
			want := values(t, f, o, 22)
			for pool, bytes := range somePools(t, f, o) {
				p := o
				p.Weights, p.WeightsMemory, p.tail = ResidentPaged, bytes, 0xff
				if d := differ(values(t, f, p, 22), want); d != "" {
					t.Errorf("a pool of %s: %s", pool, d)
				}
			}
		})
	}
}

// TestPagedReadsClosedForm counts what a dense model reads for each token: the
// pages that are not kept, and no more.
func TestPagedReadsClosedForm(t *testing.T) {
	f := synthFile(t, synth.Options{Like: "tiny", Type: tensor.Q4_K, Layers: 24, Seed: 1})
	o := Options{Context: 64, Threads: 2, Weights: ResidentPaged}
	all := somePools(t, f, o)["100 %"]
	for _, share := range []int64{10, 25, 50, 75, 90, 100} {
		o.WeightsMemory = all * share / 100
		m, err := New(context.Background(), f, o)
		if err != nil {
			t.Fatal(err)
		}
		seq := m.NewSequence()
		step := func(tokens ...int32) {
			if err := m.Forward(context.Background(), []Run{{seq, tokens, LastLogits}}, func(int, int, []float32) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		step(1, 2, 3)
		step(4)
		before, _ := m.PagingStats()
		const tokens = 20
		for i := range int32(tokens) {
			step(i)
		}
		after, _ := m.PagingStats()
		d := after.Sub(before)
		got, want := float64(d.BytesRead)/tokens, float64(m.Plan().Paging().Streamed())
		p := m.Plan().Paging().Pools[0]
		ahead := float64(p.Ring) * float64(p.Page) / tokens // may be read for the token after
		if got > want+ahead {
			t.Errorf("a pool of %d %%: %.0f bytes a token, the closed form is %.0f", share, got, want)
		}
		if misses := d.Misses[0]; misses != tokens*int64(p.Pages-p.Kept()) {
			t.Errorf("a pool of %d %%: %d misses of %d pages, %d kept", share, misses, p.Pages, p.Kept())
		}
		seq.Free()
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestPagedPromptReadsOnce reads a prompt and wants each page to be read at
// most once for each chunk.
func TestPagedPromptReadsOnce(t *testing.T) {
	for _, like := range []string{"tiny", "tiny-moe"} {
		f := synthFile(t, synth.Options{Like: like, Type: tensor.Q4_K, Layers: 24, Seed: 1})
		o := Options{Context: 1024, Batch: 512, Threads: 2, Weights: ResidentPaged}
		if testing.Short() {
			o.Batch = 32
		}
		o.WeightsMemory = max(leastPool(t, f, o), somePools(t, f, o)["100 %"]/10)
		m, err := New(context.Background(), f, o)
		if err != nil {
			t.Fatal(err)
		}
		seq := m.NewSequence()
		tokens := make([]int32, o.Batch)
		for i := range tokens {
			tokens[i] = int32(i * 31 % 500)
		}
		for chunk := range 2 {
			before, _ := m.PagingStats()
			if err := m.Forward(context.Background(), []Run{{seq, tokens, NoLogits}}, nil); err != nil {
				t.Fatal(err)
			}
			after, _ := m.PagingStats()
			d := after.Sub(before)
			l := m.Plan().Paging()
			ahead := int64(l.Pools[0].Ring) * l.Pools[0].Page // for the chunk after
			if d.BytesRead > l.Bytes()+ahead || d.Misses[0] > int64(l.Pools[0].Pages) || d.Misses[1] > int64(l.Pools[1].Pages) {
				t.Errorf("%s, chunk %d: %+v of %d bytes", like, chunk, d, l.Bytes())
			}
		}
		seq.Free()
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestPagedPool wants errors that say how much is needed, and plans that come
// true.
func TestPagedPool(t *testing.T) {
	f := synthFile(t, synth.Options{Like: "tiny-moe", Type: tensor.Q4_K, Layers: 8, Seed: 1})
	o := Options{Context: 64, Threads: 1, Weights: ResidentPaged}
	least := leastPool(t, f, o)
	o.WeightsMemory = least - 1
	if _, err := NewPlan(f, o); err == nil || !strings.Contains(err.Error(), fmt.Sprint(least)) {
		t.Errorf("below the minimum of %d: %v", least, err)
	}
	o.WeightsMemory = 0
	p, err := NewPlan(f, o)
	if err != nil {
		t.Fatal(err)
	}
	rest := p.besideWeights()
	o.Memory = rest + headroom(rest) + least + least/2
	o.Memory += o.Memory / 32
	if p, err = NewPlan(f, o); err != nil {
		t.Fatal(err)
	}
	if p.Bytes() > o.Memory || p.Paging().TotalBytes() < least {
		t.Errorf("a plan of %d bytes within %d, %d for weights", p.Bytes(), o.Memory, p.Paging().TotalBytes())
	}
	// What does not fit is paged without being asked to.
	o.Weights = ResidentAuto
	if p, err = NewPlan(f, o); err != nil || p.Paging() != nil && p.Bytes() > o.Memory {
		t.Errorf("%v", err)
	}
	m, err := p.Load(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// TestPagedBatch writes three texts at once: each page is visited once for all
// of them, and each has the bits that it has alone.
func TestPagedBatch(t *testing.T) {
	for _, name := range []string{"llama-ropefreqs.q8_0", "qwen3moe-experts.q4_0"} {
		f, err := gguf.Open(loadGolden(t, name).path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		o := Options{Context: 64, Batch: 20, Threads: 2, Sequences: 3, Weights: ResidentPaged}
		o.WeightsMemory = leastPool(t, f, o)
		m, err := New(context.Background(), f, o)
		if err != nil {
			t.Fatal(err)
		}
		text := func(i int) []int32 { return []int32{int32(3 + i), int32(50 + 7*i), 9, int32(100 + i)} }
		var want [3][]float32
		for i := range want {
			want[i] = logitsOf(t, m, text(i), 1)
		}
		var runs []Run
		for range want {
			runs = append(runs, Run{Seq: m.NewSequence(), Want: AllLogits})
		}
		before, _ := m.PagingStats()
		var got [3][]float32
		const steps = 4
		for step := range steps {
			for i := range runs {
				runs[i].Tokens = text(i)[step : step+1]
			}
			err := m.Forward(context.Background(), runs, func(run, _ int, logits []float32) error {
				got[run] = append(got[run], logits...)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		after, _ := m.PagingStats()
		for i := range want {
			if d := differ(got[i], want[i]); d != "" {
				t.Errorf("%s, text %d: %s", name, i, d)
			}
			runs[i].Seq.Free()
		}
		d, pages := after.Sub(before), int64(m.Plan().Paging().Pools[0].Pages)
		if d.Passes != steps || d.Hits[0]+d.Misses[0] != steps*pages {
			t.Errorf("%s: %d passes used %d pages, the model has %d", name, d.Passes, d.Hits[0]+d.Misses[0], pages)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}
