package kvtier

import (
	"errors"
	"fmt"

	"gorun/compute"
	"gorun/internal/units"
)

// ErrFull is returned when a pool has no page left.
var ErrFull = errors.New("the KV cache is full")

// Pool is the memory of KV pages on one device. It takes memory in slabs as
// sequences grow, up to the capacity it was made with, and keeps it. A pool
// and its sequences belong to one goroutine.
type Pool struct {
	dev     compute.Device
	stream  compute.Stream // of those who compute, so that copies are in order
	geo     Geometry
	classes map[int64]*class // by slot size
}

// slot is memory of a page or a state. Sequences share what none of them will
// write again.
type slot struct {
	compute.Span
	refs int
}

// class holds the slots of one size.
type class struct {
	size     int64
	capacity int // slots
	made     int
	free     []compute.Span
	slabs    []compute.Buffer
}

// slabBytes is how much memory a pool takes at a time.
const slabBytes = 4 << 20

// NewPool makes an empty pool with room for the given number of sequences of
// ctx positions that grow by at most batch positions at a time. Its capacity
// is Geometry.PoolBytes of the same arguments. stream is the one that computes
// with the pages.
func NewPool(dev compute.Device, stream compute.Stream, geo Geometry, ctx, batch, sequences int) *Pool {
	p := &Pool{dev: dev, stream: stream, geo: geo, classes: map[int64]*class{}}
	for size, slots := range geo.slots(ctx, batch, sequences) {
		p.classes[size] = &class{size: size, capacity: slots}
	}
	return p
}

// Geometry is the layout of the pool's pages.
func (p *Pool) Geometry() Geometry { return p.geo }

// Capacity is the bytes of all pages that the pool may have.
func (p *Pool) Capacity() int64 {
	var n int64
	for size, c := range p.classes {
		n += size * int64(c.capacity)
	}
	return n
}

// Used is the bytes of pages that sequences hold.
func (p *Pool) Used() int64 {
	var n int64
	for size, c := range p.classes {
		n += size * int64(c.made-len(c.free))
	}
	return n
}

// alloc takes a slot, with one reference.
func (p *Pool) alloc(size int64) (*slot, error) {
	c := p.classes[size]
	if len(c.free) == 0 {
		if err := p.addSlab(c); err != nil {
			return nil, err
		}
	}
	s := &slot{c.free[len(c.free)-1], 1}
	c.free = c.free[:len(c.free)-1]
	return s, nil
}

// share takes another reference.
func share(s *slot) *slot {
	if s != nil {
		s.refs++
	}
	return s
}

// private returns a slot with the contents of s that nobody else refers to,
// in exchange for a reference to s.
func (p *Pool) private(s *slot) (*slot, error) {
	if s.refs == 1 {
		return s, nil
	}
	own, err := p.alloc(s.N)
	if err != nil {
		return nil, err
	}
	values := int(s.N / 4)
	p.stream.Copy(compute.MatrixOf(own.Span, 1, values), compute.MatrixOf(s.Span, 1, values), compute.Rows{})
	p.release(s)
	return own, nil
}

func (p *Pool) addSlab(c *class) error {
	n := min(c.capacity-c.made, max(1, int(slabBytes/c.size)))
	if n <= 0 {
		return fmt.Errorf("%w: all %d pages of %v are in use", ErrFull, c.made, units.Size(c.size))
	}
	slab, err := p.dev.NewBuffer(int64(n) * c.size)
	if err != nil {
		return fmt.Errorf("KV cache: %w", err)
	}
	c.slabs = append(c.slabs, slab)
	c.made += n
	for i := n - 1; i >= 0; i-- {
		c.free = append(c.free, compute.Span{Buf: slab, Off: int64(i) * c.size, N: c.size})
	}
	return nil
}

// release gives a reference back.
func (p *Pool) release(s *slot) {
	if s == nil {
		return
	}
	if s.refs--; s.refs == 0 {
		c := p.classes[s.N]
		c.free = append(c.free, s.Span)
	}
}

// Close frees the pool's memory. Its sequences must not be used afterwards.
func (p *Pool) Close() error {
	var errs []error
	for _, c := range p.classes {
		for _, slab := range c.slabs {
			errs = append(errs, slab.Free())
		}
		c.slabs, c.free, c.made = nil, nil, 0
	}
	return errors.Join(errs...)
}
