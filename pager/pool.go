package pager

import (
	"errors"
	"fmt"
	"slices"

	"gorun/compute"
	"gorun/internal/pageio"
	"gorun/policy"
)

// pool is slots of one size and the policy that says who has them. The lock of
// Paged guards it.
//
// On a device that computes in the host's memory pages are read into their
// slots. On others they are read into staging slots of the host, and written to
// their slots by the goroutine that acquires, so that the stream keeps the
// order.
type pool struct {
	p      *Paged
	serves Use
	layout PoolLayout
	policy policy.Policy
	holds  map[PageID]*hold

	memory []byte // of all slots, or of staging slots
	free   func() error
	buffer compute.Buffer
	dirty  []int64 // of each slot of memory, the bytes that were ever written
	slots  []slot
	empty  []int32 // slots without a page
	stage  []int32 // staging slots without a page

	upcoming []PageID // will be acquired, the next first
	next     map[PageID]PageID
	last     PageID // that was acquired
	cursor   PageID // how far it has been looked ahead

	reads map[PageID]*read
}

// slot is memory for a page.
type slot struct {
	span compute.Span // of the page in it
	// stage is the staging slot that the page is in, -1 once it is written to
	// the device, and staged the page there.
	stage  int32
	staged []byte
}

// mostAhead is how many pages are read before they are used, at most, unless the
// pool has a ring for them: of experts they take slots of others.
const mostAhead = 16

func newPool(p *Paged, serves Use, ids []PageID) (*pool, error) {
	l := p.config.Layout.Pools[serves]
	o := &pool{
		p: p, serves: serves, layout: l, holds: make(map[PageID]*hold, len(ids)),
		slots: make([]slot, l.Slots), next: make(map[PageID]PageID, len(ids)), last: -1, cursor: -1, reads: map[PageID]*read{},
	}
	o.policy = p.config.Layout.newPolicy(serves)
	for i, id := range ids {
		o.holds[id] = &hold{o, id}
		if serves == Always {
			o.next[id] = ids[(i+1)%len(ids)] // the order of the file, until the real one is known
		}
	}
	for i := range o.slots {
		o.slots[i].stage = -1
		o.empty = append(o.empty, int32(i))
	}
	slices.Reverse(o.empty)
	return o, o.allocate()
}

func (o *pool) allocate() (err error) {
	o.free = func() error { return nil }
	mapper, host := o.p.dev.(compute.HostMapper)
	n := o.layout.Slots
	if !host {
		n = o.layout.staging()
	}
	if n == 0 {
		return nil
	}
	if o.memory, o.free, err = pageio.NewMemory(int64(n) * o.layout.Slot); err != nil {
		return fmt.Errorf("weight pool: %w", err)
	}
	o.dirty = make([]int64, n)
	if host {
		o.buffer = mapper.MapHost(o.memory)
		return nil
	}
	for i := range n {
		o.stage = append(o.stage, int32(i))
	}
	if o.buffer, err = o.p.dev.NewBuffer(int64(o.layout.Slots) * o.layout.Slot); err != nil {
		return errors.Join(fmt.Errorf("weight pool: %w", err), o.free())
	}
	return nil
}

func (o *pool) staging() bool { return o.p.config.Layout.Staged }

func (o *pool) close() error {
	var err error
	if o.buffer != nil {
		err = o.buffer.Free()
	}
	return errors.Join(err, o.free())
}

// bytes is the memory of the pool.
func (o *pool) bytes() int64 {
	n := int64(len(o.memory))
	if o.staging() && o.buffer != nil {
		n += o.buffer.Bytes()
	}
	return n
}

// hostMemory is where a slot's page is read to: the slot, or its staging slot.
func (o *pool) hostMemory(i int32) (mem []byte, dirty *int64) {
	if o.staging() {
		i = o.slots[i].stage
	}
	at := int64(i) * o.layout.Slot
	return o.memory[at : at+o.layout.Slot : at+o.layout.Slot], &o.dirty[i]
}

