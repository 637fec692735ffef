package kvtier

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"

	"gorun/compute"
	"gorun/internal/pageio"
	"gorun/internal/units"
	"gorun/kvtier/store"
	"gorun/policy"
)

// ErrFull is returned when no tier has room for another block.
var ErrFull = errors.New("the KV cache is full")

// Config says what a pool is made for.
type Config struct {
	Geometry  Geometry
	Context   int // positions of a sequence
	Batch     int // by which one grows at a time, at most
	Sequences int
	Tiers     Tiers
	// Cold is the records of the default user on disk; nil: there is no cold
	// tier.
	Cold *store.Set
	// Trace, if not nil, is told of every block that moves or is used; Pool is
	// the number of the pool in it.
	Trace *policy.Writer
	Pool  uint8
	// Log is told what is slow or lost; nil: nobody.
	Log *slog.Logger
}

// Pool is the memory of KV blocks in all tiers. It takes memory as sequences
// grow, up to the sizes that its configuration gives (Geometry.Sizes), and
// keeps it. A pool and its sequences belong to one goroutine.
type Pool struct {
	dev    compute.Device
	stream compute.Stream // of those who compute, so that copies are in order
	geo    Geometry
	sizes  Sizes
	o      Config
	log    *slog.Logger
	mapped bool // the device uses the host's memory in place

	policy *policy.KV
	blocks uint64 // made so far
	cached int    // blocks that no sequence holds

	hot      class
	fixed    map[int64]*class // windows and states, by slot size
	warmMade int
	warmFree [][]byte
	warmSpan map[*byte]compute.Span // where the device finds a warm slot
	slabs    []func() error

	main   *space
	spaces map[string]*space
	ring   *ring
	reads  *store.Reads // nil without a cold tier
	stage  *stage
	dirty  []*block // full blocks that the disk does not have yet
	why    error    // a block had to stay hot in this pass

	attended, read int64
}

