package pageio_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"gorun/internal/pageio"
	"gorun/internal/pageio/faulty"
)

// newFile has size random bytes.
func newFile(t *testing.T, dir string, size int) (path string, data []byte) {
	t.Helper()
	data = make([]byte, size)
	rand.NewChaCha8([32]byte{byte(size)}).Read(data)
	f, err := os.CreateTemp(dir, "pageio-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(f.Name()) })
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return f.Name(), data
}

func open(t *testing.T, path string, o pageio.Options) *pageio.File {
	t.Helper()
	f, err := pageio.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func memory(t *testing.T, n int64) []byte {
	t.Helper()
	mem, free, err := pageio.NewMemory(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { free() })
	return mem
}

// TestPages reads pages that begin and end everywhere, in files that end
// everywhere, on every way, and wants the same bytes. (llama.cpp#18766,
// #18317: unaligned offsets and the end of the file.)
func TestPages(t *testing.T) {
	dirs := map[string]string{"disk": t.TempDir()}
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		dirs["memory"] = "/dev/shm"
	}
	for name, dir := range dirs {
		for _, size := range []int{1, 4095, 4096, 4097, 3*4096 + 513, 1 << 20} {
			path, data := newFile(t, dir, size)
			for _, buffered := range []bool{false, true} {
				f := open(t, path, pageio.Options{Buffered: buffered, Watch: true})
				if f.Size() != int64(size) || buffered && f.Direct() {
					t.Fatalf("%s: %d bytes, direct %v", name, f.Size(), f.Direct())
				}
				mem := memory(t, pageio.Room(int64(size)))
				random := rand.New(rand.NewPCG(uint64(size), 1))
				for range 200 {
					off := random.Int64N(int64(size))
					n := random.Int64N(int64(size)-off) + 1
					page, err := f.ReadPage(mem, off, n)
					if err != nil || !bytes.Equal(page, data[off:off+n]) {
						t.Fatalf("%s, %d bytes, buffered %v: %d bytes at %d differ: %v", name, size, buffered, n, off, err)
					}
				}
				if page, err := f.ReadPage(mem, 0, int64(size)); err != nil || !bytes.Equal(page, data) {
					t.Errorf("%s, %d bytes: the whole file differs: %v", name, size, err)
				}
				if _, err := f.ReadPage(mem, int64(size)-1, 2); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("beyond the end: %v", err)
				}
			}
		}
	}
}

// TestRefusedWhenRead has a file system that takes O_DIRECT and refuses its
// reads.
func TestRefusedWhenRead(t *testing.T) {
	path, data := newFile(t, t.TempDir(), 100000)
	handles := 0
	f := open(t, path, pageio.Options{Wrap: func(h pageio.Handle) pageio.Handle {
		if handles++; handles == 2 {
			return refusing{h}
		}
		return h
	}})
	if handles < 2 {
		t.Skip("no reads around the cache here")
	}
	mem := memory(t, pageio.Room(50000))
	for range 2 {
		if page, err := f.ReadPage(mem, 777, 50000); err != nil || !bytes.Equal(page, data[777:50777]) {
			t.Fatal(err)
		}
	}
	if f.Direct() {
		t.Error("still believed to read around the cache")
	}
}

type refusing struct{ pageio.Handle }

func (refusing) ReadAt([]byte, int64) (int, error) { return 0, syscall.EINVAL }

func TestFaults(t *testing.T) {
	path, data := newFile(t, t.TempDir(), 100000)
	mem := memory(t, pageio.Room(90000))
	for name, c := range map[string]struct {
		faults func() *faulty.Faults
		want   error
	}{
		"EIO":               {func() *faulty.Faults { return &faulty.Faults{EIO: 1} }, syscall.EIO},
		"always short":      {func() *faulty.Faults { return &faulty.Faults{Short: 1} }, io.ErrUnexpectedEOF},
		"nothing":           {func() *faulty.Faults { return &faulty.Faults{Short: 1 << 30} }, io.ErrUnexpectedEOF},
		"short once":        {func() *faulty.Faults { return &faulty.Faults{Short: 1, ShortAt: 1} }, nil},
		"half a block once": {func() *faulty.Faults { return &faulty.Faults{Short: 2048, ShortAt: 1} }, nil},
		"slow":              {func() *faulty.Faults { return &faulty.Faults{Delay: faulty.Sleep(time.Millisecond)} }, nil},
	} {
		for _, buffered := range []bool{false, true} {
			f := open(t, path, pageio.Options{Wrap: c.faults().Wrap, Buffered: buffered})
			page, err := f.ReadPage(mem, 100, 90000)
			if !errors.Is(err, c.want) || err == nil && !bytes.Equal(page, data[100:90100]) {
				t.Errorf("%s, buffered %v: %v, want %v", name, buffered, err, c.want)
			}
		}
	}
}

