package vec

import (
	"fmt"
	"math"
)

// Function is an activation.
type Function int

// The activations. GELU is its tanh approximation, QuickGELU x sigmoid(1.702 x).
const (
	SiLU Function = iota
	GELU
	QuickGELU
	Sigmoid
	functions = iota
)

// Limits bound the parts of a gated unit; Unlimited has none.
type Limits struct {
	Gate, Result float32 // at most that, before and after the activation
	Up           float32 // up is between plus and minus that
	UpBias       float32 // is added to up then
}

// Unlimited bounds nothing.
func Unlimited() Limits {
	inf := float32(math.Inf(1))
	return Limits{Gate: inf, Result: inf, Up: inf}
}

// Gated computes the gated linear unit f(gate)*up. dst may be gate or up.
func Gated(f Function, dst, gate, up []float32, l Limits) {
	same(len(dst), len(gate), len(up))
	n := len(dst) / lanes * lanes
	if n > 0 {
		Sets.Current().gated[f](dst[:n], gate[:n], up[:n], l.Gate, l.Result, l.Up, l.UpBias)
	}
	generic.gated[f](dst[n:], gate[n:], up[n:], l.Gate, l.Result, l.Up, l.UpBias)
}

// Activate computes x = f(x).
func Activate(f Function, x []float32) {
	n := len(x) / lanes * lanes
	if n > 0 {
		Sets.Current().activate[f](x[:n])
	}
	generic.activate[f](x[n:])
}

// Normalize computes dst = x*weight / sqrt(mean of squares + eps), the norm of
// Zhang and Sennrich. dst may be x.
func Normalize(dst, x, weight []float32, eps float32) {
	same(len(dst), len(x), len(weight))
	scale := float32(1 / math.Sqrt(float64(squares(x))/float64(len(x))+float64(eps)))
	n := len(x) / lanes * lanes
	if n > 0 {
		Sets.Current().scale(dst[:n], x[:n], weight[:n], scale)
	}
	generic.scale(dst[n:], x[n:], weight[n:], scale)
}

// Unit computes dst = x*scale / sqrt(sum of squares + eps).
func Unit(dst, x []float32, eps, scale float32) {
	factor := float32(float64(scale) / math.Sqrt(float64(squares(x))+float64(eps)))
	for i, v := range x {
		dst[i] = v * factor
	}
}

// Accumulate computes dst += x*scale, with an fma each.
func Accumulate(dst, x []float32, scale float32) {
	same(len(dst), len(x), len(x))
	n := len(x) / lanes * lanes
	if n > 0 {
		Sets.Current().accumulate(dst[:n], x[:n], scale)
	}
	generic.accumulate(dst[n:], x[n:], scale)
}

// MultiplyAdd computes dst += a*b, element by element, with an fma each.
func MultiplyAdd(dst, a, b []float32) {
	same(len(dst), len(a), len(b))
	n := len(a) / lanes * lanes
	if n > 0 {
		Sets.Current().multiplyAdd(dst[:n], a[:n], b[:n])
	}
	generic.multiplyAdd(dst[n:], a[n:], b[n:])
}

// Halve rounds x to float16, to the same bits as tensor.Quantize.
func Halve(dst []byte, x []float32) {
	same(len(dst), 2*len(x), 2*len(x))
	n := len(x) / lanes * lanes
	if n > 0 {
		Sets.Current().halve(dst[:2*n], x[:n])
	}
	generic.halve(dst[2*n:], x[n:])
}

// squares sums up the squares of any number of values.
func squares(x []float32) float32 {
	n := len(x) / lanes * lanes
	if n == len(x) && n > 0 {
		return Sets.Current().squares(x)
	}
	return generic.squares(x)
}

// DeltaRule applies one token to the state of a gated delta net, len(q) rows
// of len(out) values:
//
//	S = decay S
//	S = S + k r^T    r = beta (v - S^T k)
//	out = S^T q
//
// Sums go over rows in ascending order, with an fma each.
func DeltaRule(state, out, q, k, v []float32, decay, beta float32) {
	same(len(out), len(v), len(out))
	same(len(q), len(k), len(q))
	same(len(state), len(q)*len(out), len(state))
	if len(out)%lanes == 0 && len(state) > 0 {
		Sets.Current().delta(state, out, q, k, v, decay, beta)
		return
	}
	generic.delta(state, out, q, k, v, decay, beta)
}

func same(n, a, b int) {
	if a != n || b != n {
		panic(fmt.Sprintf("vec: operands of %d, %d and %d values", n, a, b))
	}
}
