package model

import (
	"context"
	"fmt"
	"slices"
	"unsafe"

	"gorun/compute"
	"gorun/kvtier"
	"gorun/pager"
)

// Decoder is the forward pass. It belongs to one goroutine, like the
// sequences that it extends.
//
// The logits of a position depend on the tokens before it in its sequence,
// not on what else is in the batch nor on how the tokens were cut into calls
// and passes: see package compute.
type Decoder struct {
	spec    *Spec
	weights *weights
	pages   pager.Residency
	stream  compute.Stream
	scratch *scratch
	pool    *kvtier.Pool
	batch   int
	attends []int // the layers whose keys each layer attends to, in order
	ropes   []ropeTable

	host     []float32 // logits or hidden states of logitRows rows, where they cannot be read in place
	routeIDs []int32
	groups   grouping
	products []matrixProduct   // to be computed side by side
	ready    []compute.Product // whose pages are held
}

// ropeTable makes the cosines and sines of a batch.
type ropeTable struct {
	freqs     []float64
	magnitude float64
	host      []float32
}

// Run is a run of tokens that extend one sequence. Runs that want hidden
// states are not mixed with others in one call.
type Run struct {
	Seq    *kvtier.Sequence
	Tokens []int32
	Want   Wanted
}

// Wanted says for which tokens of a run logits are computed.
type Wanted int

// The choices of Wanted.
const (
	LastLogits Wanted = iota
	AllLogits
	NoLogits
	// AllHidden asks for the normalized hidden state of each token, Width
	// values, in place of logits.
	AllHidden
)

// Emit receives the logits that follow token i of a run, or its hidden state.
// It may keep nothing of the slice.
type Emit func(run, i int, values []float32) error

// Forward extends the sequences of runs, all different, and calls emit for
// the logits that they want, in order for each run. When it fails, each
// sequence has been extended by a part of its run, possibly empty.
func (d *Decoder) Forward(ctx context.Context, runs []Run, emit Emit) error {
	if err := d.check(runs); err != nil {
		return err
	}
	p := pass{d: d, hot: d.pool.HotBlocks()}
	for i, run := range runs {
		for done := 0; done < len(run.Tokens); {
			// A pass writes to hot blocks only.
			n := min(len(run.Tokens)-done, d.batch-p.rows, run.Seq.Room(p.hot))
			if p.rows > 0 && (n == 0 || d.spec.Bidirectional && p.rows+len(run.Tokens) > d.batch) {
				if err := p.do(ctx, emit); err != nil {
					return err
				}
				continue
			}
			n = max(n, 1) // with nothing hot, that fails with a reason
			p.add(piece{run: i, first: done, seq: run.Seq, tokens: run.Tokens[done : done+n], want: run.Want, last: done+n == len(run.Tokens)})
			done += n
		}
	}
	if p.rows == 0 {
		return nil
	}
	return p.do(ctx, emit)
}

func (d *Decoder) check(runs []Run) error {
	seen := map[*kvtier.Sequence]bool{}
	for _, run := range runs {
		if (run.Want == AllHidden) != (runs[0].Want == AllHidden) {
			return fmt.Errorf("hidden states and logits are wanted in one batch")
		}
		if seen[run.Seq] {
			return fmt.Errorf("a sequence is twice in one batch")
		}
		seen[run.Seq] = true
		if d.spec.Bidirectional {
			switch {
			case run.Want != AllHidden:
				return fmt.Errorf("%s models make embeddings, not text", d.spec.Arch)
			case run.Seq.Len() > 0 || len(run.Tokens) > d.batch:
				return fmt.Errorf("%s models need a whole text of at most %d tokens at once", d.spec.Arch, d.batch)
			}
		}
		for i, token := range run.Tokens {
			if token < 0 || int(token) >= d.spec.Vocab {
				return fmt.Errorf("token %d is %d: the vocabulary has 0 to %d", i, token, d.spec.Vocab-1)
			}
		}
	}
	return nil
}

// piece is a part of a run that one pass computes.
type piece struct {
	run, first int // index of the run, and of tokens[0] in it
	row        int
	seq        *kvtier.Sequence
	tokens     []int32
	want       Wanted
	last       bool // ends its run
}