// arrive notes that a page is about to be acquired, and looks ahead from it.
// Pages that every pass uses come in the same order each time, so what came
// after a page the last time is expected to come again.
func (o *pool) arrive(id PageID) {
	if at := slices.Index(o.upcoming, id); at >= 0 {
		o.forget(at + 1)
	}
	if o.serves != Always {
		return
	}
	if o.last < 0 || o.next[o.last] != id { // not as the last time
		o.forget(len(o.upcoming))
		o.cursor = id
	}
	if o.last >= 0 {
		o.next[o.last] = id
	}
	o.last = id
	ahead := Depth
	if o.layout.Ring > 0 {
		ahead = o.layout.Ring - 1 // beside the page in use
	}
	for range o.next {
		c := o.next[o.cursor]
		if len(o.upcoming) >= ahead || c == id {
			return
		}
		o.cursor = c
		here := o.p.pages[c].slot >= 0
		if here && o.p.config.Layout.kept[c] {
			continue
		}
		o.upcoming = append(o.upcoming, c)
		o.p.pages[c].expected = here
	}
}

// forget drops the first n of upcoming.
func (o *pool) forget(n int) {
	for _, id := range o.upcoming[:n] {
		o.p.pages[id].expected = false
	}
	o.upcoming = o.upcoming[n:]
}

// expect replaces upcoming. Those that are here stay until they are used.
func (o *pool) expect(ids []PageID) {
	o.forget(len(o.upcoming))
	o.upcoming = slices.Clone(ids)
	for _, id := range ids {
		if s := &o.p.pages[id]; s.slot >= 0 {
			s.expected = true
		}
	}
}

// readAhead begins to read upcoming pages, as far as there is room.
func (o *pool) readAhead() {
	if o.p.closed {
		return
	}
	ahead, most := 0, max(mostAhead, o.layout.Ring)
	for _, id := range o.upcoming {
		s := &o.p.pages[id]
		if s.slot < 0 && s.err == nil {
			if !o.hasRoom(false) {
				return
			}
			o.begin(id, false)
			s.expected = true
		}
		if s.read != nil || s.fresh {
			if ahead++; ahead == most {
				return
			}
		}
	}
}

// mayLeave reports whether a page's slot can be taken.
func (o *pool) mayLeave(id policy.Page) bool {
	s := &o.p.pages[id]
	return s.refs == 0 && s.read == nil && !s.expected
}

// hasRoom reports whether there is an empty slot, or makes one. On demand, a
// page that is only expected has to go, the one that is needed last first.
func (o *pool) hasRoom(demand bool) bool {
	if demand {
		o.unstage()
	}
	if o.staging() && len(o.stage) == 0 {
		return false
	}
	if len(o.empty) > 0 {
		return true
	}
	victim, ok := o.policy.Victim(o.mayLeave)
	for i := len(o.upcoming) - 1; demand && !ok && i >= 0; i-- {
		s := &o.p.pages[o.upcoming[i]]
		if s.slot >= 0 && s.refs == 0 && s.read == nil {
			s.expected, ok, victim = false, true, policy.Page(o.upcoming[i])
		}
	}
	if ok {
		o.evict(PageID(victim), policy.Evict)
	}
	return ok
}

// evict empties the slot of a page.
func (o *pool) evict(id PageID, cause policy.Cause) {
	s := &o.p.pages[id]
	o.policy.Evict(policy.Page(id))
	o.leaveStage(s.slot)
	o.empty = append(o.empty, s.slot)
	s.slot, s.fresh = -1, false
	o.record(policy.Move, id, policy.Hot, policy.Nowhere, cause)
}

// unstage writes staged pages to the device.
func (o *pool) unstage() {
	if !o.staging() {
		return
	}
	for i := range o.slots {
		if slot := &o.slots[i]; slot.staged != nil {
			o.p.config.Stream.Write(slot.span, slot.staged)
			o.leaveStage(int32(i))
		}
	}
}

func (o *pool) leaveStage(i int32) {
	if slot := &o.slots[i]; slot.stage >= 0 {
		o.stage = append(o.stage, slot.stage)
		slot.stage, slot.staged = -1, nil
	}
}

