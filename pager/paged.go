package pager

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"gorun/compute"
	"gorun/gguf"
	"gorun/internal/pageio"
	"gorun/policy"
)

// Depth is how many reads are under way by default: more than a disk needs, since
// whoever issues them shares the processors with those who compute.
const Depth = 16

// Config says how weights are paged.
type Config struct {
	Layout Layout
	// Stream is the one that computes with the pages.
	Stream compute.Stream
	// Readers is how many reads are under way at most; 0: Depth.
	Readers int
	// Trace records what happens, if it is not nil.
	Trace *policy.Writer
	// TracePool is the number of the first pool in the trace.
	TracePool uint8
	// Checksums are verified when a page is read for the first time.
	Checksums *Checksums
	// Tail is what the memory around a page is filled with. It makes no
	// difference: tests prove it.
	Tail byte
	// Files are how the files of the model are opened.
	Files pageio.Options
}

// Paged is a residency that holds some of the pages in slots and reads others
// when they are needed, or a little before.
//
// A page is absent, being read by one worker, or in a slot. While it has
// references or is being read its slot is not given to another. Waiting for a
// read ends with the context of who waits; the read itself goes on, for others.
type Paged struct {
	catalog *Catalog
	config  Config
	dev     compute.Device
	queue   *pageio.Queue
	files   []*pageio.File
	rows    *rowReader
	ctx     context.Context // of reads
	cancel  context.CancelFunc

	mu     sync.Mutex
	pages  []pageState
	pool   [pools]*pool
	scan   bool
	closed bool
	stats  Stats
}

// pageState is what happens to a page.
type pageState struct {
	slot  int32 // where it is or is going to be; -1: absent
	pool  int8  // -1: only looked up in
	fresh bool  // read, and not used yet
	// expected: it will be acquired soon, so its slot is not to be taken.
	expected bool
	verified bool
	refs     int32
	read     *read // under way
	err      error // of a read that nobody waited for
}

// read is a page being read.
type read struct {
	done    chan struct{}
	err     error
	waiting int
}

// Open pages the weights of a model. The catalog is the one that the layout
// was planned for.
func Open(f *gguf.File, dev compute.Device, c *Catalog, config Config) (*Paged, error) {
	if config.Readers == 0 {
		config.Readers = Depth
	}
	p := &Paged{catalog: c, config: config, dev: dev}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	if err := p.open(f); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Paged) open(f *gguf.File) error {
	for _, part := range f.Parts() {
		file, err := openPart(part, p.config.Files)
		if err != nil {
			return err
		}
		p.files = append(p.files, file)
	}
	p.queue = pageio.NewQueue(p.config.Readers)
	p.pages = make([]pageState, len(p.catalog.pages))
	for i := range p.pages {
		p.pages[i] = pageState{slot: -1, pool: -1}
	}
	var ids [pools][]PageID
	for _, m := range p.catalog.matrices {
		if m.Use == LookedUp {
			continue
		}
		for i := range m.Pages() {
			ids[m.Use] = append(ids[m.Use], m.Page(i))
			p.pages[m.Page(i)].pool = int8(m.Use)
		}
	}
	for i := range p.pool {
		pool, err := newPool(p, Use(i), ids[i])
		if err != nil {
			return err
		}
		p.pool[i] = pool
	}
	var err error
	p.rows, err = newRowReader(p)
	return err
}

