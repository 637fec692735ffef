package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"gorun/gguf"
	"gorun/internal/units"
	"gorun/kvtier"
	"gorun/model"
	"gorun/model/tokenizer"
	"gorun/tensor"
)

type inspectCommand struct {
	Model string `arg:"" optional:"" help:"Model file (GGUF). Default: the embedded model."`
	JSON  bool   `name:"json" help:"Print JSON."`
	Full  bool   `help:"Print long arrays and texts whole."`
	Sums  bool   `name:"checksums" help:"Read the whole model and write the checksums of its pages beside it, for --verify-weights."`
}

func (inspectCommand) Help() string {
	return "Reads the header only, without --checksums.\n\nExamples:\n  gorun inspect model.gguf\n  gorun inspect model.gguf --json | jq .runs\n  gorun inspect model.gguf --checksums && gorun run model.gguf --weights paged --verify-weights"
}

// inspection is what a file holds, and the JSON of inspect.
type inspection struct {
	Path      string         `json:"path"`
	Version   uint32         `json:"version"`
	Alignment int64          `json:"alignment"`
	Parts     []partReport   `json:"parts"`
	Metadata  []keyReport    `json:"metadata"`
	Tensors   []tensorReport `json:"tensors"`
	Types     []typeReport   `json:"types"`
	Elements  int64          `json:"elements"`
	Bytes     int64          `json:"tensor_bytes"`
	KV        []kvReport     `json:"kv"`
	Runs      bool           `json:"runs"`
	Reasons   []string       `json:"reasons,omitempty"` // why it does not run
	Text      string         `json:"text,omitempty"`    // why text is not possible
	Predict   *predictReport `json:"multi_token_prediction,omitempty"`
}

type partReport struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

type keyReport struct {
	Key   string `json:"key"`
	Type  string `json:"type"`
	Len   *int   `json:"length,omitempty"` // of an array
	Value any    `json:"value"`
}

type tensorReport struct {
	Name   string  `json:"name"`
	Type   string  `json:"type"`
	Dims   []int64 `json:"dims"`
	Part   int     `json:"part"`
	Offset int64   `json:"offset"`
	Bytes  int64   `json:"bytes"`
}

type typeReport struct {
	Type     string  `json:"type"`
	Tensors  int     `json:"tensors"`
	Elements int64   `json:"elements"`
	Bytes    int64   `json:"bytes"`
	Share    float64 `json:"share"` // of all tensor bytes
}

// predictReport tells of layers that predict further tokens. They are not part
// of the trunk and not used yet.
type predictReport struct {
	Layers  int  `json:"layers"`
	Present bool `json:"present"` // their tensors are in this file
}

type kvReport struct {
	Type     string `json:"type"`
	PerToken int64  `json:"bytes_per_token"`
	Padding  int64  `json:"padding_per_token"`
}

func (c *inspectCommand) Run(s *streams, in *interrupts) error {
	f, err := openFile(c.Model)
	if err != nil {
		return err
	}
	defer f.Close()
	if c.Sums {
		if err := writeChecksums(f, s, in); err != nil {
			return named(c.Model, err)
		}
		return nil
	}
	r, err := inspect(f, c.Full)
	if err != nil {
		return named(c.Model, err)
	}
	if c.JSON {
		return writeJSON(s.out, r)
	}
	return r.print(s.out)
}

func inspect(f *gguf.File, full bool) (*inspection, error) {
	r := &inspection{Path: f.Parts()[0].Path, Version: f.Version(), Alignment: f.Alignment(), KV: []kvReport{}}
	for _, p := range f.Parts() {
		r.Parts = append(r.Parts, partReport{p.Path, p.Size})
	}
	if err := r.readMetadata(f.Metadata(), full); err != nil {
		return nil, err
	}
	r.readTensors(f.Tensors())
	r.judge(f)
	return r, nil
}

// Arrays and texts longer than these are cut, unless all is asked for.
const (
	shownElements = 8
	shownBytes    = 200
)

func (r *inspection) readMetadata(m *gguf.Metadata, full bool) error {
	for key, v := range m.All() {
		k := keyReport{Key: key, Type: v.Type().String()}
		if v.Type() == gguf.TypeArray {
			n := v.Len()
			k.Len, k.Type = &n, "["+v.ElemType().String()+"]"
		}
		value, err := v.Any()
		if err != nil {
			return fmt.Errorf("key %q: %w", key, err)
		}
		if !full {
			value = shorten(value)
		}
		k.Value = value
		r.Metadata = append(r.Metadata, k)
	}
	return nil
}

