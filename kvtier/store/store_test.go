package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorun/internal/pageio"
)

// small is a layout whose records are one block of the disk.
var small = Layout{Model: "m", Weights: "w", KV: "f16:f16", Numerics: "n", BlockTokens: 4, Pieces: []int64{1024, 512, 1536}, State: 5000}

func open(t testing.TB, fs FS, o Options) *Store {
	t.Helper()
	o.FS = fs
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func setOf(t testing.TB, s *Store, user string) *Set {
	t.Helper()
	set, err := s.Set(user, small)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// contents is what a test keeps for tokens: nothing else has the same.
func contents(tokens []int32, n int64) []byte {
	b := make([]byte, n, whole(n))
	x := uint64(sum(appendTokens(nil, tokens)))
	for i := range b {
		x = x*6364136223846793005 + 1442695040888963407
		b[i] = byte(x >> 56)
	}
	return b
}

// put writes a record and waits until it can be read.
func put(s *Store, e Entry) (r *Record, err error) {
	done := make(chan struct{})
	e.Done = func(rec *Record, er error) { r, err = rec, er; close(done) }
	s.Enqueue(e)
	<-done
	return r, err
}

// text is the blocks of a text of n tokens.
type text []int32

func textOf(seed, n int) text {
	t := make(text, n)
	for i := range t {
		t[i] = int32(seed*1000 + i)
	}
	return t
}

// entries are the records of a text: all full blocks, and a snapshot of it.
func (x text) entries(set *Set) []Entry {
	var list []Entry
	key, n := set.Root(), small.BlockTokens
	i := 0
	for ; i+n <= len(x); i += n {
		list = append(list, Entry{Set: set, Parent: key, Pos: i, Tokens: x[i : i+n], Data: contents(x[:i+n], small.BlockBytes())})
		key = key.Next(x[i : i+n])
	}
	return append(list, Entry{Set: set, State: true, Parent: key, Pos: i, Tokens: x[i:], Data: contents(x, small.State-int64(len(x))%100)})
}

func (x text) write(t testing.TB, set *Set) {
	t.Helper()
	for _, e := range x.entries(set) {
		r, err := put(set.store, e)
		if err != nil {
			t.Fatal(err)
		}
		set.store.Unpin(r)
	}
	if err := set.store.Flush(); err != nil { // until then nobody finds them
		t.Fatal(err)
	}
}

// verify looks for all records of a text and wants those that are found to
// have the right contents. It returns the number of tokens in blocks from the
// first on.
func (x text) verify(set *Set) (tokens int, snapshot bool, err error) {
	mem := make([]byte, whole(max(small.State, small.BlockBytes())))
	chain := true
	for _, e := range x.entries(set) {
		var r *Record
		if e.State {
			r = set.Snapshot(e.Parent, e.Pos, e.Tokens)
		} else {
			r = set.Block(e.Parent.Next(e.Tokens), e.Parent, e.Pos, e.Tokens)
		}
		if r == nil {
			chain = false
			continue
		}
		defer set.store.Unpin(r)
		if _, err := r.Read(mem, Whole); err != nil {
			return 0, false, err
		}
		want := e.Data
		if e.State {
			snapshot = true
			whole := append(slices.Clone(x[:e.Pos]), r.Tokens()...)
			want = contents(whole, small.State-int64(len(whole))%100)
		}
		if !bytes.Equal(mem[:r.Bytes()], want) {
			return 0, false, errors.New("a record has contents of another")
		}
		if chain && !e.State {
			tokens += len(e.Tokens)
		}
	}
	return tokens, snapshot, nil
}

// TestRoundTrip writes texts with shared beginnings, opens again, and finds
// them; on disk and in memory.
func TestRoundTrip(t *testing.T) {
	for name, fs := range map[string]FS{"disk": Dir(filepath.Join(t.TempDir(), "kv")), "memory": newMemFS()} {
		t.Run(name, func(t *testing.T) {
			texts := []text{textOf(1, 26), append(textOf(1, 10), textOf(2, 7)...), textOf(3, 8), textOf(4, 3)}
			s := open(t, fs, Options{})
			for _, x := range texts {
				x.write(t, setOf(t, s, "u"))
			}
			used := s.Used()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, fs, Options{})
			if s.Used() != used {
				t.Errorf("%d bytes, before %d", s.Used(), used)
			}
			set := setOf(t, s, "u")
			for _, x := range texts {
				if n, snapshot, err := x.verify(set); n != len(x)/4*4 || !snapshot || err != nil {
					t.Errorf("%d of %d tokens, snapshot %v, %v", n, len(x), snapshot, err)
				}
			}
			// A piece alone, wherever it begins.
			e := texts[0].entries(set)[2]
			r := set.Block(e.Parent.Next(e.Tokens), e.Parent, e.Pos, e.Tokens)
			mem, free, err := pageio.NewMemory(pageio.Room(4096))
			if err != nil {
				t.Fatal(err)
			}
			defer free()
			at := int64(0)
			for i, n := range small.Pieces {
				piece, err := r.Read(mem, i)
				if err != nil || !bytes.Equal(piece, e.Data[at:at+n]) {
					t.Errorf("piece %d: %v", i, err)
				}
				at += n
			}
			s.Unpin(r)
			// The shared beginning is there once.
			if sets, err := s.Sets(); err != nil || sets[0].Blocks != 6+2+2 || sets[0].Snapshots != 4 {
				t.Errorf("%+v, %v", sets, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestAllTokensCount has texts that share all but one token, anywhere.
func TestAllTokensCount(t *testing.T) {
	s := open(t, newMemFS(), Options{})
	defer s.Close()
	set := setOf(t, s, "u")
	x := textOf(1, 40)
	x.write(t, set)
	for i := range x {
		y := slices.Clone(x)
		y[i]++
		if n, _, err := y.verify(set); n != i/4*4 || err != nil {
			t.Errorf("token %d differs: %d tokens found, %v", i, n, err)
		}
	}
	// Hashes only find candidates: the tokens decide, even if keys were equal.
	e := x.entries(set)[1]
	other := []int32{9, 9, 9, 9}
	set.byKey[e.Parent.Next(other)] = set.byKey[e.Parent.Next(e.Tokens)]
	if r := set.Block(e.Parent.Next(e.Tokens), e.Parent, e.Pos, other); r != nil {
		t.Error("a record of other tokens was found")
	}
}

// TestUsersShareNothing: not files, not keys, not hits.
func TestUsersShareNothing(t *testing.T) {
	m := newMemFS()
	s := open(t, m, Options{})
	defer s.Close()
	x := textOf(1, 20)
	a, b := setOf(t, s, "alice"), setOf(t, s, "bob")
	x.write(t, a)
	if n, snapshot, _ := x.verify(b); n != 0 || snapshot {
		t.Error("bob finds alice's text")
	}
	if a.Root() == b.Root() {
		t.Error("keys are the same")
	}
	x.write(t, b)
	if n, _, err := x.verify(b); n != 20 || err != nil {
		t.Errorf("bob finds %d of his own (%v)", n, err)
	}
	if err := s.SaveSession("alice", Session{Name: "x", Tokens: x}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.LoadSession("bob", "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("bob loads alice's session: %v", err)
	}
	for path := range m.files {
		if strings.Contains(path, "alice") || strings.Contains(path, "bob") {
			t.Errorf("%s names a user", path)
		}
	}
	other := open(t, newMemFS(), Options{})
	defer other.Close()
	if s.namespace("alice") == other.namespace("alice") {
		t.Error("namespaces do not depend on the key of the directory")
	}
}

func TestOtherKernelsMiss(t *testing.T) {
	var log bytes.Buffer
	s := open(t, newMemFS(), Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	defer s.Close()
	x := textOf(1, 20)
	x.write(t, setOf(t, s, "u"))
	l := small
	l.Numerics = "other"
	set, err := s.Set("u", l)
	if err != nil {
		t.Fatal(err)
	}
	if n, snapshot, _ := x.verify(set); n != 0 || snapshot {
		t.Error("a text of other kernels is found")
	}
	if n := strings.Count(log.String(), "other kernels"); n != 1 {
		t.Errorf("%d lines tell of it: %s", n, log.String())
	}
}

// TestCap writes many texts and wants the cap to hold at each step, in what
// the store counts and on disk, the newest to stay, and freed space to return.
func TestCap(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kv")
	const most = 300 << 10
	s := open(t, Dir(dir), Options{Cap: most, StateCap: 60 << 10})
	sets := []*Set{setOf(t, s, "a"), setOf(t, s, "b")}
	for i := range 120 {
		x := textOf(i, 16)
		x.write(t, sets[i%2])
		if s.Used() > most || s.states > 60<<10 {
			t.Fatalf("%d bytes, %d of snapshots", s.Used(), s.states)
		}
		if n, snapshot, err := x.verify(sets[i%2]); n != 16 || !snapshot || err != nil {
			t.Fatalf("the newest text has %d tokens, %v, %v", n, snapshot, err)
		}
	}
	if disk := allocated(t, dir); disk > most+64<<10 {
		t.Errorf("%d bytes on disk", disk)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// A smaller cap holds from the start.
	s = open(t, Dir(dir), Options{Cap: most / 3})
	if s.Used() > most/3 {
		t.Errorf("%d bytes after opening", s.Used())
	}
	if disk := allocated(t, dir); disk > most/3+64<<10 {
		t.Errorf("%d bytes on disk after opening", disk)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// allocated is what files below a directory take on disk, without directories.
func allocated(t *testing.T, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		a, err := (&osFile{File: f}).Allocated()
		n += a
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestPinnedStay: records in use are neither evicted nor overwritten, and a
// store that is full of them says so.
func TestPinnedStay(t *testing.T) {
	s := open(t, newMemFS(), Options{Cap: 64 << 10})
	defer s.Close()
	set := setOf(t, s, "u")
	var held []*Record
	var entries []Entry
	for i := range 100 {
		e := textOf(i, 4).entries(set)[0]
		r, err := put(s, e)
		if errors.Is(err, ErrFull) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		held, entries = append(held, r), append(entries, e)
	}
	if len(held) < 5 || len(held) == 100 || s.Used() > 64<<10 {
		t.Fatalf("%d records are held in %d bytes", len(held), s.Used())
	}
	if err := s.Flush(); !errors.Is(err, ErrFull) {
		t.Fatalf("Flush after an entry was refused: %v", err)
	}
	mem := make([]byte, 4096)
	for i, r := range held {
		if _, err := r.Read(mem, Whole); err != nil || !bytes.Equal(mem[:r.Bytes()], entries[i].Data) {
			t.Errorf("record %d: %v", i, err)
		}
		s.Unpin(r)
	}
	textOf(200, 4).write(t, set)
}

// TestSpill: what is spilled is readable, found by nobody, and gone afterwards.
func TestSpill(t *testing.T) {
	m := newMemFS()
	s := open(t, m, Options{})
	set := setOf(t, s, "u")
	before := s.Used()
	data := contents([]int32{1}, small.BlockBytes())
	r, err := s.Spill(set, data)
	if err != nil {
		t.Fatal(err)
	}
	mem := make([]byte, 4096)
	if _, err := r.Read(mem, Whole); err != nil || !bytes.Equal(mem[:len(data)], data) {
		t.Errorf("%v", err)
	}
	dead := m.clone()
	s.Unpin(r)
	if n := s.Used() - before; n > 512 { // a header may stay for the next
		t.Errorf("%d bytes stay", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dead, Options{}) // without Unpin
	defer s.Close()
	if s.Used() > before {
		t.Errorf("%d bytes stay after a crash", s.Used()-before)
	}
}

// TestDamage flips bytes, cuts files, and wants a miss or an error, and never
// other contents.
func TestDamage(t *testing.T) {
	m := newMemFS()
	s := open(t, m, Options{})
	set := setOf(t, s, "u")
	texts := []text{textOf(1, 26), textOf(2, 17)}
	for _, x := range texts {
		x.write(t, set)
	}
	if err := s.SaveSession("u", Session{Name: "n", Tokens: texts[0], Text: []byte(`"hello"`)}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for p, f := range m.files {
		if len(f.data) > 0 {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	r := rand.New(rand.NewPCG(1, 2))
	detected := 0
	for i := range 1500 {
		c := m.clone()
		f := c.files[paths[r.IntN(len(paths))]]
		at := r.IntN(len(f.data))
		if i%5 == 0 {
			f.data = f.data[:at]
		} else {
			f.data[at] ^= 1 << r.IntN(8)
		}
		s, err := Open(Options{FS: c})
		if err != nil { // a damaged key: nothing can be found any more
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			detected++
			continue
		}
		set := setOf(t, s, "u")
		found := 0
		for _, x := range texts {
			n, snapshot, err := x.verify(set)
			if err != nil && !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			if err != nil || n != len(x)/4*4 || !snapshot {
				found++
			}
		}
		session, err := s.LoadSession("u", "n")
		if err == nil && (!slices.Equal(session.Tokens, texts[0]) || string(session.Text) != `"hello"`) {
			t.Fatal("a session is another")
		}
		if err != nil || found > 0 {
			detected++
		}
		// What was damaged is forgotten, and the store goes on.
		if _, err := s.Prune(Pruning{Most: -1, Damaged: true}); err != nil {
			t.Fatal(err)
		}
		for _, x := range texts {
			x.write(t, set)
			if n, snapshot, err := x.verify(set); n != len(x)/4*4 || !snapshot || err != nil {
				t.Fatalf("after pruning: %d, %v, %v", n, snapshot, err)
			}
		}
		if rep, err := s.Check(nil); err != nil || len(rep.Damaged) > 1 { // the session perhaps
			t.Fatalf("%+v, %v", rep, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if detected < 500 {
		t.Errorf("only %d damages showed", detected)
	}
}

// TestWriteFailures lets every access fail in turn: the entry is lost, what
// was there stays, and the store works again afterwards.
func TestWriteFailures(t *testing.T) {
	broken := errors.New("no space left on device")
	for step := 0; ; step++ {
		m := newMemFS()
		var log bytes.Buffer
		s := open(t, m, Options{Cap: 100 << 10, Log: slog.New(slog.NewTextHandler(&log, nil))})
		set := setOf(t, s, "u")
		first := textOf(1, 12)
		first.write(t, set)
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		n, failed := 0, false
		m.mu.Lock()
		m.fail = func(what, path string, _ int) error {
			if what == "read" {
				return nil
			}
			if n++; n > step && n <= step+3 {
				failed = true
				return broken
			}
			return nil
		}
		m.mu.Unlock()
		lost := 0
		for _, e := range textOf(2, 30).entries(set) {
			r, err := put(s, e)
			if err != nil {
				if !errors.Is(err, broken) {
					t.Fatal(err)
				}
				lost++
				continue
			}
			s.Unpin(r)
		}
		if err := s.Flush(); lost > 0 && !errors.Is(err, broken) {
			t.Fatalf("step %d: %d entries were lost, and Flush says %v", step, lost, err)
		}
		m.mu.Lock()
		m.fail = nil
		m.mu.Unlock()
		if n, snapshot, err := first.verify(set); n != 12 || !snapshot || err != nil {
			t.Fatalf("step %d: what was there: %d, %v, %v", step, n, snapshot, err)
		}
		if _, _, err := textOf(2, 30).verify(set); err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		textOf(3, 30).write(t, set)
		if n, _, err := textOf(3, 30).verify(set); n != 28 || err != nil {
			t.Fatalf("step %d: %d tokens, %v", step, n, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if failed && strings.Count(log.String(), "cannot be written to") > 1 {
			t.Errorf("step %d: told more than once: %s", step, log.String())
		}
		s = open(t, m, Options{Cap: 100 << 10})
		if rep, err := s.Check(nil); err != nil || len(rep.Damaged) > 0 {
			t.Fatalf("step %d: %+v, %v", step, rep, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if !failed {
			if step < 10 {
				t.Errorf("only %d accesses", step)
			}
			return
		}
	}
}

// TestForeignDirectories: what belongs to others, or leads elsewhere, is
// refused by name.
func TestForeignDirectories(t *testing.T) {
	base := t.TempDir()
	fresh := func(name string) string {
		dir := filepath.Join(base, name)
		s := open(t, Dir(dir), Options{})
		textOf(1, 8).write(t, setOf(t, s, "u"))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	find := func(dir, name string) string {
		var found string
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if d.Name() == name {
				found = path
			}
			return nil
		})
		return found
	}
	refused := func(dir, want string) {
		t.Helper()
		for _, look := range []bool{true, false} {
			s, err := Open(Options{FS: Dir(dir), Look: look})
			if err == nil {
				_, err = s.Set("u", small)
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", dir, err, want)
			}
		}
	}
	for _, name := range []string{"blocks.data", "blocks.head", "info", "key", "lock"} {
		dir := fresh("link-" + name)
		path := find(dir, name)
		if err := errors.Join(os.Rename(path, path+".moved"), os.Symlink(path+".moved", path)); err != nil {
			t.Fatal(err)
		}
		refused(dir, "symbolic link")
	}
	dir := fresh("folder")
	inner := filepath.Dir(find(dir, "info"))
	if err := errors.Join(os.Rename(inner, dir+"-away"), os.Symlink(dir+"-away", inner)); err != nil {
		t.Fatal(err)
	}
	refused(dir, "symbolic link")
	dir = fresh("open")
	if err := os.Chmod(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	refused(dir, "accessed by others")
	dir = fresh("file")
	if err := os.Chmod(find(dir, "blocks.data"), 0o644); err != nil {
		t.Fatal(err)
	}
	refused(dir, "accessed by others")
	if err := os.WriteFile(filepath.Join(base, "plain"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(filepath.Join(base, "plain"), "not a directory")
	if os.Geteuid() == 0 {
		dir = fresh("foreign")
		if err := os.Chown(dir, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		refused(dir, "belongs to user 12345")
	}
	err := filepath.WalkDir(fresh("modes"), func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", p, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTwoProcesses: the second is told who has the directory.
func TestTwoProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kv")
	s := open(t, Dir(dir), Options{})
	for _, look := range []bool{false, true} {
		if _, err := Open(Options{FS: Dir(dir), Look: look}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
			t.Errorf("%v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	a := open(t, Dir(dir), Options{Look: true})
	b := open(t, Dir(dir), Options{Look: true})
	if _, err := Open(Options{FS: Dir(dir)}); !errors.Is(err, ErrLocked) {
		t.Errorf("%v", err)
	}
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Error(err)
	}
}

// TestConcurrentReaders reads and finds while others write and evict.
func TestConcurrentReaders(t *testing.T) {
	s := open(t, Dir(filepath.Join(t.TempDir(), "kv")), Options{Cap: 200 << 10})
	defer s.Close()
	set := setOf(t, s, "u")
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 0))
			for range 40 {
				x := textOf(r.IntN(12), 12)
				if g%2 == 0 {
					x.write(t, set)
				}
				if _, _, err := x.verify(set); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if rep, err := s.Check(nil); err != nil || len(rep.Damaged)+len(rep.Lost) > 0 {
		t.Errorf("%+v, %v", rep, err)
	}
}

func TestSessions(t *testing.T) {
	m := newMemFS()
	s := open(t, m, Options{})
	for _, name := range []string{"plain", "../../etc/passwd", "with\x00zero", strings.Repeat("x", 256), "ünï"} {
		for i := range 2 {
			want := Session{Name: name, Tokens: []int32{1, 2, int32(i)}, Text: []byte(`{"a":1}`)}
			if err := s.SaveSession("u", want); err != nil {
				t.Fatal(err)
			}
			got, err := s.LoadSession("u", name)
			if err != nil || !slices.Equal(got.Tokens, want.Tokens) || got.Name != name {
				t.Errorf("%q: %+v, %v", name, got, err)
			}
		}
	}
	for _, name := range []string{"", strings.Repeat("x", 257)} {
		if err := s.SaveSession("u", Session{Name: name}); err == nil {
			t.Errorf("a name of %d bytes is taken", len(name))
		}
	}
	if err := s.DeleteSession("u", "plain"); err != nil {
		t.Error(err)
	}
	if list, err := s.Names(); err != nil || len(list) != 4 {
		t.Errorf("%v, %v", list, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
