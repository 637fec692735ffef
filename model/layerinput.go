package model

import (
	"math"

	"gorun/compute"
	"gorun/pager"
)

// layerInputs makes what each layer will be given of every token besides the
// residual stream: rows of a table of their own, blended with a projection of
// the embedding x. All layers stand side by side.
func (p *pass) layerInputs() error {
	d, s, w := p.d, p.d.spec, &p.d.weights.inputs
	cols := len(s.Layers) * s.LayerInput
	all, projected := view(d.scratch.inputs, p.rows, cols), view(d.scratch.projected, p.rows, cols)
	if err := p.lookUp(all, w.table, func(c piece, i int) int { return int(c.tokens[i]) }); err != nil {
		return err
	}
	if err := p.linear(projected, p.x, w.project); err != nil {
		return err
	}
	d.stream.Scale(all, float32(math.Sqrt(float64(s.LayerInput))))
	d.stream.Scale(projected, float32(1/math.Sqrt(float64(s.Width))))
	d.stream.Norm(projected, projected, w.norm)
	d.stream.AddScaled(all, projected, 1)
	d.stream.Scale(all, float32(1/math.Sqrt2))
	return nil
}

// addLayerInput adds the input of layer i, gated by the residual stream.
func (p *pass) addLayerInput(i int, w *layerInputWeights) error {
	d, n := p.d, p.d.spec.LayerInput
	gate := view(d.scratch.gateUp, p.rows, n)
	if err := p.linear(gate, p.x, w.gate); err != nil {
		return err
	}
	all := view(d.scratch.inputs, p.rows, len(d.spec.Layers)*n)
	d.stream.GatedUnit(gate, gate, all.ColsAt(i*n, n), compute.Gated{F: compute.GELU})
	if err := p.linear(p.branch, gate, w.project); err != nil {
		return err
	}
	d.stream.Norm(p.branch, p.branch, w.post)
	d.stream.AddScaled(p.x, p.branch, 1)
	return nil
}

// inputWeights make the inputs of all layers.
type inputWeights struct {
	table   *pager.Matrix
	project linear
	norm    compute.Norm
}

// layerInputWeights are those that a layer takes its own in with.
type layerInputWeights struct {
	gate, project linear
	post          compute.Norm
}

func (b *binder) inputs(s *Spec, w *inputWeights) {
	cols := len(s.Layers) * s.LayerInput
	w.table = b.matrix("per_layer_token_embd.weight", s.Vocab, cols)
	b.linear(&w.project, "per_layer_model_proj", cols, s.Width)
	b.norm(&w.norm, s, "per_layer_proj_norm", s.LayerInput)
}

func (b *binder) layerInput(s *Spec, w *layerInputWeights, name func(string) string) {
	b.linear(&w.gate, name("inp_gate"), s.LayerInput, s.Width)
	b.linear(&w.project, name("proj"), s.Width, s.LayerInput)
	b.norm(&w.post, s, name("post_norm"), s.Width)
}