// shorten cuts a long array or text.
func shorten(value any) any {
	switch v := value.(type) {
	case string:
		if len(v) > shownBytes {
			return strings.ToValidUTF8(v[:shownBytes], "") + "…"
		}
		return v
	case []string:
		return cut(v)
	case []bool:
		return cut(v)
	case []int8:
		return cut(v)
	case []uint16:
		return cut(v)
	case []int16:
		return cut(v)
	case []uint32:
		return cut(v)
	case []int32:
		return cut(v)
	case []uint64:
		return cut(v)
	case []int64:
		return cut(v)
	case []float32:
		return cut(v)
	case []float64:
		return cut(v)
	case []any:
		return cut(v)
	}
	return value
}

func cut[T any](list []T) []T { return list[:min(len(list), shownElements)] }

func (r *inspection) readTensors(tensors []gguf.Tensor) {
	byType := map[tensor.Type]*typeReport{}
	r.Tensors = []tensorReport{}
	for _, t := range tensors {
		r.Tensors = append(r.Tensors, tensorReport{t.Name, t.Type.String(), t.Dims, t.Part, t.Offset, t.Size})
		h := byType[t.Type]
		if h == nil {
			h = &typeReport{Type: t.Type.String()}
			byType[t.Type] = h
		}
		h.Tensors++
		h.Elements += t.Elements()
		h.Bytes += t.Size
		r.Elements += t.Elements()
		r.Bytes += t.Size
	}
	r.Types = []typeReport{}
	for _, h := range byType {
		h.Share = float64(h.Bytes) / float64(max(r.Bytes, 1))
		r.Types = append(r.Types, *h)
	}
	slices.SortFunc(r.Types, func(a, b typeReport) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Type, b.Type)) })
}

// judge finds out whether this build runs the model.
func (r *inspection) judge(f *gguf.File) {
	if _, err := tokenizer.New(f.Metadata()); err != nil {
		r.Text = err.Error()
	}
	spec, err := model.Describe(f, 0)
	if err == nil {
		for _, t := range kvtier.Types() {
			if g, err := kvtier.NewGeometry(spec.Shapes(), t, t, 0); err == nil {
				r.KV = append(r.KV, kvReport{t.String(), g.BytesPerToken(), g.Waste()})
			}
		}
		if n, present := spec.Predictors(f); n > 0 {
			r.Predict = &predictReport{n, present}
		}
		_, err = model.NewPlan(f, model.Options{})
	}
	if err != nil {
		r.Reasons = append(r.Reasons, err.Error())
	}
	r.Runs = err == nil
}

func (r *inspection) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range r.Parts {
		fmt.Fprintf(t, "file\t%s\t%v\n", p.Path, units.Size(p.Bytes))
	}
	fmt.Fprintf(t, "format\tGGUF v%d\taligned to %d bytes\n", r.Version, r.Alignment)
	fmt.Fprintf(t, "size\t%.4g parameters\t%v in %d tensors\n", float64(r.Elements), units.Size(r.Bytes), len(r.Tensors))
	if r.Runs {
		fmt.Fprintf(t, "runs\tyes\n")
	} else {
		fmt.Fprintf(t, "runs\tno: %s\n", strings.Join(r.Reasons, "; "))
	}
	if r.Text != "" {
		fmt.Fprintf(t, "text\tno: %s\n", r.Text)
	}
	if m := r.Predict; m != nil {
		where := "their tensors are not in this file"
		if m.Present {
			where = "not used"
		}
		fmt.Fprintf(t, "predictors\t%d layers for multi-token prediction: %s\n", m.Layers, where)
	}
	for _, k := range r.KV {
		fmt.Fprintf(t, "kv %s\t%v a token", k.Type, units.Size(k.PerToken))
		if k.Padding > 0 {
			fmt.Fprintf(t, ", %v of it padding", units.Size(k.Padding))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}

	fmt.Fprintln(w, "\nTYPES")
	for _, h := range r.Types {
		fmt.Fprintf(t, "%s\t%d tensors\t%v\t%.1f %%\n", h.Type, h.Tensors, units.Size(h.Bytes), 100*h.Share)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nMETADATA")
	for _, k := range r.Metadata {
		fmt.Fprintf(t, "%s\t%s\t%s\n", k.Key, k.Type, k.text())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nTENSORS")
	for _, x := range r.Tensors {
		fmt.Fprintf(t, "%s\t%s\t%v\t%v\n", x.Name, x.Type, x.Dims, units.Size(x.Bytes))
	}
	return t.Flush()
}

// text is the value on one line.
func (k keyReport) text() string {
	if s, ok := k.Value.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	if k.Len == nil {
		return fmt.Sprint(k.Value)
	}
	text := fmt.Sprintf("%d: %q", *k.Len, k.Value)
	if strings.HasPrefix(k.Type, "[string") {
		return text
	}
	return fmt.Sprintf("%d: %v", *k.Len, k.Value)
}
