//go:build scale && linux

package model

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gorun/internal/pageio"
	"gorun/kvtier"
)

// feedAll extends a sequence, step tokens in a call.
func feedAll(t *testing.T, m *Model, seq *kvtier.Sequence, tokens []int32, step int) {
	t.Helper()
	for len(tokens) > 0 {
		n := min(step, len(tokens))
		err := m.Forward(context.Background(), []Run{{seq, tokens[:n], LastLogits}}, func(int, int, []float32) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		tokens = tokens[n:]
	}
}

// TestTierOverhead compares models whose KV cache is all hot with ones that
// have a cold tier below, in pairs.
//
//	go test -tags scale -run TestTierOverhead -v ./model
func TestTierOverhead(t *testing.T) {
	large := &tiny{arch: "llama", width: 1024, heads: 8, kvHeads: 2, dim: 128, layers: 4, hidden: 4096, vocab: 288, eps: 1e-5, base: 1e6}
	large.likeLlama(4096)
	large.fill()
	for name, path := range map[string]string{
		"4 times the KV for each multiply-add of an 8B model":  large.write(t),
		"87 times the KV for each multiply-add of an 8B model": resumeModel(t, 4096),
	} {
		t.Run(name, func(t *testing.T) { tierOverhead(t, path) })
	}
}

func tierOverhead(t *testing.T, path string) {
	const pairs = 11
	open := func(cold *Cold) *Model {
		m, err := Open(context.Background(), path, Options{KVCold: cold})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	plain, tiered := open(nil), open(&Cold{Dir: filepath.Join(t.TempDir(), "kv"), Bytes: 1 << 30})
	defer plain.Close()
	defer tiered.Close()
	for _, c := range []struct {
		name         string
		tokens, step int
	}{{"prefill", 2048, 512}, {"decode", 96, 1}} {
		var ratios []float64
		for pair := range pairs + 1 { // the first warms up
			var took [2]time.Duration
			for i := range 2 {
				which := (i + pair) % 2
				m := []*Model{plain, tiered}[which]
				seq := m.NewSequence()
				tokens := resumeTokens(256 + c.tokens)
				tokens[0] = int32(pair) // nothing is known of it
				feedAll(t, m, seq, tokens[:256], 256)
				begin := time.Now()
				feedAll(t, m, seq, tokens[256:], c.step)
				took[which] = time.Since(begin)
				seq.Free()
				if err := m.Pool().Flush(); err != nil {
					t.Fatal(err)
				}
			}
			if pair > 0 {
				ratios = append(ratios, took[0].Seconds()/took[1].Seconds())
			}
		}
		slices.Sort(ratios)
		t.Logf("%s: with a cold tier %.3f of the speed without, median of %d pairs (%.3f to %.3f)", c.name, ratios[len(ratios)/2], pairs, ratios[0], ratios[len(ratios)-1])
	}
}

// TestStreaming decodes a text that is nearly all on disk, and reads the same
// file plainly, in turns of a second.
//
//	go test -tags scale -run TestStreaming -v ./model
func TestStreaming(t *testing.T) {
	const n = 40000
	path, dir := resumeModel(t, n+2048), filepath.Join(t.TempDir(), "kv")
	m, err := Open(context.Background(), path, Options{KVHot: 32 << 20, KVCold: &Cold{Dir: dir}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	seq := m.NewSequence()
	fillWithNoise(t, m, seq, resumeTokens(n))
	if err := m.Pool().Flush(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "blocks.data"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	f, err := pageio.Open(files[0], pageio.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	streamSlice := func() float64 {
		begin, before := time.Now(), m.Pool().Stats().Attended
		for time.Since(begin) < time.Second {
			feedAll(t, m, seq, []int32{5}, 1)
		}
		return float64(m.Pool().Stats().Attended-before) / time.Since(begin).Seconds()
	}
	var ratios, speeds, sequential []float64
	for range 10 {
		plain := readInOrder(t, files[0], time.Second)
		small, stream, large := readFor(t, f, 256<<10, time.Second), streamSlice(), readFor(t, f, 1<<20, time.Second)
		ratios, speeds = append(ratios, stream/max(small, large)), append(speeds, stream/(1<<30))
		sequential = append(sequential, stream/plain)
		t.Logf("one read after the other %.2f GiB/s; 32 at a time %.2f GiB/s in pieces of 256 KiB, %.2f of 1 MiB; streaming %.2f", plain/(1<<30), small/(1<<30), large/(1<<30), stream/(1<<30))
	}
	slices.Sort(ratios)
	slices.Sort(speeds)
	slices.Sort(sequential)
	s := m.Pool().Stats()
	t.Logf("streaming %.2f GiB/s, %.3f of the better reading 32 at a time, median of 10 (%.3f to %.3f)", speeds[5], ratios[5], ratios[0], ratios[9])
	t.Logf("%.3f of plain sequential reading (%.3f to %.3f)", sequential[5], sequential[0], sequential[9])
	t.Logf("%.4f bytes read for each byte attended", float64(s.Read)/float64(s.Attended))
	if s.Read > s.Attended*105/100 {
		t.Error("more than 1.05")
	}
}

// readInOrder reads a file again and again for a while as the simplest program does that
// goes around the page cache: 1 MiB after the other, to large pages. It returns the bytes read in a second.
func readInOrder(t *testing.T, path string, d time.Duration) float64 {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECT, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mem, free, err := pageio.NewMemory(2 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	clear(mem)
	mem = mem[:1<<20]
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	var done int64
	begin := time.Now()
	for off := int64(0); time.Since(begin) < d; off += 1 << 20 {
		if off+1<<20 > info.Size() {
			off = 0
		}
		n, err := f.ReadAt(mem, off)
		if err != nil {
			t.Fatal(err)
		}
		done += int64(n)
	}
	return float64(done) / time.Since(begin).Seconds()
}

// readFor reads a file again and again for a while, as many pieces at once as
// the cold tier does, and returns the bytes read in a second.
func readFor(t *testing.T, f *pageio.File, piece int64, d time.Duration) float64 {
	t.Helper()
	const depth = 32
	var next atomic.Int64
	var all sync.WaitGroup
	mems := readMemory(t, depth, piece)
	begin, pieces := time.Now(), f.Size()/piece
	for _, mem := range mems {
		all.Go(func() {
			for time.Since(begin) < d {
				if _, err := f.ReadPage(mem, next.Add(1)%pieces*piece, piece); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	return float64(next.Load()*piece) / time.Since(begin).Seconds()
}

// readMemory is room for n pages of some size, in large pages like that of the
// cold tier.
func readMemory(t *testing.T, n, size int64) (mems [][]byte) {
	t.Helper()
	room := pageio.Room(size)
	all, free, err := pageio.NewMemory(n * room)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { free() })
	clear(all) // it is there before the clock runs
	for i := range n {
		mems = append(mems, all[i*room:(i+1)*room])
	}
	return mems
}
