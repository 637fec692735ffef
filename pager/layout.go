package pager

import (
	"errors"
	"fmt"

	"gorun/internal/pageio"
	"gorun/internal/units"
	"gorun/policy"
)

// MaxPage is the most bytes of a page, unless one row has more.
const MaxPage = 4 << 20

// A ring of few slots is enough to stream; the rest of them, at least one,
// keeps pages.
const (
	minRing = 4
	minPool = minRing + 1
)

// pools is how many a layout has: for what is used Always, and what is Routed.
const pools = 2

var poolNames = [pools]string{Always: "weights", Routed: "experts"}

// Layout is how a pool of slots serves a catalog.
type Layout struct {
	Pools [pools]PoolLayout
	// Lookups is how many rows are looked up at once, RowBytes the longest.
	Lookups  int
	RowBytes int64
	// Staged is set for devices that cannot compute in memory of the host:
	// pages come by way of a few staging slots there.
	Staged bool
	// Least is the smallest TotalBytes that the model can be paged with.
	Least int64

	kept      map[PageID]bool // of those used Always
	keptBytes int64
}

// PoolLayout is a set of slots of one size, for pages of one use. A model that
// has no such pages has no slots for them.
type PoolLayout struct {
	Page  int64 // most bytes of a page
	Slot  int64 // bytes of a slot: a page, and room for aligned reads
	Slots int
	Pages int   // that the pool serves
	Bytes int64 // of these pages
	Ring  int   // slots that stream, if there are fewer slots than pages
}

// Kept is how many pages of a dense cycle stay.
func (p PoolLayout) Kept() int { return p.Slots - p.Ring }

// PoolBytes is the memory of all slots.
func (l Layout) PoolBytes() int64 {
	var n int64
	for _, p := range l.Pools {
		n += int64(p.Slots) * p.Slot
	}
	return n
}

// TotalBytes is all memory of the residency.
func (l Layout) TotalBytes() int64 {
	n := l.PoolBytes() + l.rowsBytes()
	if l.Staged {
		for _, p := range l.Pools {
			n += int64(p.staging()) * p.Slot
		}
	}
	return n
}

// staging is the number of staging slots of a pool.
func (p PoolLayout) staging() int { return min(p.Slots, minPool) }

// rowsBytes is the memory for rows that are looked up: the rows side by side,
// in memory of the host and of a device that has its own, and where reads go.
func (l Layout) rowsBytes() int64 {
	n := l.lookedUpBytes() + pageio.Depth*pageio.Room(l.RowBytes)
	if l.Staged {
		n += l.lookedUpBytes()
	}
	return n
}

func (l Layout) lookedUpBytes() int64 { return int64(l.Lookups) * l.RowBytes }

// Bytes is the size of all pages that the pools serve.
func (l Layout) Bytes() int64 {
	var n int64
	for _, p := range l.Pools {
		n += p.Bytes
	}
	return n
}

// TracePools describes the pools for the header of a trace.
func (l Layout) TracePools() []policy.Pool {
	var out []policy.Pool
	for i, p := range l.Pools {
		out = append(out, policy.Pool{Name: poolNames[i], Policy: l.newPolicy(Use(i)).Name(), Slots: p.Slots, SlotBytes: p.Slot, Pages: p.Pages, Bytes: p.Bytes})
	}
	return out
}

// Resident is the share of the bytes of all pages that the slots can hold.
func (l Layout) Resident() float64 {
	var have, all float64
	for _, p := range l.Pools {
		if p.Pages > 0 {
			have += float64(p.Bytes) * float64(p.Slots) / float64(p.Pages)
			all += float64(p.Bytes)
		}
	}
	if all == 0 {
		return 1
	}
	return have / all
}

// Streamed is how many bytes of the pages that every pass uses have to be read
// in each: those that are not kept. Of N pages of one size, C kept, it is
// (N-C)/N of all.
func (l Layout) Streamed() int64 { return l.Pools[Always].Bytes - l.keptBytes }

// ErrPool is returned for a pool that is too small.
var ErrPool = errors.New("the weight pool is too small")

// Plan cuts a catalog into pages and lays out pools within budget bytes; 0: as
// much as all pages take. lookups is the most rows that are looked up at once;
// staged is said of Layout.
//
// Pages that every pass uses come first: such a page in memory saves a read a
// token, a page of an expert only as often as it is chosen.
func Plan(c *Catalog, budget int64, lookups int, staged bool) (Layout, error) {
	l := Layout{Lookups: lookups, Staged: staged}
	for i := range l.Pools {
		l.Pools[i].Page = pageBytes(c, Use(i))
		l.Pools[i].Slot = pageio.Room(l.Pools[i].Page)
	}
	c.cut(func(u Use) int64 {
		if u == LookedUp {
			return MaxPage // never acquired
		}
		return l.Pools[u].Page
	})
	for _, m := range c.matrices {
		if m.Table {
			l.RowBytes = max(l.RowBytes, m.rowBytes())
		}
		if m.Use != LookedUp {
			l.Pools[m.Use].Pages += m.Pages()
			l.Pools[m.Use].Bytes += m.Bytes()
		}
	}
	err := l.divide(budget)
	l.keep(c)
	return l, err
}

