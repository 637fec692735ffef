package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gorun/internal/pageio"
)

// wide is a layout of pieces of which only some may be read at once, one not in whole
// blocks.
var wide = Layout{Model: "m", Weights: "w", KV: "f16:f16", Numerics: "n", BlockTokens: 4, Pieces: []int64{1 << 20, 1<<20 + 64, 3000}, State: 5000}

// watchedFS counts reads under way, and may forbid them to begin together or make those
// fail.
type watchedFS struct {
	FS
	alone, fail bool

	mu        sync.Mutex
	now, most int64 // bytes under way
	waits     int   // that a goroutine waits for
	mostWaits int
	retried   int // reads of data that were waited for
}

type watchedFile struct {
	File
	fs *watchedFS
}

func (f *watchedFS) Open(path string, flag OpenFlag) (File, error) {
	file, err := f.FS.Open(path, flag)
	if err != nil || !strings.HasSuffix(path, "blocks.data") {
		return file, err
	}
	return &watchedFile{file, f}, nil
}

func (f *watchedFS) count(bytes int64, waits int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now += bytes
	f.most = max(f.most, f.now)
	f.waits += waits
	f.mostWaits = max(f.mostWaits, f.waits)
	if waits > 0 {
		f.retried++
	}
}

func (f *watchedFile) ReadAt(b []byte, off int64) (int, error) {
	f.fs.count(int64(len(b)), 1)
	defer f.fs.count(-int64(len(b)), -1)
	return f.File.ReadAt(b, off)
}

func (f *watchedFile) Batch(t *pageio.Batches, b []byte, off int64, done func(n int, err error)) bool {
	file, ok := f.File.(BatchFile)
	if !ok || f.fs.alone {
		return false
	}
	n := int64(len(b))
	f.fs.count(n, 0)
	ok = file.Batch(t, b, off, func(n int, err error) {
		f.fs.count(-int64(len(b)), 0)
		if f.fs.fail {
			n--
		}
		done(n, err)
	})
	if !ok {
		f.fs.count(-n, 0)
	}
	return ok
}

// TestStart wants many reads at once to bring what was written, however files are read, and
// no more under way than may be.
func TestStart(t *testing.T) {
	for name, fs := range map[string]*watchedFS{
		"together":           {FS: Dir(filepath.Join(t.TempDir(), "kv"))},
		"together, and fail": {FS: Dir(filepath.Join(t.TempDir(), "kv")), fail: true},
		"alone":              {FS: Dir(filepath.Join(t.TempDir(), "kv")), alone: true},
		"in memory":          {FS: newMemFS()},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, fs, Options{})
			defer s.Close()
			set, err := s.Set("u", wide)
			if err != nil {
				t.Fatal(err)
			}
			const records = 12
			var list []*Record
			var data [][]byte
			key := set.Root()
			for i := range int32(records) {
				tokens := []int32{i, i, i, i}
				e := Entry{Set: set, Parent: key, Pos: 4 * int(i), Tokens: tokens, Data: contents(tokens, wide.BlockBytes())}
				r, err := put(s, e)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Unpin(r)
				list, data, key = append(list, r), append(data, e.Data), key.Next(tokens)
			}
			reads := NewReads()
			defer reads.Close()
			type expected struct {
				*Read
				name string
				data []byte
			}
			var all []*Read
			var expect []expected
			for i, r := range list {
				at := int64(0)
				for piece := Whole; piece < len(wide.Pieces); piece++ {
					want, room := data[i], whole(wide.BlockBytes())
					if piece != Whole {
						want, room = data[i][at:at+wide.Pieces[piece]], pageio.Room(wide.Pieces[piece])
						at += wide.Pieces[piece]
					}
					mem, free, err := pageio.NewMemory(room)
					if err != nil {
						t.Fatal(err)
					}
					defer free()
					read := &Read{Record: r, Piece: piece, Mem: mem}
					all, expect = append(all, read), append(expect, expected{read, fmt.Sprintf("record %d, piece %d", i, piece), want})
				}
			}
			reads.Start(all[:7])
			reads.Start(all[7:])
			for _, e := range expect {
				if err := reads.Await(context.Background(), e.Read); err != nil {
					t.Fatal(err)
				}
				if got, err := e.Data(); err != nil || !bytes.Equal(got, e.data) {
					t.Errorf("%s: other data (%v)", e.name, err)
				}
			}
			if fs.most > mostUnderWay && !fs.fail {
				t.Errorf("%d bytes under way", fs.most)
			}
			if fs.now != 0 || fs.fail && fs.retried != len(all) || !fs.fail && fs.mostWaits > mostWaited {
				t.Errorf("%d bytes still under way; %d reads tried again; %d at once were waited for", fs.now, fs.retried, fs.mostWaits)
			}
		})
	}
}

