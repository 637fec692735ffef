package model

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unsafe"

	"gorun/compute"
	"gorun/gguf"
	"gorun/pager"
	"gorun/tensor"
)

// weights are the bound tensors of a model.
type weights struct {
	catalog pager.Catalog
	vectors []vector

	embed      *pager.Matrix
	inputs     inputWeights
	positions  *pager.Matrix
	types      compute.Matrix
	embedNorm  compute.Norm
	outputNorm compute.Norm
	head       linear
	layers     []layerWeights
}

type layerWeights struct {
	attnNorm, attnPost, ffnNorm, ffnPost compute.Norm

	qkv          projections // query (with its gate, if full), key, value
	qNorm, kNorm compute.Norm
	vNorm        compute.Norm // all ones
	gate         linear       // of heads
	sinks        compute.Matrix
	output       linear
	latent       latentWeights
	delta        deltaWeights
	conv         shortConvWeights
	input        layerInputWeights
	outScale     compute.Matrix

	dense      block
	router     linear
	routerBias compute.Matrix
	experts    []expert
	shared     block
	sharedGate linear
	// Biases of experts, one row for each, and a factor for each.
	gateBias, upBias, downBias compute.Matrix
	downScale                  compute.Matrix
	// Norms of a dense block beside experts.
	densePost, routerNorm, expertsNorm, expertsPost compute.Norm
}

// block is a feed-forward block.
type block struct {
	gateUp projections // gate (if gated), up
	down   linear
}

// latentWeights are those of latent attention; keyUp and valueUp have a matrix
// for each head.
type latentWeights struct {
	queryDown      linear
	queryNorm      compute.Norm
	query          linear
	kvDown         linear
	kvNorm         compute.Norm
	keyUp, valueUp []*pager.Matrix
}

// deltaWeights are those of a gated delta net.
type deltaWeights struct {
	qkv, z      linear
	alpha, beta linear // alpha is nil if beta holds both
	conv        compute.Matrix
	a, dtBias   compute.Matrix
	norm        compute.Norm
	output      linear
}

// projections are matrices with a common input, whose results stand side by
// side: one matrix or several.
type projections []linear

type expert struct {
	gateUp []*pager.Matrix
	down   *pager.Matrix
}

// matrices are those of the expert, in the order of their use.
func (x expert) matrices() []*pager.Matrix { return append(slices.Clip(x.gateUp), x.down) }

// bind finds the tensors of a description in the file.
func bind(s *Spec, f *gguf.File) (*weights, error) {
	if len(f.Tensors()) == 0 {
		return nil, errors.New("the file holds a vocabulary and no weights")
	}
	if s.Extra > 0 && !hasLayer(f, 0) {
		return nil, fmt.Errorf("the file holds only the %d layers that predict further tokens (a draft), not the model that they belong to", s.Extra)
	}
	b := &binder{file: f, used: map[string]bool{}}
	w := &weights{layers: make([]layerWeights, len(s.Layers))}
	b.ends(s, w)
	for i := range s.Layers {
		b.layer(s, &w.layers[i], i)
	}
	for _, r := range s.Ropes {
		if r.Factors != "" {
			b.factors(r)
		}
	}
	if err := b.finish(func(name string) bool { return ignored(s, name) }); err != nil {
		return nil, err
	}
	w.catalog, w.vectors = b.catalog, b.vectors
	w.uses()
	return w, nil
}

// uses says how matrices are used, other than whole in every pass.
func (w *weights) uses() {
	for _, table := range []*pager.Matrix{w.embed, w.positions, w.inputs.table} {
		if table != nil {
			table.Table = true
			if table != w.head.w {
				table.Use = pager.LookedUp
			}
		}
	}
	for i := range w.layers {
		for _, x := range w.layers[i].experts {
			for _, m := range x.matrices() {
				m.Use = pager.Routed
			}
		}
	}
}

// ends binds what comes before the layers and after them.
func (b *binder) ends(s *Spec, w *weights) {
	w.embed = b.matrix("token_embd.weight", s.Vocab, s.Width)
	if s.Positions > 0 {
		w.positions = b.matrix("position_embd.weight", s.Positions, s.Width)
	}
	if s.TokenTypes > 0 {
		b.vector(&w.types, "token_types.weight", s.Width, s.TokenTypes)
	}
	if s.EmbedNorm {
		b.norm(&w.embedNorm, s, "token_embd_norm", s.Width)
	}
	if s.LayerInput > 0 {
		b.inputs(s, &w.inputs)
	}
	switch {
	case s.Layers[len(s.Layers)-1].Norms == NormOfSum:
	case b.has("output_norm.weight"):
		b.norm(&w.outputNorm, s, "output_norm", s.Width)
	default: // as LFM2's files call it
		b.norm(&w.outputNorm, s, "token_embd_norm", s.Width)
	}
	switch {
	case s.Bidirectional:
	case b.has("output.weight"):
		b.linear(&w.head, "output", s.Vocab, s.Width)
	default:
		w.head.w = w.embed
		b.optional(&w.head.bias, "output.bias", s.Vocab)
	}
}

