package uring

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// entries is how many reads may be under way; more wait for their turn.
const entries = 256

// What the kernel's io_uring.h calls by these names.
const (
	featSingleMmap   = 1 << 0
	featRWCurPos     = 1 << 3 // came with IORING_OP_READ
	opRead           = 22
	registerEventfd  = 4
	offsetRings      = 0
	offsetSubmitting = 0x10000000
)

// params is struct io_uring_params.
type params struct {
	sqEntries, cqEntries, flags, cpu, idle, features, wq uint32
	_                                                    [3]uint32
	sq                                                   struct {
		head, tail, mask, entries, flags, dropped, array, _ uint32
		_                                                   uint64
	}
	cq struct {
		head, tail, mask, entries, overflow, cqes, flags, _ uint32
		_                                                   uint64
	}
}

// submission is struct io_uring_sqe.
type submission struct {
	opcode, flags uint8
	priority      uint16
	fd            int32
	off, addr     uint64
	len, rwFlags  uint32
	user          uint64
	_             [24]byte
}

// completion is struct io_uring_cqe.
type completion struct {
	user  uint64
	res   int32
	flags uint32
}

// Ring is an io_uring for reads. It may be used by several goroutines.
type Ring struct {
	fd          int
	rings       []byte // both, with their heads and tails
	submissions []byte
	event       *os.File
	reaper      sync.WaitGroup

	sqTail, cqHead, cqTail *uint32
	sqMask, cqMask         uint32
	array                  []uint32
	sqes                   []submission
	cqes                   []completion

	mu       sync.Mutex    // of the submission ring and what follows
	underWay [entries]Read // which keeps memory alive until the kernel is done
	free     []uint64      // places in underWay
	waiting  []Read        // for such a place
	reaping  bool          // the reaper will submit what waits
	finished []uint64      // the reaper's
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
			return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
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
	var p params
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, entries, uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return nil, errno
	}
	unix.CloseOnExec(int(fd))
	r := &Ring{fd: int(fd)}
	if err := r.setUp(&p); err != nil {
		return nil, errors.Join(err, r.close())
	}
	r.reaper.Go(r.reap)
	return r, nil
}

// setUp maps the rings and asks for events.
func (r *Ring) setUp(p *params) (err error) {
	if need := uint32(featSingleMmap | featRWCurPos); p.features&need != need {
		return errors.New("the kernel's io_uring has no plain reads")
	}
	size := max(p.sq.array+4*p.sqEntries, p.cq.cqes+uint32(unsafe.Sizeof(completion{}))*p.cqEntries)
	const prot, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_POPULATE
	if r.rings, err = unix.Mmap(r.fd, offsetRings, int(size), prot, flags); err != nil {
		return err
	}
	if r.submissions, err = unix.Mmap(r.fd, offsetSubmitting, int(unsafe.Sizeof(submission{}))*int(p.sqEntries), prot, flags); err != nil {
		return err
	}
	at := func(off uint32) unsafe.Pointer { return unsafe.Pointer(&r.rings[off]) }
	r.sqTail, r.cqHead, r.cqTail = (*uint32)(at(p.sq.tail)), (*uint32)(at(p.cq.head)), (*uint32)(at(p.cq.tail))
	r.sqMask, r.cqMask = *(*uint32)(at(p.sq.mask)), *(*uint32)(at(p.cq.mask))
	r.array = unsafe.Slice((*uint32)(at(p.sq.array)), p.sqEntries)
	r.cqes = unsafe.Slice((*completion)(at(p.cq.cqes)), p.cqEntries)
	r.sqes = unsafe.Slice((*submission)(unsafe.Pointer(&r.submissions[0])), p.sqEntries)

	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return err
	}
	r.event = os.NewFile(uintptr(event), "io_uring completions")
	number := int32(event)
	if _, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(r.fd), registerEventfd, uintptr(unsafe.Pointer(&number)), 1, 0, 0); errno != 0 {
		return errno
	}
	for i := range uint64(entries) {
		r.free = append(r.free, i)
	}
	return nil
}