// openPart opens a part of the model once more, to be read in pages.
func openPart(part gguf.Part, o pageio.Options) (*pageio.File, error) {
	opened, ok := part.ReaderAt.(*os.File)
	if !ok {
		return pageio.From(part.Path, part.ReaderAt, part.Size, o), nil
	}
	o.Watch = true
	f, err := pageio.Open(part.Path, o)
	if err != nil {
		return nil, err
	}
	if err := f.Same(opened, part.Size); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close waits for reads under way and frees the slots. A page that is still
// held is an error.
func (p *Paged) Close() error {
	var errs []error
	p.mu.Lock()
	p.closed = true
	for id := range p.pages {
		if n := p.pages[id].refs; n > 0 {
			errs = append(errs, fmt.Errorf("pager: page %d is still held %d times", id, n))
		}
	}
	p.mu.Unlock()
	p.cancel()
	if p.queue != nil {
		errs = append(errs, p.queue.Close())
	}
	for _, pool := range p.pool {
		if pool != nil {
			errs = append(errs, pool.close())
		}
	}
	if p.rows != nil {
		errs = append(errs, p.rows.close())
	}
	for _, f := range p.files {
		errs = append(errs, f.Close())
	}
	p.queue, p.pool, p.rows, p.files = nil, [pools]*pool{}, nil, nil
	return errors.Join(errs...)
}

// Bytes implements Residency.
func (p *Paged) Bytes() int64 {
	n := p.rows.bytes()
	for _, pool := range p.pool {
		n += pool.bytes()
	}
	return n
}

// Direct reports whether reads go around the page cache.
func (p *Paged) Direct() bool {
	for _, f := range p.files {
		if !f.Direct() {
			return false
		}
	}
	return true
}

// Begin implements Residency.
func (p *Paged) Begin(tokens int, scan bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.scan = scan
	p.stats.Passes++
	p.stats.Tokens += int64(tokens)
	p.config.Trace.Record(policy.Event{Kind: policy.Pass, Pool: p.config.TracePool, Page: uint64(tokens)})
}

// Expect implements Residency.
func (p *Paged) Expect(ids []PageID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pool := p.pool[Routed]
	pool.expect(ids)
	pool.readAhead()
}

// Acquire implements Residency.
func (p *Paged) Acquire(ctx context.Context, id PageID) (compute.Page, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &p.pages[id]
	pool := p.pool[s.pool]
	pool.arrive(id)
	s.expected = true // so that reading ahead does not take its slot
	defer func() { s.expected = false }()
	pool.readAhead()
	cause := policy.ReadAhead
	for {
		if err := ctx.Err(); err != nil {
			return compute.Page{}, err
		}
		var err error
		switch {
		case s.slot >= 0 && s.read == nil:
			return pool.use(id, cause), nil
		case s.read != nil:
			err = p.wait(ctx, s.read)
		case s.err != nil:
			err, s.err = s.err, nil // told once; who asks again tries again
		default:
			cause = policy.Demand
			if err = p.makeRoom(ctx, pool); err == nil && s.slot < 0 {
				pool.begin(id, true)
			}
		}
		if err != nil {
			return compute.Page{}, err
		}
	}
}

// Held implements Residency: what is here is computed with while the next is read.
func (p *Paged) Held() int { return 1 }

// wait waits for a read, with the lock given back.
func (p *Paged) wait(ctx context.Context, r *read) error {
	r.waiting++
	begin := time.Now()
	p.mu.Unlock()
	select {
	case <-r.done:
	case <-ctx.Done():
	}
	p.mu.Lock()
	p.stats.Stalled += time.Since(begin)
	r.waiting--
	select {
	case <-r.done:
		return r.err
	default:
		return ctx.Err()
	}
}

// makeRoom waits until the pool has a slot to give. Operations that hold pages
// may not have run yet: then they are made to.
func (p *Paged) makeRoom(ctx context.Context, pool *pool) error {
	if p.closed {
		return errors.New("the weights are closed")
	}
	for flushed := false; !pool.hasRoom(true); {
		if r := pool.anyRead(); r != nil {
			if err := p.wait(ctx, r); err != nil && ctx.Err() != nil {
				return ctx.Err() // the error of that read is for who needs it
			}
			continue
		}
		if flushed {
			return fmt.Errorf("all %d slots of the pool %q are in use", pool.layout.Slots, poolNames[pool.serves])
		}
		p.mu.Unlock()
		err := p.config.Stream.Sync()
		p.mu.Lock()
		if err != nil {
			return err
		}
		flushed = true
	}
	return nil
}

// hold is a reference to a page.
type hold struct {
	pool *pool
	id   PageID
}

// Release implements compute.Hold.
func (h *hold) Release() {
	p := h.pool.p
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &p.pages[h.id]
	if s.refs--; s.refs < 0 {
		panic(fmt.Sprintf("pager: page %d released twice", h.id))
	}
	if s.refs == 0 {
		h.pool.readAhead()
	}
}
