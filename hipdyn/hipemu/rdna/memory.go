package rdna

import (
	"encoding/binary"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
)

// guard is the least number of unmapped bytes between two allocations: an
// access that leaves its buffer by less than this is seen.
const guard = 1 << 20

// poison fills fresh and freed memory: NaN as f16, bf16, f32 or f64, and -1 as
// an integer.
const poison = 0xff

// Spaces of different memories do not overlap (until 256 have been made), so
// that an address of one device is a fault on another.
const (
	firstSpace = 0x2000_0000_0000
	spaceSize  = 0x0020_0000_0000
	spaces     = 256
)

var lastSpace atomic.Uint64

// Memory is the memory of a device: allocations at made-up virtual addresses,
// with unmapped gaps between them. Addresses are never used twice, so that an
// access to a freed allocation is seen. Each byte knows whether it has ever
// been written. Methods may be called from several goroutines.
type Memory struct {
	mu    sync.Mutex // over changes
	limit int64
	used  int64
	next  uint64
	table atomic.Pointer[[]*region] // by address; replaced as a whole
	peers atomic.Pointer[[]*Memory]
	freed []ghost // the last ones
}

// region is an allocation or a part of the host's memory.
type region struct {
	va      uint64
	data    []byte
	defined []byte // one per byte: 1 if written; nil if all of them are
	name    string
	host    bool
	readers bool // may not be written by kernels
	module  *Module
	freed   atomic.Bool
}

// ghost is what is remembered of a region that is no more.
type ghost struct {
	va, end uint64
	text    string
}

func (r *region) end() uint64 { return r.va + uint64(len(r.data)) }

func (r *region) String() string {
	what := "allocation"
	if r.name != "" {
		what = r.name
	}
	return fmt.Sprintf("%s of %d bytes at 0x%x", what, len(r.data), r.va)
}

// OutOfMemory is the error of an allocation beyond the limit.
type OutOfMemory struct{ Need, Free, Limit int64 }

func (e *OutOfMemory) Error() string {
	return fmt.Sprintf("out of device memory: need %d bytes, %d of %d are free", e.Need, e.Free, e.Limit)
}

// AccessError is the error of an access to memory that is not there.
type AccessError struct {
	VA    uint64
	Size  uint64
	Write bool
	Near  string // the allocation that was missed, if one is near
}

func (e *AccessError) Error() string {
	verb := "read"
	if e.Write {
		verb = "write"
	}
	s := fmt.Sprintf("memory fault: %s va=0x%x size=%d", verb, e.VA, e.Size)
	if e.Near != "" {
		s += " (" + e.Near + ")"
	}
	return s
}

// NewMemory makes a memory of limit bytes.
func NewMemory(limit int64) *Memory {
	n := (lastSpace.Add(1) - 1) % spaces
	m := &Memory{limit: limit, next: firstSpace + n*spaceSize + guard}
	m.table.Store(&[]*region{})
	m.peers.Store(&[]*Memory{})
	return m
}

// Limit and Used are bytes.
func (m *Memory) Limit() int64 { return m.limit }

// Used is the sum of all allocations, rounded up to 256 bytes each.
func (m *Memory) Used() int64 { m.mu.Lock(); defer m.mu.Unlock(); return m.used }

func rounded(n int64) int64 { return (n + 255) &^ 255 }

