package main

import (
	"fmt"
	"io"
	"strings"

	"gorun/internal/units"
	"gorun/model"
)

// kvPlan is the KV cache of a plan in numbers.
type kvPlan struct {
	BlockTokens int           `json:"block_tokens"`
	BlockBytes  int64         `json:"block_bytes"` // of all layers that keep all positions
	Layers      []kvLayerPlan `json:"layers"`
	Cold        string        `json:"cold,omitempty"` // directory
	ColdBytes   int64         `json:"cold_bytes,omitempty"`
}

// kvLayerPlan is layers with the same geometry.
type kvLayerPlan struct {
	Layers  []int  `json:"layers"`
	Keys    string `json:"keys,omitempty"`
	Values  string `json:"values,omitempty"`
	Heads   int    `json:"heads,omitempty"`
	KDim    int    `json:"key_dim,omitempty"`
	VDim    int    `json:"value_dim,omitempty"`
	KRow    int64  `json:"key_row_bytes,omitempty"`
	VRow    int64  `json:"value_row_bytes,omitempty"` // 0: values are in keys
	Page    int64  `json:"page_bytes,omitempty"`
	Padding int64  `json:"padding_per_token,omitempty"`
	Window  int    `json:"window,omitempty"`
	State   int64  `json:"state_bytes,omitempty"`
}

func planKV(p *model.Plan) kvPlan {
	g := p.Geometry
	r := kvPlan{BlockTokens: g.BlockTokens, BlockBytes: g.BlockBytes(), Layers: []kvLayerPlan{}}
	for i, l := range g.Layers {
		x := kvLayerPlan{Window: l.Window, State: l.State}
		if l.Holds() {
			x.Keys, x.Values, x.Heads, x.KDim, x.VDim = l.KType.String(), l.VType.String(), l.Heads, l.KDim, l.VDim
			x.KRow, x.VRow, x.Page, x.Padding = l.KRow(), l.VRow(), l.PageBytes(), l.Waste()
		} else if l.State == 0 {
			continue // it uses the keys of another
		}
		if at := r.find(x); at >= 0 {
			r.Layers[at].Layers = append(r.Layers[at].Layers, i)
			continue
		}
		x.Layers = []int{i}
		r.Layers = append(r.Layers, x)
	}
	if c := p.Options.KVCold; c != nil {
		r.Cold, r.ColdBytes = c.Dir, c.Bytes
	}
	return r
}

// find is the index of layers like x; -1 if there are none.
func (r kvPlan) find(x kvLayerPlan) int {
	for i, l := range r.Layers {
		x.Layers = l.Layers
		if fmt.Sprint(l) == fmt.Sprint(x) {
			return i
		}
	}
	return -1
}

// print writes the geometry, a line for each kind of layer, and the cold tier.
func (r kvPlan) print(w io.Writer) {
	for _, l := range r.Layers {
		var parts []string
		if l.Page > 0 {
			values := fmt.Sprintf("values %d B of %s", l.VRow, l.Values)
			if l.VRow == 0 {
				values = "values in them"
			}
			parts = append(parts, fmt.Sprintf("row: keys %d B of %s, %s; page of %d tokens: %v", l.KRow, l.Keys, values, r.BlockTokens, units.Size(l.Page)))
		}
		if l.Padding > 0 {
			parts = append(parts, fmt.Sprintf("%d B a token are padding", l.Padding))
		}
		if l.Window > 0 {
			parts = append(parts, fmt.Sprintf("window of %d", l.Window))
		}
		if l.State > 0 {
			parts = append(parts, fmt.Sprintf("state of %v", units.Size(l.State)))
		}
		fmt.Fprintf(w, "kv layers\t%d\t%s: %s\n", len(l.Layers), ranges(l.Layers), strings.Join(parts, "; "))
	}
	if r.BlockBytes > 0 {
		fmt.Fprintf(w, "kv block\t%v\t%d tokens of all layers without a window\n", units.Size(r.BlockBytes), r.BlockTokens)
	}
	if r.Cold != "" {
		fmt.Fprintf(w, "kv cold\t%v\ton disk, in %s\n", units.Size(r.ColdBytes), r.Cold)
	}
}

// ranges writes numbers in ascending order, "0-3, 7" say.
func ranges(list []int) string {
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, fmt.Sprint(list[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", list[i], list[j]))
		}
		i = j + 1
	}
	if len(parts) > 6 {
		parts = append(parts[:5], "...")
	}
	return strings.Join(parts, ", ")
}
