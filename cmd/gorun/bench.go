package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"gorun/internal/machine"
	"gorun/internal/units"
	"gorun/kvtier"
	"gorun/model"
)

type benchCommand struct {
	Model    string     `arg:"" optional:"" help:"Model file (GGUF). Default: the embedded model."`
	Prompt   []int      `short:"p" placeholder:"N" help:"Read prompts of so many tokens: 512, or a list as 128,512; 0: none. Default: 512."`
	Generate []int      `name:"gen" short:"n" placeholder:"N" help:"Write so many tokens: 128, or a list; 0: none. Default: 128."`
	Depth    []int      `short:"d" placeholder:"N" help:"Tokens in the KV cache before the timed ones: 0, or a list. Default: 0."`
	Reps     int        `short:"r" default:"5" placeholder:"N" help:"Repetitions of each test."`
	Disk     string     `placeholder:"DIR" help:"Measure the disk under a directory instead of a model."`
	DiskSize units.Size `default:"1GiB" placeholder:"SIZE" help:"Size of the file that --disk writes and reads."`
	JSON     bool       `name:"json" help:"Print JSON."`
	engineFlags
}

func (benchCommand) Help() string {
	return `Times reading a prompt (pp) and writing tokens one by one (tg), after a warm-up. What the machine can do is measured beside it:
memory bandwidth of all threads between the tokens, float32 multiply-adds before and after each prompt. Figures are medians, with quartiles.

Examples:
  gorun bench model.gguf -p 512 -n 128
  gorun bench model.gguf -p 0 -n 32 -d 0,8192 --kv f16 --json
  gorun bench model.gguf -n 64 -d 4096 --kv all             every type of the KV cache: error and speed
  gorun bench --disk /var/lib/models`
}

// benchResult is one line of a bench.
type benchResult struct {
	Test   string `json:"test"`
	Tokens int    `json:"tokens"`
	Depth  int    `json:"depth"`
	Reps   int    `json:"reps"`
	Speed  spread `json:"tokens_per_second"`
	// BytesPerToken are weights and KV that a token has to read, if it is
	// written alone.
	BytesPerToken float64 `json:"bytes_per_token,omitempty"`
	// OfBandwidth and OfPeak are shares of what the machine could do
	// between the tokens, or before and after the prompt: median by median, in each repetition.
	OfBandwidth *spread `json:"share_of_read_bandwidth,omitempty"`
	OfPeak      *spread `json:"share_of_fp32_peak,omitempty"`
	Model       string  `json:"model"`
	Threads     int     `json:"threads"`
	KV          string  `json:"kv"`
	Numerics    string  `json:"numerics"`
	Machine     limits  `json:"machine"` // medians
	// Paging is of the timed passes of all repetitions.
	Paging *pagingReport `json:"paging,omitempty"`
}

// limits are those that a test was measured beside. The others are zero.
type limits struct {
	ReadBytesPerSecond float64 `json:"read_bytes_per_second,omitempty"`
	FlopsPerSecond     float64 `json:"fp32_flops_per_second,omitempty"`
}

// spread is a median with what lies around it.
type spread struct {
	Median float64   `json:"median"`
	Min    float64   `json:"min"`
	Max    float64   `json:"max"`
	P25    float64   `json:"p25"`
	P75    float64   `json:"p75"`
	Values []float64 `json:"values"` // of each repetition
}

func (s *spread) percent(of string) string {
	return fmt.Sprintf("%.1f %% (%.1f-%.1f) of %s", 100*s.Median, 100*s.P25, 100*s.P75, of)
}

func spreadOf(values []float64) spread {
	v := slices.Sorted(slices.Values(values))
	at := func(q float64) float64 {
		x := q * float64(len(v)-1)
		lo, f := int(x), x-float64(int(x))
		return v[lo] + f*(v[min(lo+1, len(v)-1)]-v[lo])
	}
	return spread{at(0.5), v[0], v[len(v)-1], at(0.25), at(0.75), values}
}

