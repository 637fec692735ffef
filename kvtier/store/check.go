package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorun/internal/pageio"
)

// Summary is what a set holds.
type Summary struct {
	Namespace string `json:"namespace"`
	Layout    Layout `json:"layout"`
	Blocks    int    `json:"blocks"`
	Tokens    int64  `json:"tokens"`
	Snapshots int    `json:"snapshots"`
	Bytes     int64  `json:"bytes"`     // of slots in use
	Allocated int64  `json:"allocated"` // on disk, as the file system tells
}

// Sets tells of all sets, in the order of their paths.
func (s *Store) Sets() ([]Summary, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Summary
	for _, set := range s.sorted() {
		ns, _, _ := strings.Cut(set.path, "/")
		sum := Summary{Namespace: ns, Layout: set.layout}
		for _, t := range []*table{set.blocks, set.states} {
			for _, f := range []File{t.head, t.data} {
				n, err := f.Allocated()
				if err != nil {
					return nil, err
				}
				sum.Allocated += n
			}
			for _, r := range t.slots {
				if r == nil {
					continue
				}
				sum.Bytes += t.slotBytes
				if t.kind == states {
					sum.Snapshots++
					continue
				}
				sum.Blocks++
				sum.Tokens += int64(len(r.h.tokens))
			}
		}
		list = append(list, sum)
	}
	return list, nil
}

// sorted lists the sets by their paths.
func (s *Store) sorted() []*Set {
	var list []*Set
	for _, set := range s.sets {
		list = append(list, set)
	}
	slices.SortFunc(list, func(a, b *Set) int { return strings.Compare(a.path, b.path) })
	return list
}

// Names tells of all sessions of all namespaces. What cannot be read is left
// out; Check tells of it.
func (s *Store) Names() ([]Session, error) {
	var list []Session
	err := s.eachSession(func(_ string, session Session, err error) {
		if err == nil {
			list = append(list, session)
		}
	})
	slices.SortFunc(list, func(a, b Session) int { return b.Saved.Compare(a.Saved) })
	return list, err
}

func (s *Store) eachSession(do func(file string, session Session, err error)) error {
	namespaces, err := s.folders(".")
	if err != nil {
		return err
	}
	for _, ns := range namespaces {
		files, err := s.sessionFiles(ns)
		if err != nil {
			return err
		}
		for _, file := range files {
			session, err := s.readSession(file)
			do(file, session, err)
		}
	}
	return nil
}

// Report is what Check finds.
type Report struct {
	Blocks    int   `json:"blocks"`
	Snapshots int   `json:"snapshots"`
	Sessions  int   `json:"sessions"`
	Bytes     int64 `json:"bytes"` // that were read
	// Lost tells of records that were being written when the machine stopped,
	// Damaged of what was whole once.
	Lost    []string `json:"lost"`
	Damaged []string `json:"damaged"`
}

// Check reads everything and holds it to its checksums, and keys to tokens.
func (s *Store) Check(progress func(done, total int64)) (Report, error) {
	r := Report{Lost: slices.Clone(s.troubles), Damaged: []string{}}
	if r.Lost == nil {
		r.Lost = []string{}
	}
	var total int64
	for _, set := range s.sorted() {
		for _, t := range []*table{set.blocks, set.states} {
			total += int64(len(t.slots)) * t.slotBytes
		}
	}
	var done int64
	for _, set := range s.sorted() {
		for _, t := range []*table{set.blocks, set.states} {
			mem, free, err := pageio.NewMemory(t.slotBytes)
			if err != nil {
				return r, err
			}
			for _, rec := range t.slots {
				done += t.slotBytes
				if progress != nil {
					progress(done, total)
				}
				if rec == nil || !rec.published {
					continue
				}
				if t.kind == states {
					r.Snapshots++
				} else {
					r.Blocks++
				}
				r.Bytes += rec.h.used
				_, err := rec.Read(mem, Whole)
				if err == nil && rec.h.key != rec.rightKey() {
					err = fmt.Errorf("%s: slot %d: %w: the key is not that of the tokens", t.name, rec.slot, ErrDamaged)
				}
				if err != nil {
					r.Damaged = append(r.Damaged, err.Error())
				}
			}
			if err := free(); err != nil {
				return r, err
			}
		}
	}
	err := s.eachSession(func(file string, _ Session, err error) {
		r.Sessions++
		if err != nil {
			r.Damaged = append(r.Damaged, err.Error())
		}
	})
	return r, err
}

