package hipemu

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"gorun/hipdyn/abi"
	"gorun/hipdyn/hipemu/rdna"
)

// mostWork is how many operations a stream holds before enqueueing waits.
const mostWork = 4096

// clock is a vector clock: for each stream, the last of its operations that has
// happened before.
type clock map[*stream]uint64

func (c clock) join(other clock) {
	for s, n := range other {
		c[s] = max(c[s], n)
	}
}

// work is an operation in a stream.
type work struct {
	stream *stream
	what   string
	seq    uint64
	clock  clock // of what happens before it, and itself
	run    func(*work) error
	// always is called when the work is over, done or not; may be nil.
	always func()
}

// stream runs work in order, on a goroutine of its own.
type stream struct {
	dev    *device
	handle uintptr
	clock  clock // of what is enqueued next; under Emulator.mu

	mu        sync.Mutex
	changed   *sync.Cond
	queue     []*work
	enqueued  uint64
	completed uint64
	allowed   uint64 // work up to this may run
	ending    bool
}

func (e *Emulator) newStream(d *device) *stream {
	s := &stream{dev: d, clock: clock{}}
	s.changed = sync.NewCond(&s.mu)
	if e.config.Eager {
		s.allowed = math.MaxUint64
	}
	s.handle = e.handle(s)
	e.made++
	d.streams = append(d.streams, s)
	e.workers.Go(func() { e.serve(s) })
	return s
}

// serve runs a stream's work.
func (e *Emulator) serve(s *stream) {
	for {
		s.mu.Lock()
		for !s.ending && (len(s.queue) == 0 || s.queue[0].seq > s.allowed) {
			s.changed.Wait()
		}
		if s.ending {
			rest := s.queue
			s.queue = nil
			s.completed = s.enqueued
			s.changed.Broadcast()
			s.mu.Unlock()
			for _, w := range rest {
				w.over()
			}
			return
		}
		w := s.queue[0]
		s.mu.Unlock()
		e.perform(w)
		s.mu.Lock()
		s.queue = s.queue[1:]
		s.completed = w.seq
		s.changed.Broadcast()
		s.mu.Unlock()
	}
}

// perform does one piece of work, unless the device has failed.
func (e *Emulator) perform(w *work) {
	defer w.over()
	e.mu.Lock()
	failed := w.stream.dev.fault != nil
	e.mu.Unlock()
	if failed {
		return
	}
	if err := w.run(w); err != nil && e.ctx.Err() == nil {
		err = fmt.Errorf("%s: %w", w.what, err)
		e.mu.Lock()
		w.stream.dev.fault = err
		e.findings = append(e.findings, err)
		e.mu.Unlock()
	}
}

func (w *work) over() {
	if w.always != nil {
		w.always()
	}
}

// enqueue adds work to a stream. It may wait for room.
func (e *Emulator) enqueue(s *stream, call, what string, run func(*work) error) *work {
	w := &work{stream: s, what: what, run: run}
	e.add(call, w)
	return w
}

func (e *Emulator) add(call string, w *work) {
	s := w.stream
	e.mu.Lock()
	if code, ok := e.failing(call, true); ok {
		w.run = func(*work) error { return fmt.Errorf("injected: %w", code) }
	}
	s.clock.join(e.host)
	s.clock[s]++
	w.clock = maps.Clone(s.clock)
	s.mu.Lock()
	s.enqueued++
	w.seq = s.enqueued
	s.queue = append(s.queue, w)
	s.changed.Broadcast()
	s.mu.Unlock()
	e.mu.Unlock()
	if w.seq > mostWork {
		s.wait(w.seq - mostWork)
	}
}

// allow lets work up to seq run.
func (s *stream) allow(seq uint64) {
	s.mu.Lock()
	s.allowed = max(s.allowed, seq)
	s.changed.Broadcast()
	s.mu.Unlock()
}

// wait lets work up to seq run and waits for it.
func (s *stream) wait(seq uint64) {
	s.mu.Lock()
	s.allowed = max(s.allowed, seq)
	s.changed.Broadcast()
	for s.completed < seq {
		s.changed.Wait()
	}
	s.mu.Unlock()
}

// end drops the work that has not begun and ends the goroutine.
func (s *stream) end() {
	s.mu.Lock()
	s.ending = true
	s.changed.Broadcast()
	s.mu.Unlock()
}

