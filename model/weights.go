package model

import (
	"errors"
	"fmt"
	"io"
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
	outputNorm compute.Norm
	head       linear
	layers     []layerWeights
}

type layerWeights struct {
	attnNorm, attnPost, ffnNorm, ffnPost compute.Norm
	qkv                                  projections // query, key, value
	qNorm, kNorm                         compute.Norm
	output                               linear
	gateUp                               projections // gate (if gated), up
	down                                 linear
	router                               linear
	experts                              []expert
}

// projections are matrices with a common input, whose results stand side by
// side: one matrix or several.
type projections []linear

type expert struct {
	gateUp []*pager.Matrix
	down   *pager.Matrix
}

// bind finds the tensors of a description in the file.
func bind(s *Spec, f *gguf.File) (*weights, error) {
	if len(f.Tensors()) == 0 {
		return nil, errors.New("the file holds a vocabulary and no weights")
	}
	b := &binder{file: f, used: map[string]bool{}}
	w := &weights{layers: make([]layerWeights, len(s.Layers))}
	w.embed = b.matrix("token_embd.weight", s.Vocab, s.Width)
	b.norm(&w.outputNorm, s, "output_norm", s.Width)
	if b.has("output.weight") {
		b.linear(&w.head, "output", s.Vocab, s.Width)
	} else {
		w.head.w = w.embed
		b.optional(&w.head.bias, "output.bias", s.Vocab)
	}
	for i := range s.Layers {
		b.layer(s, &w.layers[i], i)
	}
	for _, r := range s.Ropes {
		if r.Factors != "" {
			b.take(r.Factors, r.Dims/2) // the host makes tables of them
		}
	}
	if err := b.finish(ignored); err != nil {
		return nil, err
	}
	w.catalog, w.vectors = b.catalog, b.vectors
	return w, nil
}

// ignored names tensors that a file may hold without being used: the other
// of two sets of RoPE factors, tables that old converters left, and the head
// of a classifier, which has no part in text.
func ignored(name string) bool {
	return strings.HasPrefix(name, "cls.") || strings.HasPrefix(name, "rope_factors_") || name == "rope_freqs.weight" || strings.HasSuffix(name, ".attn_rot_embd") ||
		strings.HasSuffix(name, ".attention.rotary_emb.inv_freq")
}

func (b *binder) layer(s *Spec, w *layerWeights, i int) {
	l, a := s.Layers[i], s.Layers[i].Attention
	name := func(part string) string { return fmt.Sprintf("blk.%d.%s", i, part) }

	b.norm(&w.attnNorm, s, name("attn_norm"), s.Width)
	if !l.Parallel {
		b.norm(&w.ffnNorm, s, name("ffn_norm"), s.Width)
	}
	if l.PostNorms {
		b.norm(&w.attnPost, s, name("post_attention_norm"), s.Width)
		b.norm(&w.ffnPost, s, name("post_ffw_norm"), s.Width)
	}

	if q, k, v := a.Heads*a.KDim, a.KVHeads*a.KDim, a.KVHeads*a.VDim; b.has(name("attn_qkv.weight")) {
		b.projections(&w.qkv, []string{name("attn_qkv")}, []int{q + k + v}, s.Width)
	} else {
		b.projections(&w.qkv, []string{name("attn_q"), name("attn_k"), name("attn_v")}, []int{q, k, v}, s.Width)
	}
	if a.QKNorm == QKPerHead {
		b.headNorm(&w.qNorm, s, name("attn_q_norm"), a.KDim, a.Heads)
		b.headNorm(&w.kNorm, s, name("attn_k_norm"), a.KDim, a.KVHeads)
	}
	b.linear(&w.output, name("attn_output"), s.Width, a.Heads*a.VDim)

	if l.FFN.Experts.Count > 0 {
		b.experts(s, w, l.FFN.Experts, name)
	} else {
		b.dense(s, w, l.FFN, name)
	}
}

func (b *binder) projections(p *projections, names []string, rows []int, cols int) {
	*p = make(projections, len(names))
	for i, name := range names {
		b.linear(&(*p)[i], name, rows[i], cols)
	}
}

func (b *binder) dense(s *Spec, w *layerWeights, f FFN, name func(string) string) {
	switch {
	case !f.Gated:
		b.projections(&w.gateUp, []string{name("ffn_up")}, []int{f.Hidden}, s.Width)
	case b.has(name("ffn_gate.weight")):
		b.projections(&w.gateUp, []string{name("ffn_gate"), name("ffn_up")}, []int{f.Hidden, f.Hidden}, s.Width)
	default: // fused, the gate first
		b.projections(&w.gateUp, []string{name("ffn_up")}, []int{2 * f.Hidden}, s.Width)
	}
	b.linear(&w.down, name("ffn_down"), s.Width, f.Hidden)
}

func (b *binder) experts(s *Spec, w *layerWeights, e Experts, name func(string) string) {
	b.linear(&w.router, name("ffn_gate_inp"), e.Count, s.Width)
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
		values, err := readFloats(f, v.tensor)
		if err != nil {
			return err
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
