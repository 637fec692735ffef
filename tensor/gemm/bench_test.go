//go:build linux && amd64 && !purego && !noasm && !race

package gemm

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"gorun/tensor"
)

// benchThreads goroutines share the work.
const benchThreads = 2

// benchTypes are the types to measure: all native ones, or those that
// GEMM_TYPES lists.
func benchTypes() (types []tensor.Type) {
	list := os.Getenv("GEMM_TYPES")
	for _, t := range tensor.Types() {
		if list == "" && Native(t) || list != "" && strings.Contains(","+list+",", ","+t.String()+",") {
			types = append(types, t)
		}
	}
	return types
}

// BenchmarkDecode multiplies a matrix larger than the caches with one column
// and reports the bytes read per second, and as share of what reading alone
// reaches in the same run.
func BenchmarkDecode(b *testing.B) {
	cols := benchCols()
	for _, s := range Sets.All() {
		for _, t := range benchTypes() {
			b.Run(fmt.Sprintf("%v/%v", s.Name(), t), func(b *testing.B) {
				use(b, s)
				size, _ := t.RowSize(int64(cols))
				rowBytes := int(size)
				rows := benchBytes() / rowBytes / 64 * 64
				w := randomWeights(rand.New(rand.NewPCG(1, 1)), t, 64, cols)
				for len(w) < rows*rowBytes {
					w = append(w, w[:min(len(w), rows*rowBytes-len(w))]...)
				}
				half := len(w) / benchThreads / 512 * 512
				product, reading := interleave(b, mulBody(t, w, rows, cols, 1),
					func(thread int) { readAll(w[half*thread:][:half]) })
				report(b, "GB/s", float64(len(w))/1e9, product, reading)
			})
		}
	}
}

// BenchmarkPrefill multiplies 512 columns and reports the operations per
// second, and as share of the rate of fused multiply-adds on registers.
func BenchmarkPrefill(b *testing.B) {
	const rows, n, rounds = 512, 512, 1_000_000
	cols := benchCols()
	for _, s := range Sets.All() {
		for _, t := range benchTypes() {
			b.Run(fmt.Sprintf("%v/%v", s.Name(), t), func(b *testing.B) {
				use(b, s)
				rows, peak := rows, peaks[s.Name()]
				if s == generic {
					rows = 8
				}
				w := randomWeights(rand.New(rand.NewPCG(1, 1)), t, rows, cols)
				product, fma := interleave(b, mulBody(t, w, rows, cols, n), func(int) { peak.run(rounds) })
				ops := float64(2 * rows * cols * n)
				report(b, "GFLOP/s", ops/1e9, product, fma*ops/(benchThreads*rounds*peak.flops))
			})
		}
	}
}

// report reports amount/seconds, and the share of the limit, which takes least
// seconds.
func report(b *testing.B, unit string, amount, seconds, least float64) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(amount/seconds, unit)
	b.ReportMetric(least/seconds, "share")
}

// mulBody is a product whose threads take pieces of 64 rows in turn, or more
// if there is one column only.
func mulBody(t tensor.Type, w []byte, rows, cols, n int) func(thread int) {
	x := prepare(t, randomActivations(rand.New(rand.NewPCG(2, 2)), n*cols), n, cols)
	dst := make([]float32, n*rows)
	rowBytes, piece := len(w)/rows, 64
	if n == 1 {
		piece = 512
	}
	var scratch [benchThreads][]byte
	for i := range scratch {
		scratch[i] = make([]byte, ScratchBytes(t, cols))
	}
	return func(thread int) {
		for r := piece * thread; r < rows; r += piece * benchThreads {
			count := min(piece, rows-r)
			Mul(t, dst[r:], rows, nil, w[r*rowBytes:][:count*rowBytes], nil, count, cols, x, nil, n, scratch[thread])
		}
	}
}

// interleave runs two bodies in turn, each in benchThreads goroutines at the
// same time, and returns the median seconds of each: processor time, the
// largest of the threads', so that a busy machine disturbs little.
func interleave(b *testing.B, first, second func(thread int)) (float64, float64) {
	var seconds [2][]float64
	for b.Loop() {
		for i, body := range []func(int){first, second} {
			var wg sync.WaitGroup
			var times [benchThreads]float64
			for thread := range benchThreads {
				wg.Go(func() {
					runtime.LockOSThread()
					defer runtime.UnlockOSThread()
					start := processorSeconds()
					body(thread)
					times[thread] = processorSeconds() - start
				})
			}
			wg.Wait()
			seconds[i] = append(seconds[i], slices.Max(times[:]))
		}
	}
	slices.Sort(seconds[0])
	slices.Sort(seconds[1])
	return seconds[0][b.N/2], seconds[1][b.N/2]
}

// benchBytes is the size of the matrix: GEMM_MIB, beyond the caches by
// default. One that fits into them shows what the arithmetic alone takes.
func benchBytes() int {
	if n, err := strconv.Atoi(os.Getenv("GEMM_MIB")); err == nil {
		return n << 20
	}
	return 64 << 20
}

// benchCols is the length of a row: GEMM_COLS, or 4096.
func benchCols() int {
	if n, err := strconv.Atoi(os.Getenv("GEMM_COLS")); err == nil {
		return n
	}
	return 4096
}