// NewPool makes an empty pool on a device. stream is the one that computes
// with the blocks.
func NewPool(dev compute.Device, stream compute.Stream, c Config) (*Pool, error) {
	_, mapped := dev.(compute.HostMapper)
	c.Tiers.Copies, c.Tiers.Cold = !mapped, c.Cold != nil
	sizes, err := c.Geometry.Sizes(c.Context, c.Batch, c.Sequences, c.Tiers)
	if err != nil {
		return nil, err
	}
	p := &Pool{
		dev: dev, stream: stream, geo: c.Geometry, sizes: sizes, o: c, log: c.Log, mapped: mapped, policy: policy.NewKV(),
		hot: class{size: c.Geometry.BlockBytes(), capacity: sizes.HotBlocks}, fixed: map[int64]*class{},
		warmSpan: map[*byte]compute.Span{}, spaces: map[string]*space{},
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	for size, slots := range p.geo.fixedSlots(c.Context, c.Batch, c.Sequences) {
		p.fixed[size] = &class{size: size, capacity: slots}
	}
	if err := p.start(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.main = p.newSpace(c.Cold, "")
	return p, nil
}

// start makes what moves blocks between tiers.
func (p *Pool) start() (err error) {
	if n := p.geo.ringSlots(p.sizes, p.o.Tiers); n > 0 {
		if p.ring, err = newRing(p.dev, n, p.geo.ringSlotBytes(), p.mapped); err != nil {
			return err
		}
	}
	if p.o.Cold != nil {
		p.reads = store.NewReads()
		p.stage, err = newStage(stageBlocks, roundUp(p.geo.blockBytes, pageio.Block), roundUp(p.geo.SnapshotBytes(), pageio.Block))
	}
	return err
}

func (p *Pool) newSpace(set *store.Set, user string) *space {
	s := &space{pool: p, set: set, index: map[store.Key]*block{}, root: sha256.Sum256([]byte(user))}
	if set != nil {
		s.root = set.Root()
	}
	p.spaces[user] = s
	return s
}

// Layout is how a geometry is kept on disk. weights is a fingerprint of the
// model, numerics the kernels' (compute.Device.Numerics).
func (g Geometry) Layout(model, weights, numerics string) store.Layout {
	return store.Layout{
		Model: model, Weights: weights, KV: g.KType.String() + ":" + g.VType.String(), Numerics: numerics,
		BlockTokens: g.BlockTokens, Pieces: g.pieces(), State: g.SnapshotBytes(),
	}
}

// Geometry is the layout of the pool's blocks.
func (p *Pool) Geometry() Geometry { return p.geo }

// Sizes is the most memory that each tier takes.
func (p *Pool) Sizes() Sizes { return p.sizes }

// Capacity is the bytes of hot blocks, windows and states that there may be.
func (p *Pool) Capacity() int64 {
	n := p.hot.size * int64(p.hot.capacity)
	for size, c := range p.fixed {
		n += size * int64(c.capacity)
	}
	return n
}

// Used is the bytes of them that sequences hold.
func (p *Pool) Used() int64 {
	n := p.hot.size * int64(p.hot.used()-p.idleHot())
	for size, c := range p.fixed {
		n += size * int64(c.used())
	}
	return n
}

// idleHot counts hot blocks that no sequence holds.
func (p *Pool) idleHot() (n int) {
	for _, s := range p.spaces {
		for _, b := range s.index {
			if b.Users == 0 && b.isHot() {
				n++
			}
		}
	}
	return n
}

// Stats is where blocks are.
type Stats struct {
	Hot, Warm, Cold int // blocks in each; a block may be in several
	Cached          int // that no sequence holds
	// Attended is the bytes of cold pages that attention has used, Read what
	// was read from disk for them.
	Attended, Read int64
}

// Stats counts blocks.
func (p *Pool) Stats() Stats {
	s := Stats{Hot: p.hot.used(), Warm: p.policy.Len(policy.Warm), Cached: p.cached, Attended: p.attended, Read: p.read}
	for _, space := range p.spaces {
		for _, b := range space.index {
			if b.cold != nil {
				s.Cold++
			}
		}
	}
	return s
}

// Begin begins a pass that extends the given sequences.
func (p *Pool) Begin(seqs []*Sequence) {
	p.policy.Begin()
	p.why = nil
	p.collect()
	for _, s := range seqs {
		for _, b := range s.blocks {
			p.policy.Touch(&b.KVBlock)
			if b.isHot() {
				p.trace(policy.Hit, b, p.geo.BlockBytes(), policy.Hot, policy.Hot, policy.Demand)
			}
		}
	}
	p.writeDirty(false)
}

// HotBlocks is the most blocks that one pass can write to.
func (p *Pool) HotBlocks() int { return p.hot.capacity }

// hotSlot takes a slot of the hot tier, which some block may have to leave.
func (p *Pool) hotSlot() (memory, error) {
	for {
		m, ok, err := p.hot.take(p.dev)
		if ok || err != nil {
			return m, err
		}
		v := p.policy.Victim(policy.Hot)
		if v == nil {
			err := fmt.Errorf("%w: all %d hot blocks of %v are in use", ErrFull, p.hot.capacity, units.Size(p.hot.size))
			return m, errors.Join(err, p.why)
		}
		if err := p.demote(v.Owner.(*block)); err != nil {
			p.why = err
			p.policy.Pin(v) // it stays, for this pass
		}
	}
}

// demote moves a block out of the hot tier.
func (p *Pool) demote(b *block) error {
	if b.Users == 0 {
		if b.known && b.cold == nil && b.space.set != nil {
			if err := p.ensureCold(b); err != nil {
				p.log.Debug("a block is not remembered", "error", err)
			}
		}
		p.trace(policy.Move, b, p.geo.BlockBytes(), policy.Hot, p.placeOf(b, policy.Hot), policy.Evict)
		p.end(b)
		return nil
	}
	if b.warm == nil && p.sizes.WarmBlocks > 0 {
		if err := p.toWarm(b); err != nil {
			return err
		}
	}
	if b.warm == nil {
		if err := p.ensureCold(b); err != nil {
			return err
		}
	}
	p.trace(policy.Move, b, p.geo.BlockBytes(), policy.Hot, p.placeOf(b, policy.Hot), policy.Evict)
	p.leaveHot(b)
	return nil
}

// placeOf is the best tier that a block is in beside the one it leaves.
func (p *Pool) placeOf(b *block, leaves policy.Tier) policy.Tier {
	switch {
	case leaves != policy.Hot && b.isHot():
		return policy.Hot
	case leaves != policy.Warm && b.warm != nil:
		return policy.Warm
	case b.cold != nil:
		return policy.Cold
	}
	return policy.Nowhere
}

// toWarm copies a hot block to the warm tier, unless all that is there should
// stay rather than it.
func (p *Pool) toWarm(b *block) error {
	slot, err := p.warmSlot()
	if err != nil {
		return err
	}
	if slot == nil {
		v := p.policy.Victim(policy.Warm)
		if v == nil || p.policy.Before(&b.KVBlock, v) {
			return nil
		}
		old := v.Owner.(*block)
		switch {
		case old.Users == 0 && !old.isHot():
			if old.known && old.cold == nil && old.space.set != nil {
				_ = p.ensureCold(old) // what is not remembered costs nobody
			}
			p.end(old)
		case !old.isHot():
			if err := p.ensureCold(old); err != nil {
				return err
			}
			fallthrough
		default:
			p.trace(policy.Move, old, p.geo.BlockBytes(), policy.Warm, p.placeOf(old, policy.Warm), policy.Evict)
			p.leaveWarm(old)
		}
		if slot, err = p.warmSlot(); err != nil || slot == nil {
			return err
		}
	}
	if err := p.fetch(slot, b.hot); err != nil {
		p.warmFree = append(p.warmFree, slot)
		return err
	}
	b.warm = slot
	p.policy.Put(policy.Warm, &b.KVBlock)
	return nil
}

// warmSlot takes a slot of the warm tier; nil if there is none.
func (p *Pool) warmSlot() ([]byte, error) {
	size := p.geo.BlockBytes()
	if len(p.warmFree) == 0 {
		n := min(p.sizes.WarmBlocks-p.warmMade, max(1, int(slabBytes/size)))
		if n <= 0 {
			return nil, nil
		}
		host, free, err := pageio.NewMemory(int64(n) * size)
		if err != nil {
			return nil, fmt.Errorf("warm KV tier: %w", err)
		}
		p.slabs = append(p.slabs, free)
		var buf compute.Buffer
		if p.mapped {
			buf = p.dev.(compute.HostMapper).MapHost(host)
			p.slabs = append(p.slabs, buf.Free)
		}
		p.warmMade += n
		for i := range int64(n) {
			slot := host[i*size : (i+1)*size : (i+1)*size]
			p.warmFree = append(p.warmFree, slot)
			if p.mapped {
				p.warmSpan[&slot[0]] = compute.Span{Buf: buf, Off: i * size, N: size}
			}
		}
	}
	slot := p.warmFree[len(p.warmFree)-1]
	p.warmFree = p.warmFree[:len(p.warmFree)-1]
	return slot, nil
}

// inPlace is where the device finds a block; ok is false if it must be
// brought first.
func (p *Pool) inPlace(b *block) (s compute.Span, ok bool) {
	switch {
	case b.isHot():
		return b.hot.Span, true
	case b.warm != nil && p.mapped:
		return p.warmSpan[&b.warm[0]], true
	}
	return s, false
}

// Promote brings blocks of the given sequences to hot memory that is free, or
// that blocks of idle sequences take: those that have been streamed before. So
// the first token after a text is resumed waits for the disk alone, and what
// is used once does not drive out what is used again.
func (p *Pool) Promote(ctx context.Context, seqs []*Sequence) error {
	if p.sizes.WarmBlocks == 0 && p.stage == nil {
		return nil
	}
	var loads []load
	err := func() error {
		for _, s := range seqs {
			for _, b := range s.blocks {
				if b.isHot() || b.loading || !b.streamed {
					continue
				}
				if p.hot.left() == 0 {
					v := p.policy.Victim(policy.Hot)
					if v == nil || !p.policy.Idle(v) {
						return nil
					}
					if err := p.demote(v.Owner.(*block)); err != nil {
						return nil // it stays, and so does b
					}
				}
				m, ok, err := p.hot.take(p.dev)
				if err != nil || !ok {
					return err
				}
				if len(loads) == mostLoads {
					if err := p.finish(ctx, loads); err != nil {
						p.hot.give(m)
						return err
					}
					loads = loads[:0]
				}
				loads = append(loads, p.load(b, m))
			}
		}
		return nil
	}()
	return errors.Join(err, p.finish(ctx, loads))
}

// mostLoads is how many blocks are brought to hot memory at once.
const mostLoads = 128

// load is a block on its way to hot memory.
type load struct {
	b    *block
	m    memory
	read *store.Read // if it is on disk alone; not always to m
}

// load is how to bring a block to m.
func (p *Pool) load(b *block, m memory) load {
	l := load{b: b, m: m}
	b.loading = true
	if b.warm != nil {
		return l
	}
	mem := m.host
	if whole := roundUp(p.geo.blockBytes, pageio.Block); int64(len(mem)) < whole || p.geo.BlockBytes()%pageio.Block != 0 {
		mem = make([]byte, whole)
	}
	l.read = &store.Read{Record: b.cold, Piece: store.Whole, Mem: mem}
	return l
}

// cold reports whether the block is on disk alone.
func (l load) cold() bool { return l.read != nil }

// finish brings loads. Those that fail leave their block where it is.
func (p *Pool) finish(ctx context.Context, loads []load) error {
	var reads []*store.Read
	for _, l := range loads {
		if l.cold() {
			reads = append(reads, l.read)
		}
	}
	if len(reads) > 0 {
		p.reads.Start(reads)
	}
	var errs []error
	for _, l := range loads {
		l.b.loading = false
		var err error
		from := policy.Warm
		if l.cold() {
			from = policy.Cold
			var data []byte
			if err = p.reads.Await(context.Background(), l.read); err == nil {
				data, err = l.read.Data()
			}
			if err == nil && (l.m.host == nil || &data[0] != &l.m.host[0]) {
				err = p.put(l.m.at(0, p.geo.blockBytes), data)
			}
			err = p.lost(l.b, err)
		} else {
			err = p.put(l.m.at(0, int64(len(l.b.warm))), l.b.warm)
		}
		if err != nil {
			p.hot.give(l.m)
			errs = append(errs, err)
			continue
		}
		p.enterHot(l.b, l.m)
		p.leaveWarm(l.b)
		l.b.streamed = false
		p.trace(policy.Move, l.b, p.geo.BlockBytes(), from, policy.Hot, policy.Resume)
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// LostError says that a block could not be read back. What the sequence holds
// from Pos on is lost, and must be computed again.
type LostError struct {
	Pos int
	Err error
}

func (e *LostError) Error() string {
	return fmt.Sprintf("the KV cache of tokens from %d on is lost: %v", e.Pos, e.Err)
}

func (e *LostError) Unwrap() error { return e.Err }

// lost makes a LostError of what went wrong when a cold block was read. Nobody
// finds the block any more.
func (p *Pool) lost(b *block, err error) error {
	if err == nil {
		return nil
	}
	b.space.forget(b)
	if b.cold != nil {
		b.space.set.Store().Discard(b.cold)
	}
	p.log.Warn("a block of the KV cache cannot be read back: its tokens are computed again", "error", err)
	return &LostError{b.Pos * p.geo.BlockTokens, err}
}

func (p *Pool) trace(k policy.Kind, b *block, bytes int64, from, to policy.Tier, cause policy.Cause) {
	if p.o.Trace != nil {
		p.o.Trace.Record(policy.Event{Kind: k, Pool: p.o.Pool, Page: b.id, Bytes: bytes, From: from, To: to, Cause: cause})
	}
}

// Flush waits until what is known of all sequences is on disk.
func (p *Pool) Flush() error {
	if p.stage == nil {
		return nil
	}
	p.writeDirty(true)
	err := p.o.Cold.Store().Flush()
	p.collect()
	return err
}

// Close writes what is not on disk yet, and frees the pool's memory. Its
// sequences must not be used afterwards.
func (p *Pool) Close() error {
	errs := []error{p.stream.Sync()}
	if p.stage != nil && p.main != nil {
		if err := p.Flush(); err != nil {
			p.log.Warn("not everything is remembered", "error", err)
		}
	}
	for _, s := range p.spaces {
		for _, b := range s.index {
			p.leaveCold(b)
		}
	}
	if p.reads != nil {
		errs = append(errs, p.reads.Close())
	}
	if p.ring != nil {
		errs = append(errs, p.ring.close())
	}
	if p.stage != nil {
		errs = append(errs, p.stage.close())
	}
	errs = append(errs, p.hot.close())
	for _, c := range p.fixed {
		errs = append(errs, c.close())
	}
	for _, free := range p.slabs {
		errs = append(errs, free())
	}
	p.slabs, p.warmFree = nil, nil
	return errors.Join(errs...)
}
