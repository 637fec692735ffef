package pager

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gorun/compute"
	"gorun/compute/cpu"
	"gorun/gguf"
	"gorun/internal/pageio"
	"gorun/internal/pageio/faulty"
	"gorun/tensor"
)

// pagedFile has weights, a table and experts, large enough to be cut.
func pagedFile(t testing.TB) (f *gguf.File, c *Catalog, raw []byte) {
	t.Helper()
	random := rand.NewChaCha8([32]byte{7})
	w := gguf.NewWriter()
	for _, x := range []gguf.Tensor{
		{Name: "table", Type: tensor.Q8_0, Dims: []int64{96, 500}},
		{Name: "a", Type: tensor.Q8_0, Dims: []int64{4096, 300}},
		{Name: "b", Type: tensor.F16, Dims: []int64{512, 333}},
		{Name: "c", Type: tensor.Q4_0, Dims: []int64{2048, 700}},
		{Name: "experts", Type: tensor.Q8_0, Dims: []int64{512, 600, 6}},
	} {
		row, err := x.Type.RowSize(x.Dims[0])
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, row*x.Elements()/x.Dims[0])
		random.Read(b)
		w.AddTensor(x, bytes.NewReader(b))
	}
	path := filepath.Join(t.TempDir(), "paged.gguf")
	if err := w.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if f, err = gguf.Open(path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	c = &Catalog{}
	for _, x := range f.Tensors() {
		matrices, err := c.Add(x)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range matrices {
			switch x.Name {
			case "table":
				m.Use, m.Table = LookedUp, true
			case "experts":
				m.Use = Routed
			}
		}
	}
	return f, c, raw
}

// hostDevice is a device that computes in memory of the host.
func hostDevice(t testing.TB) (compute.Device, compute.Stream) {
	t.Helper()
	dev, err := cpu.NewReference(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	s, err := dev.NewStream(compute.Work{})
	if err != nil {
		t.Fatal(err)
	}
	return dev, s
}

// openPaged pages with slots for a share of all pages.
func openPaged(t testing.TB, share int64, config Config) (*Paged, *Catalog, []byte) {
	t.Helper()
	f, c, raw := pagedFile(t)
	dev, stream := hostDevice(t)
	all, err := Plan(c, 0, 64, false)
	if err != nil {
		t.Fatal(err)
	}
	if config.Layout, err = Plan(c, max(all.Least, all.TotalBytes()*share/100), 64, false); err != nil {
		t.Fatal(err)
	}
	config.Stream = stream
	p, err := Open(f, dev, c, config)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Bytes(); got != config.Layout.TotalBytes() {
		t.Errorf("%d bytes are held, planned were %d", got, config.Layout.TotalBytes())
	}
	return p, c, raw
}

func wantPage(t testing.TB, c *Catalog, raw []byte, id PageID, page compute.Page, read func(compute.Span) []byte) {
	t.Helper()
	x := c.Pages()[id]
	if got := read(page.Data); !bytes.Equal(got, raw[x.Offset:x.Offset+x.Bytes]) || page.Rows != x.Rows || page.First != x.First {
		t.Errorf("page %d of %s differs", id, x.Tensor)
	}
}

// reader reads pages of a host device, as a copy.
func reader(p *Paged) func(compute.Span) []byte {
	return func(s compute.Span) []byte {
		b := make([]byte, s.N)
		if err := p.config.Stream.Read(b, s); err != nil {
			panic(err)
		}
		return b
	}
}

// TestPlan cuts random matrices and wants each row once, pages within the limit
// and whole rows, and little waste.
func TestPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Catalog
		n := rapid.IntRange(1, 6).Draw(t, "matrices")
		for range n {
			typ := rapid.SampledFrom([]tensor.Type{tensor.F32, tensor.Q8_0, tensor.Q4_K}).Draw(t, "type")
			dims := []int64{256 * rapid.Int64Range(1, 40).Draw(t, "cols"), rapid.Int64Range(1, 9000).Draw(t, "rows")}
			use := rapid.SampledFrom([]Use{Always, Routed, LookedUp}).Draw(t, "use")
			if use == Routed {
				dims[1] /= 8
				dims[1]++
				dims = append(dims, 8)
			}
			row, _ := typ.RowSize(dims[0])
			size := row * dims[1]
			if len(dims) > 2 {
				size *= dims[2]
			}
			matrices, err := c.Add(gguf.Tensor{Name: "m", Type: typ, Dims: dims, Size: size})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range matrices {
				m.Use = use
			}
		}
		l, err := Plan(&c, 0, 1, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range c.Matrices() {
			next := 0
			off := m.whole.Offset
			for i := range m.Pages() {
				p := c.Pages()[m.Page(i)]
				if p.First != next || p.Offset != off || p.Bytes != int64(p.Rows)*m.rowBytes() || p.Rows == 0 {
					t.Fatalf("page %d of %+v: %+v", i, m, p)
				}
				if p.Bytes > MaxPage && p.Rows > 1 || m.Use != LookedUp && p.Bytes > l.Pools[m.Use].Page {
					t.Fatalf("a page of %d bytes, %d rows; the pool has %+v", p.Bytes, p.Rows, l.Pools[m.Use])
				}
				next += p.Rows
				off += p.Bytes
			}
			if next != m.Rows {
				t.Fatalf("%d of %d rows are in pages", next, m.Rows)
			}
		}
		if l.Resident() != 1 || l.Streamed() != 0 {
			t.Fatalf("with slots for all pages %.2f is resident, %d streamed", l.Resident(), l.Streamed())
		}
		least, err := Plan(&c, l.Least, 1, false)
		if err != nil || least.TotalBytes() > l.Least {
			t.Fatalf("the least pool takes %d of %d: %v", least.TotalBytes(), l.Least, err)
		}
		if _, err := Plan(&c, l.Least-1, 1, false); !errors.Is(err, ErrPool) {
			t.Fatalf("below the least: %v", err)
		}
		budget := rapid.Int64Range(l.Least, l.TotalBytes()).Draw(t, "budget")
		some, err := Plan(&c, budget, 1, false)
		if err != nil || some.TotalBytes() > budget {
			t.Fatalf("%d bytes of a budget of %d: %v", some.TotalBytes(), budget, err)
		}
	})
}

