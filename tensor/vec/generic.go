package vec

import (
	"encoding/binary"
	"math"

	"gorun/internal/f32"
	"gorun/tensor"
)

// generic is the kernel set in plain Go, the oracle of the others.
var generic = newGeneric()

func newGeneric() *Set {
	s := &Set{
		name: "generic", squares: squaresGeneric, scale: scaleGeneric, accumulate: accumulateGeneric,
		multiplyAdd: multiplyAddGeneric, halve: halveGeneric, delta: deltaGeneric,
	}
	for f := range Function(functions) {
		s.gated[f], s.activate[f] = gatedGeneric(f), activateGeneric(f)
	}
	return s
}

const (
	quickSlope = 1.702
	geluSlope  = 1.5957691    // 2 sqrt(2/pi)
	geluCubic  = 0.0713548163 // 0.044715 times that
)

// activation is f(x).
func activation(f Function, x float32) float32 {
	a := x
	switch f {
	case GELU:
		a = x * f32.FMA(x*x, geluCubic, geluSlope)
	case QuickGELU:
		a = x * quickSlope
	}
	t := f32.Exp(-float32(math.Abs(float64(a))))
	n, d := float32(1), 1+t
	if a < 0 {
		n = t
	}
	if f != Sigmoid {
		n *= x
	}
	return n / d
}

func gatedGeneric(f Function) gatedFunc {
	return func(dst, gate, up []float32, limitGate, limitResult, limitUp, upBias float32) {
		for i, x := range gate {
			y, u := least(limitResult, activation(f, least(limitGate, x))), least(limitUp, up[i])
			if -limitUp > u {
				u = -limitUp
			}
			dst[i] = y * float32(u+upBias)
		}
	}
}

// least is the lesser, or x if that is a NaN.
func least(limit, x float32) float32 {
	if limit < x {
		return limit
	}
	return x
}

func activateGeneric(f Function) activateFunc {
	return func(x []float32) {
		for i, v := range x {
			x[i] = activation(f, v)
		}
	}
}

func squaresGeneric(x []float32) float32 {
	var p [lanes]float32
	for i, v := range x {
		p[i%lanes] = f32.FMA(v, v, p[i%lanes])
	}
	for half := lanes / 2; half > 0; half /= 2 {
		for i := range half {
			p[i] += p[i+half]
		}
	}
	return p[0]
}

func scaleGeneric(dst, x, weight []float32, scale float32) {
	for i, v := range x {
		dst[i] = float32(v*scale) * weight[i]
	}
}

func accumulateGeneric(dst, x []float32, scale float32) {
	for i, v := range x {
		dst[i] = f32.FMA(v, scale, dst[i])
	}
}

func multiplyAddGeneric(dst, a, b []float32) {
	for i, v := range a {
		dst[i] = f32.FMA(v, b[i], dst[i])
	}
}

func halveGeneric(dst []byte, x []float32) {
	for i, v := range x {
		binary.LittleEndian.PutUint16(dst[2*i:], tensor.F32ToF16(v))
	}
}

func deltaGeneric(state, out, q, k, v []float32, decay, beta float32) {
	n := len(out)
	for j := range out {
		var sum float32
		for i := range k {
			s := float32(state[i*n+j] * decay)
			state[i*n+j] = s
			sum = f32.FMA(k[i], s, sum)
		}
		r := beta * (v[j] - sum)
		sum = 0
		for i := range k {
			s := f32.FMA(k[i], r, state[i*n+j])
			state[i*n+j] = s
			sum = f32.FMA(q[i], s, sum)
		}
		out[j] = sum
	}
}
