package store

import "slices"

// Entry is a record to be written. Data must stay as they are until Done.
type Entry struct {
	Set    *Set
	State  bool // it is a snapshot, not a block
	Parent Key
	Pos    int
	Tokens []int32
	Data   []byte // begins on a block, best with room up to a whole one
	// Done is called once, by the writer, with the record, pinned, or an
	// error, which costs the entry and nothing else. The record can be read;
	// it may still fail to become one that others find.
	Done func(r *Record, err error)

	flushed chan error // of Flush, in place of all above
}

// queueLength bounds entries that wait, batchLength those that share a sync.
const (
	queueLength = 64
	batchLength = 32
)

// Enqueue gives an entry to the writer. It waits while the queue is full.
func (s *Store) Enqueue(e Entry) { s.queue <- e }

// Flush waits until all entries so far are on disk. The error is the first
// since the last Flush.
func (s *Store) Flush() error {
	done := make(chan error, 1)
	s.queue <- Entry{flushed: done}
	return <-done
}

// write is the body of the writer.
func (s *Store) write() {
	var first error // since the last Flush
	for e := range s.queue {
		batch := []Entry{e}
		for len(batch) < batchLength && batch[len(batch)-1].flushed == nil {
			select {
			case e, ok := <-s.queue:
				if ok {
					batch = append(batch, e)
					continue
				}
			default:
			}
			break
		}
		if err := s.commit(batch); first == nil {
			first = err
		}
		if last := batch[len(batch)-1]; last.flushed != nil {
			last.flushed <- first
			first = nil
		}
	}
}

// commit writes entries: data of all, sync, headers of all, sync. Who gave an
// entry has its record as soon as the data are there: they can be read, and
// others find them once they are safe. The first error stands for all: a disk
// that is full fails for every entry.
func (s *Store) commit(batch []Entry) (first error) {
	var list []*Record
	failed := func(err error) {
		s.report(err)
		if first == nil {
			first = err
		}
	}
	for _, e := range batch {
		if e.flushed != nil {
			continue
		}
		r := s.present(e)
		if r == nil {
			var err error
			if r, err = s.place(e); err != nil {
				failed(err)
				e.Done(nil, err)
				continue
			}
			s.mu.Lock()
			r.pins++ // until it is safe
			s.mu.Unlock()
			list = append(list, r)
		}
		e.Done(r, nil)
	}
	for len(list) > 0 {
		t := list[0].t
		same := slices.DeleteFunc(slices.Clone(list), func(r *Record) bool { return r.t != t })
		list = slices.DeleteFunc(list, func(r *Record) bool { return r.t == t })
		err := t.data.Sync()
		for _, r := range same {
			if err == nil {
				r.headed = true
				err = r.writeHeader()
			}
		}
		if err == nil {
			err = t.head.Sync()
		}
		failed(err)
		for _, r := range same {
			if err == nil {
				s.publish(r)
			}
			s.Unpin(r)
		}
	}
	return first
}

// present finds what an entry would write.
func (s *Store) present(e Entry) *Record {
	if !e.State {
		return e.Set.Block(e.Parent.Next(e.Tokens), e.Parent, e.Pos, e.Tokens)
	}
	r := e.Set.Snapshot(e.Parent, e.Pos, e.Tokens)
	if r != nil && len(r.h.tokens) != len(e.Tokens) {
		s.Unpin(r)
		return nil
	}
	return r
}

// place writes the data of an entry to a slot.
func (s *Store) place(e Entry) (*Record, error) {
	t, h := e.Set.blocks, header{pos: int64(e.Pos), parent: e.Parent, tokens: slices.Clone(e.Tokens)}
	if e.State {
		t, h.key = e.Set.states, snapshotKey(e.Parent, e.Tokens)
	} else {
		h.key = e.Parent.Next(e.Tokens)
	}
	r, err := s.alloc(t, h)
	if err != nil {
		return nil, err
	}
	if err := r.write(e.Data); err != nil {
		s.Unpin(r)
		return nil, err
	}
	return r, nil
}

// publish lets others find a record that is safe.
func (s *Store) publish(r *Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.published = true
	r.t.set.remember(r)
}

// report tells once that writing has begun to fail, and that it works again.
func (s *Store) report(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if failing := err != nil; failing != s.failing {
		s.failing = failing
		if failing {
			s.log.Warn("the KV store cannot be written to: texts go on, and are not remembered", "error", err)
		} else {
			s.log.Info("the KV store can be written to again")
		}
	}
}

// Spill writes data that nobody else will find, of a block that is not full
// say, and returns the record, pinned. Unpin frees it.
func (s *Store) Spill(set *Set, data []byte) (*Record, error) {
	r, err := s.alloc(set.blocks, header{})
	if err != nil {
		return nil, err
	}
	if err := r.write(data); err != nil {
		s.Unpin(r)
		return nil, err
	}
	return r, nil
}
