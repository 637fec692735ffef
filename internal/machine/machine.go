// Package machine measures what a machine can do at best: how fast all threads
// together read memory and multiply. Speeds of a model are told as shares of
// these limits, measured in the same run.
package machine

//go:generate sh -c "cd _asm && go run . -out ../loops_amd64.s -stubs ../loops_amd64.go -pkg machine"

import (
	"context"
	"slices"
	"sync"
	"time"

	"gorun/internal/arena"
)

// Limits are the limits of a machine. Zero: not known.
type Limits struct {
	ReadBytesPerSecond float64 `json:"read_bytes_per_second"`
	// FlopsPerSecond counts a float32 multiply-add as two.
	FlopsPerSecond float64 `json:"fp32_flops_per_second"`
}

// readBytes is what each thread reads in a turn, well beyond caches.
const readBytes = 256 << 20

// rounds of each measurement; the best counts, since a neighbour can only make
// it worse.
const rounds = 5

// Measure measures with the given number of threads, for about a second.
func Measure(ctx context.Context, threads int) (Limits, error) {
	var l Limits
	bytes, err := measureRead(ctx, threads)
	if err != nil {
		return l, err
	}
	l.ReadBytesPerSecond = bytes
	l.FlopsPerSecond, err = measureFlops(ctx, threads)
	return l, err
}

func measureRead(ctx context.Context, threads int) (float64, error) {
	memory := make([][]byte, threads)
	for i := range memory {
		a, err := arena.New(readBytes)
		if err != nil {
			return 0, err
		}
		defer a.Free()
		memory[i] = a.Bytes()
		for at := 0; at < readBytes; at += 4096 {
			memory[i][at] = 1 // so that each page is there, and not the zero page
		}
	}
	return best(ctx, threads, readBytes, func(i int) { read(memory[i]) })
}

func measureFlops(ctx context.Context, threads int) (float64, error) {
	loop, flops := multiplyAdd()
	if loop == nil {
		return 0, ctx.Err()
	}
	const n = 4 << 20
	return best(ctx, threads, float64(n*flops), func(int) { loop(n) })
}

// best is the largest rate, in units per second, at which all threads do work
// of so many units each.
func best(ctx context.Context, threads int, units float64, work func(thread int)) (float64, error) {
	var rates []float64
	for range rounds {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		var all sync.WaitGroup
		begin := time.Now()
		for i := range threads {
			all.Go(func() { work(i) })
		}
		all.Wait()
		rates = append(rates, units*float64(threads)/time.Since(begin).Seconds())
	}
	return slices.Max(rates), nil
}