// hasLayer reports whether the file has any tensor of layer i.
func hasLayer(f *gguf.File, i int) bool {
	return slices.ContainsFunc(f.Tensors(), func(t gguf.Tensor) bool { return strings.HasPrefix(t.Name, layerTensor(i, "")) })
}

// Predictors is the number of layers that predict further tokens, and whether
// the file has their tensors; they may be in another file.
func (s *Spec) Predictors(f *gguf.File) (n int, present bool) {
	return s.Extra, s.Extra > 0 && hasLayer(f, len(s.Layers))
}

// factors checks the tensor of a RoPE, which the host makes tables of.
func (b *binder) factors(r Rope) {
	if t, ok := b.file.Tensor(r.Factors); !ok || t.Elements() < int64(r.Dims/2) || !t.Type.CanDequantize() {
		b.fail(fmt.Errorf("tensor %q with %d factors of RoPE is missing or too short", r.Factors, r.Dims/2))
	}
	b.used[r.Factors] = true
}

// ignored names tensors that a file may hold without being used: the other
// of two sets of RoPE factors, tables that old converters left, the head of a
// classifier, that of a model which makes embeddings, layers that predict further tokens, and forms of a tensor that
// the file has in another form as well.
func ignored(s *Spec, name string) bool {
	var layer int
	if n, _ := fmt.Sscanf(name, "blk.%d.", &layer); n == 1 && layer >= len(s.Layers) && layer < len(s.Layers)+s.Extra {
		return true
	}
	for _, prefix := range []string{"cls.", "rope_factors_", "rope_freqs."} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	if s.Bidirectional && strings.HasPrefix(name, "output.") {
		return true
	}
	for _, suffix := range []string{".attn_rot_embd", ".attention.rotary_emb.inv_freq"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

func (b *binder) layer(s *Spec, w *layerWeights, i int) {
	l := s.Layers[i]
	name := func(part string) string { return layerTensor(i, part) }

	b.norms(s, w, l, name)
	switch {
	case l.Delta.ValueHeads > 0:
		b.delta(s, &w.delta, l.Delta, name)
	case l.Conv.Kernel > 0:
		b.shortConv(s, &w.conv, l.Conv, name)
	case l.Attention.Latent.Rank > 0:
		b.latent(s, w, l.Attention, name)
	default:
		b.attention(s, w, l.Attention, name)
	}
	if l.FFN.Experts.Count > 0 {
		b.experts(s, w, l.FFN.Experts, name)
	}
	if l.FFN.Experts.Count == 0 || l.FFN.Beside {
		b.dense(s, &w.dense, l.FFN.Block, name, "")
	}
	if l.FFN.Beside {
		b.vector(&w.routerNorm.Weight, name("ffn_gate_inp.scale"), s.Width)
		w.routerNorm.Eps = s.Eps
		b.norm(&w.densePost, s, name("post_ffw_norm_1"), s.Width)
		b.norm(&w.expertsNorm, s, name("pre_ffw_norm_2"), s.Width)
		b.norm(&w.expertsPost, s, name("post_ffw_norm_2"), s.Width)
	}
	if s.LayerInput > 0 {
		b.layerInput(s, &w.input, name)
	}
	if l.OutScale {
		b.vector(&w.outScale, name("layer_output_scale.weight"), 1)
	}
}

// norms binds those of a layer and its branches.
func (b *binder) norms(s *Spec, w *layerWeights, l Layer, name func(string) string) {
	attn, ffn := "attn_norm", "ffn_norm"
	switch {
	case l.OwnNorm && b.has(name("attn_norm_2.weight")): // Falcon's
		attn, ffn = "attn_norm_2", "attn_norm"
	case !b.has(name("ffn_norm.weight")):
		ffn = "post_attention_norm"
	}
	if l.Norms == NormBefore || l.Norms == NormBoth {
		b.norm(&w.attnNorm, s, name(attn), s.Width)
		if !l.Parallel || l.OwnNorm {
			b.norm(&w.ffnNorm, s, name(ffn), s.Width)
		}
	}
	switch l.Norms {
	case NormBoth, NormAfter:
		b.norm(&w.attnPost, s, name("post_attention_norm"), s.Width)
		b.norm(&w.ffnPost, s, name("post_ffw_norm"), s.Width)
	case NormOfSum:
		b.norm(&w.attnPost, s, name("attn_output_norm"), s.Width)
		b.norm(&w.ffnPost, s, name("layer_output_norm"), s.Width)
	}
}

func (b *binder) attention(s *Spec, w *layerWeights, a Attention, name func(string) string) {
	q, k, v := a.Heads*a.KDim, a.KVHeads*a.KDim, a.KVHeads*a.VDim
	if a.Gate == GateFull {
		q *= 2
	}
	parts, rows := []string{name("attn_q"), name("attn_k"), name("attn_v")}, []int{q, k, v}
	switch {
	case a.KVBack > 0:
		parts = parts[:1]
		for _, part := range []string{"attn_k", "attn_v", "attn_k_norm"} { // files may have them all the same
			b.used[name(part+".weight")] = true
		}
	case a.KeyAsValue:
		parts = parts[:2]
	case b.has(name("attn_qkv.weight")):
		parts, rows = []string{name("attn_qkv")}, []int{q + k + v}
	}
	b.projections(&w.qkv, parts, rows[:len(parts)], s.Width)
	if a.ValueNorm {
		b.ones(&w.vNorm.Weight, a.VDim)
		w.vNorm.Eps = s.Eps
	}
	switch a.QKNorm {
	case QKPerHead, QKRotated:
		b.headNorm(&w.qNorm, s, name("attn_q_norm"), a.KDim, a.Heads)
		if a.KVBack == 0 {
			b.headNorm(&w.kNorm, s, name("attn_k_norm"), a.KDim, a.KVHeads)
		}
	case QKWhole:
		b.norm(&w.qNorm, s, name("attn_q_norm"), q)
		b.norm(&w.kNorm, s, name("attn_k_norm"), k)
	}
	switch a.Gate {
	case GatePerHead:
		b.linear(&w.gate, name("attn_gate"), a.Heads, s.Width)
	case GateOwn:
		b.linear(&w.gate, name("attn_gate"), a.Heads*a.VDim, s.Width)
	}
	if a.Sinks {
		b.vector(&w.sinks, name("attn_sinks.weight"), a.Heads)
	}
	b.linear(&w.output, name("attn_output"), s.Width, a.Heads*a.VDim)
}

func (b *binder) latent(s *Spec, w *layerWeights, a Attention, name func(string) string) {
	l, lw := a.Latent, &w.latent
	q := a.Heads * (l.NoPE + l.RoPE)
	if l.QRank > 0 {
		b.linear(&lw.queryDown, name("attn_q_a"), l.QRank, s.Width)
		b.norm(&lw.queryNorm, s, name("attn_q_a_norm"), l.QRank)
		b.linear(&lw.query, name("attn_q_b"), q, l.QRank)
	} else {
		b.linear(&lw.query, name("attn_q"), q, s.Width)
	}
	b.linear(&lw.kvDown, name("attn_kv_a_mqa"), l.Rank+l.RoPE, s.Width)
	b.norm(&lw.kvNorm, s, name("attn_kv_a_norm"), l.Rank)
	lw.keyUp = b.stack(name("attn_k_b.weight"), l.Rank, l.NoPE, a.Heads)
	lw.valueUp = b.stack(name("attn_v_b.weight"), l.VDim, l.Rank, a.Heads)
	b.linear(&w.output, name("attn_output"), s.Width, a.Heads*l.VDim)
}

func (b *binder) delta(s *Spec, w *deltaWeights, d Delta, name func(string) string) {
	keys, values := d.KeyHeads*d.KeyDim, d.ValueHeads*d.ValueDim
	b.linear(&w.qkv, name("attn_qkv"), 2*keys+values, s.Width)
	b.linear(&w.z, name("attn_gate"), values, s.Width)
	if d.Fused {
		b.linear(&w.beta, name("ssm_ba"), 2*d.ValueHeads, s.Width)
		b.used[name("ssm_in.weight")] = true // holds attn_qkv and attn_gate again, in another order
	} else {
		b.linear(&w.alpha, name("ssm_alpha"), d.ValueHeads, s.Width)
		b.linear(&w.beta, name("ssm_beta"), d.ValueHeads, s.Width)
	}
	b.vector(&w.conv, name("ssm_conv1d.weight"), d.Kernel, 2*keys+values)
	b.vector(&w.a, name("ssm_a"), d.ValueHeads)
	b.vector(&w.dtBias, name("ssm_dt.bias"), d.ValueHeads)
	b.norm(&w.norm, s, name("ssm_norm"), d.ValueDim)
	b.linear(&w.output, name("ssm_out"), s.Width, values)
}

func (b *binder) projections(p *projections, names []string, rows []int, cols int) {
	*p = make(projections, len(names))
	for i, name := range names {
		b.linear(&(*p)[i], name, rows[i], cols)
	}
}

// dense binds a block whose tensors end in suffix.
func (b *binder) dense(s *Spec, w *block, f Block, name func(string) string, suffix string) {
	gate, up := name("ffn_gate"+suffix), name("ffn_up"+suffix)
	switch {
	case !f.Gated:
		b.projections(&w.gateUp, []string{up}, []int{f.Hidden}, s.Width)
	case b.has(gate + ".weight"):
		b.projections(&w.gateUp, []string{gate, up}, []int{f.Hidden, f.Hidden}, s.Width)
	default: // fused, the gate first
		b.projections(&w.gateUp, []string{up}, []int{2 * f.Hidden}, s.Width)
	}
	b.linear(&w.down, name("ffn_down"+suffix), s.Width, f.Hidden)
}

func (b *binder) experts(s *Spec, w *layerWeights, e Experts, name func(string) string) {
	b.linear(&w.router, name("ffn_gate_inp"), e.Count, s.Width)
	if e.Bias {
		b.vector(&w.routerBias, name("exp_probs_b.bias"), e.Count)
	}
	if e.Shared.Hidden > 0 {
		b.dense(s, &w.shared, e.Shared, name, "_shexp")
		if e.SharedGate {
			b.linear(&w.sharedGate, name("ffn_gate_inp_shexp"), 1, s.Width)
		}
	}
	for _, part := range []string{"ffn_gate", "ffn_up", "ffn_down"} {
		b.used[name(part+".weight")] = true // a file may have a dense block beside the experts
	}
	b.optional(&w.gateBias, name("ffn_gate_exps.bias"), e.Hidden, e.Count)
	b.optional(&w.upBias, name("ffn_up_exps.bias"), e.Hidden, e.Count)
	b.optional(&w.downBias, name("ffn_down_exps.bias"), s.Width, e.Count)
	b.optional(&w.downScale, name("ffn_down_exps.scale"), e.Count)
	var inputs [][]*pager.Matrix
	if b.has(name("ffn_gate_up_exps.weight")) {
		inputs = [][]*pager.Matrix{b.stack(name("ffn_gate_up_exps.weight"), 2*e.Hidden, s.Width, e.Count)}
	} else {
		inputs = [][]*pager.Matrix{
			b.stack(name("ffn_gate_exps.weight"), e.Hidden, s.Width, e.Count),
			b.stack(name("ffn_up_exps.weight"), e.Hidden, s.Width, e.Count),
		}
	}
	down := b.stack(name("ffn_down_exps.weight"), s.Width, e.Hidden, e.Count)
	if b.err != nil {
		return
	}
	w.experts = make([]expert, e.Count)
	for i := range w.experts {
		w.experts[i].down = down[i]
		for _, input := range inputs {
			w.experts[i].gateUp = append(w.experts[i].gateUp, input[i])
		}
	}
}

// vectorBytes is the memory of all vectors, each on a cache line of its own.
func (w *weights) vectorBytes() int64 {
	var n int64
	for _, v := range w.vectors {
		n += v.bytes()
	}
	return n
}

func (v vector) bytes() int64 {
	return (4*int64(v.view.Rows)*int64(v.view.Cols) + 63) &^ 63
}

// loadVectors reads the vectors into buf, as float32.
func (w *weights) loadVectors(f *gguf.File, stream compute.Stream, buf compute.Buffer) error {
	var off int64
	for _, v := range w.vectors {
		values := slices.Repeat([]float32{1}, v.view.Cols)
		if !v.ones {
			var err error
			if values, err = readFloats(f, v.tensor); err != nil {
				return err
			}
		}
		v.view.Buf, v.view.Off = buf, off
		stream.Write(v.view.Span(), floatBytes(values))
		off += v.bytes()
	}
	return stream.Sync()
}

// readFloats reads a whole tensor as float32.
func readFloats(f *gguf.File, t gguf.Tensor) ([]float32, error) {
	raw := make([]byte, t.Size)
	if _, err := io.ReadFull(f.Section(t), raw); err != nil {
		return nil, fmt.Errorf("read tensor %q: %w", t.Name, err)
	}
	values := make([]float32, t.Elements())
	tensor.Dequantize(t.Type, values, raw)
	return values, nil
}

// floatBytes is the memory of values.
func floatBytes(values []float32) []byte {
	if len(values) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 4*len(values))
}
