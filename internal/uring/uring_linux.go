package uring

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// entries is how many reads may be under way; more wait for their turn.
const entries = 128

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

	mu                     sync.Mutex // of the submission ring
	sqTail, cqHead, cqTail *uint32
	sqMask, cqMask         uint32
	array                  []uint32
	sqes                   []submission
	cqes                   []completion

	free    chan uint64 // reads that are not in use
	reading [entries]reading
}

// reading is one read under way.
type reading struct {
	memory []byte // kept alive, and in place, until the kernel is done
	done   chan int32
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
	r := &Ring{fd: int(fd), free: make(chan uint64, entries)}
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
		r.reading[i].done = make(chan int32, 1)
		r.free <- i
	}
	return nil
}

// ReadAt reads len(b) bytes of a file, which may be fewer at its end, in one read.
func (r *Ring) ReadAt(fd int, b []byte, off int64) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	i := <-r.free
	read := &r.reading[i]
	read.memory = b
	err := r.submit(submission{opcode: opRead, fd: int32(fd), off: uint64(off),
		addr: uint64(uintptr(unsafe.Pointer(&b[0]))), len: uint32(len(b)), user: i})
	var n int32
	if err == nil {
		n = <-read.done
	}
	read.memory = nil
	r.free <- i
	switch {
	case err != nil:
		return 0, err
	case n < 0:
		return 0, unix.Errno(-n)
	}
	return int(n), nil
}

// submit hands one read to the kernel.
func (r *Ring) submit(s submission) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	tail := *r.sqTail // only written here
	slot := tail & r.sqMask
	r.sqes[slot], r.array[slot] = s, slot
	atomic.StoreUint32(r.sqTail, tail+1)
	for {
		n, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), 1, 0, 0, 0, 0)
		switch {
		case errno == unix.EINTR || errno == 0 && n == 0:
		case errno != 0:
			atomic.StoreUint32(r.sqTail, tail) // the kernel looks at it in this call only
			return errno
		default:
			return nil
		}
	}
}

// reap hands results to who waits for them, until the event is closed.
func (r *Ring) reap() {
	var count [8]byte
	for {
		if _, err := r.event.Read(count[:]); err != nil {
			return
		}
		head := *r.cqHead // only written here
		for ; head != atomic.LoadUint32(r.cqTail); head++ {
			c := r.cqes[head&r.cqMask]
			r.reading[c.user].done <- c.res
		}
		atomic.StoreUint32(r.cqHead, head)
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
