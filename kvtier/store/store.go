package store

import (
	"container/heap"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"

	"gorun/internal/units"
)

// Options say how a store is opened.
type Options struct {
	FS FS
	// Cap is the most bytes on disk; 0: any number.
	Cap int64
	// StateCap is the most of them for snapshots; 0: a quarter of Cap.
	StateCap int64
	// Look opens for looking: nothing is changed, and others may look too.
	Look bool
	// Log is told what is slow, lost or refused; nil: nobody.
	Log *slog.Logger
}

// Store is an open directory. It may be used by several goroutines.
type Store struct {
	fs   FS
	lock io.Closer
	key  []byte
	o    Options
	log  *slog.Logger

	allocating sync.Mutex // held while room is made and taken

	mu       sync.Mutex
	sets     map[string]*Set // by path
	bytes    int64           // on disk, of all files
	states   int64           // of snapshots
	seq      uint64
	clock    int64
	old      [3]recordHeap // by kind: what may leave
	troubles []string
	failing  bool // the last write failed, and a line told so

	queue   chan Entry
	writing sync.WaitGroup
}

// Errors of a store.
var (
	ErrLocked = errors.New("the KV store is in use")
	ErrFull   = errors.New("the KV store is full")
)

func parentOf(dir string) string { return filepath.Dir(dir) }

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Open opens the store of a directory and makes it if there is none.
func Open(o Options) (*Store, error) {
	lock, err := o.FS.Lock(o.Look)
	if err != nil {
		return nil, fmt.Errorf("KV store: %w", err)
	}
	s := &Store{fs: o.FS, lock: lock, o: o, log: o.Log, sets: map[string]*Set{}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.o.StateCap == 0 {
		s.o.StateCap = o.Cap / 4
	}
	if err := s.load(); err != nil {
		return nil, fmt.Errorf("KV store: %w", errors.Join(err, s.closeFiles(), lock.Close()))
	}
	if !o.Look {
		s.queue = make(chan Entry, queueLength)
		s.writing.Go(s.write)
		if err := s.hold(); err != nil {
			return nil, fmt.Errorf("KV store: %w", errors.Join(err, s.Close()))
		}
	}
	return s, nil
}

// hold brings the store below its caps.
func (s *Store) hold() error {
	s.allocating.Lock()
	defer s.allocating.Unlock()
	if err := s.makeRoom(states, 0); err != nil && !errors.Is(err, ErrFull) {
		return err
	}
	if err := s.makeRoom(blocks, 0); err != nil && !errors.Is(err, ErrFull) {
		return err
	}
	return nil
}

// load reads the key and the headers of all sets.
func (s *Store) load() error {
	key, err := readFile(s.fs, "key")
	switch {
	case err == nil && len(key) == 32:
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err == nil:
		return fmt.Errorf("key: %w", ErrDamaged)
	case !s.o.Look:
		key = make([]byte, 32)
		rand.Read(key)
		if err := writeFile(s.fs, "key", key); err != nil {
			return err
		}
	}
	s.key = key
	namespaces, err := s.folders(".")
	if err != nil {
		return err
	}
	for _, ns := range namespaces {
		layouts, err := s.folders(ns)
		if err != nil {
			return err
		}
		for _, l := range layouts {
			if l == "sessions" {
				continue
			}
			if _, err := s.openSet(ns+"/"+l, nil); err != nil {
				return err
			}
		}
	}
	return s.measureSessions(namespaces)
}

// folders lists the directories in one.
func (s *Store) folders(path string) ([]string, error) {
	entries, err := s.fs.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 {
			return nil, fmt.Errorf("%s/%s is a symbolic link: the KV store follows none", path, e.Name())
		}
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// namespace is the name of a user's directory. It tells nobody who that is.
func (s *Store) namespace(user string) string {
	return hex.EncodeToString(s.secret("namespace", user)[:16])
}

func (s *Store) secret(what, user string) []byte {
	mac := hmac.New(sha256.New, s.key)
	io.WriteString(mac, what+"\x00"+user)
	return mac.Sum(nil)
}

// flag is how files are opened.
func (s *Store) flag() OpenFlag {
	if s.o.Look {
		return ReadOnly
	}
	return Create
}

// trouble keeps what is wrong for Check, and tells it.
func (s *Store) trouble(what string) {
	s.troubles = append(s.troubles, what)
	s.log.Warn("KV store: " + what)
}

// recordHeap orders records by their last use.
type recordHeap []*Record

func (h recordHeap) Len() int           { return len(h) }
func (h recordHeap) Less(i, j int) bool { return h[i].order < h[j].order }
func (h recordHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].heapAt, h[j].heapAt = i+1, j+1
}
func (h *recordHeap) Push(x any) {
	r := x.(*Record)
	*h = append(*h, r)
	r.heapAt = len(*h)
}
func (h *recordHeap) Pop() any {
	old := *h
	r := old[len(old)-1]
	old[len(old)-1] = nil
	*h, r.heapAt = old[:len(old)-1], 0
	return r
}

// leave makes a record one that may leave. s.mu is held.
func (s *Store) leave(r *Record) { heap.Push(&s.old[r.t.kind], r) }

// stay is the opposite.
func (s *Store) stay(r *Record) {
	if r.heapAt > 0 {
		heap.Remove(&s.old[r.t.kind], r.heapAt-1)
	}
}

// pin keeps a record and counts as a use. s.mu is held.
func (s *Store) pin(r *Record) *Record {
	s.clock++
	s.stay(r)
	r.pins++
	r.order = s.clock
	return r
}

// Unpin gives a record back that was found or written. One that cannot be
// found by others is freed then. Blocks should be given back from the end of a
// text to its beginning, without which the others are of no use.
func (s *Store) Unpin(r *Record) {
	s.mu.Lock()
	r.pins--
	s.clock++
	r.order = s.clock
	free := r.pins == 0 && !r.published && !r.dead
	if r.pins == 0 && r.published && !r.dead {
		s.leave(r)
	}
	s.mu.Unlock()
	if free {
		s.free([]*Record{r})
	}
}

// Used is the bytes of all files on disk.
func (s *Store) Used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// Cap is the most bytes on disk; 0: any number.
func (s *Store) Cap() int64 { return s.o.Cap }

// makeRoom frees records until one of a kind fits. s.allocating is held.
func (s *Store) makeRoom(k kind, need int64) error {
	for {
		victims, err := s.victims(k, need)
		if err != nil || len(victims) == 0 {
			return err
		}
		s.free(victims)
	}
}

// victims takes records away from those who search.
func (s *Store) victims(k kind, need int64) ([]*Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*Record
	take := func(from kind) bool {
		if len(s.old[from]) == 0 {
			return false
		}
		r := heap.Pop(&s.old[from]).(*Record)
		s.bury(r)
		list = append(list, r)
		return true
	}
	freed := func() (n int64) {
		for _, r := range list {
			n += r.t.slotBytes
		}
		return n
	}
	if k == states && s.o.StateCap > 0 {
		for s.states+need-freed() > s.o.StateCap {
			if !take(states) {
				if need == 0 {
					break
				}
				return list, full("snapshots of", s.states, s.o.StateCap, need)
			}
		}
	}
	if s.o.Cap > 0 {
		for s.bytes+need-freed() > s.o.Cap {
			if !take(blocks) && !take(states) {
				if len(list) > 0 {
					break // perhaps that is enough, once it is freed
				}
				return nil, full("files of", s.bytes, s.o.Cap, need)
			}
		}
	}
	return list, nil
}

func full(what string, have, most, need int64) error {
	return fmt.Errorf("%w: %s %v, all in use, of at most %v; %v more are needed", ErrFull, what, units.Size(have), units.Size(most), units.Size(need))
}

// bury takes a record out of the indexes. s.mu is held.
func (s *Store) bury(r *Record) {
	s.stay(r)
	r.dead = true
	if r.published {
		r.t.set.forget(r)
	}
}

// free gives slots back: headers are cleared, that is made durable, and only
// then are the data given up. A slot whose header cannot be cleared is not
// used again by this process.
func (s *Store) free(records []*Record) {
	tables := map[*table][]*Record{}
	for _, r := range records {
		tables[r.t] = append(tables[r.t], r)
	}
	for t, list := range tables {
		var err error
		for _, r := range list {
			if r.headed {
				err = errors.Join(err, t.clear(r.slot))
			}
		}
		if err == nil && slices.ContainsFunc(list, func(r *Record) bool { return r.headed }) {
			err = t.head.Sync()
		}
		for _, r := range list {
			if err == nil {
				err = t.data.Punch(r.off(), t.slotBytes)
			}
		}
		s.mu.Lock()
		for _, r := range list {
			if err != nil {
				s.trouble(fmt.Sprintf("%s: slot %d cannot be freed: %v", t.name, r.slot, err))
				continue
			}
			t.slots[r.slot] = nil
			t.free = append(t.free, r.slot)
			s.count(t.kind, -t.slotBytes)
		}
		s.mu.Unlock()
	}
}

// count adds to the bytes on disk. s.mu is held.
func (s *Store) count(k kind, n int64) {
	s.bytes += n
	if k == states {
		s.states += n
	}
}

// alloc takes a slot, pinned.
func (s *Store) alloc(t *table, h header) (*Record, error) {
	s.allocating.Lock()
	defer s.allocating.Unlock()
	if err := s.makeRoom(t.kind, t.slotBytes+t.headBytes); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	h.kind, h.seq = t.kind, s.seq
	r := &Record{t: t, h: h}
	if n := len(t.free); n > 0 {
		r.slot, t.free = t.free[n-1], t.free[:n-1]
		t.slots[r.slot] = r
	} else {
		r.slot = len(t.slots)
		t.slots = append(t.slots, r)
		s.bytes += t.headBytes
	}
	s.count(t.kind, t.slotBytes)
	return s.pin(r), nil
}

// Discard forgets a record that proved to be damaged, once nobody reads it.
func (s *Store) Discard(r *Record) {
	s.mu.Lock()
	was := r.published && !r.dead
	if was {
		r.t.set.forget(r)
		r.t.set.lost++
	}
	s.mu.Unlock()
	if !was {
		return
	}
	err := r.t.clear(r.slot)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.trouble(fmt.Sprintf("%s: slot %d is damaged and cannot be cleared: %v", r.t.name, r.slot, err))
		return
	}
	r.headed, r.published = false, false // Unpin frees it
}

// Close writes what is queued and closes the files.
func (s *Store) Close() error {
	var err error
	if s.queue != nil {
		err = s.Flush()
		close(s.queue)
		s.writing.Wait()
	}
	return errors.Join(err, s.closeFiles(), s.lock.Close())
}

func (s *Store) closeFiles() error {
	var errs []error
	for _, set := range s.sets {
		errs = append(errs, set.close())
	}
	return errors.Join(errs...)
}
