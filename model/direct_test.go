package model

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorun/compute/cpu"
	"gorun/gguf"
	"gorun/tensor"
)

// Architectures without goldens are compared with their mathematics, written
// down plainly in float64: a function for each family, straight from its
// paper or reference implementation, over the helpers below. Nothing of it
// goes through a Spec or package compute.

// direct is an architecture that is tested so.
type direct struct {
	name     string // the architecture, and perhaps a variant after a slash
	make     func(m *tiny)
	forward  func(m *tiny, tokens []int32) rows
	features map[string]change
}

func (d direct) arch() string {
	arch, _, _ := strings.Cut(d.name, "/")
	return arch
}

// tiny is a small model: its sizes, keys and weights.
type tiny struct {
	arch                       string
	width, heads, kvHeads, dim int // dim: of a head
	layers, hidden, vocab      int
	eps, base                  float64
	keys                       map[string]gguf.Value
	shapes                     map[string][]int64 // of tensors, the row length first
	weights                    map[string][]float32
}

// newTiny is a model with the tensors of Llama; make changes it from there.
func (d direct) newTiny() *tiny {
	m := &tiny{arch: d.arch(), width: 64, heads: 4, kvHeads: 2, dim: 16, layers: 4, hidden: 96, vocab: 288, eps: 1e-5, base: 500}
	m.likeLlama(256)
	d.make(m)
	m.set("block_count", m.layers)
	m.fill()
	return m
}

// likeLlama gives a model the keys and tensors of Llama.
func (m *tiny) likeLlama(context int) {
	m.keys, m.shapes, m.weights = map[string]gguf.Value{}, map[string][]int64{}, map[string][]float32{}
	m.set("vocab_size", m.vocab)
	m.set("context_length", context)
	m.set("embedding_length", m.width)
	m.set("feed_forward_length", m.hidden)
	m.set("attention.head_count", m.heads)
	m.set("attention.head_count_kv", m.kvHeads)
	m.set("attention.layer_norm_rms_epsilon", m.eps)
	m.set("rope.freq_base", m.base)
	m.set("block_count", m.layers)
	m.matrix("token_embd", m.vocab, m.width)
	m.matrix("output", m.vocab, m.width)
	m.vector("output_norm.weight", m.width)
	m.eachLayer(func(_ int, at string) {
		m.vector(at+"attn_norm.weight", m.width)
		m.matrix(at+"attn_q", m.heads*m.dim, m.width)
		m.matrix(at+"attn_k", m.kvHeads*m.dim, m.width)
		m.matrix(at+"attn_v", m.kvHeads*m.dim, m.width)
		m.matrix(at+"attn_output", m.width, m.heads*m.dim)
		m.vector(at+"ffn_norm.weight", m.width)
		m.matrix(at+"ffn_gate", m.hidden, m.width)
		m.matrix(at+"ffn_up", m.hidden, m.width)
		m.matrix(at+"ffn_down", m.width, m.hidden)
	})
}

func (m *tiny) eachLayer(do func(i int, at string)) {
	for i := range m.layers {
		do(i, layerTensor(i, ""))
	}
}

// set sets a key of the architecture.
func (m *tiny) set(key string, value any) {
	switch v := value.(type) {
	case int:
		m.keys[key] = gguf.Uint32(uint32(v))
	case float64:
		m.keys[key] = gguf.Float32(float32(v))
	case bool:
		m.keys[key] = gguf.Bool(v)
	case []bool:
		m.keys[key] = gguf.Array(v)
	case []int32:
		m.keys[key] = gguf.Array(v)
	default:
		panic(fmt.Sprintf("key %s is a %T", key, value))
	}
}

func (m *tiny) matrix(name string, rows, cols int) {
	m.shapes[name+".weight"] = []int64{int64(cols), int64(rows)}
}

func (m *tiny) vector(name string, shape ...int) {
	m.shapes[name] = nil
	for _, n := range shape {
		m.shapes[name] = append(m.shapes[name], int64(n))
	}
}

// drop removes the tensors with the given names, or ends of names.
func (m *tiny) drop(names ...string) {
	maps.DeleteFunc(m.shapes, func(have string, _ []int64) bool {
		return slices.ContainsFunc(names, func(name string) bool { return have == name || strings.HasSuffix(have, "."+name) })
	})
}

// biases gives the named matrices of all layers one.
func (m *tiny) biases(parts ...string) {
	m.eachLayer(func(_ int, at string) {
		for _, part := range parts {
			m.vector(at+part+".bias", int(m.shapes[at+part+".weight"][1]))
		}
	})
}