func (c *benchCommand) Run(s *streams, in *interrupts) (err error) {
	ctx, done := in.context()
	defer done()
	if c.Disk != "" {
		return c.disk(ctx, s)
	}
	if c.Reps < 1 {
		return usagef("-r %d: want at least one repetition", c.Reps)
	}
	prompts, gens, depths := orDefault(c.Prompt, 512), orDefault(c.Generate, 128), orDefault(c.Depth, 0)
	for _, n := range slices.Concat(prompts, gens, depths) {
		if n < 0 {
			return usagef("%d tokens: want a positive number", n)
		}
	}
	if c.Ctx == 0 {
		c.Ctx = slices.Max(depths) + max(slices.Max(prompts), slices.Max(gens)+1)
	}
	if c.KV == allTypes {
		return c.qualities(s, in, depths[0], gens[0])
	}
	m, err := c.load(ctx, c.Model, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	var meter *machine.Meter
	if m.Plan().Paging() == nil { // the disk is the limit then, and memory is scarce
		if meter, err = machine.NewMeter(m.Plan().Options.Threads); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, meter.Close()) }()
	}
	b := newBencher(ctx, m.Model, c, s.progress("bench", false))
	defer b.seq.Free()
	b.meter = meter
	for _, depth := range depths {
		for _, n := range prompts {
			err = errors.Join(err, b.prompt(n, depth))
		}
		for _, n := range gens {
			err = errors.Join(err, b.generate(n, depth))
		}
	}
	b.bar.clear()
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(s.out, b.results)
	}
	return b.print(s)
}

func orDefault(list []int, n int) []int {
	if len(list) == 0 {
		return []int{n}
	}
	return list
}

// bencher times a model.
type bencher struct {
	ctx     context.Context
	m       *model.Model
	seq     *kvtier.Sequence
	meter   *machine.Meter // nil: not measured
	reps    int
	rep     int // under way
	bar     *progress
	name    string
	results []benchResult
}

func newBencher(ctx context.Context, m *model.Model, c *benchCommand, bar *progress) *bencher {
	return &bencher{ctx: ctx, m: m, seq: m.NewSequence(), reps: c.Reps, bar: bar, name: c.Model}
}

// tokens are n tokens of no meaning, others in each repetition: the experts of a
// mixture would be those of the time before.
func (b *bencher) tokens(n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32((i*7919 + b.rep*104729 + 13) % b.m.Spec().Vocab)
	}
	return ids
}

func (b *bencher) feed(tokens []int32) error {
	if len(tokens) == 0 {
		return nil
	}
	return b.m.Forward(b.ctx, []model.Run{{Seq: b.seq, Tokens: tokens, Want: model.LastLogits}}, func(int, int, []float32) error { return nil })
}

// begin leaves depth tokens in the cache: those of the repetition before, or others if
// there were fewer or a layer of the model cannot go back.
func (b *bencher) begin(depth int) error {
	if depth > 0 && b.seq.Truncate(depth) == nil {
		return nil
	}
	b.seq.Free()
	return b.feed(b.tokens(depth))
}

// A timing is what one repetition took, and what the machine could do meanwhile.
type timing struct {
	took   time.Duration
	tokens []float64 // seconds of each, of a prompt the mean
	limits []float64 // of each turn of the meter
}

// prompt times reading n tokens at once.
func (b *bencher) prompt(n, depth int) error {
	return b.measure("pp", n, depth, func() (t timing, err error) {
		tokens := b.tokens(n)
		t.limit(b.meter, (*machine.Meter).MultiplyAdd, meterTurns)
		begin := time.Now()
		err = b.feed(tokens)
		t.took = time.Since(begin)
		t.tokens = []float64{t.took.Seconds() / float64(n)}
		t.limit(b.meter, (*machine.Meter).MultiplyAdd, meterTurns)
		return t, err
	})
}

// generate times n tokens one by one.
func (b *bencher) generate(n, depth int) error {
	return b.measure("tg", n, depth, func() (t timing, err error) {
		tokens, read := b.tokens(n), time.Duration(0)
		t.limit(b.meter, (*machine.Meter).Read, 1)
		for i := range tokens {
			begin := time.Now()
			if err := b.feed(tokens[i : i+1]); err != nil {
				return t, err
			}
			took := time.Since(begin)
			t.took += took
			t.tokens = append(t.tokens, took.Seconds())
			if t.took-read > readEvery || i == n-1 {
				read = t.took
				t.limit(b.meter, (*machine.Meter).Read, 1)
			}
		}
		return t, nil
	})
}

