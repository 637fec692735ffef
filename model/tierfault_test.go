package model

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gorun/kvtier"
	"gorun/kvtier/store"
)

// faultyFS is the file system of a store, with faults.
type faultyFS struct {
	store.FS
	mu    sync.Mutex
	fault func(what string, b []byte) error // may change b

	blocks, states int64 // bytes written
	reads, read    int64 // number and bytes
}

func (f *faultyFS) Open(path string, flag store.OpenFlag) (store.File, error) {
	file, err := f.FS.Open(path, flag)
	if err != nil {
		return nil, err
	}
	return &faultyFile{file, f, path}, nil
}

func (f *faultyFS) do(what string, b []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault == nil {
		return nil
	}
	return f.fault(what, b)
}

type faultyFile struct {
	store.File
	fs   *faultyFS
	path string
}

func (f *faultyFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(b, off)
	f.fs.mu.Lock()
	f.fs.reads++
	f.fs.read += int64(n)
	f.fs.mu.Unlock()
	if strings.HasSuffix(f.path, ".data") && err == nil {
		if err = f.fs.do("read", b); err != nil {
			n = 0
		}
	}
	return n, err
}

func (f *faultyFile) WriteAt(b []byte, off int64) (int, error) {
	if strings.HasSuffix(f.path, ".data") {
		if err := f.fs.do("write", b); err != nil {
			return 0, err
		}
		f.fs.mu.Lock()
		defer f.fs.mu.Unlock()
		if strings.HasSuffix(f.path, "/blocks.data") {
			f.fs.blocks += int64(len(b))
		} else {
			f.fs.states += int64(len(b))
		}
	}
	return f.File.WriteAt(b, off)
}

// longPrompt is enough for many blocks of the demo model.
func longPrompt(t *testing.T, m *Model) []int32 {
	t.Helper()
	prompt, err := m.Prompt("The Scarecrow and the Tin Woodman walked along the road of yellow brick, and Dorothy went with them; " +
		"the Lion, who was a coward, came behind, and now and then he roared at the trees, which did not answer him at all.")
	if err != nil {
		t.Fatal(err)
	}
	return prompt
}

// TestDamagedReads flips bits in, or fails, some of what is read from disk:
// the text is the same, or ends with an error, and is never another.
func TestDamagedReads(t *testing.T) {
	plain := openDemo(t, Options{KVBlock: 4})
	prompt := longPrompt(t, plain)
	s := plain.NewSession()
	_, want, _ := write(t, s, prompt, Generation{MaxTokens: 40})
	s.Close()
	block := plain.Plan().Geometry.BlockBytes()
	recovered := 0
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 3))
		faults, limit := 0, 1+r.IntN(6)
		f := &faultyFS{FS: store.Dir(filepath.Join(t.TempDir(), "kv"))}
		f.fault = func(what string, b []byte) error {
			if what != "read" || r.IntN(400) > 0 || faults == limit {
				return nil
			}
			faults++
			if r.IntN(2) == 0 {
				return syscall.EIO
			}
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
			return nil
		}
		m := openDemo(t, Options{KVBlock: 4, KVHot: int64(1+r.IntN(8)) * block, KVCold: &Cold{FS: f}})
		s := m.NewSession()
		var ids []int32
		var err error
		for token, e := range s.Generate(context.Background(), prompt, Generation{MaxTokens: 40}) {
			if err = e; err == nil {
				ids = append(ids, token.ID)
			}
		}
		if !slices.Equal(ids, want[:len(ids)]) {
			t.Fatalf("seed %d: %d faults made another text", seed, faults)
		}
		if err != nil {
			t.Logf("seed %d: %d faults, %d tokens, then %v", seed, faults, len(ids), err)
		} else if len(ids) != len(want) {
			t.Errorf("seed %d: %d tokens", seed, len(ids))
		} else if faults > 0 {
			recovered++
		}
		s.Close()
	}
	if recovered == 0 {
		t.Error("no text went on after a fault")
	}
}

// TestFullDisk: where everything has room in memory, a full disk costs what
// would have been remembered. Where the disk is needed to go on, the text ends
// with an error that says so.
func TestFullDisk(t *testing.T) {
	plain := openDemo(t, Options{KVBlock: 4})
	prompt := longPrompt(t, plain)
	s := plain.NewSession()
	_, want, _ := write(t, s, prompt, Generation{MaxTokens: 10})
	s.Close()
	full := func() *Cold {
		left := 20 << 10
		return &Cold{FS: &faultyFS{FS: store.Dir(filepath.Join(t.TempDir(), "kv")), fault: func(what string, b []byte) error {
			if what == "write" {
				if left -= len(b); left < 0 {
					return syscall.ENOSPC
				}
			}
			return nil
		}}}
	}
	m := openDemo(t, Options{KVBlock: 4, KVCold: full()})
	s = m.NewSession()
	if _, ids, _ := write(t, s, prompt, Generation{MaxTokens: 10}); !slices.Equal(ids, want) {
		t.Error("another text")
	}
	s.Close()
	m = openDemo(t, Options{KVBlock: 4, KVCold: full(), KVHot: 4 * plain.Plan().Geometry.BlockBytes()})
	s = m.NewSession()
	defer s.Close()
	for _, err := range s.Generate(context.Background(), prompt, Generation{MaxTokens: 10}) {
		if !errors.Is(err, kvtier.ErrFull) || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("got %v", err)
		}
	}
}