// TestAcquire acquires pages at random, holds some for a while, and wants the
// bytes of the file for as long as they are held; and zeros around them.
func TestAcquire(t *testing.T) {
	for _, share := range []int64{0, 30, 100} {
		for _, readers := range []int{1, 3, 16} {
			p, c, raw := openPaged(t, share, Config{Readers: readers})
			read := reader(p)
			random := rand.New(rand.NewPCG(uint64(share), uint64(readers)))
			type held struct {
				id   PageID
				page compute.Page
			}
			var holds []held
			release := func(i int) {
				wantPage(t, c, raw, holds[i].id, holds[i].page, read)
				holds[i].page.Hold.Release()
				holds = append(holds[:i], holds[i+1:]...)
			}
			for range 600 {
				m := c.Matrices()[random.IntN(len(c.Matrices()))]
				if m.Use == LookedUp {
					rows := []int32{int32(random.IntN(m.Rows)), 3, int32(random.IntN(m.Rows)), 3}
					page, from, err := p.Rows(context.Background(), m, rows)
					if err != nil {
						t.Fatal(err)
					}
					for i, row := range rows {
						at := m.whole.Offset + int64(row)*m.rowBytes()
						if !bytes.Equal(read(page.Data.At(int64(from[i])*m.rowBytes(), m.rowBytes())), raw[at:at+m.rowBytes()]) {
							t.Fatalf("row %d differs", row)
						}
					}
					continue
				}
				id := m.Page(random.IntN(m.Pages()))
				if m.Use == Routed {
					p.Begin(1, random.IntN(4) == 0)
					p.Expect([]PageID{id, c.Matrices()[random.IntN(6)+4].Page(0)})
				}
				page, err := p.Acquire(context.Background(), id)
				if err != nil {
					t.Fatal(err)
				}
				holds = append(holds, held{id, page})
				for len(holds) > 3 || len(holds) > 0 && random.IntN(3) == 0 {
					release(random.IntN(len(holds)))
				}
			}
			for len(holds) > 0 {
				release(0)
			}
			checkTails(t, p)
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// checkTails wants zeros in each slot around its page.
func checkTails(t *testing.T, p *Paged) {
	t.Helper()
	for id, s := range p.pages {
		if s.slot < 0 || s.read != nil {
			continue
		}
		o := p.pool[s.pool]
		mem, _ := o.hostMemory(s.slot)
		begin := o.slots[s.slot].span.Off - int64(s.slot)*o.layout.Slot
		end := begin + o.slots[s.slot].span.N
		if len(bytes.Trim(mem[:begin], "\x00")) > 0 || len(bytes.Trim(mem[end:], "\x00")) > 0 {
			t.Errorf("there is something around page %d", id)
		}
	}
}

// TestOneReader lets many acquire one page at once: one read serves them all,
// each waits with a context of its own, and who gives up gives up alone.
func TestOneReader(t *testing.T) {
	goOn := make(chan struct{})
	var reads atomic.Int64
	faults := faulty.Faults{Delay: func() { reads.Add(1); <-goOn }}
	p, c, raw := openPaged(t, 0, Config{Readers: 1, Files: pageio.Options{Wrap: faults.Wrap, Buffered: true}})
	id := c.Matrices()[1].Page(0)
	ctx, cancel := context.WithCancel(context.Background())
	var waiting, gaveUp sync.WaitGroup
	var stream sync.Mutex // a stream has one user at a time
	for i := range 20 {
		who, group := context.Background(), &waiting
		if i%2 == 0 {
			who, group = ctx, &gaveUp
		}
		group.Go(func() {
			page, err := p.Acquire(who, id)
			if who == ctx {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("who gave up got %v", err)
				}
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			stream.Lock()
			wantPage(t, c, raw, id, page, reader(p))
			stream.Unlock()
			page.Hold.Release()
		})
	}
	for reads.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	gaveUp.Wait()
	close(goOn)
	waiting.Wait()
	if s := p.Stats(); s.Hits[Always]+s.Misses[Always] != 10 || s.Misses[Always] != 1 {
		t.Errorf("%+v", s)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestAllInUse holds every slot: the next page is an error, not a wait for ever
// or somebody else's slot.
func TestAllInUse(t *testing.T) {
	p, c, raw := openPaged(t, 0, Config{})
	slots := p.config.Layout.Pools[Always].Slots
	var pages []compute.Page
	var err error
	var id PageID
	for id = c.Matrices()[1].Page(0); err == nil; id++ {
		var page compute.Page
		if page, err = p.Acquire(context.Background(), id); err == nil {
			pages = append(pages, page)
		}
	}
	if len(pages) != slots || !strings.Contains(err.Error(), "slots") {
		t.Fatalf("%d of %d slots, %v", len(pages), slots, err)
	}
	for i, page := range pages {
		wantPage(t, c, raw, c.Matrices()[1].Page(0)+PageID(i), page, reader(p))
		page.Hold.Release()
	}
	page, err := p.Acquire(context.Background(), id-1)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err == nil || !strings.Contains(err.Error(), "held") {
		t.Errorf("closed over a page that is held: %v", err)
	}
	_ = page
}

// TestReleasedTwice is a bug of the caller, and a panic.
func TestReleasedTwice(t *testing.T) {
	p, c, _ := openPaged(t, 0, Config{})
	page, err := p.Acquire(context.Background(), c.Matrices()[1].Page(0))
	if err != nil {
		t.Fatal(err)
	}
	page.Hold.Release()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
		p.pages[c.Matrices()[1].Page(0)].refs = 0
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	page.Hold.Release()
}

func TestChecksums(t *testing.T) {
	f, c, _ := pagedFile(t)
	if _, err := Plan(c, 0, 1, false); err != nil {
		t.Fatal(err)
	}
	sums, err := NewChecksums(context.Background(), f, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	path := ChecksumPath(f)
	if err := sums.WriteFile(path, f, c); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadChecksums(path, f, c); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		b := bytes.Clone(whole)
		if rapid.Bool().Draw(t, "cut") {
			b = b[:rapid.IntRange(0, len(b)-1).Draw(t, "at")]
		} else {
			b[rapid.IntRange(0, len(b)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		if err := (&Checksums{rows: map[*Matrix][]uint32{}}).parse(b, newChecksumHeader(f, c), c); err == nil {
			t.Fatal("damaged checksums were read")
		}
	})
	other := *c
	other.pages = other.pages[1:]
	if _, err := ReadChecksums(path, f, &other); err == nil || !strings.Contains(err.Error(), "another model") {
		t.Errorf("checksums of another model: %v", err)
	}
}
