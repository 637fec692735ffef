package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/alecthomas/kong"

	"gorun/demo"
	"gorun/gguf"
	"gorun/internal/sysmem"
	"gorun/internal/units"
	"gorun/kernels"
	"gorun/model"
)

// engineFlags say how a model is run. All commands that run one share them.
type engineFlags struct {
	Ctx       int        `group:"Engine" placeholder:"N" help:"Most tokens of a text. Default: what the model was trained for, or what fits."`
	Batch     int        `group:"Engine" placeholder:"N" default:"512" help:"Most tokens computed in one pass. Changes speed and memory, never the text."`
	Threads   int        `group:"Engine" short:"t" placeholder:"N" help:"Threads that compute. Default: one for each CPU."`
	KV        string     `group:"Engine" placeholder:"K[:V]" help:"Types of the KV cache: ${kvtypes}. Default: f16."`
	KVBlock   int        `group:"Engine" placeholder:"N" help:"Positions of a KV block: a power of two from 4 to 256. Default: chosen by page size."`
	Memory    units.Size `group:"Engine" placeholder:"SIZE" help:"Memory that may be used, as in 6GiB. Default: what is available."`
	Reference bool       `group:"Engine" help:"Compute with the reference kernels: exact, and slow."`
	pagingFlags
	kvFlags
}

// defaults fills in what help texts mention.
func defaults() kong.Vars {
	return kong.Vars{"kvtypes": fmt.Sprint(kvTypes()), "kvcold": defaultCold.String(), "targets": strings.Join(kernels.Targets(), ", "), "version": thisVersion().String()}
}

// options makes the model's options.
func (e *engineFlags) options() (model.Options, error) {
	o := model.Options{
		Context: e.Ctx, Batch: e.Batch, Threads: e.Threads, KVBlock: e.KVBlock, Memory: int64(e.Memory), Reference: e.Reference,
	}
	e.pagingFlags.set(&o)
	if o.Memory == 0 {
		o.Memory, _ = sysmem.Available()
	}
	if e.KV != "" {
		o.KV = new(model.KVTypes)
		if err := o.KV.UnmarshalText([]byte(e.KV)); err != nil {
			return o, usagef("--kv %s: %v", e.KV, err)
		}
	}
	if err := e.kvFlags.set(&o); err != nil {
		return o, err
	}
	return o, nil
}

// openFile opens a model file; "" is the embedded one.
func openFile(path string) (*gguf.File, error) {
	if path == "" {
		return demo.Open()
	}
	return gguf.Open(path)
}

// load plans and loads a model. The caller closes it.
func (e *engineFlags) load(ctx context.Context, path string, s *streams) (*loadedModel, error) {
	o, err := e.options()
	if err != nil {
		return nil, err
	}
	return loadModel(ctx, path, o, s)
}

// loadedModel is a model and its file.
type loadedModel struct {
	*model.Model
	file *gguf.File
}

func loadModel(ctx context.Context, path string, o model.Options, s *streams) (*loadedModel, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	bar := s.progress("reading weights", true)
	o.Progress = bar.set
	m, err := model.New(ctx, f, o)
	bar.clear()
	if err != nil {
		return nil, errors.Join(named(path, err), f.Close())
	}
	warnContext(m.Plan(), o.Context)
	tellPaging(m, o)
	return &loadedModel{m, f}, nil
}

// Close closes the model, then its file.
func (m *loadedModel) Close() error { return errors.Join(m.Model.Close(), m.file.Close()) }

// named puts the model's name before an error.
func named(path string, err error) error {
	if path == "" {
		path = demo.Name
	}
	return fmt.Errorf("%s: %w", path, err)
}

// warnContext tells of a context that is not the trained one.
func warnContext(p *model.Plan, asked int) {
	trained, have := p.Spec.TrainedContext, p.Options.Context
	switch {
	case asked > trained:
		slog.Warn("the context is longer than the model was trained for: its text may get worse beyond that", "ctx", asked, "trained", trained)
	case asked == 0 && have < trained:
		slog.Warn("the context is shorter than the model was trained for, to fit into memory", "ctx", have, "trained", trained)
	}
}
