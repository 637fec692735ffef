package kvtier

import (
	"context"

	"gorun/compute"
	"gorun/internal/pageio"
	"gorun/kvtier/store"
	"gorun/policy"
)

// Reader brings the pages that one pass attends to, in the order in which it
// does, reading ahead as far as the ring goes: across groups, sequences and
// layers.
type Reader struct {
	p      *Pool
	ctx    context.Context
	layers []int // in order; one may come several times
	seqs   []*Sequence

	ahead cursor // of the next page to ask for
	taken int    // slots of the ring that the caller is using
	pages []compute.Span
	reads []*store.Read // that are about to begin
}

// cursor is a page of the pass.
type cursor struct{ layer, seq, block int }

// NewReader makes a reader for a pass that attends in the given layers, one
// after the other, and in each of them with every sequence that is not in
// place (Sequence.InPlace), in order. No block may move until it is closed.
func (p *Pool) NewReader(ctx context.Context, layers []int, seqs []*Sequence) *Reader {
	r := &Reader{p: p, ctx: ctx}
	for _, i := range layers {
		if p.geo.Layers[i].Full() {
			r.layers = append(r.layers, i)
		}
	}
	for _, s := range seqs {
		if !s.InPlace() {
			r.seqs = append(r.seqs, s)
		}
	}
	r.fill()
	return r
}

// Streams reports whether there is a sequence that is not in place.
func (r *Reader) Streams() bool { return len(r.seqs) > 0 }

// InPlace reports whether the device finds all blocks of the sequence where
// they are.
func (s *Sequence) InPlace() bool {
	for _, b := range s.blocks {
		if _, ok := s.pool.inPlace(b); !ok {
			return false
		}
	}
	return true
}

// fill asks for pages until the ring is full.
func (r *Reader) fill() {
	if r.p.ring == nil {
		return
	}
	for r.p.ring.used < len(r.p.ring.slots) {
		b, layer := r.step()
		if b == nil {
			break
		}
		r.ask(b, r.p.geo.Layers[layer])
	}
	if len(r.reads) > 0 {
		r.p.reads.Start(r.reads)
		clear(r.reads)
		r.reads = r.reads[:0]
	}
}

// step is the next block that must be brought, and for which layer; nil at the
// end.
func (r *Reader) step() (*block, int) {
	for c := &r.ahead; c.layer < len(r.layers); c.layer, c.seq = c.layer+1, 0 {
		for ; c.seq < len(r.seqs); c.seq, c.block = c.seq+1, 0 {
			for blocks := r.seqs[c.seq].blocks; c.block < len(blocks); {
				b := blocks[c.block]
				c.block++
				if _, ok := r.p.inPlace(b); !ok {
					return b, r.layers[c.layer]
				}
			}
		}
	}
	return nil, 0
}

// ask asks for a page.
func (r *Reader) ask(b *block, l Layer) {
	slot := r.p.ring.next()
	slot.b = b
	if b.warm != nil {
		slot.page = b.warm[l.blockAt : l.blockAt+l.PageBytes()]
		return
	}
	slot.read.Record, slot.read.Piece = b.cold, l.piece
	r.reads = append(r.reads, &slot.read)
}

// Each calls do with the pages of a layer that a sequence holds, whole spans
// at a time, in order: first is the number of the first block. The pages are
// there until do returns.
func (r *Reader) Each(layer int, s *Sequence, do func(first int, pages []compute.Span)) error {
	l := r.p.geo.Layers[layer]
	for begin := 0; begin < len(s.blocks); {
		end, missing := r.group(s, begin)
		if err := r.await(missing); err != nil {
			return err
		}
		r.pages = r.pages[:0]
		for _, b := range s.blocks[begin:end] {
			span, ok := r.p.inPlace(b)
			if ok {
				span = span.At(l.blockAt, l.PageBytes())
			} else {
				var err error
				if span, err = r.take(l); err != nil {
					return err
				}
			}
			r.pages = append(r.pages, span)
		}
		do(begin, r.pages)
		if r.taken > 0 {
			// The pages may be overwritten once they have been used.
			if err := r.p.stream.Sync(); err != nil {
				return err
			}
			r.p.ring.release(r.taken)
			r.taken = 0
			r.fill()
		}
		begin = end
	}
	return nil
}

// group is the end of the spans from begin on that are attended to at once, as
// many as take a part of the ring, so that the rest is read meanwhile; and how
// many of their blocks must be brought.
func (r *Reader) group(s *Sequence, begin int) (end, missing int) {
	perSpan := compute.SpanTokens / r.p.geo.BlockTokens
	for end = begin; end < len(s.blocks); {
		next, more := min(end+perSpan, len(s.blocks)), missing
		for _, b := range s.blocks[end:next] {
			if _, ok := r.p.inPlace(b); !ok {
				more++
			}
		}
		if end > begin && more > len(r.p.ring.slots)/ringParts {
			break
		}
		end, missing = next, more
	}
	return end, missing
}

// await waits for the next n pages of the ring: for the last one first, which as a rule is
// the last to come.
func (r *Reader) await(n int) error {
	for i := n - 1; i >= 0; i-- {
		if read := &r.p.ring.at(i).read; read.Coming() {
			if err := r.p.reads.Await(r.ctx, read); err != nil {
				return err
			}
		}
	}
	return nil
}

// take takes the next page of the ring, which has come.
func (r *Reader) take(l Layer) (compute.Span, error) {
	slot := r.p.ring.at(r.taken)
	r.taken++
	from := policy.Warm
	if slot.read.Record != nil {
		from = policy.Cold
		var err error
		if slot.page, err = slot.read.Data(); err != nil {
			return compute.Span{}, r.p.lost(slot.b, err)
		}
		r.p.attended += l.PageBytes()
		r.p.read += slot.read.Bytes()
	}
	slot.b.streamed = true
	r.p.trace(policy.Miss, slot.b, l.PageBytes(), from, policy.Hot, policy.ReadAhead)
	if r.p.mapped {
		return slot.span.At(l.blockAt%pageio.Block, l.PageBytes()), nil
	}
	span := slot.span.At(0, l.PageBytes())
	r.p.stream.Write(span, slot.page[:l.PageBytes()])
	return span, nil
}

// Close gives the ring back. Reads under way are waited for.
func (r *Reader) Close() {
	if r.p.ring == nil {
		return
	}
	if r.p.reads != nil {
		r.p.reads.Stop()
	}
	r.p.ring.release(r.p.ring.used)
	r.taken = 0
}
