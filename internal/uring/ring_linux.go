package uring

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// registerEventfd is IORING_REGISTER_EVENTFD.
const registerEventfd = 4

// Ring is an io_uring for reads of several goroutines.
type Ring struct {
	kernelRing
	event  *os.File
	reaper sync.WaitGroup

	mu sync.Mutex // of all that kernelRing has
}

var shared struct {
	sync.Mutex
	ring  *Ring
	users int
}

// Shared returns the ring of the process, which is there as long as it has users:
// each calls Release.
func Shared() (*Ring, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.ring == nil {
		r, err := open()
		if err != nil {
			return nil, err
		}
		shared.ring = r
	}
	shared.users++
	return shared.ring, nil
}

// Release is the end of a use of the ring. No read of the user's may be under way.
func (r *Ring) Release() error {
	shared.Lock()
	defer shared.Unlock()
	if shared.users--; shared.users > 0 {
		return nil
	}
	shared.ring = nil
	return r.close()
}

func open() (*Ring, error) {
	r := &Ring{}
	if err := r.kernelRing.open(); err != nil {
		return nil, err
	}
	if err := r.askForEvents(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, errors.Join(err, r.close()))
	}
	r.reaper.Go(r.reap)
	return r, nil
}

func (r *Ring) askForEvents() error {
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return err
	}
	r.event = os.NewFile(uintptr(event), "io_uring completions")
	number := int32(event)
	if _, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(r.fd), registerEventfd, uintptr(unsafe.Pointer(&number)), 1, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// waiter is who waits for one read.
type waiter struct {
	ended chan struct{}
	n     int
	err   error
	done  func(n int, err error)
}

var waiters = sync.Pool{New: func() any {
	w := &waiter{ended: make(chan struct{}, 1)}
	w.done = func(n int, err error) {
		w.n, w.err = n, err
		w.ended <- struct{}{}
	}
	return w
}}

// ReadAt reads len(b) bytes of a file, which may be fewer at its end, in one read.
func (r *Ring) ReadAt(fd int, b []byte, off int64) (int, error) {
	w := waiters.Get().(*waiter)
	r.mu.Lock()
	r.waiting = append(r.waiting, Read{FD: fd, Memory: b, Off: off, Done: w.done})
	failed, err := r.submit()
	r.mu.Unlock()
	fail(failed, err)
	<-w.ended
	n, err := w.n, w.err
	waiters.Put(w)
	return n, err
}

// reap hands results to who waits for them, and submits what waits for a place, until the
// event is closed. A waiter takes its result without being waited for.
func (r *Ring) reap() {
	var count [8]byte
	for {
		if _, err := r.event.Read(count[:]); err != nil {
			return
		}
		r.mu.Lock()
		r.collect()
		r.release()
		failed, err := r.submit()
		r.mu.Unlock()
		fail(failed, err)
	}
}

func (r *Ring) close() error {
	var err error
	if r.event != nil {
		err = r.event.Close()
		r.reaper.Wait()
	}
	return errors.Join(err, r.kernelRing.close())
}
