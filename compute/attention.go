package compute

import (
	"fmt"

	"gorun/tensor"
)

// SpanTokens is the number of positions of a span: the unit in which
// attention is accumulated. Positions [i*SpanTokens, (i+1)*SpanTokens) form
// span i of every sequence, whatever the batch, the block size, or the tier a
// block lives in. Each span gives a partial (maximum, sum, weighted values; as
// in Milakov and Gimelshein, "Online normalizer calculation for softmax"), and
// partials are folded in the order of their spans. Blocks divide spans.
const SpanTokens = 1024

// KVLayout is the form of one page of the KV cache: the keys and the values of
// one layer for BlockTokens consecutive positions.
//
//	+---------------------------+---------------------------+
//	| K: BlockTokens rows of    | V: BlockTokens rows of    |
//	|    Heads x KHeadBytes     |    Heads x VHeadBytes     |
//	+---------------------------+---------------------------+
//
// Heads are padded with zeros to whole blocks of their type, and types may have
// a form that suits the length of heads (tensor.Type.HeadType). With VInK there
// are no V rows: the values are the first VDim values of the keys (multi-head
// latent attention of DeepSeek-V2, in its absorbed form).
type KVLayout struct {
	KType, VType           tensor.Type
	Heads                  int
	KDim, VDim             int // values of a head
	KHeadBytes, VHeadBytes int64
	BlockTokens            int
	VInK                   bool
}

// NewKVLayout sizes a layout. blockTokens must be a power of two that divides
// SpanTokens.
func NewKVLayout(heads, kDim, vDim int, vInK bool, kType, vType tensor.Type, blockTokens int) (KVLayout, error) {
	if heads <= 0 || kDim <= 0 || vDim <= 0 {
		return KVLayout{}, fmt.Errorf("KV layout: %d heads of %d and %d values", heads, kDim, vDim)
	}
	if blockTokens <= 0 || SpanTokens%blockTokens != 0 {
		return KVLayout{}, fmt.Errorf("KV layout: a block of %d tokens does not divide %d", blockTokens, SpanTokens)
	}
	kType = kType.HeadType(kDim)
	kBytes, err := paddedBytes(kType, kDim)
	if err != nil {
		return KVLayout{}, fmt.Errorf("KV layout: keys: %w", err)
	}
	vType = vType.HeadType(vDim)
	if vInK {
		vType = kType
		if vDim > kDim {
			return KVLayout{}, fmt.Errorf("KV layout: values of %d are no part of keys of %d", vDim, kDim)
		}
	}
	vBytes, err := paddedBytes(vType, vDim)
	if err != nil {
		return KVLayout{}, fmt.Errorf("KV layout: values: %w", err)
	}
	return KVLayout{kType, vType, heads, kDim, vDim, kBytes, vBytes, blockTokens, vInK}, nil
}

// paddedBytes is the size of n values padded to whole blocks of t.
func paddedBytes(t tensor.Type, n int) (int64, error) {
	block := t.BlockSize()
	if block == 0 {
		return 0, fmt.Errorf("%v is not a known type", t)
	}
	return t.RowSize(int64((n + block - 1) / block * block))
}

// KRow and VRow are the bytes of one position.
func (l KVLayout) KRow() int64 { return int64(l.Heads) * l.KHeadBytes }

// VRow is the bytes of the values of one position beside its keys.
func (l KVLayout) VRow() int64 {
	if l.VInK {
		return 0
	}
	return int64(l.Heads) * l.VHeadBytes
}

// KAt and VAt are where a page has the keys and the values of a head for its
// i-th token.
func (l KVLayout) KAt(i, head int) int64 { return int64(i)*l.KRow() + int64(head)*l.KHeadBytes }

// VAt is likewise for the values.
func (l KVLayout) VAt(i, head int) int64 {
	if l.VInK {
		return l.KAt(i, head)
	}
	return int64(l.BlockTokens)*l.KRow() + int64(i)*l.VRow() + int64(head)*l.VHeadBytes
}

// PageBytes is the bytes of a page.
func (l KVLayout) PageBytes() int64 { return int64(l.BlockTokens) * (l.KRow() + l.VRow()) }

// KVRun is a run of consecutive positions of one sequence in a batch: rows
// [Row, Row+Count) of q, k and v are positions Pos, Pos+1, ... of it.
type KVRun struct {
	Row, Count, Pos int
	// Pages holds positions [FirstBlock*BlockTokens, ...), page after page.
	Pages      []Span
	FirstBlock int
}

// Attention describes scaled dot-product attention of one layer. Query heads
// share KV heads in equal groups. A query at position p sees the keys at
// positions p-Window+1 .. p (all of 0 .. p without a window) that the run's
// pages hold.
//
// The accumulator of a query row is a row of Heads*(VDim+2) values: for each
// head the maximum score, the sum of weights, and the weighted values.
// An accumulator that has seen nothing has the maximum -Inf; Reset makes
// Attend start from there.
type Attention struct {
	Layout KVLayout
	Heads  int // query heads
	Scale  float32
	Cap    float32 // scores become Cap tanh(score/Cap); 0: no cap
	Window int     // 0: none
	// Sinks [1, Heads], if any, holds a score for each head that takes weight
	// but has no value (Xiao et al., "attention sinks"; as gpt-oss learns it).
	Sinks Matrix
	Reset bool
}

// AccumulatorCols is the columns of an accumulator or a partial.
func (a Attention) AccumulatorCols() int { return a.Heads * (a.Layout.VDim + 2) }

// Visible is the first position that the query at pos sees.
func (a Attention) Visible(pos int) int {
	if a.Window > 0 && pos >= a.Window {
		return pos - a.Window + 1
	}
	return 0
}
