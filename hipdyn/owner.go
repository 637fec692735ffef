package hipdyn

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
)

// task is a call that an owner makes. It is an interface and not a function so
// that a launch can be handed over without allocating.
type task interface{ run() error }

type taskFunc func() error

func (f taskFunc) run() error { return f() }

// owner is a goroutine locked to its thread that runs tasks in order.
type owner struct {
	mu     sync.RWMutex // held for reading while a job is sent
	closed bool
	jobs   chan *job
	thread int
	done   chan struct{}
}

type job struct {
	task  task
	reply chan error
}

var jobs = sync.Pool{New: func() any { return &job{reply: make(chan error, 1)} }}

// newOwner starts an owner. The first task is begin; if it fails there is no
// owner.
func newOwner(begin func() error) (*owner, error) {
	o := &owner{jobs: make(chan *job), done: make(chan struct{})}
	begun := make(chan error)
	go func() {
		defer close(o.done)
		// Not unlocked: the thread ends with the goroutine, and with it what
		// HIP keeps for the thread.
		runtime.LockOSThread()
		o.thread = threadID()
		err := guarded(taskFunc(begin))
		begun <- err
		if err != nil {
			return
		}
		for j := range o.jobs {
			j.reply <- guarded(j.task)
		}
	}()
	if err := <-begun; err != nil {
		<-o.done
		return nil, err
	}
	return o, nil
}

// do runs a task on the owner's thread and returns its error; on that thread
// already it runs the task directly.
func (o *owner) do(t task) error {
	if threadID() == o.thread {
		return guarded(t)
	}
	j := jobs.Get().(*job)
	j.task = t
	o.mu.RLock()
	if o.closed {
		o.mu.RUnlock()
		return ErrClosed
	}
	o.jobs <- j
	o.mu.RUnlock()
	err := <-j.reply
	j.task = nil
	jobs.Put(j)
	return err
}

// close lets the tasks that have been handed over finish and ends the thread.
func (o *owner) close() {
	o.mu.Lock()
	if !o.closed {
		o.closed = true
		close(o.jobs)
	}
	o.mu.Unlock()
	<-o.done
}

// guarded runs a task and turns a panic into an error.
func guarded(t task) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("hipdyn: panic in a device's thread: %v\n%s", p, debug.Stack())
		}
	}()
	return t.run()
}
