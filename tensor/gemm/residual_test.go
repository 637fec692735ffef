package gemm

import (
	"math"
	"math/rand/v2"
	"testing"

	"gorun/tensor"
)

func TestResidual(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	x, rest := make([]float32, 96), make([]float32, 96)
	for i := range x {
		x[i] = float32(r.NormFloat64() * math.Pow(10, float64(i/32)))
	}
	row := make([]byte, ActivationBytes(tensor.Q8_0, len(x)))
	PrepareRow(tensor.Q8_0, row, x)
	Residual(tensor.Q8_0, rest, x, row)
	second := make([]byte, len(row))
	PrepareRow(tensor.Q8_0, second, rest)
	last := make([]float32, 96)
	Residual(tensor.Q8_0, last, rest, second)
	for i := range x {
		top := float32(0)
		for _, v := range x[i/32*32:][:32] {
			top = max(top, float32(math.Abs(float64(v))))
		}
		if limit := float64(top) / 254 * 1.0001; math.Abs(float64(rest[i])) > limit {
			t.Fatalf("residual %d is %v, at most %v", i, rest[i], limit)
		}
		if limit := float64(top) / 254 / 254 * 1.001; math.Abs(float64(last[i])) > limit {
			t.Fatalf("residual %d of the residual is %v, at most %v", i, last[i], limit)
		}
	}
}
