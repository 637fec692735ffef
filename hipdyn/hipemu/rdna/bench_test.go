package rdna

import (
	"context"
	"testing"
)

// Benchmarks report lane operations a second on one core: lanes that were
// active, over all vector instructions.

func benchmark(b *testing.B, kernel string, grid, block uint32, args func(t *bench) []byte) {
	t := newBench(b, object(b, "kernels", "gfx1201"))
	k, err := t.m.Kernel(kernel)
	if err != nil {
		b.Fatal(err)
	}
	packed := args(t)
	cfg := LaunchConfig{Grid: [3]uint32{grid, 1, 1}, Block: [3]uint32{block, 1, 1}, Workers: 1}
	var total Counters
	for b.Loop() {
		c, err := k.Launch(context.Background(), cfg, packed, t.mem)
		if err != nil {
			b.Fatal(err)
		}
		total.add(&c)
		total.Instructions += c.Instructions
	}
	s := b.Elapsed().Seconds()
	b.ReportMetric(float64(total.LaneOps)/s/1e6, "Mlaneops/s")
	b.ReportMetric(s/float64(total.Instructions)*1e9, "ns/instruction")
}

func BenchmarkDot(b *testing.B) {
	benchmark(b, "q8dot", 32, 64, func(t *bench) []byte {
		const blocks = 128
		w, x := make([]byte, 32*blocks*34), make([]byte, blocks*34)
		return packArgs(room[float32](t, 32), put(t, w), put(t, x), blocks)
	})
}

func BenchmarkFloats(b *testing.B) {
	benchmark(b, "floats", 32, 64, func(t *bench) []byte {
		n := 2048
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(i) + 0.5
		}
		return packArgs(room[float32](t, 16*n), put(t, x), put(t, x), n)
	})
}

func BenchmarkSort(b *testing.B) {
	benchmark(b, "sort", 32, 64, func(t *bench) []byte { return packArgs(put(t, words(1, 2048))) })
}

func BenchmarkBranches(b *testing.B) {
	benchmark(b, "branches", 32, 64, func(t *bench) []byte {
		n := 2048
		x := make([]int32, n)
		for i := range x {
			x[i] = int32(i * 7)
		}
		return packArgs(room[int32](t, n), put(t, x), n)
	})
}

func BenchmarkWMMA(b *testing.B) {
	benchmark(b, "wmma", 64, 32, func(t *bench) []byte {
		return packArgs(room[float32](t, 256), put(t, make([]uint16, 256)), put(t, make([]uint16, 256)))
	})
}
