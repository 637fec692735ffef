package attn

import (
	"fmt"
	"testing"
)

// BenchmarkKernels tells multiply-adds a second for heads of 128 values and
// a tile of 32 positions, which the nearest cache holds.
func BenchmarkKernels(b *testing.B) {
	const width, keys = 128, 32
	q, k := numbers(4*width), numbers(keys*width)
	scores, sums := make([]float32, 4*1040), make([]float32, 4*width)
	for _, s := range Sets() {
		for i, rows := range heights {
			flops := func(b *testing.B) {
				b.ReportMetric(2*float64(rows*keys*width)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			}
			b.Run(fmt.Sprintf("%s/dots%d", s.name, rows), func(b *testing.B) {
				for b.Loop() {
					s.dots[i](scores, 1040, q, k, width/lanes, keys, 0.1)
				}
				flops(b)
			})
			b.Run(fmt.Sprintf("%s/add%d", s.name, rows), func(b *testing.B) {
				for b.Loop() {
					s.add[i](sums, scores, 1040, k, width/lanes, keys)
				}
				flops(b)
			})
		}
		b.Run(s.name+"/softmax", func(b *testing.B) {
			x := numbers(1024)
			for b.Loop() {
				s.softmax(x)
			}
			b.ReportMetric(1024*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gvalues/s")
		})
		for t, load := range s.load {
			b.Run(fmt.Sprintf("%s/load-%v", s.name, t), func(b *testing.B) {
				size := width / t.BlockSize() * t.BlockBytes()
				src := finite(keys * size)
				b.SetBytes(int64(len(src)))
				for b.Loop() {
					load(k, width, src, size, keys, width)
				}
			})
		}
	}
}