// pass is one trip of up to batch rows through all layers.
type pass struct {
	d      *Decoder
	ctx    context.Context
	pieces []piece
	rows   int
	hot    int // blocks that it can still write to
	seqs   []*kvtier.Sequence
	reader *kvtier.Reader // of pages that are not in place

	x, branch compute.Matrix
	normed    compute.Matrix // the input of a branch
	kv        []compute.KVRun
	states    []compute.StateRun
	from      []int32
	pages     []pager.PageID
}

func (p *pass) add(c piece) {
	c.row = p.rows
	p.rows += len(c.tokens)
	p.hot -= c.seq.Takes(len(c.tokens))
	p.pieces, p.seqs = append(p.pieces, c), append(p.seqs, c.seq)
}

// do runs the pass and empties it.
func (p *pass) do(ctx context.Context, emit Emit) error {
	d := p.d
	p.ctx = ctx
	d.pool.Begin(p.seqs)
	for _, c := range p.pieces {
		if err := c.seq.Reserve(len(c.tokens)); err != nil {
			return err
		}
	}
	if err := d.pool.Promote(ctx, p.seqs); err != nil {
		return err
	}
	p.reader = d.pool.NewReader(ctx, d.attends, p.seqs)
	defer p.reader.Close()
	p.x, p.branch = d.scratch.x.RowsAt(0, p.rows), d.scratch.branch.RowsAt(0, p.rows)
	d.pages.Begin(p.rows, p.scans())
	p.positions()
	if err := p.embed(); err != nil {
		return err
	}
	for i := range d.spec.Layers {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.layer(i); err != nil {
			return fmt.Errorf("layer %d: %w", i, err)
		}
	}
	// Whatever happens to the logits, the keys and values are complete.
	if err := d.stream.Sync(); err != nil {
		return err
	}
	for _, c := range p.pieces {
		c.seq.Advance(c.tokens)
	}
	if err := p.output(emit); err != nil {
		return err
	}
	p.pieces, p.seqs, p.rows, p.hot = p.pieces[:0], p.seqs[:0], 0, d.pool.HotBlocks()
	return nil
}

// scanTokens is how many tokens of one text make a pass a scan, which uses most
// experts.
const scanTokens = 16

// scans reports whether the pass reads a prompt, rather than to write texts.
func (p *pass) scans() bool {
	return slices.ContainsFunc(p.pieces, func(c piece) bool { return len(c.tokens) > scanTokens })
}

// positions writes what depends on positions alone: RoPE tables and
// temperatures.
func (p *pass) positions() {
	d := p.d
	for i := range d.ropes {
		r := &d.ropes[i]
		dims := d.spec.Ropes[i].Dims
		p.eachPosition(func(row, pos int) { fillTable(r.host[row*dims:][:dims], r.freqs, r.magnitude, pos) })
		d.stream.Write(d.scratch.ropes[i].RowsAt(0, p.rows).Span(), floatBytes(r.host[:p.rows*dims]))
	}
	if t := d.temperature(); t.Scale != 0 {
		factors := make([]float32, p.rows)
		p.eachPosition(func(row, pos int) { factors[row] = t.factor(pos) })
		d.stream.Write(d.scratch.temperature.RowsAt(0, p.rows).Span(), floatBytes(factors))
	}
}

func (p *pass) eachPosition(f func(row, pos int)) {
	for _, c := range p.pieces {
		for i := range c.tokens {
			f(c.row+i, c.seq.Len()+i)
		}
	}
}

// temperature is that of the layers which have one.
func (d *Decoder) temperature() Temperature {
	for _, l := range d.spec.Layers {
		if l.Attention.Temperature.Scale != 0 {
			return l.Attention.Temperature
		}
	}
	return Temperature{}
}

// embed makes the embeddings of the tokens.
func (p *pass) embed() error {
	stream, s, w := p.d.stream, p.d.spec, p.d.weights
	if err := p.lookUp(p.x, w.embed, func(c piece, i int) int { return int(c.tokens[i]) }); err != nil {
		return err
	}
	if s.EmbedScale != 0 {
		stream.Scale(p.x, s.EmbedScale)
	}
	if s.TokenTypes > 0 {
		stream.AddRow(p.x, w.types.RowsAt(0, 1))
	}
	if s.Positions > 0 {
		if err := p.lookUp(p.branch, w.positions, func(c piece, i int) int { return c.seq.Len() + i }); err != nil {
			return err
		}
		stream.AddScaled(p.x, p.branch, 1)
	}
	if s.EmbedNorm {
		stream.Norm(p.x, p.x, w.embedNorm)
	}
	if s.LayerInput > 0 {
		return p.layerInputs()
	}
	return nil
}

