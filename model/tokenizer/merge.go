package tokenizer

import "math"

// A merger joins neighbouring symbols of a word, best pair first, leftmost of
// equals first. This is all that the two kinds of BPE have in common: they
// differ in which pairs are better.
//
// Pairs wait in a heap. A pair in it may be outdated because one of its symbols
// has since been joined to another; it is told by the priority, which is then
// not the one that the symbol has noted. A word of n symbols takes n log n steps.
type merger struct {
	symbols []symbol
	heap    []uint64 // priority<<32 | index of the left symbol
}

// symbol is a stretch of the word. Dead ones, joined to their left neighbour,
// are skipped by the links.
type symbol struct {
	start, end int32  // in the word
	prev, next int32  // neighbours, none at the ends
	id         int32  // token, or what else pair knows it by
	priority   uint32 // of this symbol with the next
}

// never is the priority of a pair that is not joined. Lower ones come first.
const never = math.MaxUint32

func (m *merger) reset() {
	m.symbols = m.symbols[:0]
	m.heap = m.heap[:0]
}

// add appends a symbol that ends at end.
func (m *merger) add(end int, id int32) {
	n := int32(len(m.symbols))
	s := symbol{end: int32(end), prev: n - 1, next: none, id: id, priority: never}
	if n > 0 {
		m.symbols[n-1].next = n
		s.start = m.symbols[n-1].end
	}
	m.symbols = append(m.symbols, s)
}

// run joins symbols. pair returns the priority of two neighbours and the id of
// the symbol that they make.
func (m *merger) run(pair func(left, right *symbol) (uint32, int32)) {
	for i := range m.symbols[:max(len(m.symbols)-1, 0)] {
		s := &m.symbols[i]
		if s.priority, _ = pair(s, &m.symbols[i+1]); s.priority != never {
			m.heap = append(m.heap, uint64(s.priority)<<32|uint64(i))
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	for len(m.heap) > 0 {
		top := m.pop()
		i := int32(uint32(top))
		left := &m.symbols[i]
		if left.priority != uint32(top>>32) {
			continue
		}
		right := &m.symbols[left.next]
		_, left.id = pair(left, right)
		left.end = right.end
		left.next = right.next
		right.priority = never
		if left.next != none {
			m.symbols[left.next].prev = i
		}
		m.queue(i, pair)
		if left.prev != none {
			m.queue(left.prev, pair)
		}
	}
}

// queue enters the pair of symbol i and its right neighbour.
func (m *merger) queue(i int32, pair func(left, right *symbol) (uint32, int32)) {
	s := &m.symbols[i]
	s.priority = never
	if s.next == none {
		return
	}
	if s.priority, _ = pair(s, &m.symbols[s.next]); s.priority != never {
		m.push(uint64(s.priority)<<32 | uint64(i))
	}
}

func (m *merger) push(x uint64) {
	m.heap = append(m.heap, x)
	h := m.heap
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if h[parent] <= x {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = x
}

func (m *merger) pop() uint64 {
	top := m.heap[0]
	last := len(m.heap) - 1
	m.heap[0] = m.heap[last]
	m.heap = m.heap[:last]
	if last > 0 {
		m.down(0)
	}
	return top
}

// down moves the element at i to below all that are smaller.
func (m *merger) down(i int) {
	h := m.heap
	x := h[i]
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1] < h[child] {
			child++
		}
		if x <= h[child] {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = x
}