// Alloc makes an allocation whose bytes count as never written. Its address is
// a multiple of 256; its end is exact: one byte more is a fault.
func (m *Memory) Alloc(size int64) (va uint64, err error) {
	if size <= 0 || size > spaceSize/4 {
		return 0, fmt.Errorf("allocation of %d bytes: out of range", size)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if size > m.limit-m.used {
		return 0, &OutOfMemory{Need: size, Free: m.limit - m.used, Limit: m.limit}
	}
	m.used += rounded(size)
	r := &region{data: make([]byte, size), defined: make([]byte, size)}
	fill(r.data, poison)
	m.place(r)
	return r.va, nil
}

func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

// place finds an address for a region. m.mu is held.
func (m *Memory) place(r *region) {
	r.va = m.next
	m.next = (r.end() + 2*guard - 1) &^ (guard - 1)
	m.insert(r)
}

func (m *Memory) insert(r *region) {
	old := *m.table.Load()
	i := sort.Search(len(old), func(i int) bool { return old[i].va > r.va })
	t := make([]*region, 0, len(old)+1)
	t = append(append(append(t, old[:i]...), r), old[i:]...)
	m.table.Store(&t)
}

func (m *Memory) remove(r *region) {
	old := *m.table.Load()
	t := make([]*region, 0, len(old))
	for _, o := range old {
		if o != r {
			t = append(t, o)
		}
	}
	m.table.Store(&t)
	r.freed.Store(true)
	m.freed = append(m.freed, ghost{r.va, r.end(), r.String()})
	if len(m.freed) > 64 {
		m.freed = m.freed[1:]
	}
}

// Free ends an allocation. What it held is poisoned.
func (m *Memory) Free(va uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.find(va)
	if r == nil || r.va != va || r.host || r.module != nil {
		for _, f := range m.freed {
			if f.va == va {
				return fmt.Errorf("free of 0x%x: has been freed already", va)
			}
		}
		return fmt.Errorf("free of 0x%x: not the address of an allocation", va)
	}
	m.used -= rounded(int64(len(r.data)))
	m.remove(r)
	fill(r.data, poison)
	return nil
}

// MapHost makes host memory visible to kernels, at the address given. All of
// it counts as written.
func (m *Memory) MapHost(va uint64, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(data) == 0 || va == 0 || va+uint64(len(data)) < va {
		return fmt.Errorf("mapping of %d bytes at 0x%x: out of range", len(data), va)
	}
	for _, r := range *m.table.Load() {
		if va < r.end() && r.va < va+uint64(len(data)) {
			return fmt.Errorf("mapping of %d bytes at 0x%x: overlaps the %v", len(data), va, r)
		}
	}
	m.insert(&region{va: va, data: data, name: "host memory", host: true})
	return nil
}

// UnmapHost undoes MapHost.
func (m *Memory) UnmapHost(va uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.find(va)
	if r == nil || r.va != va || !r.host {
		return fmt.Errorf("unmapping of 0x%x: not the address of mapped host memory", va)
	}
	m.remove(r)
	return nil
}

// AttachPeer lets kernels of m use the memory of another device.
func (m *Memory) AttachPeer(peer *Memory) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := *m.peers.Load()
	for _, p := range old {
		if p == peer {
			return
		}
	}
	t := append(append([]*Memory{}, old...), peer)
	m.peers.Store(&t)
}

// DetachPeer undoes AttachPeer.
func (m *Memory) DetachPeer(peer *Memory) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := []*Memory{}
	for _, p := range *m.peers.Load() {
		if p != peer {
			t = append(t, p)
		}
	}
	m.peers.Store(&t)
}