// TestWatch changes a file in every way after it was opened.
func TestWatch(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, path string) error{
		"truncated": func(_ *testing.T, path string) error { return os.Truncate(path, 50000) },
		"grown":     func(_ *testing.T, path string) error { return os.Truncate(path, 150000) },
		"deleted":   func(_ *testing.T, path string) error { return os.Remove(path) },
		"replaced": func(t *testing.T, path string) error {
			other, _ := newFile(t, filepath.Dir(path), 100000)
			return os.Rename(other, path)
		},
		"rewritten": func(_ *testing.T, path string) error {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteAt([]byte("x"), 70000)
			return errors.Join(err, f.Close())
		},
	} {
		for _, during := range []bool{false, true} {
			path, _ := newFile(t, t.TempDir(), 100000)
			time.Sleep(10 * time.Millisecond) // clocks of file systems are coarse
			faults := faulty.Faults{}
			o := pageio.Options{Watch: true}
			if during {
				o.Wrap = faults.Wrap
				faults.Before = func(read int64) {
					if read == 1 {
						if err := change(t, path); err != nil {
							t.Error(err)
						}
					}
				}
			}
			f := open(t, path, o)
			if !during {
				if err := change(t, path); err != nil {
					t.Fatal(err)
				}
			}
			_, err := f.ReadPage(memory(t, pageio.Room(1000)), 0, 1000)
			if !errors.Is(err, pageio.ErrChanged) {
				t.Errorf("%s, during a read %v: %v", name, during, err)
			}
		}
	}
}

func TestQueue(t *testing.T) {
	path, data := newFile(t, t.TempDir(), 1<<20)
	f := open(t, path, pageio.Options{})
	for _, depth := range []int{1, 8, 16} {
		q := pageio.NewQueue(depth)
		var all sync.WaitGroup
		for i := range int64(200) {
			all.Add(1)
			off := i * 5003
			q.Read(context.Background(), pageio.Request{File: f, Off: off, N: 5000, Mem: memory(t, pageio.Room(5000)), Urgent: i%7 == 0,
				Done: func(page []byte, err error) {
					if err != nil || !bytes.Equal(page, data[off:off+5000]) {
						t.Errorf("page at %d: %v", off, err)
					}
					all.Done()
				}})
		}
		all.Wait()
		if q.Busy() <= 0 {
			t.Error("never busy")
		}
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestQueueEnds cancels a request that waits, closes the queue over another,
// and wants the one that had begun to end well.
func TestQueueEnds(t *testing.T) {
	path, _ := newFile(t, t.TempDir(), 10000)
	begun, goOn := make(chan bool), make(chan bool)
	faults := faulty.Faults{Delay: func() { close(begun); <-goOn }}
	f := open(t, path, pageio.Options{Wrap: faults.Wrap, Buffered: true})
	q := pageio.NewQueue(1)
	errs := make(chan error, 4)
	ask := func(ctx context.Context, urgent bool) {
		q.Read(ctx, pageio.Request{File: f, N: 100, Mem: memory(t, pageio.Room(100)), Urgent: urgent,
			Done: func(_ []byte, err error) { errs <- err }})
	}
	ask(context.Background(), false)
	<-begun
	ctx, cancel := context.WithCancel(context.Background())
	ask(ctx, true)
	cancel()
	ask(context.Background(), false)
	closed := make(chan error)
	go func() { closed <- q.Close() }()
	for range 2 {
		if err := <-errs; !errors.Is(err, pageio.ErrClosed) {
			t.Errorf("a request that had not begun: %v", err)
		}
	}
	close(goOn)
	if err := <-errs; err != nil {
		t.Errorf("a read that had begun: %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	ask(context.Background(), false)
	if err := <-errs; !errors.Is(err, pageio.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}

	q = pageio.NewQueue(1)
	ctx, cancel = context.WithCancel(context.Background())
	cancel()
	ask2 := pageio.Request{File: f, N: 100, Mem: memory(t, pageio.Room(100)), Done: func(_ []byte, err error) { errs <- err }}
	q.Read(ctx, ask2)
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	q.Close()
}

// TestBatches reads many pieces together, one of them beyond the end, and wants each to end once with
// what ReadAt would return.
func TestBatches(t *testing.T) {
	path, data := newFile(t, t.TempDir(), 1<<20)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	a := pageio.NewAsync(f)
	defer a.Close()
	batches := pageio.NewBatches()
	defer batches.Close()
	batches.Poll()
	if batches.Add(a, nil, 0, nil) || batches.Add(a, make([]byte, 1), -1, nil) {
		t.Error("a read of nothing, or of nowhere, was added")
	}
	const size, reads = 5000, 100
	ends := 0
	for i := range reads {
		off, b := i*9999, make([]byte, size)
		if i == reads-1 {
			off = len(data) - 10
		}
		want := data[off:min(off+size, len(data))]
		if !batches.Add(a, b, int64(off), func(n int, err error) {
			if ends++; err != nil || !bytes.Equal(b[:n], want) {
				t.Errorf("read %d: %d of %d bytes, %v", i, n, len(want), err)
			}
		}) {
			t.Skip("this system has no such reads")
		}
	}
	batches.Start()
	for before := -1; ends < reads; batches.Wait() {
		if ends == before {
			t.Fatalf("waited for nothing after %d reads", ends)
		}
		before = ends
	}
}
