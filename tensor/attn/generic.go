package attn

import (
	"math"

	"gorun/internal/fma"
	"gorun/tensor"
)

// generic is the kernel set in plain Go, the oracle of the others.
var generic = newGeneric()

func newGeneric() *Set {
	s := &Set{name: "generic", softmax: softmaxGeneric, softcap: softcapGeneric, load: map[tensor.Type]loadFunc{}}
	for i, rows := range heights {
		s.dots[i], s.add[i] = dotsGeneric(rows), addGeneric(rows)
	}
	for _, t := range []tensor.Type{tensor.F32, tensor.F16, tensor.BF16, tensor.Q8_0} {
		s.load[t] = loadGeneric(t)
	}
	return s
}

func dotsGeneric(rows int) dotsFunc {
	return func(dst []float32, stride int, q, k []float32, vectors, keys int, scale float32) {
		n := vectors * lanes
		for r := range rows {
			for j := range keys {
				dst[r*stride+j] = dot(q[r*n:][:n], k[j*n:][:n]) * scale
			}
		}
	}
}

// dot multiplies rows of whole vectors.
func dot(q, k []float32) float32 {
	var p [lanes]float32
	for ; len(q) >= lanes && len(k) >= lanes; q, k = q[lanes:], k[lanes:] {
		for i := range p {
			p[i] = fma.F32(q[i], k[i], p[i])
		}
	}
	return tree(p)
}

// tree adds up partial sums.
func tree(p [lanes]float32) float32 {
	for half := lanes / 2; half > 0; half /= 2 {
		for i := range half {
			p[i] += p[i+half]
		}
	}
	return p[0]
}

func addGeneric(rows int) addFunc {
	return func(dst, w []float32, stride int, v []float32, vectors, n int) {
		width := vectors * lanes
		for r := range rows {
			o := dst[r*width:][:width]
			for j := range n {
				weight := w[r*stride+j]
				for d, v := range v[j*width:][:width] {
					o[d] = fma.F32(weight, v, o[d])
				}
			}
		}
	}
}

func softmaxGeneric(scores []float32) (top, sum float32) {
	top = float32(math.Inf(-1))
	for _, x := range scores {
		if x > top {
			top = x
		}
	}
	top += 0 // not -0
	var p [lanes]float32
	for i, x := range scores {
		w := exp(x - top)
		scores[i] = w
		p[i%lanes] += w
	}
	return top, tree(p)
}

func softcapGeneric(x []float32, limit float32) {
	for i, v := range x {
		x[i] = limit * tanh(v/limit)
	}
}

func loadGeneric(t tensor.Type) loadFunc {
	return func(dst []float32, width int, src []byte, stride, rows, n int) {
		size := n / t.BlockSize() * t.BlockBytes()
		for i := range rows {
			tensor.Dequantize(t, dst[i*width:][:n], src[i*stride:][:size])
		}
	}
}
