package attn

import (
	"math"

	"gorun/internal/f32"
	"gorun/tensor"
)

// generic is the kernel set in plain Go, the oracle of the others.
var generic = newGeneric()

func newGeneric() *Set {
	s := &Set{name: "generic", types: map[tensor.Type]*kernels{}, softmax: softmaxGeneric, softcap: softcapGeneric, blend: blendGeneric}
	for _, t := range tensor.KVTypes() {
		k := &kernels{load: loadGeneric(t)}
		s.types[t] = k
		if short := t.HeadType(1); short != t { // rotated
			s.types[short] = &kernels{load: loadGeneric(short)}
			continue
		}
		for i, rows := range heights {
			k.dots[i], k.add[i] = dotsGeneric(t, rows), addGeneric(t, rows)
		}
	}
	rounded := s.types[tensor.Q8_0]
	rounded.round = roundGeneric
	for i, rows := range heights {
		rounded.dots[i] = roundedDotsGeneric(rows)
	}
	return s
}

func dotsGeneric(t tensor.Type, rows int) dotsFunc {
	return func(dst []float32, stride int, q []float32, k []byte, kStride, _, vectors, keys int, scale float32) {
		n := vectors * lanes
		for j := range keys {
			for r := range rows {
				dst[r*stride+j] = dot(q[r*n:][:n], t, k[j*kStride:]) * scale
			}
		}
	}
}

// dot multiplies a row of floats with one of type t.
func dot(q []float32, t tensor.Type, k []byte) float32 {
	var p [lanes]float32
	eachPiece(t, k, len(q), func(at int, values []float32) {
		for i, v := range values {
			p[i%lanes] = f32.FMA(q[at+i], v, p[i%lanes])
		}
	})
	return tree(p)
}

// eachPiece calls do with the n values of a row, a piece at a time.
func eachPiece(t tensor.Type, row []byte, n int, do func(at int, values []float32)) {
	var values [2 * lanes]float32
	step := max(t.BlockSize(), lanes)
	size := step / t.BlockSize() * t.BlockBytes()
	for at := 0; at < n; at += step {
		tensor.Dequantize(t, values[:step], row[at/step*size:][:size])
		do(at, values[:step])
	}
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

func addGeneric(t tensor.Type, rows int) addFunc {
	return func(dst, w []float32, stride int, v []byte, vStride, _, vectors, n int) {
		width := vectors * lanes
		for j := range n {
			eachPiece(t, v[j*vStride:], width, func(at int, values []float32) {
				for r := range rows {
					weight, o := w[r*stride+j], dst[r*width+at:]
					for d, v := range values {
						o[d] = f32.FMA(weight, v, o[d])
					}
				}
			})
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
		w := f32.Exp(x - top)
		scores[i] = w
		p[i%lanes] += w
	}
	return top, tree(p)
}

func softcapGeneric(x []float32, limit float32) {
	for i, v := range x {
		x[i] = limit * f32.Tanh(v/limit)
	}
}

func loadGeneric(t tensor.Type) loadFunc {
	return func(dst []float32, width int, src []byte, stride, _, rows, n int) {
		size := n / t.BlockSize() * t.BlockBytes()
		for i := range rows {
			tensor.Decode(t, dst[i*width:][:n], src[i*stride:][:size])
		}
	}
}