// TestReuse: what one session computed, another finds, within a model and
// across restarts, and the bits are the same.
func TestReuse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kv")
	plain := openDemo(t, Options{KVBlock: 4})
	prompt := longPrompt(t, plain)
	one := plain.NewSession()
	_, want, _ := write(t, one, prompt, Generation{MaxTokens: 12})
	one.Close()
	computed := func(m *Model) (n int) {
		t.Helper()
		s := m.NewSession()
		defer s.Close()
		n = -1
		_, ids, _ := write(t, s, prompt, Generation{MaxTokens: 12, Progress: func(done, total int) {
			if n < 0 {
				n = total - done
			}
		}})
		if !slices.Equal(ids, want) {
			t.Errorf("%v, want %v", ids, want)
		}
		return n
	}
	if n := computed(plain); n > 4 {
		t.Errorf("the same model: %d tokens computed again", n)
	}
	for i, o := range []Options{{}, {KVHot: 1 << 20}, {Batch: 7}, {KVHot: 30 << 10, KVWarm: 20 << 10}} {
		o.KVBlock, o.KVCold = 4, &Cold{Dir: dir}
		f := openDemo(t, o)
		n := computed(f)
		if i == 0 && n != len(prompt) || i > 0 && n > 4 {
			t.Errorf("restart %d: %d tokens computed", i, n)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	other := openDemo(t, Options{KVBlock: 4, KVCold: &Cold{Dir: dir, User: "other"}})
	if n := computed(other); n != len(prompt) {
		t.Errorf("another user: %d tokens computed of %d", n, len(prompt))
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	reference := openDemo(t, Options{KVBlock: 4, KVCold: &Cold{Dir: dir}, Reference: true})
	s := reference.NewSession()
	if n := s.seq.Known(prompt); n != 0 {
		t.Errorf("other kernels: %d tokens are known", n)
	}
}

// TestHitsOfOthersDoNotShow: to a user, a prompt that another user has on disk
// or in memory costs the same work until the first token as one that nobody
// has sent before, and so the same time. The other finds it.
func TestHitsOfOthersDoNotShow(t *testing.T) {
	f := &faultyFS{FS: store.Dir(filepath.Join(t.TempDir(), "kv"))}
	open := func(user string) *Model { return openDemo(t, Options{KVBlock: 4, KVCold: &Cold{FS: f, User: user}}) }
	alice := open("alice")
	known := longPrompt(t, alice)
	fresh := slices.Clone(known)
	slices.Reverse(fresh[1:])
	type work struct{ tokens, reads, read int64 }
	count := func(m *Model, seq *kvtier.Sequence, prompt []int32) work {
		t.Helper()
		defer seq.Free()
		reads, read := f.reads, f.read
		n, err := seq.Resume(context.Background(), prompt[:len(prompt)-1])
		if err == nil {
			err = m.Forward(context.Background(), []Run{{seq, prompt[n:], LastLogits}}, func(int, int, []float32) error { return nil })
		}
		if err != nil {
			t.Fatal(err)
		}
		w := work{int64(len(prompt) - n), f.reads - reads, f.read - read}
		if err := m.Pool().Flush(); err != nil {
			t.Fatal(err)
		}
		return w
	}
	first := count(alice, alice.NewSequence(), known)
	if again := count(alice, alice.NewSequence(), known); again.tokens > 4 {
		t.Errorf("alice herself computes %d tokens", again.tokens)
	}
	// Within a process.
	for user, prompt := range map[string][]int32{"bob": known, "carol": fresh} {
		set, err := alice.Store().Set(user, alice.pool.Geometry().Layout(alice.Name(), "x", alice.Numerics()))
		if err != nil {
			t.Fatal(err)
		}
		if got := count(alice, alice.pool.NewSequenceFor(user, set), prompt); got != first {
			t.Errorf("%s beside alice: %+v, want %+v", user, got, first)
		}
	}
	if err := alice.Close(); err != nil {
		t.Fatal(err)
	}
	// From the disk.
	for user, prompt := range map[string][]int32{"dave": known, "erin": fresh} {
		m := open(user)
		if got := count(m, m.NewSequence(), prompt); got != first {
			t.Errorf("%s after alice: %+v, want %+v", user, got, first)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	alice = open("alice")
	if again := count(alice, alice.NewSequence(), known); again.tokens > 4 || again.reads == 0 {
		t.Errorf("alice after a restart: %+v", again)
	}
}

// TestWrittenOnce grows a conversation turn by turn, over restarts: each block
// is written once, and snapshots stay within their cap.
func TestWrittenOnce(t *testing.T) {
	for _, hot := range []int64{0, 40 << 10} {
		f := &faultyFS{FS: store.Dir(filepath.Join(t.TempDir(), "kv"))}
		const most = 4 << 20
		var text []int32
		for turn := range 24 {
			m := openDemo(t, Options{KVBlock: 4, KVHot: hot, KVCold: &Cold{FS: f, Bytes: most}})
			if turn == 0 {
				text = longPrompt(t, m)[:20]
			}
			s := m.NewSession()
			_, ids, _ := write(t, s, text, Generation{MaxTokens: 9})
			text = append(text, ids...)
			s.Close()
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
		}
		s, err := store.Open(store.Options{FS: f, Look: true})
		if err != nil {
			t.Fatal(err)
		}
		sets, err := s.Sets()
		if err != nil || len(sets) != 1 || sets[0].Tokens < int64(len(text)-8) {
			t.Fatalf("%+v, %v", sets, err)
		}
		final := int64(sets[0].Blocks) * (sets[0].Layout.BlockBytes() + 4095) / 4096 * 4096
		if f.blocks > final*11/10 {
			t.Errorf("hot %d: %d bytes of blocks written, %d are there", hot, f.blocks, final)
		}
		if s.Used() > most {
			t.Errorf("%d bytes on disk", s.Used())
		}
		t.Logf("hot %d: %d tokens, %d bytes of blocks and %d of snapshots written", hot, len(text), f.blocks, f.states)
		s.Close()
	}
}