// lookUp writes a row of a table for each token.
func (p *pass) lookUp(dst compute.Matrix, table *pager.Matrix, row func(c piece, i int) int) error {
	p.from = p.from[:0]
	for _, c := range p.pieces {
		for i := range c.tokens {
			p.from = append(p.from, int32(row(c, i)))
		}
	}
	page, from, err := p.d.pages.Rows(p.ctx, table, p.from)
	if err != nil {
		return fmt.Errorf("weights %s: %w", table.Name, err)
	}
	p.d.stream.Embed(dst, page, compute.Rows{From: from})
	return nil
}

// layer computes one transformer layer.
func (p *pass) layer(i int) error {
	d := p.d
	l, w := d.spec.Layers[i], &d.weights.layers[i]
	p.normalize(l.Norms, w.attnNorm)
	if err := p.mix(i); err != nil {
		return err
	}
	if l.OwnNorm {
		p.normalize(l.Norms, w.ffnNorm)
	}
	p.addBranch(l.Norms, w.attnPost)
	if !l.Parallel {
		p.normalize(l.Norms, w.ffnNorm)
	}
	if err := p.ffn(l.FFN, w); err != nil {
		return err
	}
	p.addBranch(l.Norms, w.ffnPost)
	if d.spec.LayerInput > 0 {
		if err := p.addLayerInput(i, &w.input); err != nil {
			return err
		}
	}
	if l.OutScale {
		d.stream.ScaleRows(p.x, repeated(w.outScale, 0, p.rows))
	}
	return nil
}

// repeated views value i of a vector as a factor for each of n rows.
func repeated(v compute.Matrix, i, n int) compute.Matrix {
	v = v.ColsAt(i, 1)
	v.Rows, v.Stride = n, 0
	return v
}

// normalize makes the input of a branch.
func (p *pass) normalize(place NormPlace, norm compute.Norm) {
	if place == NormAfter || place == NormOfSum {
		p.normed = p.x
		return
	}
	p.normed = p.d.scratch.normed.RowsAt(0, p.rows)
	p.d.stream.Norm(p.normed, p.x, norm)
}

// addBranch adds the result of a branch to the residual stream.
func (p *pass) addBranch(place NormPlace, norm compute.Norm) {
	stream, scale := p.d.stream, p.d.spec.ResidualScale
	if place == NormBoth || place == NormAfter {
		stream.Norm(p.branch, p.branch, norm)
	}
	if scale == 0 {
		scale = 1
	}
	stream.AddScaled(p.x, p.branch, scale)
	if place == NormOfSum {
		stream.Norm(p.x, p.x, norm)
	}
}

// ffn computes the feed-forward branch from normed.
func (p *pass) ffn(f FFN, w *layerWeights) error {
	switch {
	case f.Beside:
		return p.beside(f, w)
	case f.Experts.Count > 0:
		return p.experts(f.Experts, w)
	}
	return p.dense(p.branch, f.Block, &w.dense)
}

// dense computes a block from normed to dst.
func (p *pass) dense(dst compute.Matrix, f Block, w *block) error {
	stream := p.d.stream
	in := view(p.d.scratch.gateUp, p.rows, f.width())
	if err := p.project(in, p.normed, w.gateUp); err != nil {
		return err
	}
	hidden := in.ColsAt(0, f.Hidden)
	if f.Gated {
		stream.GatedUnit(hidden, hidden, in.ColsAt(f.Hidden, f.Hidden), f.Unit)
	} else {
		stream.Activate(hidden, f.Unit.F)
	}
	return p.linear(dst, hidden, w.down)
}

// project computes all projections of x side by side in dst.
func (p *pass) project(dst, x compute.Matrix, w projections) error {
	col := 0
	for _, l := range w {
		p.product(dst.ColsAt(col, l.w.Rows), l.w, x, compute.Rows{})
		col += l.w.Rows
	}
	if err := p.matMul(); err != nil {
		return err
	}
	col = 0
	for _, l := range w {
		if !l.bias.IsZero() {
			p.d.stream.AddRow(dst.ColsAt(col, l.w.Rows), l.bias)
		}
		col += l.w.Rows
	}
	return nil
}