// begin reads a page into an empty slot.
func (o *pool) begin(id PageID, urgent bool) {
	s, page := &o.p.pages[id], &o.p.catalog.pages[id]
	s.slot = o.empty[len(o.empty)-1]
	o.empty = o.empty[:len(o.empty)-1]
	if o.staging() {
		o.slots[s.slot].stage = o.stage[len(o.stage)-1]
		o.stage = o.stage[:len(o.stage)-1]
	}
	s.read = &read{done: make(chan struct{})}
	o.reads[id] = s.read
	o.policy.Admit(policy.Page(id), o.p.scan)
	mem, dirty := o.hostMemory(s.slot)
	var sums *Checksums
	if !s.verified {
		sums = o.p.config.Checksums
	}
	o.p.queue.Read(o.p.ctx, pageio.Request{
		File: o.p.files[page.Part], Off: page.Offset, N: page.Bytes, Mem: mem, Urgent: urgent,
		Done: func(b []byte, err error) {
			if err == nil {
				fillTail(mem, b, dirty, o.p.config.Tail)
				err = sums.verify(id, b)
			}
			o.end(id, b, err)
		},
	})
}

// end is told by a worker that a page has been read.
func (o *pool) end(id PageID, b []byte, err error) {
	p, page := o.p, &o.p.catalog.pages[id]
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &p.pages[id]
	r := s.read
	s.read = nil
	delete(o.reads, id)
	defer close(r.done)
	if err != nil {
		r.err = fmt.Errorf("read tensor %q at offset %d of %s: %w", page.Tensor, page.Offset, p.files[page.Part].Path(), err)
		s.expected = false
		o.evict(id, policy.Drop)
		if r.waiting == 0 {
			s.err = r.err
		}
		return
	}
	s.fresh, s.verified = true, true
	p.stats.BytesRead += page.Bytes
	slot := &o.slots[s.slot]
	slot.span = compute.Span{Buf: o.buffer, Off: int64(s.slot) * o.layout.Slot, N: page.Bytes}
	if o.staging() {
		slot.staged = b
	} else {
		slot.span.Off += page.Offset % pageio.Block
	}
	o.readAhead()
}

// fillTail fills what is left of a slot around its page; dirty is how much of
// it was ever written.
func fillTail(mem, page []byte, dirty *int64, v byte) {
	head := cap(mem) - cap(page)
	end := head + len(page)
	read := (int64(end) + pageio.Block - 1) / pageio.Block * pageio.Block // whole blocks
	*dirty = max(*dirty, min(read, int64(len(mem))))
	if v != 0 {
		*dirty = int64(len(mem))
	}
	fill(mem[:head], v)
	fill(mem[end:*dirty], v)
}

func fill(b []byte, v byte) {
	if v == 0 {
		clear(b)
		return
	}
	for done := copy(b, []byte{v}); done > 0 && done < len(b); {
		done += copy(b[done:], b[:done])
	}
}

// use makes a reference to a page that is here.
func (o *pool) use(id PageID, cause policy.Cause) compute.Page {
	p, s, page := o.p, &o.p.pages[id], &o.p.catalog.pages[id]
	o.unstage()
	if p.scan && o.serves == Routed {
		cause = policy.Scan
	}
	if s.fresh {
		s.fresh = false
		p.stats.Misses[o.serves]++
		o.record(policy.Miss, id, policy.Cold, policy.Hot, cause)
	} else {
		if cause == policy.ReadAhead {
			cause = policy.Demand
		}
		p.stats.Hits[o.serves]++
		if cause != policy.Scan { // a prompt tells little about what comes after it
			o.policy.Touch(policy.Page(id))
		}
		o.record(policy.Hit, id, policy.Hot, policy.Hot, cause)
	}
	p.stats.BytesUsed += page.Bytes
	s.refs++
	return compute.Page{
		Data: o.slots[s.slot].span, Type: page.Type, First: page.First, Rows: page.Rows, Cols: page.Cols, Hold: o.holds[id],
	}
}

func (o *pool) record(kind policy.Kind, id PageID, from, to policy.Tier, cause policy.Cause) {
	o.p.config.Trace.Record(policy.Event{
		Kind: kind, Pool: o.p.config.TracePool + uint8(o.serves), Page: uint64(id), Bytes: o.p.catalog.pages[id].Bytes,
		From: from, To: to, Cause: cause,
	})
}

// anyRead is a read under way, or nil.
func (o *pool) anyRead() *read {
	for _, r := range o.reads {
		return r
	}
	return nil
}
