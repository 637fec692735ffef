package uring

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// until returns v until the test ends; tests of what needs it end where there is none.
func until[T any](t *testing.T, end func(T) error) func(v T, err error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if errors.Is(err, ErrUnsupported) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := end(v); err != nil {
				t.Error(err)
			}
		})
		return v
	}
}

// ring returns the shared ring.
func ring(t *testing.T) *Ring {
	t.Helper()
	return until(t, (*Ring).Release)(Shared())
}

// queue returns a queue of the test's own.
func queue(t *testing.T) *Queue {
	t.Helper()
	return until(t, (*Queue).Close)(NewQueue())
}

// file is one of n random bytes, with these.
func file(t *testing.T, n int) (*os.File, []byte) {
	t.Helper()
	content := make([]byte, n)
	for i := range content {
		content[i] = byte(rand.Uint32())
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, content
}

// TestReadAt reads from more goroutines than the ring has room for, up to and
// beyond the end of a file, and compares with the file.
func TestReadAt(t *testing.T) {
	r := ring(t)
	f, content := file(t, 1<<20+777)
	var all sync.WaitGroup
	for g := range 2 * 256 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 1))
			for range 50 {
				off, n := random.IntN(len(content)+10), random.IntN(20000)
				b := make([]byte, n)
				got, err := r.ReadAt(int(f.Fd()), b, int64(off))
				want := content[min(off, len(content)):min(off+n, len(content))]
				if err != nil || !bytes.Equal(b[:got], want) {
					t.Errorf("%d bytes at %d: %d of %d, %v", n, off, got, len(want), err)
					return
				}
			}
		})
	}
	all.Wait()
}

// TestErrors wants errors to come back, and the ring to go on.
func TestErrors(t *testing.T) {
	r := ring(t)
	var b [10]byte
	for range 300 {
		if _, err := r.ReadAt(-1, b[:], 0); !errors.Is(err, syscall.EBADF) {
			t.Fatalf("of no file: %v", err)
		}
	}
}

// TestShared wants nothing left of a ring that nobody uses.
func TestShared(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 3 {
		t.Run("", func(t *testing.T) {
			a := ring(t)
			if b := ring(t); a != b {
				t.Error("two rings")
			}
		})
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

// TestQueue begins more reads than there is room for, in several calls, some of which fail, and wants
// each to end once, in a call of the same goroutine.
func TestQueue(t *testing.T) {
	q := queue(t)
	q.Poll()
	q.Wait() // for nothing
	const reads, size = 1000, 64
	f, content := file(t, reads*size)
	got, ends, failures := make([]byte, len(content)), make([]int, reads), 0
	begin := func(from, to int) {
		batch := []Read{{FD: -1, Memory: make([]byte, 1), Done: func(_ int, err error) {
			if failures++; !errors.Is(err, syscall.EBADF) {
				t.Errorf("of no file: %v", err)
			}
		}}}
		for i := from; i < to; i++ {
			batch = append(batch, Read{int(f.Fd()), got[i*size : (i+1)*size], int64(i * size), func(n int, err error) {
				if ends[i]++; n != size || err != nil {
					t.Errorf("read %d: %d bytes, %v", i, n, err)
				}
			}})
		}
		q.Start(batch)
	}
	begin(0, 10)
	q.Poll()
	begin(10, 700)
	begin(700, reads)
	for slices.Contains(ends, 0) || failures < 3 {
		before := failures
		for _, n := range ends {
			before += n
		}
		q.Wait()
		after := failures
		for _, n := range ends {
			after += n
		}
		if after == before {
			t.Fatalf("waited for nothing after %d reads", after)
		}
	}
	if q.Wait(); slices.Max(ends) > 1 || failures > 3 {
		t.Error("a read has ended twice")
	}
	if !bytes.Equal(got, content) {
		t.Error("other bytes than in the file")
	}
}
