package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"gorun/internal/units"
	"gorun/synth"
	"gorun/tensor"
)

type synthCommand struct {
	Out        string        `arg:"" help:"File to write (GGUF)."`
	Like       string        `required:"" placeholder:"NAME" help:"Shape of the model; see the list above."`
	Type       string        `default:"q4_K" help:"Type of all matrices. Where rows are no multiple of its block, of the next best type."`
	Layers     int           `placeholder:"N" help:"Number of layers. Default: as in the shape."`
	Experts    int           `placeholder:"N" help:"Number of experts of a mixture. Default: as in the shape."`
	Vocab      int           `placeholder:"N" help:"Size of the vocabulary. Default: as in the shape."`
	Routing    synth.Routing `placeholder:"zipf:S" help:"Make the popularity of experts follow Zipf's law with exponent S. Default: chance decides."`
	Seed       uint64        `default:"1" help:"Seed of the random numbers. The same command with the same seed gives the same bytes."`
	MTP        bool          `name:"mtp" help:"Add the blocks that predict further tokens."`
	HeaderOnly bool          `help:"Write metadata and the tensor table over a hole: the file has its full length and takes hardly any space."`
	Force      bool          `help:"Replace a file that exists."`
	JSON       bool          `name:"json" help:"Print a report as JSON."`
}

func (synthCommand) Help() string {
	var text strings.Builder
	text.WriteString("Makes a model with random weights in the shape of a real one, to try hardware and paging before a download.\n\nShapes:\n")
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, s := range synth.Shapes() {
		fmt.Fprintf(t, "  %s\t%s\n", s.Name, s.About)
	}
	t.Flush() // to memory: it does not fail
	text.WriteString(`
Examples:
  gorun synth --like llama-1b --type q4_K llama-1b.gguf
  gorun synth --like qwen3-30b-a3b --layers 8 --routing zipf:1 part.gguf
  gorun synth --like minimax-m2-229b --type iq3_s --header-only minimax.gguf && gorun plan minimax.gguf`)
	return text.String()
}

// synthReport is the JSON of synth.
type synthReport struct {
	Path       string  `json:"path"`
	Like       string  `json:"like"`
	Type       string  `json:"type"`
	Bytes      int64   `json:"bytes"` // of the file
	Tensors    int     `json:"tensors"`
	Parameters int64   `json:"parameters"`
	Seconds    float64 `json:"seconds"`
}

func (c *synthCommand) Run(s *streams, in *interrupts) error {
	t, err := tensor.ParseType(c.Type)
	if err != nil {
		return usagef("--type: %v", err)
	}
	bar := s.progress("writing", true)
	m, err := synth.New(synth.Options{
		Like: c.Like, Type: t, Layers: c.Layers, Experts: c.Experts, Vocab: c.Vocab, Routing: c.Routing, Seed: c.Seed,
		MTP: c.MTP, HeaderOnly: c.HeaderOnly, Progress: bar.set,
	})
	if err != nil {
		return usageError{err.Error()}
	}
	if _, err := os.Lstat(c.Out); !c.Force && !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return err
		}
		return fmt.Errorf("%s exists: --force replaces it", c.Out)
	}
	ctx, done := in.context()
	defer done()
	start := time.Now()
	err = m.WriteFile(ctx, c.Out)
	bar.clear()
	if err != nil {
		return err
	}
	info, err := os.Stat(c.Out)
	if err != nil {
		return err
	}
	r := synthReport{c.Out, c.Like, t.String(), info.Size(), m.Tensors(), m.Parameters(), time.Since(start).Seconds()}
	if c.JSON {
		return writeJSON(s.out, r)
	}
	_, err = fmt.Fprintf(s.out, "%s: %.4g parameters in %d tensors, %v, %.1f s\n",
		r.Path, float64(r.Parameters), r.Tensors, units.Size(r.Bytes), r.Seconds)
	return err
}
