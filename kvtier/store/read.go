package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

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

	state readState
	ok    bool                   // it ended well
	end   func(n int, err error) // is called when it ends as one of a batch
}

type readState int

const (
	idle    readState = iota // ended, or never wanted
	wanted                   // not begun
	batched                  // under way
	waited                   // under way, and a goroutine waits for it
)

// Coming reports whether the read was started and has not ended, as far as is known.
func (r *Read) Coming() bool { return r.state != idle }

// Data is what a read that has ended brought: it lies somewhere in Mem, and is what was
// written, unless there is an error. What went wrong is tried again, to learn why.
func (r *Read) Data() ([]byte, error) {
	if !r.ok {
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

// mostUnderWay is the bytes of reads that are under way at once, unless a single one has
// more. Others wait until these end: a disk, above all one that is a program
// of the machine's host, may tell of reads only when it has nothing else to do.
const mostUnderWay = 6 << 20

// mostWaited is the number of reads under way that goroutines wait for.
const mostWaited = 32

// Reads brings what one goroutine wants, in order and many at once. It is that
// goroutine which begins reads and learns that they have ended.
type Reads struct {
	batches  *pageio.Batches
	wanted   []*Read
	underWay int64      // bytes
	batched  int        // reads under way
	waited   int        // reads under way that a goroutine waits for
	ended    chan *Read // of these
}

// NewReads is for records of any store.
func NewReads() *Reads {
	return &Reads{batches: pageio.NewBatches(), ended: make(chan *Read, mostWaited)}
}

// Start wants reads. They begin now, or during a later call when there is room.
func (w *Reads) Start(reads []*Read) {
	for _, r := range reads {
		r.state = wanted
	}
	w.wanted = append(w.wanted, reads...)
	w.Poll()
}

// Poll learns what has ended, and begins what there is room for.
func (w *Reads) Poll() {
	w.batches.Poll()
	for w.waited > 0 && len(w.ended) > 0 {
		w.gone(<-w.ended)
	}
	w.begin()
}

// Await waits for a read that was started, or until the context ends. Where the kernel does
// the waiting, that is noticed when the next read ends: no memory can be had back before.
func (w *Reads) Await(ctx context.Context, r *Read) error {
	for r.Coming() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if w.batched > 0 && r.state != waited {
			w.batches.Wait()
		} else {
			select {
			case r := <-w.ended:
				w.gone(r)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		w.begin()
	}
	return nil
}

// Stop forgets what has not begun, and waits for the rest.
func (w *Reads) Stop() {
	for _, r := range w.wanted {
		r.state, r.ok = idle, false
	}
	clear(w.wanted)
	w.wanted = w.wanted[:0]
	for w.batched > 0 {
		w.batches.Wait()
	}
	for w.waited > 0 {
		w.gone(<-w.ended)
	}
}

// Close stops, and gives everything back.
func (w *Reads) Close() error {
	w.Stop()
	return w.batches.Close()
}

// begin begins reads as far as there is room.
func (w *Reads) begin() {
	for n := -1; n != 0; {
		n = 0
		for _, r := range w.wanted {
			at := r.Record.extent(r.Piece)
			if w.underWay > 0 && w.underWay+at.bytes() > mostUnderWay {
				break
			}
			if !w.join(r, at) && !w.wait(r, at) {
				break
			}
			w.underWay += at.bytes()
			n++
		}
		w.wanted = slices.Delete(w.wanted, 0, n)
		w.batches.Start() // some may fail at once
	}
}

// join makes a read begin with others, if its file can do that.
func (w *Reads) join(r *Read, at extent) bool {
	f, ok := r.Record.t.data.(BatchFile)
	if !ok {
		return false
	}
	if r.end == nil {
		r.end = func(n int, err error) { w.told(r, n, err) }
	}
	if !f.Batch(w.batches, r.Mem[:at.bytes()], r.Record.off()+at.begin, r.end) {
		return false
	}
	r.state = batched
	w.batched++
	return true
}

// wait makes a goroutine wait for a read, unless there are enough of them.
func (w *Reads) wait(r *Read, at extent) bool {
	if w.waited == mostWaited {
		return false
	}
	r.state = waited
	w.waited++
	go func() {
		r.ok = r.Record.read(r.Mem, at) == nil
		w.ended <- r
	}()
	return true
}

// told takes note that a read of a batch has ended.
func (w *Reads) told(r *Read, n int, err error) {
	bytes := r.Bytes()
	r.state, r.ok = idle, err == nil && int64(n) == bytes
	w.batched--
	w.underWay -= bytes
}

// gone takes note that a read has ended that a goroutine waited for.
func (w *Reads) gone(r *Read) {
	r.state = idle
	w.waited--
	w.underWay -= r.Bytes()
}