// aBlock writes a text and returns its second block, pinned.
func aBlock(t *testing.T, s *Store) (*Record, Entry) {
	t.Helper()
	x, set := textOf(1, 8), setOf(t, s, "u")
	x.write(t, set)
	e := x.entries(set)[1]
	return set.Block(e.Parent.Next(e.Tokens), e.Parent, e.Pos, e.Tokens), e
}

// TestStartDamaged wants a changed byte to be an error of the read that has it alone.
func TestStartDamaged(t *testing.T) {
	fs := Dir(filepath.Join(t.TempDir(), "kv"))
	s := open(t, fs, Options{})
	defer s.Close()
	r, e := aBlock(t, s)
	defer s.Unpin(r)
	if _, err := r.t.data.WriteAt([]byte{^e.Data[1030]}, r.off()+1030); err != nil { // of piece 1
		t.Fatal(err)
	}
	for piece := Whole; piece < len(small.Pieces); piece++ {
		mem, free, err := pageio.NewMemory(pageio.Room(4096))
		if err != nil {
			t.Fatal(err)
		}
		defer free()
		reads, read := NewReads(), &Read{Record: r, Piece: piece, Mem: mem}
		defer reads.Close()
		reads.Start([]*Read{read})
		if err := reads.Await(context.Background(), read); err != nil {
			t.Fatal(err)
		}
		if _, err := read.Data(); errors.Is(err, ErrDamaged) != (piece == 1 || piece == Whole) {
			t.Errorf("piece %d: %v", piece, err)
		}
	}
}

// heldFS has reads of data that wait until they are let go.
type heldFS struct {
	FS
	letGo chan struct{}
}

type heldFile struct {
	File
	letGo chan struct{}
}

func (f *heldFS) Open(path string, flag OpenFlag) (File, error) {
	file, err := f.FS.Open(path, flag)
	if err != nil || !strings.HasSuffix(path, "blocks.data") {
		return file, err
	}
	return &heldFile{file, f.letGo}, nil
}

func (f *heldFile) ReadAt(b []byte, off int64) (int, error) {
	<-f.letGo
	return f.File.ReadAt(b, off)
}

// TestStop cancels the wait for a read, and stops: what is under way is waited for, nothing else
// begins, and reads go on to work.
func TestStop(t *testing.T) {
	fs := &heldFS{newMemFS(), make(chan struct{})}
	s := open(t, fs, Options{})
	defer s.Close()
	r, _ := aBlock(t, s)
	defer s.Unpin(r)
	reads, all := NewReads(), make([]*Read, 2*mostWaited)
	for i := range all {
		all[i] = &Read{Record: r, Piece: i % len(small.Pieces), Mem: make([]byte, pageio.Room(4096))}
	}
	reads.Start(all)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := reads.Await(ctx, all[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	stopped := make(chan struct{})
	go func() {
		reads.Stop()
		close(stopped)
	}()
	select {
	case <-stopped:
		t.Error("reads under way were not waited for")
	case <-time.After(10 * time.Millisecond):
	}
	for range mostWaited {
		fs.letGo <- struct{}{}
	}
	<-stopped
	close(fs.letGo)
	for i, read := range all {
		if read.Coming() || read.ok != (i < mostWaited) {
			t.Errorf("read %d: coming %v, well %v", i, read.Coming(), read.ok)
		}
	}
	if _, err := all[0].Data(); err != nil {
		t.Error(err)
	}
	last := all[len(all)-1]
	reads.Start([]*Read{last})
	if err := reads.Await(context.Background(), last); err != nil || !last.ok {
		t.Errorf("after that: %v", err)
	}
	if err := reads.Close(); err != nil {
		t.Error(err)
	}
}
