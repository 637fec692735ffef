package tokenizer

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
)

// cache remembers the ids of words. A word has one slot, found by its hash, and
// takes the place of what was there: this bounds the size and needs no lock.
type cache struct {
	seed  maphash.Seed
	slots []atomic.Pointer[cachedWord]
}

type cachedWord struct {
	word string
	ids  []int32
}

// At most cacheSlots words of at most cachedBytes are kept: some 10 MB if all
// are as long as that, 3 MB with English.
const (
	cacheSlots  = 1 << 15
	cachedBytes = 48
)

func newCache() *cache {
	return &cache{maphash.MakeSeed(), make([]atomic.Pointer[cachedWord], cacheSlots)}
}

// encode appends the ids of word; miss does so if they are not known.
func (c *cache) encode(ids []int32, word string, miss func([]int32, string) ([]int32, error)) ([]int32, error) {
	if len(word) > cachedBytes {
		return miss(ids, word)
	}
	slot := &c.slots[maphash.String(c.seed, word)%cacheSlots]
	if e := slot.Load(); e != nil && e.word == word {
		return append(ids, e.ids...), nil
	}
	n := len(ids)
	ids, err := miss(ids, word)
	if err != nil {
		return nil, err
	}
	// The copies let go of the text that word is a part of.
	slot.Store(&cachedWord{strings.Clone(word), slices.Clone(ids[n:])})
	return ids, nil
}
