package synth

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"runtime"
)

// stream is the data of all tensors, one after the other. They are made in
// parts ahead of being read, by several goroutines; a part's random numbers
// depend on its tensor and its number alone.
type stream struct {
	ctx         context.Context
	parts       chan chan []byte // in order; each gives its data once
	free        chan []byte      // buffers to be used again
	buffer      []byte           // of the part being read
	rest        []byte           // of buffer
	done, total int64
	progress    func(done, total int64)
}

// partBytes is the size of parts, but for what remains of a block.
const partBytes = 1 << 20

// stream starts making the data, total bytes, until ctx ends.
func (b *builder) stream(ctx context.Context, total int64) *stream {
	workers := runtime.GOMAXPROCS(0)
	s := &stream{
		ctx: ctx, total: total, progress: b.options.Progress,
		parts: make(chan chan []byte, 2*workers), free: make(chan []byte, 4*workers),
	}
	work := make(chan func())
	for range workers {
		go func() {
			for job := range work {
				job()
			}
		}()
	}
	go func() {
		defer close(work)
		for _, t := range b.tensors {
			if !s.order(b, t, work) {
				return
			}
		}
	}()
	return s
}

// order has all parts of a tensor made, and reports whether ctx lasted.
func (s *stream) order(b *builder, t content, work chan<- func()) bool {
	size := partSize(t)
	for i := 0; int64(i)*size < t.Size; i++ {
		part := make(chan []byte, 1)
		n := min(size, t.Size-int64(i)*size)
		job := func() {
			dst := s.take(n)
			t.generate(dst, b.random(t.Name, i))
			part <- dst
		}
		select {
		case s.parts <- part:
		case <-s.ctx.Done():
			return false
		}
		select {
		case work <- job:
		case <-s.ctx.Done():
			return false
		}
	}
	return true
}

// partSize is the size of the parts of a tensor. Small tensors are made at
// once.
func partSize(t content) int64 {
	if t.values != nil {
		return t.Size
	}
	block := int64(t.Type.BlockBytes())
	return partBytes / block * block
}

// generate fills one part.
func (t content) generate(dst []byte, random *rand.PCG) {
	if t.values == nil {
		fill(t.Type, dst, t.std, random)
		return
	}
	values := make([]float32, len(dst)/4)
	t.values(rand.New(random), values)
	for i, x := range values {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(x))
	}
}

// take returns a buffer of n bytes.
func (s *stream) take(n int64) []byte {
	select {
	case old := <-s.free:
		if int64(cap(old)) >= n {
			return old[:n]
		}
	default:
	}
	return make([]byte, n, max(n, partBytes))
}

// Read gives the next bytes.
func (s *stream) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// next waits for the next part.
func (s *stream) next() error {
	if s.buffer != nil {
		select {
		case s.free <- s.buffer:
		default:
		}
	}
	select {
	case part := <-s.parts:
		select {
		case s.buffer = <-part:
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
	s.rest = s.buffer
	s.done += int64(len(s.buffer))
	if s.progress != nil {
		s.progress(s.done, s.total)
	}
	return nil
}
