package store

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"gorun/internal/pageio"
)

// version is that of everything on disk. Other versions are not read.
const version = 1

// Layout says what records are of. Records of one layout are of no use to
// another.
type Layout struct {
	Version int    `json:"version"`
	Model   string `json:"model"` // for people
	// Weights is a fingerprint of the model; KV and Numerics are the types of
	// the cache and the kernels that computed it.
	Weights  string `json:"weights"`
	KV       string `json:"kv"`
	Numerics string `json:"numerics"`
	// BlockTokens is the tokens of a block, Pieces the bytes of its parts.
	BlockTokens int     `json:"block_tokens"`
	Pieces      []int64 `json:"pieces"`
	// State is the most bytes of a snapshot.
	State int64 `json:"state"`
}

// Limits of what a file may claim.
const (
	mostBlockTokens = 1 << 12
	mostPieces      = 1 << 16
	mostRecord      = 1 << 40
)

var errInfo = errors.New("the info of a layout is not one of this version")

func (l Layout) check() error {
	if l.Version != version || l.BlockTokens < 1 || l.BlockTokens > mostBlockTokens || len(l.Pieces) > mostPieces || l.State < 0 || l.State > mostRecord {
		return errInfo
	}
	var total int64
	for _, n := range l.Pieces {
		if n <= 0 || n > mostRecord-total {
			return errInfo
		}
		total += n
	}
	return nil
}

// text is the layout as it is kept.
func (l Layout) text() []byte {
	l.Version = version
	b, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		panic(err) // numbers and texts only
	}
	return append(b, '\n')
}

// BlockBytes is the data of a block.
func (l Layout) BlockBytes() (n int64) {
	for _, p := range l.Pieces {
		n += p
	}
	return n
}

// Set is the records of one user and layout.
type Set struct {
	store  *Store
	path   string
	layout Layout
	blocks *table
	states *table
	byKey  map[Key]*Record
	behind map[Key][]*Record // snapshots, by the block that they follow
	lost   int
}

// statePiece is the size of the pieces of a snapshot.
const statePiece = 256 << 10

func whole(n int64) int64 { return (n + pageio.Block - 1) / pageio.Block * pageio.Block }

// Set opens the records of a user and a layout, and makes them if there are
// none. If there are such of the same weights and KV types that other kernels
// computed, a line of the log says that they are not used.
func (s *Store) Set(user string, l Layout) (*Set, error) {
	l.Version = version
	if err := l.check(); err != nil {
		return nil, fmt.Errorf("KV store: %w", err)
	}
	ns := s.namespace(user)
	id := sha256.Sum256(l.text())
	path := ns + "/" + hex.EncodeToString(id[:16])
	s.mu.Lock()
	set := s.sets[path]
	for other, set := range s.sets {
		o := set.layout
		if other != path && strings.HasPrefix(other, ns+"/") && o.Weights == l.Weights && o.KV == l.KV && o.Numerics != l.Numerics {
			s.log.Info("the KV store has texts of this model that other kernels computed: they are not used", "kernels", o.Numerics, "now", l.Numerics)
		}
	}
	s.mu.Unlock()
	if set != nil {
		return set, nil
	}
	if s.o.Look {
		return nil, fs.ErrNotExist
	}
	for _, dir := range []string{ns, path} {
		if err := s.fs.Mkdir(dir); err != nil {
			return nil, fmt.Errorf("KV store: %w", err)
		}
	}
	if err := errors.Join(s.fs.SyncDir("."), s.fs.SyncDir(ns)); err != nil {
		return nil, fmt.Errorf("KV store: %w", err)
	}
	set, err := s.openSet(path, &l)
	if err != nil {
		return nil, fmt.Errorf("KV store: %w", err)
	}
	return set, nil
}

