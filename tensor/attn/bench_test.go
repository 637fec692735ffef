package attn

import (
	"fmt"
	"testing"

	"gorun/internal/kernelset"
)

// BenchmarkKernels tells multiply-adds a second for heads of 128 values and
// 32 positions, which the nearest cache holds.
func BenchmarkKernels(b *testing.B) {
	const width, keys = 128, 32
	q, tile := kernelset.Numbers(4*width), make([]float32, keys*width)
	scores, sums := make([]float32, 4*1040), make([]float32, 4*width)
	for _, s := range Sets.All() {
		for t, k := range s.types {
			size := width / t.BlockSize() * t.BlockBytes()
			src := finite(keys * size)
			for i, rows := range heights {
				if k.dots[i] == nil {
					continue
				}
				flops := func(b *testing.B) {
					b.ReportMetric(2*float64(rows*keys*width)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
				}
				b.Run(fmt.Sprintf("%s/dots-%v-%d", s.name, t, rows), func(b *testing.B) {
					for b.Loop() {
						k.dots[i](scores, 1040, q, src, size, 0, width/lanes, keys, 0.1)
					}
					flops(b)
				})
				b.Run(fmt.Sprintf("%s/add-%v-%d", s.name, t, rows), func(b *testing.B) {
					for b.Loop() {
						k.add[i](sums, scores, 1040, src, size, 0, width/lanes, keys)
					}
					flops(b)
				})
			}
			b.Run(fmt.Sprintf("%s/load-%v", s.name, t), func(b *testing.B) {
				b.SetBytes(int64(len(src)))
				for b.Loop() {
					k.load(tile, width, src, size, 0, keys, width)
				}
			})
		}
		b.Run(s.name+"/softmax", func(b *testing.B) {
			x := kernelset.Numbers(1024)
			for b.Loop() {
				s.softmax(x)
			}
			b.ReportMetric(1024*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gvalues/s")
		})
	}
}