// Start begins reads, with one call of the system if there is room for all.
func (r *Ring) Start(reads []Read) {
	r.mu.Lock()
	r.waiting = append(r.waiting, reads...)
	var failed []Read
	var err error
	if !r.reaping {
		failed, err = r.submit()
	}
	r.mu.Unlock()
	fail(failed, err)
}

func fail(reads []Read, err error) {
	for _, read := range reads {
		read.Done(0, err)
	}
}

// submit hands reads that wait to the kernel, as many as there are places for.
// It returns those that the kernel refused. r.mu is held.
func (r *Ring) submit() (failed []Read, err error) {
	n := min(len(r.waiting), len(r.free))
	if n == 0 {
		return nil, nil
	}
	tail := *r.sqTail // only written here
	for i, read := range r.waiting[:n] {
		place, slot := r.free[len(r.free)-1-i], (tail+uint32(i))&r.sqMask
		r.underWay[place] = read
		r.sqes[slot] = submission{opcode: opRead, fd: int32(read.FD), off: uint64(read.Off), len: uint32(len(read.Memory)), user: place}
		if len(read.Memory) > 0 {
			r.sqes[slot].addr = uint64(uintptr(unsafe.Pointer(&read.Memory[0])))
		}
		r.array[slot] = slot
	}
	atomic.StoreUint32(r.sqTail, tail+uint32(n))
	done := 0
	for done < n && err == nil {
		// This call does not wait, so the Go scheduler need not know of it.
		taken, _, errno := unix.RawSyscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(n-done), 0, 0, 0, 0)
		switch {
		case errno == 0:
			done += int(taken)
		case errno != unix.EINTR:
			err = errno
			// The kernel looks at the tail in this call only.
			atomic.StoreUint32(r.sqTail, tail+uint32(done))
			failed = slices.Clone(r.waiting[done:n])
			for i := done; i < n; i++ {
				r.underWay[r.free[len(r.free)-1-i]] = Read{}
			}
		}
	}
	r.free = r.free[:len(r.free)-done]
	r.waiting = slices.Delete(r.waiting, 0, n)
	return failed, err
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
	r.Start([]Read{{FD: fd, Memory: b, Off: off, Done: w.done}})
	<-w.ended
	n, err := w.n, w.err
	waiters.Put(w)
	return n, err
}

// reap hands results to who waits for them, until the event is closed. Reads that
// they begin then are submitted together.
func (r *Ring) reap() {
	var count [8]byte
	for {
		if _, err := r.event.Read(count[:]); err != nil {
			return
		}
		r.mu.Lock()
		r.reaping = true
		r.mu.Unlock()
		head := *r.cqHead // only written here
		for ; head != atomic.LoadUint32(r.cqTail); head++ {
			c := r.cqes[head&r.cqMask]
			done := r.underWay[c.user].Done
			r.finished = append(r.finished, c.user)
			if c.res < 0 {
				done(0, unix.Errno(-c.res))
			} else {
				done(int(c.res), nil)
			}
		}
		atomic.StoreUint32(r.cqHead, head)
		r.mu.Lock()
		for _, place := range r.finished {
			r.underWay[place] = Read{}
		}
		r.free, r.finished = append(r.free, r.finished...), r.finished[:0]
		r.reaping = false
		failed, err := r.submit()
		r.mu.Unlock()
		fail(failed, err)
	}
}

func (r *Ring) close() error {
	var errs []error
	if r.event != nil {
		errs = append(errs, r.event.Close())
		r.reaper.Wait()
	}
	for _, m := range [][]byte{r.rings, r.submissions} {
		if m != nil {
			errs = append(errs, unix.Munmap(m))
		}
	}
	return errors.Join(append(errs, unix.Close(r.fd))...)
}