// openSet opens what is in a directory. With a layout, it must be that one; a
// directory without a good info holds nothing of use, and begins anew.
func (s *Store) openSet(path string, l *Layout) (*Set, error) {
	info, err := readFile(s.fs, path+"/info")
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrDamaged) {
		return nil, err
	}
	good := err == nil
	var found Layout
	if good && (json.Unmarshal(info, &found) != nil || found.check() != nil || l != nil && !bytes.Equal(info, l.text())) {
		good = false
	}
	if !good {
		if l == nil {
			s.trouble(fmt.Sprintf("%s: it has no info that can be read: prune removes it", path))
			return nil, nil
		}
		for _, name := range []string{"blocks.head", "blocks.data", "states.head", "states.data", "info", "info.tmp"} {
			if err := ignoreMissing(s.fs.Remove(path + "/" + name)); err != nil {
				return nil, err
			}
		}
		if err := writeFile(s.fs, path+"/info", l.text()); err != nil {
			return nil, err
		}
		found = *l
	}
	set := &Set{store: s, path: path, layout: found, behind: map[Key][]*Record{}}
	set.blocks = &table{store: s, set: set, kind: blocks, name: path + "/blocks", tokens: found.BlockTokens, bounds: []int64{0}}
	for _, n := range found.Pieces {
		set.blocks.bounds = append(set.blocks.bounds, set.blocks.bounds[len(set.blocks.bounds)-1]+n)
	}
	set.states = &table{store: s, set: set, kind: states, name: path + "/states", tokens: found.BlockTokens, bounds: []int64{0}}
	for at := int64(0); at < found.State; {
		at = min(at+statePiece, found.State)
		set.states.bounds = append(set.states.bounds, at)
	}
	for _, t := range []*table{set.blocks, set.states} {
		t.slotBytes = max(whole(t.bounds[len(t.bounds)-1]), pageio.Block)
		t.headBytes = headerBytes(t.tokens, len(t.bounds)-1)
		err := t.open(s.flag(), s.trouble)
		if s.o.Look && errors.Is(err, fs.ErrNotExist) {
			s.trouble(fmt.Sprintf("%s: it was being made", path))
			return nil, set.close()
		}
		if err != nil {
			return nil, errors.Join(err, set.close())
		}
		s.index(t)
	}
	if !s.o.Look {
		if err := s.fs.SyncDir(path); err != nil {
			return nil, errors.Join(err, set.close())
		}
	}
	s.mu.Lock()
	s.sets[path] = set
	s.mu.Unlock()
	return set, nil
}

// index counts the records of a table and makes them findable. The order of
// writing stands for that of use, but a block is used with those behind it.
func (s *Store) index(t *table) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes += int64(len(t.slots)) * t.headBytes
	if t.kind == blocks {
		t.set.byKey = make(map[Key]*Record, len(t.slots))
	}
	list := make([]*Record, 0, len(t.slots))
	for _, r := range t.slots {
		if r == nil {
			continue
		}
		s.count(t.kind, t.slotBytes)
		s.seq = max(s.seq, r.h.seq)
		r.order = int64(r.h.seq)
		s.clock = max(s.clock, r.order)
		t.set.remember(r)
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *Record) int { return cmp.Compare(b.h.pos, a.h.pos) })
	for _, r := range list {
		if before := t.set.byKey[r.h.parent]; t.kind == blocks && before != nil {
			before.order = max(before.order, r.order+1)
		}
		s.leave(r)
	}
}

func (set *Set) close() error {
	var errs []error
	for _, t := range []*table{set.blocks, set.states} {
		if t != nil {
			errs = append(errs, t.close())
		}
	}
	return errors.Join(errs...)
}

// Layout is what the records are of.
func (set *Set) Layout() Layout { return set.layout }

// Store is the store of the set.
func (set *Set) Store() *Store { return set.store }

// Root is the key before the first block.
func (set *Set) Root() Key {
	return sha256.Sum256(append(set.store.secret("root", set.path), set.layout.text()...))
}

// remember makes a record findable. s.mu is held.
func (set *Set) remember(r *Record) {
	if r.t.kind == states {
		set.behind[r.h.parent] = append(set.behind[r.h.parent], r)
		return
	}
	set.byKey[r.h.key] = r
}

// forget is the opposite.
func (set *Set) forget(r *Record) {
	if r.t.kind == states {
		list := set.behind[r.h.parent]
		for i, other := range list {
			if other == r {
				list = append(list[:i:i], list[i+1:]...)
				break
			}
		}
		if set.behind[r.h.parent] = list; len(list) == 0 {
			delete(set.behind, r.h.parent)
		}
		return
	}
	if set.byKey[r.h.key] == r {
		delete(set.byKey, r.h.key)
	}
}

// Block finds the block of those tokens behind the key parent, and pins it; nil
// if there is none. The key, parent.Next of the tokens, finds a candidate, all tokens decide.
func (set *Set) Block(key, parent Key, pos int, tokens []int32) *Record {
	set.store.mu.Lock()
	defer set.store.mu.Unlock()
	r := set.byKey[key]
	if r == nil || r.h.parent != parent || r.h.pos != int64(pos) || !slices.Equal(r.h.tokens, tokens) {
		return nil
	}
	return set.store.pin(r)
}

// Snapshot finds the snapshot with the longest tail behind a block that tokens
// begin with, and pins it; nil if there is none.
func (set *Set) Snapshot(parent Key, pos int, tokens []int32) *Record {
	set.store.mu.Lock()
	defer set.store.mu.Unlock()
	var best *Record
	for _, r := range set.behind[parent] {
		if n := len(r.h.tokens); r.h.pos == int64(pos) && n <= len(tokens) && slices.Equal(r.h.tokens, tokens[:n]) && (best == nil || n > len(best.h.tokens)) {
			best = r
		}
	}
	if best == nil {
		return nil
	}
	return set.store.pin(best)
}
