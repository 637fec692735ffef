// Package strict is a compute backend for tests. It computes what the backend
// inside it computes, and punishes what that one would forgive:
//
//   - every operation is delayed until a Read or Sync asks for results, as on
//     a device that runs far behind the host;
//   - new buffers hold NaNs, and so do freed ones;
//   - using a freed buffer, freeing one twice, and freeing one that a delayed
//     operation still names are panics;
//   - products side by side are computed in the opposite order;
//   - a weight page is released right after its operation, and at no other time.
package strict

import (
	"errors"
	"fmt"
	"slices"

	"gorun/compute"
)

// Device wraps another device.
type Device struct {
	inner compute.Device
	setup compute.Stream // fills buffers at once, beside the queues of users
}

// Wrap makes a strict device of inner.
func Wrap(inner compute.Device) (*Device, error) {
	setup, err := inner.NewStream(compute.Work{})
	return &Device{inner, setup}, err
}

// Name implements compute.Device.
func (d *Device) Name() string { return "strict:" + d.inner.Name() }

// Numerics implements compute.Device.
func (d *Device) Numerics() string { return d.inner.Numerics() }

// Close implements compute.Device.
func (d *Device) Close() error { return errors.Join(d.setup.Close(), d.inner.Close()) }

// Workspace implements compute.Device.
func (d *Device) Workspace(w compute.Work) int64 { return d.inner.Workspace(w) }

// NewStream implements compute.Device.
func (d *Device) NewStream(w compute.Work) (compute.Stream, error) {
	inner, err := d.inner.NewStream(w)
	return &stream{inner: inner}, err
}

// NewBuffer implements compute.Device.
func (d *Device) NewBuffer(bytes int64) (compute.Buffer, error) {
	inner, err := d.inner.NewBuffer(bytes)
	if err != nil {
		return nil, err
	}
	b := &buffer{dev: d, inner: inner}
	b.poison()
	return b, nil
}

type buffer struct {
	dev     *Device
	inner   compute.Buffer
	pending int // delayed operations that name the buffer
	freed   bool
}

func (b *buffer) Bytes() int64 { return b.inner.Bytes() }

func (b *buffer) Free() error {
	if b.freed {
		panic("strict: buffer freed twice")
	}
	if b.pending > 0 {
		panic(fmt.Sprintf("strict: buffer freed under %d operations", b.pending))
	}
	b.poison()
	b.freed = true
	return b.inner.Free()
}

// poison fills the buffer with bytes that are NaN as float16 and float32.
func (b *buffer) poison() {
	const chunk = 1 << 20
	nan := slices.Repeat([]byte{0xff}, int(min(chunk, b.Bytes())))
	for off := int64(0); off < b.Bytes(); off += chunk {
		n := min(chunk, b.Bytes()-off)
		b.dev.setup.Write(compute.Span{Buf: b.inner, Off: off, N: n}, nan[:n])
	}
}

// stream keeps operations until their results are asked for.
type stream struct {
	inner compute.Stream
	queue []func()
}

func (s *stream) run() {
	for _, op := range s.queue {
		op()
	}
	s.queue = s.queue[:0]
}

// operation collects the buffers and the pages of one delayed operation.
type operation struct {
	s     *stream
	held  []*buffer
	holds []compute.Hold
}

func (s *stream) op() *operation { return &operation{s: s} }

func (o *operation) buffer(b compute.Buffer) compute.Buffer {
	if b == nil {
		return nil
	}
	mine, ok := b.(*buffer)
	if !ok {
		panic(fmt.Sprintf("strict: a buffer of another device: %T", b))
	}
	if mine.freed {
		panic("strict: operation on a freed buffer")
	}
	mine.pending++
	o.held = append(o.held, mine)
	return mine.inner
}

func (o *operation) matrix(m compute.Matrix) compute.Matrix { m.Buf = o.buffer(m.Buf); return m }
func (o *operation) span(s compute.Span) compute.Span       { s.Buf = o.buffer(s.Buf); return s }

func (o *operation) page(p compute.Page) compute.Page {
	p.Data = o.span(p.Data)
	if p.Hold != nil {
		o.holds, p.Hold = append(o.holds, p.Hold), nil
	}
	return p
}

func (o *operation) runs(seqs []compute.KVRun) []compute.KVRun {
	seqs = slices.Clone(seqs)
	for i := range seqs {
		pages := slices.Clone(seqs[i].Pages)
		for j := range pages {
			pages[j] = o.span(pages[j])
		}
		seqs[i].Pages = pages
	}
	return seqs
}

func (o *operation) states(seqs []compute.StateRun) []compute.StateRun {
	seqs = slices.Clone(seqs)
	for i := range seqs {
		seqs[i].From, seqs[i].To = o.span(seqs[i].From), o.span(seqs[i].To)
	}
	return seqs
}

func (o *operation) attention(a compute.Attention) compute.Attention {
	a.Sinks = o.matrix(a.Sinks)
	return a
}

// then queues the operation.
func (o *operation) then(do func()) {
	o.s.queue = append(o.s.queue, func() {
		do()
		for _, b := range o.held {
			b.pending--
		}
		for _, h := range o.holds {
			h.Release()
		}
	})
}

func captured(r compute.Rows) compute.Rows {
	return compute.Rows{From: slices.Clone(r.From), To: slices.Clone(r.To)}
}
