//go:build scale && linux

package model

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// These tests take minutes to an hour; run them one at a time:
//
//	go test -tags scale -timeout 3h -run TestScale -v ./model
//
// GORUN_SCALE is a number of tokens in place of 524288.

func scaleTokens(t *testing.T) int {
	n := 524288
	if text := os.Getenv("GORUN_SCALE"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// anonymous is the memory of the process that no file backs.
func anonymous(t *testing.T) int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	var sum int64
	for line := range strings.Lines(string(text)) {
		// Memory of arenas is shared memory to Linux.
		if fields := strings.Fields(line); len(fields) > 1 && (fields[0] == "RssAnon:" || fields[0] == "RssShmem:") {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += n << 10
		}
	}
	return sum
}

// TestScale fills a context to the end, in three tiers and in one, and wants
// the same last logits, and no more memory than was planned.
func TestScale(t *testing.T) {
	n := scaleTokens(t)
	m := &tiny{arch: "llama", width: 64, heads: 1, kvHeads: 1, dim: 64, layers: 1, hidden: 64, vocab: 288, eps: 1e-5, base: 1e6}
	m.likeLlama(n)
	m.fill()
	path := m.write(t)
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = int32((i*7919 + i/288) % 288)
	}
	before := anonymous(t)
	fill := func(o Options) (last []float32, most int64) {
		o.Context = n
		m, err := Open(context.Background(), path, o)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		seq := m.NewSequence()
		begin := time.Now()
		for done := 0; done < n; {
			step := min(16384, n-done)
			err := m.Forward(context.Background(), []Run{{seq, tokens[done : done+step], LastLogits}}, func(_, _ int, logits []float32) error {
				last = append(last[:0], logits...)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			done += step
			most = max(most, anonymous(t)-before)
			t.Logf("%v: %d tokens, %d MiB", time.Since(begin).Round(time.Second), done, most>>20)
		}
		s := m.Pool().Stats()
		t.Logf("%v, planned %d MiB, used %d MiB, %+v", time.Since(begin).Round(time.Second), m.Plan().Bytes()>>20, most>>20, s)
		if limit := m.Plan().Bytes()*105/100 + 32<<20; most > limit {
			t.Errorf("%d bytes of memory, planned %d", most, m.Plan().Bytes())
		}
		if o.KVCold != nil && float64(s.Read) > 1.05*float64(s.Attended) {
			t.Errorf("%d bytes read for %d", s.Read, s.Attended)
		}
		return last, most
	}
	kv := int64(n) * 256
	tiered, _ := fill(Options{KVHot: kv / 16, KVWarm: kv / 16, KVCold: &Cold{Dir: filepath.Join(t.TempDir(), "kv")}})
	plain, _ := fill(Options{})
	if d := differ(tiered, plain); d != "" {
		t.Error(d)
	}
}
