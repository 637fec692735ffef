package kernels

import (
	"encoding/binary"
	"math"

	"gorun/internal/f32"
	"gorun/tensor"
)

// The kernels in plain Go, with the same bits, written down lane by lane. They
// are what the kernels are tested against, here and on a user's GPU.

var le = binary.LittleEndian

// joinWave joins the values of a wave's lanes, as join_wave does.
func joinWave(lanes [waveSize]float32, join func(a, b float32) float32) float32 {
	for mask := 1; mask < waveSize; mask *= 2 {
		old := lanes
		for i := range lanes {
			lanes[i] = join(old[i], old[i^mask])
		}
	}
	return lanes[0]
}

// joinBlock joins the values of a block's threads, as join_block does.
func joinBlock(threads [rowThreads]float32, none float32, join func(a, b float32) float32) float32 {
	var waves [waveSize]float32
	for i := range waves {
		waves[i] = none
		if i < rowThreads/waveSize {
			waves[i] = joinWave([waveSize]float32(threads[i*waveSize:]), join)
		}
	}
	return joinWave(waves, join)
}

func add(a, b float32) float32 { return a + b }

// larger is the larger of two numbers that are not NaN.
func larger(a, b float32) float32 {
	if a > b {
		return a
	}
	return b
}

// dot is the sum of products of signed bytes.
func dot(a, b []int8) float32 {
	sum := int32(0)
	for i, v := range a {
		sum += int32(v) * int32(b[i])
	}
	return float32(sum)
}

// matVecQ8_0 is matvec_q8_0 for a row.
func matVecQ8_0(w []byte, q []int8, scales []float32) float32 {
	const block, part = 34, 8
	var lanes [waveSize]float32
	for l := range lanes {
		for b := l / 4; b < len(q)/32; b += waveSize / 4 {
			p := w[b*block:]
			at := l % 4 * part
			weights := make([]int8, part)
			for i := range weights {
				weights[i] = int8(p[2+at+i])
			}
			d := tensor.F16ToF32(le.Uint16(p)) * scales[b]
			lanes[l] = f32.FMA(d, dot(weights, q[32*b+at:]), lanes[l])
		}
	}
	return joinWave(lanes, add)
}

// matVecQ4_K is matvec_q4_K for a row.
func matVecQ4_K(w []byte, q []int8, scales []float32) float32 {
	const block = 144
	ones := []int8{1, 1, 1, 1}
	var lanes [waveSize]float32
	for b := range len(q) / 256 {
		p := w[b*block:]
		d, dmin := tensor.F16ToF32(le.Uint16(p)), tensor.F16ToF32(le.Uint16(p[2:]))
		for l := range lanes {
			for high := range 2 {
				g := l/8*2 + high
				s, i := p[4:], g%4
				scale, least := s[i]&63, s[i+4]&63
				if g >= 4 {
					scale, least = s[i+8]&15|s[i]>>6<<4, s[i+8]>>4|s[i+4]>>6<<4
				}
				weights := make([]int8, 4)
				for i := range weights {
					weights[i] = int8(p[16+4*l+i] >> (4 * high) & 15)
				}
				x := q[256*b+l/8*64+32*high+l%8*4:][:4]
				t := float32(float32(d*float32(scale)) * dot(weights, x))
				t = f32.FMA(-float32(dmin*float32(least)), dot(ones, x), t)
				lanes[l] = f32.FMA(scales[8*b+g], t, lanes[l])
			}
		}
	}
	return joinWave(lanes, add)
}

// rmsNorm is rms_norm for a row.
func rmsNorm(x, weight []float32, eps float32) []float32 {
	var sums [rowThreads]float32
	for i, v := range x {
		sums[i%rowThreads] = f32.FMA(v, v, sums[i%rowThreads])
	}
	mean := joinBlock(sums, 0, add) / float32(len(x))
	scale := 1 / float32(math.Sqrt(float64(mean+eps)))
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v*scale) * weight[i]
	}
	return y
}

// softmax is softmax for a row.
func softmax(x []float32, scale float32) []float32 {
	none := float32(math.Inf(-1))
	var most, sums [rowThreads]float32
	for i := range most {
		most[i] = none
	}
	for i, v := range x {
		most[i%rowThreads] = larger(most[i%rowThreads], float32(v*scale))
	}
	m := joinBlock(most, none, larger)
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = f32.Exp(float32(v*scale) - m)
		sums[i%rowThreads] += y[i]
	}
	sum := joinBlock(sums, 0, add)
	for i := range y {
		y[i] /= sum
	}
	return y
}

// gemm is an element of gemm_f16 in float64, and the sum of what it sums without
// signs, by which an error is measured.
func gemm(a, b []float32) (sum, size float64) {
	for i, v := range a {
		p := float64(v) * float64(b[i])
		sum += p
		size += math.Abs(p)
	}
	return sum, size
}
