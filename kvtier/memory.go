package kvtier

import (
	"errors"
	"fmt"

	"gorun/compute"
	"gorun/internal/pageio"
)

// memory is bytes that the device computes with; host is the same bytes, if
// the device uses the host's memory.
type memory struct {
	compute.Span
	host []byte
}

func (m memory) at(off, n int64) memory {
	part := memory{Span: m.Span.At(off, n)}
	if m.host != nil {
		part.host = m.host[off : off+n : off+n]
	}
	return part
}

// newMemory allocates memory of the device.
func newMemory(dev compute.Device, n int64) (m memory, free func() error, err error) {
	mapper, ok := dev.(compute.HostMapper)
	if !ok {
		buf, err := dev.NewBuffer(n)
		if err != nil {
			return m, nil, err
		}
		return memory{Span: compute.Span{Buf: buf, N: n}}, buf.Free, nil
	}
	host, freeHost, err := pageio.NewMemory(n)
	if err != nil {
		return m, nil, err
	}
	buf := mapper.MapHost(host)
	return memory{compute.Span{Buf: buf, N: n}, host}, func() error { return errors.Join(buf.Free(), freeHost()) }, nil
}

// fetch copies memory of the device to the host, after all operations so far.
func (p *Pool) fetch(dst []byte, m memory) error {
	if m.host == nil {
		return p.stream.Read(dst, m.Span)
	}
	if err := p.stream.Sync(); err != nil {
		return err
	}
	copy(dst, m.host)
	return nil
}

// put is the opposite.
func (p *Pool) put(m memory, src []byte) error {
	if m.host == nil {
		p.stream.Write(m.Span, src)
		return nil
	}
	if err := p.stream.Sync(); err != nil {
		return err
	}
	copy(m.host, src)
	return nil
}

// class holds slots of one size.
type class struct {
	size     int64
	capacity int // slots
	made     int
	free     []memory
	slabs    []func() error
}

// slabBytes is how much memory a pool takes at a time: it grows with what is
// in it.
const slabBytes = 4 << 20

// take takes a slot; ok is false if all are in use.
func (c *class) take(dev compute.Device) (m memory, ok bool, err error) {
	if len(c.free) == 0 {
		n := min(c.capacity-c.made, max(1, int(slabBytes/c.size)))
		if n <= 0 {
			return m, false, nil
		}
		slab, free, err := newMemory(dev, int64(n)*c.size)
		if err != nil {
			return m, false, fmt.Errorf("KV cache: %w", err)
		}
		c.slabs = append(c.slabs, free)
		c.made += n
		for i := n - 1; i >= 0; i-- {
			c.free = append(c.free, slab.at(int64(i)*c.size, c.size))
		}
	}
	m = c.free[len(c.free)-1]
	c.free = c.free[:len(c.free)-1]
	return m, true, nil
}

func (c *class) give(m memory) { c.free = append(c.free, m) }

// used is the number of slots in use, and left that of those that are not.
func (c *class) used() int { return c.made - len(c.free) }
func (c *class) left() int { return c.capacity - c.used() }

func (c *class) close() error {
	var errs []error
	for _, free := range c.slabs {
		errs = append(errs, free())
	}
	c.slabs, c.free, c.made = nil, nil, 0
	return errors.Join(errs...)
}
