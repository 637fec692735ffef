package kvtier

import (
	"fmt"
	"sync"

	"gorun/internal/pageio"
	"gorun/kvtier/store"
)

// stage is memory for copies of blocks on their way to the disk, so that the
// blocks themselves are free to move.
type stage struct {
	free  [][]byte // of blocks
	state []byte   // of a snapshot; nil while it is in use
	close func() error

	mu      sync.Mutex
	done    []completion
	arrived chan struct{} // something is in done
}

// completion is what the writer tells of an entry.
type completion struct {
	b      *block // nil: a snapshot
	key    store.Key
	mem    []byte
	record *store.Record
	err    error
}

func newStage(blocks int, blockBytes, stateBytes int64) (*stage, error) {
	n := int64(blocks)*blockBytes + stateBytes
	mem, free, err := pageio.NewMemory(n)
	if err != nil {
		return nil, fmt.Errorf("KV cache: %w", err)
	}
	s := &stage{close: free, arrived: make(chan struct{}, 1)}
	for i := range int64(blocks) {
		s.free = append(s.free, mem[i*blockBytes:(i+1)*blockBytes:(i+1)*blockBytes])
	}
	s.state = mem[int64(blocks)*blockBytes:]
	return s, nil
}

// complete is called by the writer.
func (s *stage) complete(c completion) {
	s.mu.Lock()
	s.done = append(s.done, c)
	s.mu.Unlock()
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}

// collect takes in what the writer has done.
func (p *Pool) collect() {
	if p.stage == nil {
		return
	}
	p.stage.mu.Lock()
	done := p.stage.done
	p.stage.done = nil
	p.stage.mu.Unlock()
	for _, c := range done {
		if c.b == nil {
			p.stage.state = c.mem
			if c.record != nil {
				p.o.Cold.Store().Unpin(c.record)
			}
			continue
		}
		p.stage.free = append(p.stage.free, c.mem)
		c.b.writing, c.b.writeErr = false, c.err
		switch {
		case c.record == nil:
		case c.b.known && c.b.key == c.key && c.b.cold == nil:
			c.b.cold = c.record
		default:
			p.o.Cold.Store().Unpin(c.record)
		}
	}
}

// await waits until the writer has done something.
func (p *Pool) await() {
	<-p.stage.arrived
	p.collect()
}

// stageMemory takes memory for a copy of a block.
func (p *Pool) stageMemory() []byte {
	for len(p.stage.free) == 0 {
		p.await()
	}
	end := len(p.stage.free) - 1
	mem := p.stage.free[end]
	p.stage.free = p.stage.free[:end]
	return mem
}

// copyOut copies the data of a block, wherever it is.
func (p *Pool) copyOut(dst []byte, b *block) error {
	switch {
	case b.isHot():
		return p.fetch(dst, b.hot.at(0, int64(len(dst))))
	case b.warm != nil:
		copy(dst, b.warm)
		return nil
	}
	mem := make([]byte, roundUp(p.geo.blockBytes, pageio.Block))
	data, err := b.cold.Read(mem, store.Whole)
	copy(dst, data)
	return p.lost(b, err)
}

// enqueue gives a copy of a full block to the writer.
func (p *Pool) enqueue(b *block) error {
	mem := p.stageMemory()
	data := mem[:p.geo.blockBytes]
	if err := p.copyOut(data, b); err != nil {
		p.stage.free = append(p.stage.free, mem)
		return err
	}
	b.writing = true
	key := b.key
	b.space.set.Store().Enqueue(store.Entry{
		Set: b.space.set, Parent: b.parent, Pos: b.Pos * p.geo.BlockTokens, Tokens: b.tokens, Data: data,
		Done: func(r *store.Record, err error) { p.stage.complete(completion{b, key, mem, r, err}) },
	})
	return nil
}

// writeDirty gives new full blocks to the writer: as many as it has room for,
// or all of them.
func (p *Pool) writeDirty(all bool) {
	for len(p.dirty) > 0 && (all || len(p.stage.free) > 0) {
		b := p.dirty[0]
		p.dirty = p.dirty[1:]
		if !b.known || b.cold != nil || b.writing || !b.isHot() && b.warm == nil {
			continue
		}
		if err := p.enqueue(b); err != nil {
			p.log.Warn("a block is not remembered", "error", err)
		}
	}
}

// ensureCold makes sure that a block is on disk.
func (p *Pool) ensureCold(b *block) error {
	switch {
	case b.cold != nil:
		return nil
	case b.space.set == nil:
		return fmt.Errorf("%w: there is no tier below", ErrFull)
	case !b.known:
		return p.spill(b)
	case !b.writing:
		if err := p.enqueue(b); err != nil {
			return err
		}
	}
	for b.writing {
		p.await()
	}
	if b.cold == nil {
		return fmt.Errorf("%w, and the cold tier does not take a block: %w", ErrFull, b.writeErr)
	}
	return nil
}

// spill writes a block that is not full where nobody else finds it.
func (p *Pool) spill(b *block) error {
	mem := p.stageMemory()
	defer func() { p.stage.free = append(p.stage.free, mem) }()
	data := mem[:p.geo.blockBytes]
	if err := p.copyOut(data, b); err != nil {
		return err
	}
	r, err := b.space.set.Store().Spill(b.space.set, data)
	if err != nil {
		return fmt.Errorf("%w, and the cold tier does not take a block: %w", ErrFull, err)
	}
	b.cold = r
	return nil
}
