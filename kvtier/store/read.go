package store

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"gorun/internal/pageio"
)

// ErrDamaged is returned for what is not what was written.
var ErrDamaged = errors.New("the KV store is damaged")

// Whole asks for all pieces of a record.
const Whole = -1

// Read is a piece of a record that is wanted, or the whole of it. The record is
// pinned.
type Read struct {
	Record *Record
	Piece  int
	// Mem begins on a block. It has pageio.Room of the size of a piece, or the size of
	// the data in whole blocks.
	Mem []byte
	// Done is called once when the read has ended, by a goroutine that must not be held
	// up. Data tells how it ended if it is given ok.
	Done func(ok bool)
}

// Start begins reads, as many at once as is good for the disk.
func (s *Store) Start(reads []Read) { s.readers.start(reads) }

// Data is what a read that has ended brought: it lies somewhere in Mem, and is what was
// written, unless there is an error. What went wrong is tried again, to learn why.
func (r *Read) Data(ok bool) ([]byte, error) {
	if !ok {
		return r.Record.Read(r.Mem, r.Piece)
	}
	return r.Record.check(r.Mem, r.Record.extent(r.Piece))
}

// Bytes is what is read from the disk.
func (r *Read) Bytes() int64 { return r.Record.extent(r.Piece).bytes() }

// Read reads a piece and checks it, as a Read does, and waits for it.
func (r *Record) Read(mem []byte, piece int) ([]byte, error) {
	at := r.extent(piece)
	if err := r.read(mem, at); err != nil {
		return nil, err
	}
	return r.check(mem, at)
}

func (r *Record) read(mem []byte, at extent) error {
	n, err := r.t.data.ReadAt(mem[:at.bytes()], r.off()+at.begin)
	if int64(n) == at.bytes() {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%s.data: slot %d: %w", r.t.name, r.slot, err)
}

// extent is pieces [first, last) of a record and the blocks of the disk that they are on:
// bytes [begin, end) of its slot.
type extent struct {
	first, last int
	begin, end  int64
}

func (e extent) bytes() int64 { return e.end - e.begin }

func (r *Record) extent(piece int) extent {
	e := extent{last: len(r.h.sums), end: r.h.used}
	if piece != Whole {
		e.first, e.last = piece, piece+1
		e.begin, e.end = r.t.piece(piece, r.h.used)
	}
	e.begin = e.begin / pageio.Block * pageio.Block
	e.end = whole(e.end)
	return e
}

// check returns what was read to mem if the checksums are right.
func (r *Record) check(mem []byte, e extent) ([]byte, error) {
	for i := e.first; i < e.last; i++ {
		from, to := r.t.piece(i, r.h.used)
		if sum(mem[from-e.begin:to-e.begin]) != r.h.sums[i] {
			return nil, fmt.Errorf("%s: slot %d, piece %d: %w: its checksum is wrong", r.t.name, r.slot, i, ErrDamaged)
		}
	}
	if e.first == e.last {
		return nil, nil
	}
	from, _ := r.t.piece(e.first, r.h.used)
	_, to := r.t.piece(e.last-1, r.h.used)
	return mem[from-e.begin : to-e.begin], nil
}

// MostUnderWay is the bytes of reads that are under way at once, unless a single one has
// more. Others wait until these end: a disk, above all one that is a program
// of the machine's host, may tell of reads only when it has nothing else to do.
const MostUnderWay = 16 << 20

// mostWaited is the number of reads under way that a goroutine waits for.
const mostWaited = 32

// readers brings what is wanted, in order.
type readers struct {
	mu       sync.Mutex
	wanted   []Read // not begun
	underWay int64  // bytes
	waited   int    // reads under way that a goroutine waits for
}

func (w *readers) start(reads []Read) {
	w.mu.Lock()
	w.wanted = append(w.wanted, reads...)
	w.begin()
}

// begin begins reads as far as there is room. w.mu is held, and is not afterwards.
func (w *readers) begin() {
	var batch pageio.Batch
	for len(w.wanted) > 0 {
		r := w.wanted[0]
		at := r.Record.extent(r.Piece)
		if w.underWay > 0 && w.underWay+at.bytes() > MostUnderWay {
			break
		}
		if !w.join(&batch, r, at) && !w.wait(r, at) {
			break
		}
		w.underWay += at.bytes()
		w.wanted[0] = Read{}
		w.wanted = w.wanted[1:]
	}
	w.mu.Unlock()
	batch.Start()
}

// join makes a read begin with others, if its file can do that.
func (w *readers) join(batch *pageio.Batch, r Read, at extent) bool {
	f, ok := r.Record.t.data.(BatchFile)
	return ok && f.Batch(batch, r.Mem[:at.bytes()], r.Record.off()+at.begin, func(ok bool) {
		w.mu.Lock()
		w.underWay -= at.bytes()
		w.begin()
		r.Done(ok)
	})
}

// wait makes a goroutine wait for a read, unless there are enough of them.
func (w *readers) wait(r Read, at extent) bool {
	if w.waited == mostWaited {
		return false
	}
	w.waited++
	go func() {
		err := r.Record.read(r.Mem, at)
		w.mu.Lock()
		w.waited--
		w.underWay -= at.bytes()
		w.begin()
		r.Done(err == nil)
	}()
	return true
}
