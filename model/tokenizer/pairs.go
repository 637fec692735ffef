package tokenizer

import "math/bits"

// pairTable is a hash table of merges, with open addressing.
type pairTable struct {
	entries []pairEntry
	shift   int
}

type pairEntry struct {
	left, right int32 // symbols
	rank        int32 // none in an empty entry
	id          int32 // symbol that they make
}

func newPairTable(n int) pairTable {
	size := bits.Len(uint(2 * n)) // less than half full
	t := pairTable{make([]pairEntry, 1<<size), 64 - size}
	for i := range t.entries {
		t.entries[i].rank = none
	}
	return t
}

// slot returns the entry of a pair, or the empty one where it belongs.
func (t *pairTable) slot(left, right int32) *pairEntry {
	key := uint64(uint32(left))<<32 | uint64(uint32(right))
	// The factor is 2^64 divided by the golden ratio, which spreads well.
	for i := key * 0x9E3779B97F4A7C15 >> t.shift; ; i++ {
		e := &t.entries[i&uint64(len(t.entries)-1)]
		if e.rank == none || e.left == left && e.right == right {
			return e
		}
	}
}

// add enters a pair. Of two equal ones the first counts.
func (t *pairTable) add(left, right, rank, id int32) {
	if e := t.slot(left, right); e.rank == none {
		*e = pairEntry{left, right, rank, id}
	}
}

// find returns the rank of a pair and the symbol that it makes.
func (t *pairTable) find(left, right int32) (uint32, int32) {
	e := t.slot(left, right)
	if e.rank == none {
		return never, none
	}
	return uint32(e.rank), e.id
}