// keep chooses the pages that stay: large ones first, since a slot is a slot,
// and those of about one size evenly spread, so that reading overlaps with
// computing.
func (l *Layout) keep(c *Catalog) {
	p := l.Pools[Always]
	classes := map[int64][]PageID{}
	for _, m := range c.matrices {
		for i := 0; m.Use == Always && i < m.Pages(); i++ {
			class := (p.Page - c.pages[m.Page(i)].Bytes) * 8 / p.Page
			classes[class] = append(classes[class], m.Page(i))
		}
	}
	l.kept = map[PageID]bool{}
	left := p.Kept()
	for class := range int64(9) {
		ids := classes[class]
		n := min(left, len(ids))
		left -= n
		kept := policy.Spread(n, max(1, len(ids)))
		for i, id := range ids {
			if kept(i) {
				l.kept[id] = true
				l.keptBytes += c.pages[id].Bytes
			}
		}
	}
}

// divide gives slots to the pools.
func (l *Layout) divide(budget int64) error {
	for i := range l.Pools {
		p := &l.Pools[i]
		p.Slots = min(p.Pages, minPool)
	}
	least := l.TotalBytes()
	l.Least = least
	if budget == 0 {
		budget = least
		for _, p := range l.Pools {
			budget += int64(p.Pages-p.Slots) * p.Slot
		}
	}
	left := budget - least
	if left < 0 {
		return fmt.Errorf("%w: %v for weights, this model needs at least %v (%d bytes): a ring of %d pages of up to %v and one more",
			ErrPool, units.Size(budget), units.Size(least), least, minRing, units.Size(MaxPage))
	}
	for i := range l.Pools {
		p := &l.Pools[i]
		n := min(int64(p.Pages-p.Slots), left/p.Slot)
		p.Slots += int(n)
		left -= n * p.Slot
		if Use(i) == Always && p.Slots < p.Pages {
			p.Ring = ringOf(*p)
		}
	}
	return nil
}

// ringOf is the slots that stream: enough for a full queue of reads while
// pages are computed with, within a tenth of the pool or 64 MiB.
func ringOf(p PoolLayout) int {
	most := max(64<<20, int64(p.Slots)*p.Slot/10) / p.Slot
	return max(minRing, min(2*Depth, int(most), p.Slots/4))
}

// minPage is the least size that pages are cut to: smaller reads are slow.
const minPage = 256 << 10

// readCost is what a read costs beyond its bytes, in bytes.
const readCost = 64 << 10

// pageBytes chooses the size of pages of a use, such that the slots of all its
// matrices take little more than their bytes, with few reads.
func pageBytes(c *Catalog, u Use) int64 {
	type shape struct {
		rows     int
		rowBytes int64
	}
	shapes := map[shape]int64{} // how many
	example := map[shape]*Matrix{}
	var largest, longest int64
	for _, m := range c.matrices {
		if m.Use != u {
			continue
		}
		s := shape{m.Rows, m.rowBytes()}
		shapes[s]++
		example[s] = m
		largest, longest = max(largest, m.Bytes()), max(longest, m.rowBytes())
	}
	if largest <= minPage {
		return largest
	}
	best, least := int64(0), int64(0)
	try := func(size int64) {
		if size > MaxPage && size > longest || size < max(minPage, longest) {
			return
		}
		var cost int64
		for s, n := range shapes {
			rows := rowsWithin(example[s], size)
			cost += n * int64((s.rows+rows-1)/rows) * (pageio.Room(size) + readCost)
		}
		if best == 0 || cost < least || cost == least && size > best {
			best, least = size, cost
		}
	}
	try(max(MaxPage, longest))
	for s := range shapes {
		for n := 1; int64(s.rows)*s.rowBytes/int64(n) >= minPage; n++ {
			rows := (s.rows + n - 1) / n
			if n > 1 {
				rows = (rows + tileRows - 1) / tileRows * tileRows
			}
			try(int64(rows) * s.rowBytes)
		}
	}
	return best
}

// newPolicy makes the policy of a pool.
func (l Layout) newPolicy(u Use) policy.Policy {
	if u == Routed {
		return policy.NewPerfectLFU(l.Pools[u].Slots)
	}
	return policy.NewFixed(func(id policy.Page) bool { return l.kept[PageID(id)] })
}
