package uring

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// entries is how many reads of a ring may be under way; more wait for their turn.
const entries = 256

// What the kernel's io_uring.h calls by these names.
const (
	featSingleMmap   = 1 << 0
	featRWCurPos     = 1 << 3 // came with IORING_OP_READ
	opRead           = 22
	enterGetEvents   = 1 << 0
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

// kernelRing is an io_uring for reads. One goroutine at a time submits, and one
// collects.
type kernelRing struct {
	fd          int
	rings       []byte // both, with their heads and tails
	submissions []byte

	sqTail, cqHead, cqTail *uint32
	sqMask, cqMask         uint32
	array                  []uint32
	sqes                   []submission
	cqes                   []completion

	underWay [entries]Read // which keeps memory alive until the kernel is done
	free     []uint64      // places in underWay
	waiting  []Read        // for such a place
	finished []uint64      // places that have been collected
}

// open makes r a ring, or leaves nothing.
func (r *kernelRing) open() error {
	var p params
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, entries, uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return fmt.Errorf("%w: %w", ErrUnsupported, errno)
	}
	unix.CloseOnExec(int(fd))
	r.fd = int(fd)
	if err := r.setUp(&p); err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, errors.Join(err, r.close()))
	}
	return nil
}

// setUp maps the rings.
func (r *kernelRing) setUp(p *params) (err error) {
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
	for i := range uint64(entries) {
		r.free = append(r.free, i)
	}
	return nil
}

// submit hands reads that wait to the kernel, as many as there are places for.
// It returns those that the kernel refused.
func (r *kernelRing) submit() (failed []Read, err error) {
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

func fail(reads []Read, err error) {
	for _, read := range reads {
		read.Done(0, err)
	}
}

// collected reports whether all completions so far have been collected.
func (r *kernelRing) collected() bool { return *r.cqHead == atomic.LoadUint32(r.cqTail) }

// collect tells who reads of completions. Their places are not free before release.
func (r *kernelRing) collect() {
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
}

// release frees the places of what has been collected.
func (r *kernelRing) release() {
	for _, place := range r.finished {
		r.underWay[place] = Read{}
	}
	r.free, r.finished = append(r.free, r.finished...), r.finished[:0]
}

func (r *kernelRing) close() error {
	var errs []error
	for _, m := range [][]byte{r.rings, r.submissions} {
		if m != nil {
			errs = append(errs, unix.Munmap(m))
		}
	}
	return errors.Join(append(errs, unix.Close(r.fd))...)
}