// ownHeads gives each query head a KV head of its own.
func (m *tiny) ownHeads() {
	m.kvHeads = m.heads
	m.set("attention.head_count_kv", m.kvHeads)
	m.eachLayer(func(_ int, at string) {
		m.matrix(at+"attn_k", m.kvHeads*m.dim, m.width)
		m.matrix(at+"attn_v", m.kvHeads*m.dim, m.width)
	})
}

// fused joins queries, keys and values.
func (m *tiny) fused() {
	m.drop("attn_q.weight", "attn_k.weight", "attn_v.weight")
	m.eachLayer(func(_ int, at string) { m.matrix(at+"attn_qkv", (m.heads+2*m.kvHeads)*m.dim, m.width) })
}

// layerNorms makes all norms have biases.
func (m *tiny) layerNorms() {
	m.set("attention.layer_norm_epsilon", m.eps)
	delete(m.keys, "attention.layer_norm_rms_epsilon")
	for _, name := range slices.Collect(maps.Keys(m.shapes)) {
		if base, ok := strings.CutSuffix(name, "_norm.weight"); ok {
			m.vector(base+"_norm.bias", m.width)
		}
	}
}

// fill draws the weights.
func (m *tiny) fill() {
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range slices.Sorted(maps.Keys(m.shapes)) {
		shape := m.shapes[name]
		n := shape[0]
		center, spread := 0.0, 1.5/math.Sqrt(float64(n))
		switch {
		case strings.HasSuffix(name, ".bias"):
			spread = 0.3
		case strings.Contains(name, "norm"), strings.HasPrefix(name, "rope_"), strings.Contains(name, "scale"):
			center, spread = 1, 0.2
		case strings.Contains(name, "embd"), strings.Contains(name, "types"):
			spread = 1
		}
		for _, d := range shape[1:] {
			n *= d
		}
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(center + spread*random.NormFloat64())
		}
		m.weights[name] = values
	}
}

