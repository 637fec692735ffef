package compute

// StateRun is a run of consecutive tokens of one sequence, for operations that
// carry a state from token to token: rows [Row, Row+Count). From holds the
// state before the run, unless the run is the First of its sequence, whose
// state is zero; To receives the state after it. They must not overlap: a pass
// that fails leaves From as it was.
type StateRun struct {
	Row, Count int
	First      bool
	From, To   Span
}

// DeltaNet describes the gated delta rule (Yang, Kautz and Hatamizadeh, "Gated
// Delta Networks"). For each value head with its key head, and each token:
//
//	S = exp(g) S        g = A softplus(Alpha + DtBias)
//	S = S + k r^T       r = sigmoid(Beta) (v - S^T k)
//	o = S^T q
//
// with q and k of length one (x/sqrt(|x|^2 + Eps)) and q scaled by
// 1/sqrt(KeyDim).
type DeltaNet struct {
	KeyHeads, ValueHeads int
	KeyDim, ValueDim     int
	Q, K                 Matrix // [T, KeyHeads*KeyDim]
	V                    Matrix // [T, ValueHeads*ValueDim]
	Alpha, Beta          Matrix // [T, ValueHeads]
	A, DtBias            Matrix // [1, ValueHeads]
	Eps                  float32
	// Grouped gives value heads to key heads in runs, h/(ValueHeads/KeyHeads);
	// otherwise in turn, h mod KeyHeads.
	Grouped bool
}

// KeyHead is the key head of value head h.
func (p DeltaNet) KeyHead(h int) int {
	if p.Grouped {
		return h / (p.ValueHeads / p.KeyHeads)
	}
	return h % p.KeyHeads
}

// StateBytes is the size of the state of one sequence.
func (p DeltaNet) StateBytes() int64 {
	return 4 * int64(p.ValueHeads) * int64(p.KeyDim) * int64(p.ValueDim)
}

// ConvStateBytes is the size of the state of a convolution over cols columns.
func ConvStateBytes(cols, width int) int64 { return 4 * int64(cols) * int64(width-1) }
