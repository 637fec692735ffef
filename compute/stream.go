package compute

// Stream is a queue of operations on a device. It belongs to one goroutine.
//
// Shapes are the caller's duty: operands that do not fit each other are a bug
// and panic. What can go wrong at run time (a device that is lost) is kept and
// returned by the next Read or Sync.
//
// T stands for the number of rows, one for each token of the batch.
type Stream interface {
	// Write copies src from the host. src is taken before Write returns.
	Write(dst Span, src []byte)
	// Read waits for all operations so far and copies src to the host.
	Read(dst []byte, src Span) error
	// Sync waits for all operations so far.
	Sync() error
	// Close waits, and frees what the stream holds.
	Close() error

	// Copy copies rows of x to rows of dst.
	Copy(dst, x Matrix, rows Rows)
	// Embed writes row w[From] of a weight page, as float32, to dst[To].
	// From counts within the page.
	Embed(dst Matrix, w Page, rows Rows)
	// MatMul computes products side by side, in any order: none may write what
	// another one reads or writes.
	MatMul(products ...Product)

	// Norm normalizes each group of p.Weight.Cols values of each row of x.
	// dst may be x.
	Norm(dst, x Matrix, p Norm)
	// AddScaled computes dst += scale x.
	AddScaled(dst, x Matrix, scale float32)
	// AddRow adds the one row of bias to each row of dst.
	AddRow(dst, bias Matrix)
	// Scale computes x *= scale.
	Scale(x Matrix, scale float32)
	// ScaleRows multiplies row r of x by factors[r, 0].
	ScaleRows(x, factors Matrix)
	// Softcap computes x = limit tanh(x/limit).
	Softcap(x Matrix, limit float32)
	// Activate computes x = f(x).
	Activate(x Matrix, f Activation)
	// GatedUnit computes dst = f(gate) * up, the gated linear unit of
	// Shazeer, "GLU Variants Improve Transformer". dst may be gate or up.
	GatedUnit(dst, gate, up Matrix, g Gated)
	// Rotate applies rotary position embedding to each head of x.
	Rotate(x Matrix, p Rotation)

	// StoreKV rounds rows of k and v to the types of the layout and writes
	// them at their positions.
	StoreKV(l KVLayout, k, v Matrix, seqs []KVRun)
	// Attend folds, in order of position, the keys and values that seqs name
	// into the accumulators of every query row and head.
	Attend(acc, q Matrix, a Attention, seqs []KVRun)
	// AttendSpans computes the partial of each span that seqs name, to be
	// folded elsewhere: rows [i*T, (i+1)*T) of partials belong to the i-th
	// span from firstSpan on. Spans without a visible key are empty partials.
	AttendSpans(partials, q Matrix, a Attention, seqs []KVRun, firstSpan int)
	// MergeSpans folds partials, T rows each, into acc in their order.
	MergeSpans(acc, partials Matrix, a Attention)
	// FinishAttention writes the weighted mean of values of each head to out.
	FinishAttention(out, acc Matrix, a Attention)

	// Conv is a causal convolution of each column of x with its row of
	// kernel, the weight of the newest value last. The state of a run is the
	// values before it, oldest first: kernel.Cols-1 rows of x.Cols.
	Conv(dst, x, kernel Matrix, seqs []StateRun)
	// DeltaNet runs the gated delta rule over the rows of each run. The state
	// is [ValueHeads][KeyDim][ValueDim] float32.
	DeltaNet(dst Matrix, p DeltaNet, seqs []StateRun)

	// Route chooses experts for each row of logits [T, experts]: ids
	// receives their numbers, int32 [T, p.Used], and weights [T, p.Used]
	// what their results count.
	Route(ids Span, weights, logits Matrix, p Routing)
	// Combine computes dst[t] = sum over s of weights[t, s] slots[t*k+s], in
	// the order of s.
	Combine(dst, slots, weights Matrix)
}

// Activation is a function of one value.
type Activation int

// The activations. GELU is the tanh approximation of Hendrycks and Gimpel,
// QuickGELU their x sigmoid(1.702 x), and ErfGELU what both approximate.
const (
	SiLU Activation = iota
	GELU
	QuickGELU
	Sigmoid
	SquaredReLU
	ErfGELU
	Identity
)

// Gated describes a gated linear unit. Limits of zero are none.
type Gated struct {
	F         Activation
	GateLimit float32 // the gate is at most that
	Limit     float32 // f(gate) is at most that
	UpLimit   float32 // up is between plus and minus that
	UpBias    float32 // is added to up in the end
}

// Norm describes a normalization over groups of Weight.Cols columns: the root
// mean square one of Zhang and Sennrich or, with Center, layer normalization
// (Ba, Kiros and Hinton). The result is scaled by Weight [1, n], or by a row
// of it for each group [groups, n], and shifted by Bias, if there is one.
type Norm struct {
	Weight, Bias Matrix
	Eps          float32
	Center       bool
}

// Rotation turns pairs of values of each head by an angle that grows with the
// position (Su et al., "RoFormer").
type Rotation struct {
	// HeadDim is the columns of a head. The first Table.Cols of them turn.
	HeadDim int
	// Table [T, n] holds, for the n/2 pairs, the cosine and the sine of the
	// angle of that row: cos 0, sin 0, cos 1, sin 1, ... The host makes it
	// once a batch, so that every device turns by the same bits.
	Table Matrix
	// Halves pairs i with i+n/2 (GPT-NeoX); otherwise 2i goes with 2i+1.
	Halves bool
}

// Routing describes how a mixture of experts picks its experts for a token.
type Routing struct {
	Used   int
	Gating Gating
	// Bias [1, experts], if any, is added to the gate's values for choosing
	// only (DeepSeek-V3, "auxiliary-loss-free load balancing").
	Bias Matrix
	// Groups cuts the experts into runs of equal length, of which the
	// GroupsUsed best are chosen from; 0: no groups (DeepSeek-V2,
	// "device-limited routing"). A group is as good as the sum of its GroupTop
	// largest values.
	Groups, GroupsUsed, GroupTop int
	// Normalize divides the weights of the chosen by their sum.
	Normalize bool
	// Scale multiplies the weights in the end.
	Scale float32
}

// Gating turns router logits into weights, numbered as in GGUF's
// expert_gating_func.
type Gating int

// The gating functions.
const (
	GateSoftmax         Gating = 1 // softmax over all experts
	GateSigmoid         Gating = 2
	GateSoftmaxSelected Gating = 3 // softmax over the chosen experts' logits
)
