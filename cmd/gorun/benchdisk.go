package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"gorun/internal/pageio"
	"gorun/internal/units"
)

// diskResult is one line of a disk bench.
type diskResult struct {
	Test   string `json:"test"`
	Block  int    `json:"block_bytes"`
	Queue  int    `json:"queue_depth"`
	Speed  spread `json:"bytes_per_second"`
	Direct bool   `json:"direct"` // around the page cache
	Dir    string `json:"dir"`
}

// diskBlock is the size of a read, that of a weight page.
const diskBlock = 4 << 20

// disk writes a file, and reads it back in order and at random, one read at a
// time and eight.
func (c *benchCommand) disk(ctx context.Context, s *streams) (err error) {
	blocks := int(c.DiskSize) / diskBlock
	if blocks < 1 || c.Reps < 1 {
		return usagef("--disk-size %v -r %d: want at least %v and one repetition", c.DiskSize, c.Reps, units.Size(diskBlock))
	}
	f, err := os.CreateTemp(c.Disk, "gorun-bench-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	bar := s.progress("bench", true)
	defer bar.clear()

	write, err := writeBlocks(ctx, f, blocks, bar)
	if err != nil {
		return err
	}
	results := []diskResult{{Test: "write", Block: diskBlock, Queue: 1, Speed: spreadOf([]float64{write}), Dir: c.Disk}}
	read, direct, err := openUncached(f.Name())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, read.Close()) }()
	for _, test := range []struct {
		name   string
		random bool
		queue  int
	}{{"read", false, 1}, {"read", false, 8}, {"random read", true, 1}, {"random read", true, 8}} {
		var rates []float64
		for range c.Reps {
			order := rand.Perm(blocks)
			if !test.random {
				for i := range order {
					order[i] = i
				}
			}
			rate, err := readBlocks(ctx, read, order, test.queue)
			if err != nil {
				return err
			}
			rates = append(rates, rate)
		}
		results = append(results, diskResult{test.name, diskBlock, test.queue, spreadOf(rates), direct, c.Disk})
	}
	bar.clear()
	if direct {
		// The last: pages come at random, several at a time.
		if err := keepDiskSpeed(c.Disk, results[len(results)-1].Speed.Median); err != nil {
			slog.Warn("the speed cannot be kept for plan", "error", err)
		}
	}
	if c.JSON {
		return writeJSON(s.out, results)
	}
	t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "test\tqueue\tspeed\tmin\tmax\n")
	for _, r := range results {
		size := func(v float64) string { return units.Size(v).String() + "/s" }
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\n", r.Test, r.Queue, size(r.Speed.Median), size(r.Speed.Min), size(r.Speed.Max))
	}
	if !direct {
		fmt.Fprintln(t, "\nThis file system cannot be read around the page cache: reads are of memory.")
	}
	return t.Flush()
}

// writeBlocks writes and syncs, and returns bytes per second.
func writeBlocks(ctx context.Context, f *os.File, blocks int, bar *progress) (float64, error) {
	block := make([]byte, diskBlock)
	random := rand.NewChaCha8([32]byte{})
	begin := time.Now()
	for i := range blocks {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		random.Read(block)
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		bar.set(int64(i+1)*diskBlock, int64(blocks)*diskBlock)
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	return float64(blocks*diskBlock) / time.Since(begin).Seconds(), nil
}

// readBlocks reads all blocks in the given order with queue reads under way,
// and returns bytes per second.
func readBlocks(ctx context.Context, r io.ReaderAt, order []int, queue int) (float64, error) {
	var next atomic.Int64
	errs := make([]error, queue)
	memory, free, err := pageio.NewMemory(int64(queue) * diskBlock)
	if err != nil {
		return 0, err
	}
	var all sync.WaitGroup
	begin := time.Now()
	for q := range queue {
		all.Go(func() {
			block := memory[q*diskBlock:][:diskBlock]
			for errs[q] == nil {
				i := int(next.Add(1)) - 1
				if i >= len(order) {
					return
				}
				if errs[q] = ctx.Err(); errs[q] == nil {
					_, errs[q] = r.ReadAt(block, int64(order[i])*diskBlock)
				}
			}
		})
	}
	all.Wait()
	speed := float64(len(order)*diskBlock) / time.Since(begin).Seconds()
	return speed, errors.Join(errors.Join(errs...), free())
}
