package cpu

import (
	"math"

	"gorun/compute"
)

func (s *stream) Route(ids compute.Span, weights, logits compute.Matrix, p compute.Routing) {
	require(0 < p.Used && p.Used <= logits.Cols && weights.Cols == p.Used && weights.Rows == logits.Rows &&
		ids.N == 4*int64(logits.Rows)*int64(p.Used), "Route %dx%d to %d of them", logits.Rows, logits.Cols, p.Used)
	list := int32s(ids)
	s.parallel(logits.Rows, func(_, lo, hi int) {
		values := make([]float64, logits.Cols)
		for r := lo; r < hi; r++ {
			route(list[r*p.Used:][:p.Used], row(weights, r), row(logits, r), values, p)
		}
	})
}

func route(ids []int32, weights, logits []float32, values []float64, p compute.Routing) {
	for i, l := range logits {
		values[i] = float64(l)
	}
	switch p.Gating {
	case compute.GateSoftmax:
		softmax(values)
	case compute.GateSigmoid:
		for i, v := range values {
			values[i] = sigmoid(v)
		}
	case compute.GateSoftmaxSelected:
	default:
		panic("cpu: unknown gating")
	}
	var bias []float32
	if !p.Bias.IsZero() {
		bias = row(p.Bias, 0)
	}
	choose(ids, values, bias)

	chosen := make([]float64, len(ids))
	for k, id := range ids {
		chosen[k] = values[id]
	}
	if p.Gating == compute.GateSoftmaxSelected {
		softmax(chosen)
	}
	scale := float64(p.Scale)
	if p.Normalize {
		sum := 0.0
		for _, v := range chosen {
			sum += v
		}
		scale /= max(sum, minimumWeight)
	}
	for k, v := range chosen {
		weights[k] = float32(v * scale)
	}
}

// minimumWeight is the smallest sum that weights are divided by: the smallest
// normal float16, as reference implementations have it.
const minimumWeight = 6.103515625e-5

// choose lists the len(ids) largest values, the largest first; of equal ones
// the lower number is first.
func choose(ids []int32, values []float64, bias []float32) {
	score := func(i int) float64 {
		if bias == nil {
			return values[i]
		}
		return values[i] + float64(bias[i])
	}
	n := 0
	for i := range values {
		at := n
		for at > 0 && score(i) > score(int(ids[at-1])) {
			at--
		}
		if at == len(ids) {
			continue
		}
		n = min(n+1, len(ids))
		copy(ids[at+1:n], ids[at:n-1])
		ids[at] = int32(i)
	}
}

// softmax replaces values by their exponentials, divided by the sum.
func softmax(values []float64) {
	top := math.Inf(-1)
	for _, v := range values {
		top = max(top, v)
	}
	sum := 0.0
	for i, v := range values {
		values[i] = math.Exp(v - top)
		sum += values[i]
	}
	for i := range values {
		values[i] /= sum
	}
}

func (s *stream) Combine(dst, slots, weights compute.Matrix) {
	k := weights.Cols
	require(dst.Rows == weights.Rows && slots.Rows == dst.Rows*k && slots.Cols == dst.Cols,
		"Combine %dx%d by %dx%d to %dx%d", slots.Rows, slots.Cols, weights.Rows, k, dst.Rows, dst.Cols)
	s.rows1(dst, func(r int, d []float32) {
		for c := range d {
			sum := 0.0
			for i := range k {
				sum += float64(row(weights, r)[i]) * float64(row(slots, r*k+i)[c])
			}
			d[c] = float32(sum)
		}
	})
}
