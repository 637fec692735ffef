package cpu

import (
	"math"
	"slices"

	"gorun/compute"
)

func (s *stream) Route(ids compute.Span, weights, logits compute.Matrix, p compute.Routing) {
	require(0 < p.Used && p.Used <= logits.Cols && weights.Cols == p.Used && weights.Rows == logits.Rows &&
		ids.N == 4*int64(logits.Rows)*int64(p.Used), "Route %dx%d to %d of them", logits.Rows, logits.Cols, p.Used)
	require(p.Groups == 0 || logits.Cols%p.Groups == 0 && 0 < p.GroupsUsed && p.GroupsUsed <= p.Groups && p.GroupTop > 0,
		"Route to %d of %d groups of %d experts", p.GroupsUsed, p.Groups, logits.Cols)
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
	choice := slices.Clone(values)
	if !p.Bias.IsZero() {
		for i, b := range row(p.Bias, 0) {
			choice[i] += float64(b)
		}
	}
	if p.Groups > 0 {
		chooseGroups(choice, p)
	}
	choose(ids, choice)

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

// chooseGroups rules out the values of all groups but the best.
func chooseGroups(values []float64, p compute.Routing) {
	size := len(values) / p.Groups
	scores, best := make([]float64, p.Groups), make([]int32, p.GroupsUsed)
	top := make([]int32, min(p.GroupTop, size))
	for g := range scores {
		group := values[g*size:][:size]
		choose(top, group)
		for _, i := range top {
			scores[g] += group[i]
		}
	}
	choose(best, scores)
	for g := range scores {
		if !slices.Contains(best, int32(g)) {
			for i := range values[g*size:][:size] {
				values[g*size+i] = math.Inf(-1)
			}
		}
	}
}

// choose lists the len(ids) largest values, the largest first; of equal ones
// the lower number is first.
func choose(ids []int32, values []float64) {
	n := 0
	for i := range values {
		at := n
		for at > 0 && values[i] > values[ids[at-1]] {
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
