package gemm

import (
	"math"

	"gorun/internal/f32"
	"gorun/tensor"
)

// generic is the kernel set in plain Go, the oracle of the others.
var generic = newGeneric()

func newGeneric() *Set {
	s := &Set{
		name:     "generic",
		quantize: map[Form]quantizeFunc{},
		unpack:   map[tensor.Type]unpackFunc{},
		product:  map[productKey]*[len(widths)]productFunc{},
		float:    map[tensor.Type]*floatKernels{},
		reduce:   reduceGeneric,
	}
	for t, f := range formats {
		s.quantize[f.form] = quantizeGeneric(f.form)
		s.unpack[t] = unpackGeneric(t, f)
		p := productGeneric(f.form)
		s.product[f.productKey()] = &[len(widths)]productFunc{p, p, p, p}
	}
	for t, size := range floatSizes {
		rows4, row1 := floatGeneric(t, size, 4), floatGeneric(t, size, 1)
		s.float[t] = &floatKernels{
			rows4: [len(floatWidths)]floatFunc{rows4, rows4, rows4, rows4},
			row1:  [len(floatWidths)]floatFunc{row1, row1, row1, row1},
		}
	}
	return s
}

// unpackGeneric decodes block after block and spreads it over the tile.
func unpackGeneric(t tensor.Type, f *format) unpackFunc {
	size, bytes := t.BlockSize(), t.BlockBytes()
	group, groupBytes := f.form.group, f.form.groupBytes()
	return func(tile, w []byte, stride, blocks int) {
		var (
			us     [256]uint8
			ss, ms [16]float32
		)
		u, s, m := us[:size], ss[:size/group], ms[:size/group]
		for r := range tileRows {
			for b := range blocks {
				decode(t, u, s, m, w[r*stride+b*bytes:][:bytes])
				for g := range s {
					out := tile[(b*len(s)+g)*groupBytes:][:groupBytes]
					for k, v := range u[g*group:][:group] {
						out[64*(k/4)+4*r+k%4] = v
					}
					le.PutUint32(out[16*group+4*r:], math.Float32bits(s[g]))
					if f.form.min {
						le.PutUint32(out[16*group+64+4*r:], math.Float32bits(m[g]))
					}
				}
			}
		}
	}
}

// productGeneric is the formulation of the package comment, read off.
func productGeneric(f Form) productFunc {
	groupBytes, blockBytes := f.groupBytes(), f.blockBytes()
	return func(tile, x []byte, xAt []int, dst []float32, dstAt []int, blocks, rows int, carry bool) {
		var q [activationBlock]int32
		for c := range xAt {
			out := dst[dstAt[c]:][:rows]
			if !carry {
				clear(out)
			}
			for b := range blocks {
				block := x[xAt[c]+b*blockBytes:][:blockBytes]
				sx := float(block[32:])
				for k := range q {
					q[k] = int32(int8(block[k]))
					if f.wide {
						q[k] = 256*q[k] + int32(int8(block[f.lowBytes()+k]))
					}
				}
				for g := range activationBlock / f.group {
					group := tile[(b*(activationBlock/f.group)+g)*groupBytes:][:groupBytes]
					q, sum := q[g*f.group:][:f.group], block[36+4*g:]
					for r := range out {
						var isum int32
						if !f.min {
							isum = int32(le.Uint32(sum))
						}
						for k := 0; k < len(q); k += 4 {
							u := (*[4]byte)(group[16*k+4*r:])
							v := (*[4]int32)(q[k:])
							isum += int32(u[0])*v[0] + int32(u[1])*v[1] + int32(u[2])*v[2] + int32(u[3])*v[3]
						}
						s := float(group[16*f.group+4*r:])
						out[r] = f32.FMA(float32(isum), float32(s*sx), out[r])
						if f.min {
							m := float(group[16*f.group+64+4*r:])
							out[r] = f32.FMA(m, float(sum), out[r])
						}
					}
				}
			}
		}
	}
}

// floatGeneric is the float path of the package comment.
func floatGeneric(t tensor.Type, size, rows int) floatFunc {
	return func(w []byte, stride int, x []byte, xAt []int, partial []float32, partialAt []int, steps, _ int) {
		for r := range rows {
			for k := range steps * lanes {
				weight := floatWeight(t, w[r*stride+k*size:])
				for c, at := range xAt {
					p := &partial[lanes*(partialAt[c]+r)+k%lanes]
					*p = f32.FMA(weight, float(x[at+4*k:]), *p)
				}
			}
		}
	}
}

func floatWeight(t tensor.Type, src []byte) float32 {
	switch t {
	case tensor.F16:
		return half(src)
	case tensor.BF16:
		return tensor.BF16ToF32(le.Uint16(src))
	}
	return float(src)
}

func reduceGeneric(dst, partial []float32) {
	for i := range dst {
		p := *(*[lanes]float32)(partial[lanes*i:])
		for half := lanes / 2; half > 0; half /= 2 {
			for j := range half {
				p[j] += p[j+half]
			}
		}
		dst[i] = p[0]
	}
}

// float reads a float32.
func float(b []byte) float32 { return math.Float32frombits(le.Uint32(b)) }