const (
	// readEvery is how long tokens are written between two turns of the meter.
	readEvery = 20 * time.Millisecond
	// meterTurns is how often multiply-adds are measured before a prompt, and after it.
	meterTurns = 4
)

// limit takes turns of the meter, if there is one.
func (t *timing) limit(meter *machine.Meter, measure func(*machine.Meter) float64, turns int) {
	for range turns {
		if meter != nil {
			t.limits = append(t.limits, measure(meter))
		}
	}
}

// measure repeats a test.
func (b *bencher) measure(kind string, n, depth int, work func() (timing, error)) error {
	if n == 0 {
		return nil
	}
	cost := b.m.Cost(depth + n/2)
	unit := 2 * float64(cost.MultiplyAdds) // of a token, in those of the limit
	if kind == "tg" {
		unit = float64(cost.WeightBytes + cost.KVBytes)
	}
	var rates, shares, limits []float64
	var paging pagingMeter
	for rep := range b.reps + 1 { // the first warms up
		if err := b.ctx.Err(); err != nil {
			return err
		}
		b.bar.set(int64(rep), int64(b.reps+1))
		b.rep = rep
		err := b.begin(depth)
		if rep > 0 {
			err = errors.Join(err, paging.begin(b.ctx, b.m))
		}
		var t timing
		if err == nil {
			t, err = work()
		}
		if err != nil {
			return err
		}
		if rep == 0 {
			continue
		}
		rates = append(rates, float64(n)/t.took.Seconds())
		if b.meter != nil {
			limit := spreadOf(t.limits).Median
			limits = append(limits, limit)
			shares = append(shares, share(unit/spreadOf(t.tokens).Median, limit))
		}
		if err := paging.end(b.ctx, b.m, t.took); err != nil {
			return err
		}
	}
	r := benchResult{
		Test: fmt.Sprintf("%s%d", kind, n), Tokens: n, Depth: depth, Reps: b.reps, Speed: spreadOf(rates), Model: b.name,
		Threads: b.m.Plan().Options.Threads, KV: b.m.Plan().Options.KV.String(), Numerics: b.m.Numerics(),
	}
	r.Paging = paging.report(b.m)
	if depth > 0 {
		r.Test += fmt.Sprintf("@d%d", depth)
	}
	if kind == "tg" {
		r.BytesPerToken = unit
	}
	if b.meter != nil {
		limit, share := spreadOf(limits).Median, spreadOf(shares)
		switch {
		case kind == "tg":
			r.Machine.ReadBytesPerSecond, r.OfBandwidth = limit, &share
		case limit > 0:
			r.Machine.FlopsPerSecond, r.OfPeak = limit, &share
		}
	}
	b.results = append(b.results, r)
	return nil
}

// share is a part of a limit, or zero if that is not known.
func share(v, limit float64) float64 {
	if limit == 0 {
		return 0
	}
	return v / limit
}

func (b *bencher) print(s *streams) error {
	t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "test\ttokens/s\tquartiles\tshare (quartiles)\n")
	for _, r := range b.results {
		of := "-"
		switch {
		case r.OfBandwidth != nil:
			of = r.OfBandwidth.percent(fmt.Sprintf("read bandwidth, %.1f GB/s", r.Machine.ReadBytesPerSecond/1e9))
		case r.OfPeak != nil:
			of = r.OfPeak.percent(fmt.Sprintf("float32 peak, %.0f GFLOP/s", r.Machine.FlopsPerSecond/1e9))
		}
		fmt.Fprintf(t, "%s\t%.2f\t%.2f-%.2f\t%s\n", r.Test, r.Speed.Median, r.Speed.P25, r.Speed.P75, of)
	}
	for _, r := range b.results {
		if r.Paging != nil {
			fmt.Fprintf(t, "\n%s, paged\n", r.Test)
			if err := t.Flush(); err != nil {
				return err
			}
			r.Paging.print(s.out)
		}
	}
	return t.Flush()
}
