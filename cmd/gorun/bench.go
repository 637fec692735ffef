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
	return `Times reading a prompt (pp) and writing tokens one by one (tg), after a warm-up. What the machine can do at best, memory
bandwidth and float32 multiply-adds of all threads, is measured before and after each repetition. Figures are medians, with quartiles.

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
	// OfBandwidth and OfPeak are shares of what the machine could do just
	// before and after each repetition.
	OfBandwidth *spread        `json:"share_of_read_bandwidth,omitempty"`
	OfPeak      *spread        `json:"share_of_fp32_peak,omitempty"`
	Model       string         `json:"model"`
	Threads     int            `json:"threads"`
	KV          string         `json:"kv"`
	Numerics    string         `json:"numerics"`
	Machine     machine.Limits `json:"machine"` // medians
	// Paging is of the timed passes of all repetitions.
	Paging *pagingReport `json:"paging,omitempty"`
}

// spread is a median with what lies around it.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	P25    float64 `json:"p25"`
	P75    float64 `json:"p75"`
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
	return spread{at(0.5), v[0], v[len(v)-1], at(0.25), at(0.75)}
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
	b := &bencher{ctx: ctx, m: m.Model, meter: meter, reps: c.Reps, bar: s.progress("bench", false), name: c.Model}
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
	meter   *machine.Meter // nil: not measured
	reps    int
	rep     int // under way
	bar     *progress
	name    string
	results []benchResult
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

func (b *bencher) feed(seq *kvtier.Sequence, tokens []int32) error {
	if len(tokens) == 0 {
		return nil
	}
	return b.m.Forward(b.ctx, []model.Run{{Seq: seq, Tokens: tokens, Want: model.LastLogits}}, func(int, int, []float32) error { return nil })
}

// prompt times reading n tokens at once.
func (b *bencher) prompt(n, depth int) error {
	return b.measure("pp", n, depth, func(seq *kvtier.Sequence) error { return b.feed(seq, b.tokens(n)) })
}

// generate times n tokens one by one.
func (b *bencher) generate(n, depth int) error {
	return b.measure("tg", n, depth, func(seq *kvtier.Sequence) error {
		for _, id := range b.tokens(n) {
			if err := b.feed(seq, []int32{id}); err != nil {
				return err
			}
		}
		return nil
	})
}

// limits are those of the machine now, zero if they are not measured.
func (b *bencher) limits() machine.Limits {
	if b.meter == nil {
		return machine.Limits{}
	}
	return b.meter.Measure()
}

func (b *bencher) measure(kind string, n, depth int, work func(*kvtier.Sequence) error) error {
	if n == 0 {
		return nil
	}
	cost := b.m.Cost(depth + n/2)
	bytes := float64(cost.WeightBytes + cost.KVBytes)
	var rates, ofBandwidth, ofPeak, read, flops []float64
	var paging pagingMeter
	for rep := range b.reps + 1 { // the first warms up
		if err := b.ctx.Err(); err != nil {
			return err
		}
		b.bar.set(int64(rep), int64(b.reps+1))
		b.rep = rep
		seq := b.m.NewSequence()
		err := b.feed(seq, b.tokens(depth))
		if rep > 0 {
			err = errors.Join(err, paging.begin(b.ctx, b.m))
		}
		before := b.limits()
		begin := time.Now()
		if err == nil {
			err = work(seq)
		}
		took := time.Since(begin)
		rate := float64(n) / took.Seconds()
		limits := machine.Between(before, b.limits())
		seq.Free()
		if err != nil {
			return err
		}
		if rep > 0 {
			rates = append(rates, rate)
			read, flops = append(read, limits.ReadBytesPerSecond), append(flops, limits.FlopsPerSecond)
			ofBandwidth = append(ofBandwidth, share(bytes*rate, limits.ReadBytesPerSecond))
			ofPeak = append(ofPeak, share(2*float64(cost.MultiplyAdds)*rate, limits.FlopsPerSecond))
			if err := paging.end(b.ctx, b.m, took); err != nil {
				return err
			}
		}
	}
	r := benchResult{
		Test: fmt.Sprintf("%s%d", kind, n), Tokens: n, Depth: depth, Reps: b.reps, Speed: spreadOf(rates), Model: b.name,
		Threads: b.m.Plan().Options.Threads, KV: b.m.Plan().Options.KV.String(), Numerics: b.m.Numerics(),
		Machine: machine.Limits{ReadBytesPerSecond: spreadOf(read).Median, FlopsPerSecond: spreadOf(flops).Median},
	}
	r.Paging = paging.report(b.m)
	if depth > 0 {
		r.Test += fmt.Sprintf("@d%d", depth)
	}
	if kind == "tg" {
		r.BytesPerToken = bytes
		if s := spreadOf(ofBandwidth); r.Machine.ReadBytesPerSecond > 0 {
			r.OfBandwidth = &s
		}
	} else if r.Machine.FlopsPerSecond > 0 {
		s := spreadOf(ofPeak)
		r.OfPeak = &s
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
			of = r.OfBandwidth.percent("read bandwidth")
		case r.OfPeak != nil:
			of = r.OfPeak.percent("float32 peak")
		}
		fmt.Fprintf(t, "%s\t%.2f\t%.2f-%.2f\t%s\n", r.Test, r.Speed.Median, r.Speed.P25, r.Speed.P75, of)
	}
	if n := len(b.results); n > 0 && b.meter != nil {
		r := b.results[n-1]
		fmt.Fprintf(t, "\nmachine\t%.1f GB/s read, %.0f GFLOP/s float32, %d threads\n",
			r.Machine.ReadBytesPerSecond/1e9, r.Machine.FlopsPerSecond/1e9, r.Threads)
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
