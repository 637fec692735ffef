//go:build scale && linux

package model

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"gorun/internal/pageio"
	"gorun/kvtier"
)

// resumeModel has 20 KiB of KV a token.
func resumeModel(t *testing.T, context int) string {
	m := &tiny{arch: "llama", width: 512, heads: 4, kvHeads: 4, dim: 128, layers: 10, hidden: 256, vocab: 288, eps: 1e-5, base: 1e6}
	m.likeLlama(context)
	m.fill()
	return m.write(t)
}

func resumeTokens(n int) []int32 {
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = int32((i*7919 + i/288) % 288)
	}
	return tokens
}

// fillWithNoise extends a sequence by keys and values that nobody computed.
func fillWithNoise(t *testing.T, m *Model, seq *kvtier.Sequence, tokens []int32) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(r.Uint32()) &^ 0x40 // no infinite halves
	}
	for len(tokens) > 0 {
		n := min(len(tokens), m.plan.Options.Batch, seq.Room(m.pool.HotBlocks()))
		m.pool.Begin([]*kvtier.Sequence{seq})
		if err := seq.Reserve(n); err != nil {
			t.Fatal(err)
		}
		for i := range m.plan.Geometry.Layers {
			run := seq.Run(i, 0, n)
			for j := (run.Pos/m.plan.Geometry.BlockTokens - run.FirstBlock); j < len(run.Pages); j++ {
				at := r.IntN(len(noise) - int(run.Pages[j].N))
				m.decoder.stream.Write(run.Pages[j], noise[at:at+int(run.Pages[j].N)])
			}
		}
		if err := m.decoder.stream.Sync(); err != nil {
			t.Fatal(err)
		}
		seq.Advance(tokens[:n])
		tokens = tokens[n:]
	}
}

// TestResume goes on from 100,000 tokens in a new process, and compares the
// time to the first token with that to read the same bytes.
//
//	go test -tags scale -run TestResume -v ./model
func TestResume(t *testing.T) {
	const n = 100000
	if dir := os.Getenv("GORUN_RESUME_DIR"); dir != "" {
		resumeOnce(t, dir, n)
		return
	}
	path, dir := resumeModel(t, n+1024), filepath.Join(t.TempDir(), "kv")
	m, err := Open(context.Background(), path, Options{KVHot: 256 << 20, KVCold: &Cold{Dir: dir}})
	if err != nil {
		t.Fatal(err)
	}
	seq := m.NewSequence()
	tokens := resumeTokens(n + 1)
	fillWithNoise(t, m, seq, tokens[:n])
	if err := seq.Save(); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	var files []string
	if files, err = filepath.Glob(filepath.Join(dir, "*", "*", "blocks.data")); err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MiB of KV", info.Size()>>20)
	var ratios, sequential []float64
	before := readAll(t, files[0], info.Size())
	for range resumeRounds {
		r := resumeInProcess(t, dir, path)
		if r.Tokens < n-256 {
			t.Fatalf("%d tokens are known", r.Tokens)
		}
		after := readAll(t, files[0], info.Size())
		reading := (before + after).Seconds() / 2
		inOrder := float64(info.Size()) / readInOrder(t, files[0], time.Second)
		ratios, sequential = append(ratios, r.First/reading), append(sequential, r.First/inOrder)
		t.Logf("first token after %.2f s (started %.3f, opened %.3f, found %d tokens %.3f); reading takes %.2f s, one read after the other %.2f s: %.2f, %.2f",
			r.First, r.Started, r.Opened, r.Tokens, r.Found, reading, inOrder, r.First/reading, r.First/inOrder)
		before = after
	}
	slices.Sort(ratios)
	slices.Sort(sequential)
	for _, r := range [][]float64{ratios, sequential} {
		t.Logf("median %.3f of %d (%.3f to %.3f)", r[len(r)/2], len(r), r[0], r[len(r)-1])
	}
}

// resumeRounds is how often the text is resumed, each time between two plain
// readings of its file.
const resumeRounds = 9

// resumed is what the new process tells: seconds since it was asked for.
type resumed struct {
	Started, Opened, Found, First float64
	Tokens                        int
}

// resumeInProcess runs resumeOnce in a process of its own.
func resumeInProcess(t *testing.T, dir, model string) (r resumed) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "result")
	c := exec.Command(os.Args[0], "-test.run=TestResume$", "-test.v")
	c.Env = append(os.Environ(), "GORUN_RESUME_DIR="+dir, "GORUN_RESUME_MODEL="+model, "GORUN_RESUME_OUT="+out,
		fmt.Sprint("GORUN_RESUME_BEGIN=", time.Now().UnixNano()))
	if profile := os.Getenv("GORUN_RESUME_PROFILE"); profile != "" {
		c.Args = append(c.Args, "-test.cpuprofile="+profile)
	}
	if text, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// resumeOnce is the new process.
func resumeOnce(t *testing.T, dir string, n int) {
	asked, err := strconv.ParseInt(os.Getenv("GORUN_RESUME_BEGIN"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	since := func() float64 { return time.Since(time.Unix(0, asked)).Seconds() }
	r := resumed{Started: since()}
	m, err := Open(context.Background(), os.Getenv("GORUN_RESUME_MODEL"), Options{KVCold: &Cold{Dir: dir}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r.Opened = since()
	seq := m.NewSequence()
	tokens := resumeTokens(n + 1)
	if r.Tokens, err = seq.Resume(context.Background(), tokens[:n]); err != nil {
		t.Fatal(err)
	}
	r.Found = since()
	err = m.Forward(context.Background(), []Run{{seq, tokens[r.Tokens:], LastLogits}}, func(int, int, []float32) error {
		r.First = since()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(os.Getenv("GORUN_RESUME_OUT"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// readAll reads a file around the page cache, 1 MiB at a time and so many
// pieces at once as the cold tier does.
func readAll(t *testing.T, path string, size int64) time.Duration {
	t.Helper()
	f, err := pageio.Open(path, pageio.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const piece, depth = 1 << 20, 32
	mems := readMemory(t, depth, piece)
	begin := time.Now()
	var all sync.WaitGroup
	next := make(chan int64, depth)
	for _, mem := range mems {
		all.Go(func() {
			for off := range next {
				if _, err := f.ReadPage(mem, off, min(piece, size-off)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for off := int64(0); off < size; off += piece {
		next <- off
	}
	close(next)
	all.Wait()
	return time.Since(begin)
}
