package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"text/tabwriter"

	"gorun/internal/units"
	"gorun/quantize"
)

type quantizeCommand struct {
	In              string   `arg:"" help:"Model file (GGUF), or any member of a split set."`
	Out             string   `arg:"" help:"File to write."`
	Type            string   `arg:"" help:"Type or mix of types; see above."`
	Keep            []string `sep:"none" placeholder:"PATTERN=TYPE" help:"Give the tensors whose name matches the regular expression that type, whatever the mix says. May be repeated; the first match counts."`
	AllowRequantize bool     `help:"Quantize tensors that are quantized already."`
	Threads         int      `short:"t" placeholder:"N" help:"Threads that convert. Default: one for each CPU."`
	DryRun          bool     `help:"Show what would be done; write nothing."`
	JSON            bool     `name:"json" help:"Print JSON."`
}

func (quantizeCommand) Help() string {
	var names []string
	for _, r := range quantize.Recipes() {
		names = append(names, r.Name)
	}
	return "Types: " + strings.Join(names, ", ") + `.

The mixes give each tensor the type that llama-quantize gives it. Norms, biases, routers and other small tensors keep their type. The file appears when it is complete; Ctrl-C leaves nothing behind.

Examples:
  gorun quantize model-F16.gguf model-Q4_K_M.gguf Q4_K_M
  gorun quantize model-F16.gguf out.gguf Q4_K_M --keep '^output=q8_0' --keep 'blk\.0\..*ffn_down=q6_K'`
}

// quantizeReport is the JSON of quantize.
type quantizeReport struct {
	In      string                 `json:"in"`
	Out     string                 `json:"out"`
	Recipe  string                 `json:"recipe"`
	Written bool                   `json:"written"`
	Tensors []quantizeTensorReport `json:"tensors"`
	Before  int64                  `json:"bytes_before"`
	After   int64                  `json:"bytes_after"`
	Bits    float64                `json:"bits_per_weight"`
}

type quantizeTensorReport struct {
	Name   string  `json:"name"`
	Dims   []int64 `json:"dims"`
	From   string  `json:"from"`
	To     string  `json:"to"`
	Before int64   `json:"bytes_before"`
	After  int64   `json:"bytes_after"`
}

func (c *quantizeCommand) Run(s *streams, in *interrupts) error {
	recipe, o, err := c.options()
	if err != nil {
		return err
	}
	f, err := openFile(c.In)
	if err != nil {
		return err
	}
	defer f.Close()
	plan, err := quantize.NewPlan(f, recipe, o)
	if requantize := (*quantize.RequantizeError)(nil); errors.As(err, &requantize) {
		err = fmt.Errorf("%w; --allow-requantize does it all the same", err)
	}
	if err != nil {
		return named(c.In, err)
	}
	if !c.DryRun {
		ctx, done := in.context()
		defer done()
		if err := c.write(ctx, plan, s); err != nil {
			return err
		}
	}
	r := c.report(plan)
	if c.JSON {
		return writeJSON(s.out, r)
	}
	return r.print(s.out)
}

// options reads the flags.
func (c *quantizeCommand) options() (*quantize.Recipe, quantize.Options, error) {
	o := quantize.Options{AllowRequantize: c.AllowRequantize}
	recipe, err := quantize.ParseRecipe(c.Type)
	if err != nil {
		return nil, o, usagef("%v", err)
	}
	for _, text := range c.Keep {
		override, err := quantize.ParseOverride(text)
		if err != nil {
			return nil, o, usagef("--keep %s: %v", text, err)
		}
		o.Overrides = append(o.Overrides, override)
	}
	if c.Threads < 0 {
		return nil, o, usagef("--threads %d: want a positive number", c.Threads)
	}
	if c.Threads == 0 {
		c.Threads = runtime.GOMAXPROCS(0)
	}
	return recipe, o, nil
}

func (c *quantizeCommand) write(ctx context.Context, plan *quantize.Plan, s *streams) error {
	bar := s.progress("quantizing", true)
	defer bar.clear()
	return plan.WriteFile(ctx, c.Out, c.Threads, bar.set)
}

func (c *quantizeCommand) report(p *quantize.Plan) *quantizeReport {
	r := &quantizeReport{
		In: c.In, Out: c.Out, Recipe: p.Recipe.Name, Written: !c.DryRun, Tensors: []quantizeTensorReport{},
		Before: p.BytesBefore(), After: p.BytesAfter(), Bits: 8 * float64(p.BytesAfter()) / float64(max(p.Elements(), 1)),
	}
	for _, t := range p.Tensors {
		r.Tensors = append(r.Tensors, quantizeTensorReport{
			t.Source.Name, t.Source.Dims, t.Source.Type.String(), t.Type.String(), t.Source.Size, t.Bytes,
		})
	}
	return r
}

// print sums up by types.
func (r *quantizeReport) print(w io.Writer) error {
	type pair struct{ from, to string }
	type sum struct {
		tensors       int
		before, after int64
	}
	sums := map[pair]*sum{}
	var order []pair
	for _, t := range r.Tensors {
		p := pair{t.From, t.To}
		if sums[p] == nil {
			sums[p] = &sum{}
			order = append(order, p)
		}
		sums[p].tensors++
		sums[p].before += t.Before
		sums[p].after += t.After
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range order {
		what := p.from + " to " + p.to
		if p.from == p.to {
			what = p.from + " kept"
		}
		s := sums[p]
		fmt.Fprintf(t, "%s\t%d tensors\t%v\t%v\n", what, s.tensors, units.Size(s.before), units.Size(s.after))
	}
	fmt.Fprintf(t, "%s\t%d tensors\t%v\t%v\t%.2f bits a weight\n", r.Recipe, len(r.Tensors), units.Size(r.Before), units.Size(r.After), r.Bits)
	return t.Flush()
}
