package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"gorun/internal/units"
	"gorun/kvtier"
	"gorun/model"
	"gorun/tensor"
)

func kvTypes() []tensor.Type { return kvtier.Types() }

type planCommand struct {
	Model string     `arg:"" optional:"" help:"Model file (GGUF). Default: the embedded model."`
	JSON  bool       `name:"json" help:"Print JSON."`
	Disk  units.Size `name:"disk-speed" placeholder:"SIZE" help:"Bytes that the disk reads in a second, to predict the speed of paged weights. Default: what bench --disk has measured."`
	engineFlags
}

func (planCommand) Help() string {
	return "Prints a line for each thing that takes memory. Exit code 3: the sum does not fit.\n\nExample:\n  gorun plan model.gguf --ctx 32768 --kv f16 --memory 12GiB"
}

// planReport is the JSON of a plan.
type planReport struct {
	Arch      string       `json:"architecture"`
	Context   int          `json:"context"`
	Batch     int          `json:"batch"`
	KV        string       `json:"kv"`
	KVBlock   int          `json:"kv_block"`
	PerToken  int64        `json:"kv_bytes_per_token"`
	State     int64        `json:"state_bytes_per_sequence"`
	Padding   int64        `json:"kv_padding_per_token"`
	Geometry  kvPlan       `json:"kv_geometry"`
	Items     []model.Item `json:"items"`
	Total     int64        `json:"total_bytes"`
	Available int64        `json:"available_bytes"`
	Fits      bool         `json:"fits"`
	Paging    *pagingPlan  `json:"paging,omitempty"`
}

func (c *planCommand) Run(s *streams) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	f, err := openFile(c.Model)
	if err != nil {
		return err
	}
	defer f.Close()
	p, err := model.NewPlan(f, o)
	if err != nil {
		return named(c.Model, err)
	}
	warnContext(p, o.Context)
	fit := p.Check()
	r := planReport{
		Arch: p.Spec.Arch, Context: p.Options.Context, Batch: p.Options.Batch, KV: p.Options.KV.String(), KVBlock: p.Geometry.BlockTokens,
		PerToken: p.Geometry.BytesPerToken(), State: p.Geometry.StateBytes(), Padding: p.Geometry.Waste(),
		Geometry: planKV(p), Items: p.Items, Total: p.Bytes(), Available: p.Options.Memory, Fits: fit == nil,
	}
	if r.Paging, err = newPagingPlan(p, c.Model, float64(c.Disk)); err != nil {
		return err
	}
	if c.JSON {
		if err := writeJSON(s.out, r); err != nil {
			return err
		}
		return fit
	}
	t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, item := range r.Items {
		fmt.Fprintf(t, "%s\t%v\t%s\n", item.Name, units.Size(item.Bytes), item.Detail)
	}
	verdict := "fits"
	if fit != nil {
		verdict = "does not fit"
	}
	available := "unknown"
	if r.Available > 0 {
		available = units.Size(r.Available).String()
	}
	fmt.Fprintf(t, "total\t%v\t%s: %s available\n", units.Size(r.Total), verdict, available)
	if r.Paging != nil {
		r.Paging.print(t)
	}
	fmt.Fprintln(t)
	r.Geometry.print(t)
	if err := t.Flush(); err != nil {
		return err
	}
	return fit
}

// writeJSON prints v for people and programs.
func writeJSON(w interface{ Write([]byte) (int, error) }, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
