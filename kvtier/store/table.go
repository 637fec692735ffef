package store

import (
	"errors"
	"fmt"
	"sort"

	"gorun/internal/pageio"
)

// table is an array of slots on disk; doc.go has its form.
type table struct {
	store *Store
	set   *Set
	kind  kind
	name  string // of its files, without their endings

	head, data File
	bounds     []int64 // where pieces begin, and the end of the last
	slotBytes  int64
	headBytes  int64
	tokens     int // most of a record
	slots      []*Record
	free       []int // in descending order
}

// Record is a record in a slot. Whoever holds one that is pinned may read it.
type Record struct {
	t         *table
	slot      int
	h         header
	headed    bool // it may have a header on disk
	published bool // it has, and can be found
	dead      bool // it is being freed
	pins      int
	order     int64 // of use; the smallest leaves first
	heapAt    int   // place in the store's heap, plus one
}

// Tokens are those that the record stands for.
func (r *Record) Tokens() []int32 { return r.h.tokens }

// Pos is the number of tokens before them.
func (r *Record) Pos() int { return int(r.h.pos) }

// Key is the key of the record, and that of the block before it.
func (r *Record) Key() (key, parent Key) { return r.h.key, r.h.parent }

// Bytes is the length of the data.
func (r *Record) Bytes() int64 { return r.h.used }

// headsAtOnce is the bytes of headers that are read together.
const headsAtOnce = 64 << 10

// open opens the files of a table and reads its headers. What is damaged is
// told to lost, and freed unless the store is only looked at.
func (t *table) open(flag OpenFlag, lost func(what string)) (err error) {
	if t.head, err = t.store.fs.Open(t.name+".head", flag); err != nil {
		return err
	}
	if t.data, err = t.store.fs.Open(t.name+".data", flag); err != nil {
		return err
	}
	headSize, err := t.head.Size()
	if err != nil {
		return err
	}
	dataSize, err := t.data.Size()
	if err != nil {
		return err
	}
	n, many := int(headSize/t.headBytes), int(max(1, headsAtOnce/t.headBytes))
	var heads []byte
	t.slots = make([]*Record, 0, n)
	for i := range n {
		if len(heads) == 0 {
			heads = make([]byte, int64(min(many, n-i))*t.headBytes)
			if _, err := t.head.ReadAt(heads, int64(i)*t.headBytes); err != nil {
				return fmt.Errorf("%s.head: %w", t.name, err)
			}
		}
		b := heads[:t.headBytes]
		heads = heads[t.headBytes:]
		r := &Record{t: t, slot: i}
		ok, err := r.h.decode(b, t.kind, t.tokens, len(t.bounds)-1, t.slotBytes)
		if ok && int64(i+1)*t.slotBytes > dataSize {
			ok, err = false, errors.New("its data are missing")
		}
		if ok && len(r.h.sums) != t.pieces(r.h.used) {
			ok, err = false, errHeader
		}
		if err != nil {
			lost(fmt.Sprintf("%s: slot %d: %v: the record is lost", t.name, i, err))
			if flag != ReadOnly {
				if err := t.clear(i); err != nil {
					return err
				}
			}
		}
		if ok {
			r.headed, r.published = true, true
			t.slots = append(t.slots, r)
			continue
		}
		t.slots = append(t.slots, nil)
	}
	for len(t.slots) > 0 && t.slots[len(t.slots)-1] == nil {
		t.slots = t.slots[:len(t.slots)-1]
	}
	for i := len(t.slots) - 1; i >= 0; i-- {
		if t.slots[i] == nil {
			t.free = append(t.free, i)
		}
	}
	if flag == ReadOnly {
		return nil
	}
	return t.tidy(headSize, dataSize)
}

// tidy gives back what a crash left in free slots.
func (t *table) tidy(headSize, dataSize int64) error {
	if err := t.head.Sync(); err != nil {
		return err
	}
	end := int64(len(t.slots))
	if dataSize > end*t.slotBytes {
		if err := t.data.Truncate(end * t.slotBytes); err != nil {
			return err
		}
	}
	if headSize > end*t.headBytes {
		if err := t.head.Truncate(end * t.headBytes); err != nil {
			return err
		}
	}
	for _, slot := range t.free {
		if err := t.data.Punch(int64(slot)*t.slotBytes, t.slotBytes); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) close() error {
	var errs []error
	for _, f := range []File{t.head, t.data} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// clear makes the header of a slot free.
func (t *table) clear(slot int) error {
	_, err := t.head.WriteAt(make([]byte, t.headBytes), int64(slot)*t.headBytes)
	return err
}

// pieces is the number of pieces of data of n bytes.
func (t *table) pieces(n int64) int {
	return sort.Search(len(t.bounds)-1, func(i int) bool { return t.bounds[i] >= n })
}

// piece is the range of piece i.
func (t *table) piece(i int, used int64) (from, to int64) {
	return t.bounds[i], min(t.bounds[i+1], used)
}

// sums are the checksums of data.
func (t *table) sums(data []byte) []uint32 {
	sums := make([]uint32, t.pieces(int64(len(data))))
	for i := range sums {
		from, to := t.piece(i, int64(len(data)))
		sums[i] = sum(data[from:to])
	}
	return sums
}

// write writes the data of a record to its slot. What is beyond them, up to
// whole blocks of the disk, is zero.
func (r *Record) write(data []byte) error {
	r.h.used, r.h.sums = int64(len(data)), r.t.sums(data)
	if rest := len(data) % pageio.Block; rest != 0 {
		if whole := len(data) - rest + pageio.Block; cap(data) >= whole {
			clear(data[len(data):whole])
			data = data[:whole]
		} else {
			data = append(data[:len(data):len(data)], make([]byte, pageio.Block-rest)...)
		}
	}
	if _, err := r.t.data.WriteAt(data, r.off()); err != nil {
		return err
	}
	// The file has whole slots, so that a size tells which are there.
	if end := r.off() + r.t.slotBytes; int64(len(data)) < r.t.slotBytes {
		size, err := r.t.data.Size()
		if err == nil && size < end {
			err = r.t.data.Truncate(end)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Record) off() int64 { return int64(r.slot) * r.t.slotBytes }

// writeHeader publishes the record on disk. Its data have been synced.
func (r *Record) writeHeader() error {
	_, err := r.t.head.WriteAt(r.h.encode(r.t.headBytes), int64(r.slot)*r.t.headBytes)
	return err
}
