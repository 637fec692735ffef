package kvtier

import (
	"fmt"

	"gorun/compute"
	"gorun/internal/pageio"
	"gorun/kvtier/store"
)

// ring is pages on their way to attention. They are taken in the order in
// which they were asked for.
type ring struct {
	slots []ringSlot
	head  int // the oldest slot in use
	used  int
	free  []func() error
}

type ringSlot struct {
	mem  []byte
	span compute.Span // mem, or memory of the device that it is copied to
	b    *block
	page []byte     // where the block is, unless it must be read
	read store.Read // to mem, if it has a record
}

func newRing(dev compute.Device, n int, size int64, mapped bool) (*ring, error) {
	host, free, err := pageio.NewMemory(int64(n) * size)
	if err != nil {
		return nil, fmt.Errorf("KV ring: %w", err)
	}
	r := &ring{slots: make([]ringSlot, n), free: []func() error{free}}
	var buf compute.Buffer
	if mapped {
		buf = dev.(compute.HostMapper).MapHost(host)
	} else if buf, err = dev.NewBuffer(int64(n) * size); err != nil {
		return r, fmt.Errorf("KV ring: %w", err)
	}
	r.free = append(r.free, buf.Free)
	for i := range int64(n) {
		slot := &r.slots[i]
		slot.mem, slot.span = host[i*size:(i+1)*size:(i+1)*size], compute.Span{Buf: buf, Off: i * size, N: size}
		slot.read.Mem = slot.mem
	}
	return r, nil
}

// next takes the slot after those in use.
func (r *ring) next() *ringSlot {
	slot := &r.slots[(r.head+r.used)%len(r.slots)]
	r.used++
	return slot
}

// at is the i-th of the slots in use.
func (r *ring) at(i int) *ringSlot { return &r.slots[(r.head+i)%len(r.slots)] }

// release gives the n oldest slots back.
func (r *ring) release(n int) {
	for range n {
		slot := &r.slots[r.head]
		slot.b, slot.page, slot.read.Record = nil, nil, nil
		r.head = (r.head + 1) % len(r.slots)
	}
	r.used -= n
}

func (r *ring) close() error {
	var err error
	for i := len(r.free) - 1; i >= 0; i-- {
		err = r.free[i]()
	}
	return err
}