// find is the region that holds an address, or nil.
func (m *Memory) find(va uint64) *region {
	t := *m.table.Load()
	lo, hi := 0, len(t)
	for lo < hi {
		mid := (lo + hi) / 2
		if t[mid].va <= va {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo > 0 && va < t[lo-1].end() {
		return t[lo-1]
	}
	return nil
}

// lookup is the region that holds size bytes at va, of m or of a peer.
func (m *Memory) lookup(va, size uint64, write bool) (*region, error) {
	r := m.find(va)
	if r == nil {
		for _, p := range *m.peers.Load() {
			if r = p.find(va); r != nil {
				break
			}
		}
	}
	if r == nil || size > r.end()-va || write && r.readers {
		return nil, m.fault(va, size, write)
	}
	return r, nil
}

// fault explains an access that failed.
func (m *Memory) fault(va, size uint64, write bool) error {
	e := &AccessError{VA: va, Size: size, Write: write}
	near := func(g ghost) bool {
		switch {
		case va >= g.end && va-g.end < guard:
			e.Near = fmt.Sprintf("%d bytes beyond the end of the %s", va-g.end, g.text)
		case va < g.va && g.va-va < guard/2:
			e.Near = fmt.Sprintf("%d bytes before the %s", g.va-va, g.text)
		}
		return va >= g.va && va < g.end
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range m.freed {
		g.text = "freed " + g.text
		if near(g) {
			e.Near = "inside the " + g.text
		}
	}
	for _, r := range *m.table.Load() {
		if !near(ghost{r.va, r.end(), r.String()}) {
			continue
		}
		if r.readers && size <= r.end()-va {
			e.Near = fmt.Sprintf("inside the read-only %v", r)
		} else {
			e.Near = fmt.Sprintf("ends %d bytes beyond the end of the %v", va+size-r.end(), r)
		}
	}
	if e.Near == "" && va < 1<<16 {
		e.Near = "a null pointer"
	}
	return e
}

// Read copies len(p) bytes from va.
func (m *Memory) Read(p []byte, va uint64) error {
	if len(p) == 0 {
		return nil
	}
	r, err := m.lookup(va, uint64(len(p)), false)
	if err == nil {
		copy(p, r.data[va-r.va:])
	}
	return err
}

// Write copies p to va.
func (m *Memory) Write(va uint64, p []byte) error {
	if len(p) == 0 {
		return nil
	}
	r, err := m.lookup(va, uint64(len(p)), false)
	if err == nil {
		copy(r.data[va-r.va:], p)
		r.define(va, len(p))
	}
	return err
}

// define notes that n bytes have been written.
func (r *region) define(va uint64, n int) {
	if r.defined != nil {
		fill(r.defined[va-r.va:][:n], 1)
	}
}

// Fill sets n bytes from va on.
func (m *Memory) Fill(va uint64, v byte, n int64) error {
	if n == 0 {
		return nil
	}
	r, err := m.lookup(va, uint64(n), false)
	if err == nil {
		fill(r.data[va-r.va:][:n], v)
		r.define(va, int(n))
	}
	return err
}

// Copy copies n bytes; bytes that were never written stay such. Either side
// may be on a peer.
func (m *Memory) Copy(dst, src uint64, n int64) error {
	if n == 0 {
		return nil
	}
	s, err := m.lookup(src, uint64(n), false)
	if err != nil {
		return err
	}
	d, err := m.lookup(dst, uint64(n), false)
	if err != nil {
		return err
	}
	copy(d.data[dst-d.va:][:n], s.data[src-s.va:])
	switch {
	case s.defined == nil:
		d.define(dst, int(n))
	case d.defined != nil:
		copy(d.defined[dst-d.va:][:n], s.defined[src-s.va:])
	}
	return nil
}

// Undefined finds the first byte of a range that has never been written.
func (m *Memory) Undefined(va uint64, n int64) (uint64, bool) {
	r, err := m.lookup(va, uint64(n), false)
	if err != nil || r.defined == nil {
		return 0, false
	}
	for i, d := range r.defined[va-r.va:][:n] {
		if d == 0 {
			return va + uint64(i), true
		}
	}
	return 0, false
}

// Contains says whether va is in memory, and where its allocation begins and
// how many bytes it has.
func (m *Memory) Contains(va uint64) (base uint64, size int64, ok bool) {
	if r := m.find(va); r != nil {
		return r.va, int64(len(r.data)), true
	}
	return 0, 0, false
}

// image is where a module's image is in m; it is loaded if need be.
func (m *Memory) image(mod *Module) *region {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range *m.table.Load() {
		if r.module == mod {
			return r
		}
	}
	r := &region{data: append([]byte{}, mod.object.Image...), name: "module image", module: mod}
	m.place(r)
	for _, l := range mod.object.Relocs {
		binary.LittleEndian.PutUint64(r.data[l.Addr:], r.va+l.Value)
	}
	return r
}

// Unload removes the image of a module; the next launch loads it anew.
func (m *Memory) Unload(mod *Module) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range *m.table.Load() {
		if r.module == mod {
			m.remove(r)
		}
	}
}