func (r *Record) rightKey() Key {
	if r.t.kind == states {
		return snapshotKey(r.h.parent, r.h.tokens)
	}
	return r.h.parent.Next(r.h.tokens)
}

// Pruning says what Prune removes.
type Pruning struct {
	// Most is the bytes that may stay; negative: any number. What was used
	// longest ago goes first.
	Most int64
	// Before removes sessions that were saved before, if it is not zero.
	Before time.Time
	// Damaged removes records that cannot be read.
	Damaged bool
	// Only keeps nothing of other layouts than those of these weights.
	Only string
}

// Prune removes what is no longer wanted and returns the bytes that it freed.
func (s *Store) Prune(p Pruning) (freed int64, err error) {
	before := s.Used()
	if !p.Before.IsZero() {
		var old []string
		err := s.eachSession(func(file string, session Session, err error) {
			if err == nil && session.Saved.Before(p.Before) {
				old = append(old, file)
			}
		})
		for _, file := range old {
			err = errors.Join(err, s.removeFile(file))
		}
		if err != nil {
			return 0, err
		}
	}
	var victims []*Record
	s.mu.Lock()
	for _, set := range s.sorted() {
		for _, t := range []*table{set.blocks, set.states} {
			for _, r := range t.slots {
				if r != nil && r.pins == 0 && p.Only != "" && set.layout.Weights != p.Only {
					victims = append(victims, r)
				}
			}
		}
	}
	s.mu.Unlock()
	if p.Damaged {
		damaged, err := s.damaged()
		if err != nil {
			return 0, err
		}
		victims = append(victims, damaged...)
	}
	s.mu.Lock()
	victims = slices.DeleteFunc(victims, func(r *Record) bool { return r.dead })
	for _, r := range victims {
		if !r.dead {
			s.bury(r)
		}
	}
	s.mu.Unlock()
	s.free(victims)
	if p.Most >= 0 {
		s.allocating.Lock()
		most, states := s.o.Cap, s.o.StateCap
		s.o.Cap, s.o.StateCap = max(p.Most, 1), 0
		err = s.makeRoom(blocks, 0)
		s.o.Cap, s.o.StateCap = most, states
		s.allocating.Unlock()
		if errors.Is(err, ErrFull) {
			err = nil // what is left is names and headers
		}
	}
	return before - s.Used(), errors.Join(err, s.shrink())
}

// damaged lists the records that cannot be read.
func (s *Store) damaged() ([]*Record, error) {
	var list []*Record
	for _, set := range s.sorted() {
		for _, t := range []*table{set.blocks, set.states} {
			mem, free, err := pageio.NewMemory(t.slotBytes)
			if err != nil {
				return nil, err
			}
			for _, r := range t.slots {
				if r == nil {
					continue
				}
				if _, err := r.Read(mem, Whole); err != nil || r.h.key != r.rightKey() {
					list = append(list, r)
				}
			}
			if err := free(); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// shrink cuts free slots off the ends of files.
func (s *Store) shrink() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, set := range s.sorted() {
		for _, t := range []*table{set.blocks, set.states} {
			n := len(t.slots)
			for n > 0 && t.slots[n-1] == nil {
				n--
			}
			if n == len(t.slots) {
				continue
			}
			s.bytes -= int64(len(t.slots)-n) * t.headBytes
			t.slots = t.slots[:n]
			t.free = slices.DeleteFunc(t.free, func(slot int) bool { return slot >= n })
			errs = append(errs, t.head.Truncate(int64(n)*t.headBytes), t.data.Truncate(int64(n)*t.slotBytes))
		}
	}
	return errors.Join(errs...)
}