func (p *pass) linear(dst, x compute.Matrix, l linear) error {
	p.product(dst, l.w, x, compute.Rows{})
	if err := p.matMul(); err != nil {
		return err
	}
	if !l.bias.IsZero() {
		p.d.stream.AddRow(dst, l.bias)
	}
	return nil
}

// matrixProduct is a product with a matrix, all pages of it.
type matrixProduct struct {
	dst  compute.Matrix
	w    *pager.Matrix
	x    compute.Matrix
	rows compute.Rows
}

// product adds a product to those that the next matMul computes side by side.
func (p *pass) product(dst compute.Matrix, w *pager.Matrix, x compute.Matrix, rows compute.Rows) {
	p.d.products = append(p.d.products, matrixProduct{dst, w, x, rows})
}

// matMul computes the products that have been added, as many at a time as
// their pages can be held.
func (p *pass) matMul() error {
	d := p.d
	defer func() { d.products = d.products[:0] }()
	for _, m := range d.products {
		for i := range m.w.Pages() {
			page, err := d.pages.Acquire(p.ctx, m.w.Page(i))
			if err != nil {
				d.multiply() // it releases what is held
				return fmt.Errorf("weights %s: %w", m.w.Name, err)
			}
			d.ready = append(d.ready, compute.Product{Dst: m.dst, W: page, X: m.x, Rows: m.rows})
			if len(d.ready) == d.pages.Held() {
				d.multiply()
			}
		}
	}
	d.multiply()
	return nil
}

// multiply hands the products whose pages are held to the device.
func (d *Decoder) multiply() {
	if len(d.ready) > 0 {
		d.stream.MatMul(d.ready...)
		d.ready = d.ready[:0]
	}
}

// output computes the logits that the pieces want and emits them.
func (p *pass) output(emit Emit) error {
	d := p.d
	type target struct{ run, i int }
	var targets []target
	p.from = p.from[:0]
	for _, c := range p.pieces {
		for i := range c.tokens {
			if c.want == AllLogits || c.want == AllHidden || c.want == LastLogits && c.last && i == len(c.tokens)-1 {
				targets = append(targets, target{c.run, c.first + i})
				p.from = append(p.from, int32(c.row+i))
			}
		}
	}
	for len(targets) > 0 {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		n := min(len(targets), d.scratch.logits.Rows)
		values, err := p.head(p.from[:n], p.pieces[0].want == AllHidden)
		if err != nil {
			return err
		}
		width := len(values) / n
		for r, t := range targets[:n] {
			if err := emit(t.run, t.i, values[r*width:][:width]); err != nil {
				return err
			}
		}
		targets, p.from = targets[n:], p.from[n:]
	}
	return nil
}

// head reads the logits of the given rows, or their hidden states.
func (p *pass) head(rows []int32, hidden bool) ([]float32, error) {
	d, stream := p.d, p.d.stream
	x, logits := d.scratch.selected.RowsAt(0, len(rows)), d.scratch.logits.RowsAt(0, len(rows))
	stream.Copy(x, p.x, compute.Rows{From: rows})
	if norm := d.weights.outputNorm; !norm.Weight.IsZero() {
		stream.Norm(x, x, norm)
	}
	if hidden {
		return d.read(x)
	}
	if err := p.linear(logits, x, d.weights.head); err != nil {
		return nil, err
	}
	if s := d.spec.LogitScale; s != 0 {
		stream.Scale(logits, s)
	}
	if c := d.spec.LogitCap; c != 0 {
		stream.Softcap(logits, c)
	}
	return d.read(logits)
}

// read brings a few rows to the host, until the next call.
func (d *Decoder) read(x compute.Matrix) ([]float32, error) {
	if d.scratch.host != nil {
		s := x.Span()
		bytes := d.scratch.host.Bytes()[s.Off:][:s.N]
		return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(bytes))), x.Rows*x.Cols), d.stream.Sync()
	}
	values := d.host[:x.Rows*x.Cols]
	return values, d.stream.Read(floatBytes(values), x.Span())
}

// intBytes is the memory of values.
func intBytes(values []int32) []byte {
	if len(values) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 4*len(values))
}