// finish waits for all that is in the streams now. e.mu is not held.
func (e *Emulator) finish(streams ...*stream) {
	for _, s := range streams {
		e.mu.Lock()
		s.mu.Lock()
		seq, reached := s.enqueued, maps.Clone(s.clock)
		s.mu.Unlock()
		e.mu.Unlock()
		s.wait(seq)
		e.mu.Lock()
		e.host.join(reached)
		e.mu.Unlock()
	}
}

// finishDevice waits for all streams of a device.
func (e *Emulator) finishDevice(d *device) {
	e.mu.Lock()
	streams := slices.Clone(d.streams)
	e.mu.Unlock()
	e.finish(streams...)
}

// code is what calls on a device return after work has failed.
func (d *device) code() abi.Code {
	var code abi.Code
	switch {
	case d.fault == nil:
		return abi.Success
	case errors.As(d.fault, &code):
		return code
	}
	return abi.LaunchFailure
}

// access is a use of memory by work. The spans are in order.
type access struct {
	spans  []rdna.Span
	write  bool
	stream *stream
	tick   uint64
	what   string
}

// common is the first span that two lists of spans have in common.
func common(a, b []rdna.Span) (rdna.Span, bool) {
	for len(a) > 0 && len(b) > 0 {
		if s := (rdna.Span{Lo: max(a[0].Lo, b[0].Lo), Hi: min(a[0].Hi, b[0].Hi)}); s.Lo < s.Hi {
			return s, true
		}
		if a[0].Hi < b[0].Hi {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return rdna.Span{}, false
}

// covers tells whether all spans of b are within spans of a.
func covers(a, b []rdna.Span) bool {
	for _, s := range b {
		for len(a) > 0 && a[0].Hi < s.Hi {
			a = a[1:]
		}
		if len(a) == 0 || a[0].Lo > s.Lo {
			return false
		}
	}
	return true
}

// touch notes that work uses memory of the allocation at base, and finds other
// streams' uses of the same bytes that it is in no order with.
func (e *Emulator) touch(w *work, base uint64, spans []rdna.Span, write bool) error {
	if len(spans) == 0 {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var kept []access
	for _, a := range e.log[base] {
		before := a.tick <= w.clock[a.stream]
		if !before && (a.write || write) {
			if s, ok := common(a.spans, spans); ok {
				return fmt.Errorf("missing stream wait: it %s bytes %d to %d of the memory at 0x%x, which %s on another stream %s, and no event orders the two",
					verb(write), s.Lo-base, s.Hi-base, base, a.what, verb(a.write))
			}
		}
		// What this access includes need not be remembered.
		if !before || a.write && !write || !covers(spans, a.spans) {
			kept = append(kept, a)
		}
	}
	e.log[base] = append(kept, access{spans, write, w.stream, w.clock[w.stream], w.what})
	return nil
}

func verb(write bool) string {
	if write {
		return "writes"
	}
	return "reads"
}

// event is a hipEvent_t.
type event struct {
	dev    *device
	timing bool
	last   *record // nil before the first
}

// record is an event in a stream.
type record struct {
	work *work
	done chan struct{}
	at   time.Time
}

func (e *Emulator) hipStreamCreateWithFlags(out *uintptr, flags uint32) abi.Code {
	e.mu.Lock()
	defer e.mu.Unlock()
	if flags != abi.StreamNonBlocking {
		return abi.NotSupported // a stream that waits for the null stream
	}
	*out = e.newStream(e.here()).handle
	return abi.Success
}

// stream finds a stream. e.mu is not held.
func (e *Emulator) stream(call string, h uintptr) (*stream, abi.Code) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s, ok := lookup[*stream](e, call, h)
	if !ok {
		return nil, abi.InvalidHandle
	}
	return s, s.dev.code()
}

func (e *Emulator) hipStreamDestroy(h uintptr) abi.Code {
	s, code := e.stream("hipStreamDestroy", h)
	if s == nil {
		return code
	}
	e.finish(s)
	s.end()
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.handles, h)
	s.dev.streams = slices.DeleteFunc(s.dev.streams, func(x *stream) bool { return x == s })
	return s.dev.code()
}

func (e *Emulator) hipStreamSynchronize(h uintptr) abi.Code {
	s, code := e.stream("hipStreamSynchronize", h)
	if code != abi.Success {
		return code
	}
	e.finish(s)
	return e.codeOf(s.dev)
}

func (e *Emulator) codeOf(d *device) abi.Code {
	e.mu.Lock()
	defer e.mu.Unlock()
	return d.code()
}

func (e *Emulator) hipDeviceSynchronize() abi.Code {
	e.mu.Lock()
	d := e.here()
	e.mu.Unlock()
	e.finishDevice(d)
	return e.codeOf(d)
}

func (e *Emulator) hipStreamQuery(h uintptr) abi.Code {
	s, code := e.stream("hipStreamQuery", h)
	if code != abi.Success {
		return code
	}
	s.mu.Lock()
	ready := s.completed == s.enqueued
	seq := s.enqueued
	s.mu.Unlock()
	if !ready {
		s.allow(seq)
		return abi.NotReady
	}
	e.finish(s)
	return e.codeOf(s.dev)
}

func (e *Emulator) hipEventCreateWithFlags(out *uintptr, flags uint32) abi.Code {
	e.mu.Lock()
	defer e.mu.Unlock()
	*out = e.handle(&event{dev: e.here(), timing: flags&abi.EventDisableTiming == 0})
	return abi.Success
}

// event finds an event and where it was last recorded. e.mu is not held.
func (e *Emulator) event(call string, h uintptr) (*event, *record, abi.Code) {
	e.mu.Lock()
	defer e.mu.Unlock()
	v, ok := lookup[*event](e, call, h)
	if !ok {
		return nil, nil, abi.InvalidHandle
	}
	return v, v.last, v.dev.code()
}

func (e *Emulator) hipEventDestroy(h uintptr) abi.Code {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := lookup[*event](e, "hipEventDestroy", h); !ok {
		return abi.InvalidHandle
	}
	delete(e.handles, h)
	return abi.Success
}

func (e *Emulator) hipEventRecord(h, streamHandle uintptr) abi.Code {
	v, _, code := e.event("hipEventRecord", h)
	if code != abi.Success {
		return code
	}
	s, code := e.stream("hipEventRecord", streamHandle)
	if code != abi.Success {
		return code
	}
	if s.dev != v.dev {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.find("hipEventRecord: an event of device %d in a stream of device %d", v.dev.index, s.dev.index)
		return abi.InvalidHandle
	}
	r := &record{done: make(chan struct{})}
	r.work = &work{stream: s, what: "an event", run: func(*work) error { return nil }, always: func() {
		r.at = time.Now()
		close(r.done)
	}}
	e.add("hipEventRecord", r.work)
	e.mu.Lock()
	defer e.mu.Unlock()
	v.last = r
	return abi.Success
}

func (e *Emulator) hipStreamWaitEvent(streamHandle, h uintptr, flags uint32) abi.Code {
	s, code := e.stream("hipStreamWaitEvent", streamHandle)
	if code != abi.Success {
		return code
	}
	_, r, code := e.event("hipStreamWaitEvent", h)
	if code != abi.Success || r == nil {
		return code // an event that was never recorded is no reason to wait
	}
	e.mu.Lock()
	s.clock.join(r.work.clock)
	e.mu.Unlock()
	e.enqueue(s, "hipStreamWaitEvent", "waiting for an event", func(*work) error {
		r.work.stream.allow(r.work.seq)
		select {
		case <-r.done:
		case <-e.ctx.Done():
		}
		return nil
	})
	return abi.Success
}

func (e *Emulator) hipEventSynchronize(h uintptr) abi.Code {
	v, r, code := e.event("hipEventSynchronize", h)
	if code != abi.Success || r == nil {
		return code
	}
	r.work.stream.wait(r.work.seq)
	e.reached(r)
	return e.codeOf(v.dev)
}

// reached tells the host's clock that it has waited for an event.
func (e *Emulator) reached(r *record) {
	e.mu.Lock()
	e.host.join(r.work.clock)
	e.mu.Unlock()
}

func (e *Emulator) hipEventQuery(h uintptr) abi.Code {
	v, r, code := e.event("hipEventQuery", h)
	if code != abi.Success || r == nil {
		return code
	}
	select {
	case <-r.done:
		e.reached(r)
		return e.codeOf(v.dev)
	default:
		r.work.stream.allow(r.work.seq)
		return abi.NotReady
	}
}

func (e *Emulator) hipEventElapsedTime(ms *float32, from, to uintptr) abi.Code {
	var at [2]time.Time
	for i, h := range []uintptr{from, to} {
		v, r, code := e.event("hipEventElapsedTime", h)
		switch {
		case code != abi.Success:
			return code
		case r == nil || !v.timing:
			return abi.InvalidHandle
		}
		select {
		case <-r.done:
			at[i] = r.at
		default:
			return abi.NotReady
		}
	}
	*ms = float32(at[1].Sub(at[0]).Seconds() * 1e3)
	return abi.Success
}