// write makes a file of the model.
func (m *tiny) write(t *testing.T) string {
	t.Helper()
	w := gguf.NewWriter()
	w.Set("general.architecture", gguf.String(m.arch))
	for _, key := range slices.Sorted(maps.Keys(m.keys)) {
		if strings.HasPrefix(key, "tokenizer.") {
			w.Set(key, m.keys[key])
		} else {
			w.Set(m.arch+"."+key, m.keys[key])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.shapes)) {
		w.AddTensor(gguf.Tensor{Name: name, Type: tensor.F32, Dims: m.shapes[name]}, bytes.NewReader(floatBytes(m.weights[name])))
	}
	path := filepath.Join(t.TempDir(), "tiny.gguf")
	if err := w.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// rows are the values of tokens.
type rows [][]float64

// part is the model, or a layer of it.
type part struct {
	*tiny
	at string
}

func (m *tiny) model() part      { return part{m, ""} }
func (m *tiny) layer(i int) part { return part{m, layerTensor(i, "")} }
func (p part) has(n string) bool { return p.weights[p.at+n] != nil }

func (m *tiny) logits(x rows) rows {
	if !m.model().has("output.weight") {
		return product(m.model().tensor("token_embd.weight"), x)
	}
	return m.model().linear("output", x)
}

func (p part) tensor(name string) []float64 {
	values := p.weights[p.at+name]
	if values == nil {
		panic("no tensor " + p.at + name)
	}
	wide := make([]float64, len(values))
	for i, v := range values {
		wide[i] = float64(v)
	}
	return wide
}

// lookUp takes rows of a table.
func (p part) lookUp(name string, ids []int32) rows {
	table, n := p.tensor(name), int(p.shapes[p.at+name][0])
	x := make(rows, len(ids))
	for t, id := range ids {
		x[t] = slices.Clone(table[int(id)*n:][:n])
	}
	return x
}

func (m *tiny) embed(tokens []int32) rows { return m.model().lookUp("token_embd.weight", tokens) }

// each makes a row of each row.
func (x rows) each(f func(t int, x []float64) []float64) rows {
	y := make(rows, len(x))
	for t := range x {
		y[t] = f(t, x[t])
	}
	return y
}

// linear is W x, with the bias that the file may have.
func (p part) linear(name string, x rows) rows {
	y := product(p.tensor(name+".weight"), x)
	if p.has(name + ".bias") {
		b := p.tensor(name + ".bias")
		y = y.each(func(_ int, y []float64) []float64 { return zip(y, b, func(y, b float64) float64 { return y + b }) })
	}
	return y
}

func product(w []float64, x rows) rows {
	return x.each(func(_ int, x []float64) []float64 {
		y := make([]float64, len(w)/len(x))
		for i := range y {
			for j, v := range x {
				y[i] += w[i*len(x)+j] * v
			}
		}
		return y
	})
}

func zip(a, b []float64, f func(a, b float64) float64) []float64 {
	c := make([]float64, len(a))
	for i := range a {
		c[i] = f(a[i], b[i])
	}
	return c
}

func (x rows) plus(y rows) rows {
	return x.each(func(t int, x []float64) []float64 { return zip(x, y[t], func(a, b float64) float64 { return a + b }) })
}

func (x rows) times(y rows) rows {
	return x.each(func(t int, x []float64) []float64 { return zip(x, y[t], func(a, b float64) float64 { return a * b }) })
}

func (x rows) of(f func(float64) float64) rows {
	return x.each(func(_ int, x []float64) []float64 { return zip(x, x, func(a, _ float64) float64 { return f(a) }) })
}

func (x rows) scaled(by float64) rows { return x.of(func(v float64) float64 { return v * by }) }

// cols are columns [from, to).
func (x rows) cols(from, to int) rows {
	return x.each(func(_ int, x []float64) []float64 { return x[from:to] })
}

func silu(v float64) float64        { return v / (1 + math.Exp(-v)) }
func squaredReLU(v float64) float64 { return max(v, 0) * max(v, 0) }
func tanhGELU(v float64) float64 {
	return v / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
}

// norm normalizes each head of a row (all of it, if the weights are as long).
func (p part) norm(name string, x rows, n int, center bool) rows {
	w := p.tensor(name + ".weight")
	return x.each(func(_ int, x []float64) []float64 {
		y := make([]float64, len(x))
		for at := 0; at < len(x); at += n {
			head := x[at : at+n]
			mean, square := 0.0, 0.0
			for _, v := range head {
				mean += v / float64(n)
			}
			if !center {
				mean = 0
			}
			for _, v := range head {
				square += (v - mean) * (v - mean) / float64(n)
			}
			for i, v := range head {
				y[at+i] = (v - mean) / math.Sqrt(square+p.eps) * w[(at+i)%len(w)]
				if p.has(name + ".bias") {
					y[at+i] += float64(p.weights[p.at+name+".bias"][(at+i)%len(w)])
				}
			}
		}
		return y
	})
}

func (p part) rms(name string, x rows) rows       { return p.norm(name, x, len(x[0]), false) }
func (p part) rmsHeads(name string, x rows) rows  { return p.norm(name, x, p.dim, false) }
func (p part) layerNorm(name string, x rows) rows { return p.norm(name, x, len(x[0]), true) }

// turn is a RoPE over the first dims values of heads of p.dim.
type turn struct {
	dims    int
	halves  bool
	stretch float64 // of positions
	factors []float64
}

func (m *tiny) rope(x rows, o turn) rows {
	return x.each(func(pos int, x []float64) []float64 {
		y := slices.Clone(x)
		for head := y; len(head) > 0; head = head[m.dim:] {
			for i := range o.dims / 2 {
				angle := float64(pos) / max(o.stretch, 1) / math.Pow(m.base, 2*float64(i)/float64(o.dims))
				if o.factors != nil {
					angle /= o.factors[i]
				}
				a, b := 2*i, 2*i+1
				if o.halves {
					a, b = i, i+o.dims/2
				}
				z := complex(head[a], head[b]) * complex(math.Cos(angle), math.Sin(angle))
				head[a], head[b] = real(z), imag(z)
			}
		}
		return y
	})
}

// sees says which keys a query may attend to.
type sees func(query, key int) bool

func causal(query, key int) bool { return key <= query }

func within(window int) sees {
	return func(query, key int) bool { return key <= query && query-key < window }
}

// attention is softmax(scale q k) v, key heads shared in equal groups.
func (m *tiny) attention(q, k, v rows, may sees, scale float64) rows {
	group := len(q[0]) / len(k[0])
	return q.each(func(t int, q []float64) []float64 {
		var out []float64
		for h := range len(q) / m.dim {
			at := h / group * m.dim
			sum, mean := 0.0, make([]float64, m.dim)
			for s := range k {
				if !may(t, s) {
					continue
				}
				score := 0.0
				for d := range m.dim {
					score += q[h*m.dim+d] * k[s][at+d]
				}
				weight := math.Exp(score * scale)
				sum += weight
				for d := range mean {
					mean[d] += weight * v[s][at+d]
				}
			}
			for _, v := range mean {
				out = append(out, v/sum)
			}
		}
		return out
	})
}

// scale is the usual one of scores.
func (m *tiny) scale() float64 { return 1 / math.Sqrt(float64(m.dim)) }

// qkv projects x.
func (p part) qkv(x rows) (q, k, v rows) {
	if p.has("attn_qkv.weight") {
		all := p.linear("attn_qkv", x)
		nq, nk := p.heads*p.dim, p.kvHeads*p.dim
		return all.cols(0, nq), all.cols(nq, nq+nk), all.cols(nq+nk, nq+2*nk)
	}
	return p.linear("attn_q", x), p.linear("attn_k", x), p.linear("attn_v", x)
}

// swiglu is the gated block of Llama.
func (p part) swiglu(x rows) rows {
	return p.linear("ffn_down", p.linear("ffn_gate", x).of(silu).times(p.linear("ffn_up", x)))
}

// llamaDirect is Llama, the base that others vary (Touvron et al.).
func llamaDirect(o turn) func(m *tiny, tokens []int32) rows {
	return func(m *tiny, tokens []int32) rows {
		return m.llama(m.embed(tokens), o, part.swiglu)
	}
}

// llama is Llama from the embeddings on, with a block of choice.
func (m *tiny) llama(x rows, o turn, block func(part, rows) rows) rows {
	if m.model().has("rope_freqs.weight") {
		o.factors = m.model().tensor("rope_freqs.weight")
	}
	for i := range m.layers {
		l := m.layer(i)
		q, k, v := l.qkv(l.rms("attn_norm", x))
		a := m.attention(m.rope(q, o), m.rope(k, o), v, causal, m.scale())
		x = x.plus(l.linear("attn_output", a))
		norm := "ffn_norm"
		if !l.has("ffn_norm.weight") {
			norm = "post_attention_norm"
		}
		x = x.plus(block(l, l.rms(norm, x)))
	}
	return m.logits(m.model().rms("output_norm", x))
}

// narrow is rows side by side as float32.
func (x rows) narrow() (flat []float32) {
	for _, row := range x {
		for _, v := range row {
			flat = append(flat, float32(v))
		}
	}
	return flat
}

// TestDirectItself holds the helpers to a golden.
func TestDirectItself(t *testing.T) {
	g := loadGolden(t, "llama.q8_0")
	f, err := gguf.Open(g.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	k := &keys{meta: f.Metadata(), arch: "llama"}
	m := &tiny{
		heads: k.integer("attention.head_count"), kvHeads: k.integer("attention.head_count_kv"), layers: k.integer("block_count"),
		eps: k.float("attention.layer_norm_rms_epsilon"), base: k.floatOr("rope.freq_base", 10000),
		shapes: map[string][]int64{}, weights: map[string][]float32{},
	}
	m.dim = k.integer("embedding_length") / m.heads
	for _, x := range f.Tensors() {
		m.shapes[x.Name] = x.Dims
		if m.weights[x.Name], err = readFloats(f, x); err != nil {
			t.Fatal(err)
		}
	}
	if k.err != nil {
		t.Fatal(k.err)
	}
	got := llamaDirect(turn{dims: m.dim})(m, g.tokens).narrow()
	if e := normalizedError(got, g.want); !(e < maxError) {
		t.Errorf("normalized error %.3g", e)
	}
}

// directTokens are n tokens of a small vocabulary; 24 go beyond the windows of
// all models.
func directTokens(n int) []int32 {
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = int32((i*i*7 + i*31 + 5) % 280)
	}
	return tokens
}

func TestDirect(t *testing.T) {
	for _, d := range directs {
		t.Run(d.name, func(t *testing.T) {
			m := d.newTiny()
			g := golden{path: m.write(t), tokens: directTokens(24)}
			g.want = d.forward(m, g.tokens).narrow()
			dev := cpuDevice(t, 2)
			model := openGolden(t, g, dev, 1)
			got := logitsOf(t, model, g.tokens, len(g.tokens))
			e := normalizedError(got, g.want)
			t.Logf("normalized error %.2g", e)
			if !(e < maxError) {
				t.Fatalf("normalized error %.3g, want below %g", e, maxError)
			}
			for _, chunk := range []int{1, 7} {
				if d := differ(got, logitsOf(t, model, g.tokens, chunk)); d != "" {
					t.Errorf("chunks of %d: %s", chunk, d)
				}
			}
			strict := openGolden(t, g, strictDevice(t), 1)
			if d := differ(got, logitsOf(t, strict, g.tokens, 7)); d != "" {
				t.Errorf("strict: %s", d)
			}
			fast, err := cpu.New(2)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { fast.Close() })
			if e := normalizedError(logitsOf(t, openGolden(t, g, fast, 1), g.tokens, 24), g.want); !(e < 1e-6) {
				t.Errorf("fast: normalized error %.3g", e)
			}
			for feature, c := range d.features {
				changed := golden{path: c.apply(t, g.path)}
				moved := logitsOf(t, openGolden(t, changed, dev, 1), g.tokens, len(g.tokens))
				if e := math.Sqrt(normalizedError(moved, got)); !(e > 1e-3) {
					t.Errorf("without %s the logits move by a part of %.2g only", feature, e)
				}
			}
		})
	}
}
