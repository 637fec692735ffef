package rdna

import "fmt"

// Reserve takes size addresses, the first a multiple of align, for AllocAt.
func (m *Memory) Reserve(size, align int64) (va uint64, err error) {
	if size <= 0 || size > spaceSize/4 || align <= 0 || align&(align-1) != 0 {
		return 0, fmt.Errorf("reservation of %d bytes: out of range", size)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	va = (m.next + uint64(align) - 1) &^ (uint64(align) - 1)
	m.next = (va + uint64(size) + 2*guard - 1) &^ (guard - 1)
	return va, nil
}

// AllocAt is Alloc at an address of a reservation, so that allocations may be
// adjacent. An access across two of them counts as one beyond the end.
func (m *Memory) AllocAt(va uint64, size int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if size <= 0 || va%256 != 0 {
		return fmt.Errorf("allocation of %d bytes at 0x%x: out of range", size, va)
	}
	if size > m.limit-m.used {
		return &OutOfMemory{Need: size, Free: m.limit - m.used, Limit: m.limit}
	}
	for _, r := range *m.table.Load() {
		if va < r.end() && r.va < va+uint64(size) {
			return fmt.Errorf("allocation of %d bytes at 0x%x: overlaps the %v", size, va, r)
		}
	}
	m.used += rounded(size)
	r := &region{va: va, data: make([]byte, size), defined: make([]byte, size)}
	fill(r.data, poison)
	m.insert(r)
	return nil
}
