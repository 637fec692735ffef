// Package model runs language models. One decoder serves all architectures:
// an architecture is a description (Spec) of which blocks a layer has and how
// they are set, made from the metadata of a GGUF file by a short function
// registered under the file's general.architecture.
package model

import "gorun/compute"

// Spec describes a decoder-only transformer: what the forward pass does, and
// in what sizes. Zero values switch a feature off, so that a description
// names just what its architecture has.
type Spec struct {
	Arch           string
	Vocab          int
	Width          int // values of a token in the residual stream
	TrainedContext int

	Norm          NormKind
	Eps           float32
	EmbedScale    float32 // the embedding is multiplied by it; 0: by 1
	ResidualScale float32 // likewise each branch before it is added
	LogitScale    float32 // likewise the logits
	LogitCap      float32 // logits become Cap tanh(logit/Cap)

	Positions  int  // of a learned table, whose rows are added to embeddings; 0: none
	TokenTypes int  // of a table whose first row is added likewise
	EmbedNorm  bool // embeddings are normalized

	// LayerInput is the width of what each layer is given of every token
	// besides the residual stream; 0: nothing.
	LayerInput int

	// Bidirectional models let every token of a text see all others. They
	// make embeddings of whole texts, and no logits.
	Bidirectional bool

	Ropes  []Rope // what layers refer to
	Layers []Layer

	// Extra are layers of the file after those of Layers, which predict
	// further tokens (multi-token prediction) and are not part of the trunk.
	Extra int
}

// NormKind is the normalization that an architecture uses throughout.
type NormKind int

// The kinds of normalization.
const (
	RMSNorm NormKind = iota
	LayerNorm
)

// Layer is one transformer layer: it mixes tokens by attention or, if Delta
// has heads, by a gated delta net, or, if Conv has a kernel, by a convolution.
type Layer struct {
	Attention Attention
	Delta     Delta
	Conv      ShortConv
	FFN       FFN
	// Parallel layers feed attention and FFN with the same values (Wang and
	// Komatsuzaki, GPT-J). With OwnNorm, each normalizes them for itself.
	Parallel, OwnNorm bool
	Norms             NormPlace
	// OutScale multiplies what leaves the layer by a number of the file.
	OutScale bool
}

// NormPlace says where a layer normalizes, for each of its branches f.
type NormPlace int

// The places of norms.
const (
	NormBefore NormPlace = iota // x + f(norm(x))
	NormBoth                    // x + norm(f(norm(x)))
	NormAfter                   // x + norm(f(x))
	NormOfSum                   // norm(x + f(x)); there is none after the last layer
)

// Attention describes grouped-query attention.
type Attention struct {
	Heads, KVHeads int
	KDim, VDim     int
	Scale          float32 // of scores
	Cap            float32 // scores become Cap tanh(score/Cap)
	Window         int     // 0: all earlier positions
	Rope           int     // index in Spec.Ropes; NoRope: no positions
	QKNorm         QKNorm
	// ValueNorm normalizes each head of values, without weights.
	ValueNorm bool
	// KeyAsValue takes keys, before their norm, as values too.
	KeyAsValue bool
	// KVBack uses the keys and values of the layer so far before this one; 0:
	// the layer has its own.
	KVBack int
	// Temperature makes queries sharper with their position.
	Temperature Temperature
	// Gate multiplies the result by the sigmoid of a projection.
	Gate Gate
	// OutScale multiplies the result; 0: by 1.
	OutScale float32
	// Sinks are learned scores that take weight and have no value.
	Sinks bool
	// Latent attention keeps a compressed vector of each token in place of
	// keys and values. KDim and VDim are then those of the absorbed form.
	Latent Latent
}

// Gate says how the result of attention is gated.
type Gate int

// The gates of attention.
const (
	GateNone    Gate = iota
	GatePerHead      // one value for each head (Step 3.5)
	GateFull         // one for each value; it comes with the query, head by head (Qwen3-Next)
	GateOwn          // one for each value, of a projection of its own (AFMoE)
)

// Latent describes multi-head latent attention (DeepSeek-V2) in its absorbed
// form: one KV head whose key is the normalized latent of Rank values and
// RoPE rotated ones, and whose value is the latent.
type Latent struct {
	QRank, Rank int // of the compressed query (0: not compressed), and of the latent
	NoPE, RoPE  int // values of a head's query without and with position
	VDim        int // values of a head after the latent is expanded
}

// Delta describes a gated delta net. ValueHeads 0: none.
type Delta struct {
	KeyHeads, ValueHeads int
	KeyDim, ValueDim     int
	Kernel               int  // width of the convolution before it
	Grouped              bool // see compute.DeltaNet
	// Fused files have one tensor for alpha and beta, key head by key head.
	Fused bool
}

// ShortConv describes a gated short convolution (LFM2). Kernel 0: none.
type ShortConv struct {
	Kernel int
}

// NoRope is the Rope of a layer without position embedding.
const NoRope = -1

// QKNorm says how queries and keys are normalized, before they are rotated if
// it does not say otherwise.
type QKNorm int

// The ways to normalize queries and keys.
const (
	QKNone    QKNorm = iota
	QKPerHead        // each head
	QKRotated        // each head, after it is rotated
	QKWhole          // all heads together
)

// Temperature scales a query at position p by
// 1 + Scale log(1 + floor(p/Length)) ("scalable softmax", as Llama 4 and
// Mistral 3 have it).
type Temperature struct {
	Scale  float64
	Length int
}

// FFN describes the feed-forward part of a layer: a block, or a mixture of
// experts.
type FFN struct {
	Block
	Experts Experts
	// Beside adds the block to the experts, each with norms of its own
	// (Gemma 4).
	Beside bool
}

// Block is down(f(gate x) * up x) if Gated, and down(f(up x)) otherwise.
type Block struct {
	Hidden int
	Gated  bool
	Unit   compute.Gated // Unit.F is the activation of a block without gate, too
}

// Experts describes a mixture of experts. Count 0: a dense block.
type Experts struct {
	Count, Used int
	Hidden      int
	Unit        compute.Gated
	Routing     compute.Routing // Bias is bound when the weights are
	Bias        bool            // the router has one for its choice
	// Shared is a dense block that every token goes through besides; Hidden
	// 0: none.
	Shared Block
	// SharedGate multiplies its result by the sigmoid of a projection.
	SharedGate bool
}

// Rope describes one rotary position embedding.
type Rope struct {
	Dims    int // of a head, that turn
	Base    float64
	Halves  bool    // pairs (i, i+Dims/2); otherwise (2i, 2i+1)
	Scaling Scaling // of positions, for contexts beyond the trained one
	// Factors names a tensor of Dims/2 values, or more, that divide the
	// frequencies.
	Factors string
}

// Scaling stretches a RoPE.
type Scaling struct {
	Kind            ScalingKind
	Factor          float64 // of the context length
	OriginalContext int
	// Magnitude multiplies cosine and sine; 0: 1.
	Magnitude float64
	// Yarn's bounds, in rotations over the original context.
	BetaFast, BetaSlow float64
}

// ScalingKind is the way a RoPE is stretched.
type ScalingKind int

// The ways to stretch a RoPE.
const (
	ScaleNone   ScalingKind = iota
	ScaleLinear             // positions are divided by Factor
	ScaleYarn               // Peng et al., "YaRN"
)
