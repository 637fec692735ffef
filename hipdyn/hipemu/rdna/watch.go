package rdna

import (
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
)

// Watch notes which global memory launches use, in units of four bytes: what
// LaunchConfig.Watch is for. The image of the module and the arguments do not
// count.
type Watch struct {
	mu   sync.Mutex
	uses map[*region]*usage
}

// usage has a bit for each four bytes of a region.
type usage struct{ read, written []atomic.Uint32 }

// unit is how many bytes a bit is for.
const unit = 4

// of finds the use of a region, or nil if it does not count.
func (u *Watch) of(r *region) *usage {
	if r.module != nil || r.readers {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.uses == nil {
		u.uses = map[*region]*usage{}
	}
	if u.uses[r] == nil {
		words := (len(r.data)/unit + 32) / 32
		u.uses[r] = &usage{make([]atomic.Uint32, words), make([]atomic.Uint32, words)}
	}
	return u.uses[r]
}

// note notes an access to size bytes at an offset.
func (u *usage) note(at, size uint64, write bool) {
	set := u.read
	if write {
		set = u.written
	}
	for i := at / unit; i <= (at+size-1)/unit; i++ {
		if w, bit := &set[i/32], uint32(1)<<(i%32); w.Load()&bit == 0 {
			w.Or(bit)
		}
	}
}

// Span is a range of addresses; Hi is the first beyond it.
type Span struct{ Lo, Hi uint64 }

// Use is what launches used of an allocation: spans in order, with gaps between
// them.
type Use struct {
	Base          uint64
	Read, Written []Span
}

// Uses lists what has been used, by address. No launch may be under way.
func (u *Watch) Uses() []Use {
	u.mu.Lock()
	defer u.mu.Unlock()
	var list []Use
	for r, x := range u.uses {
		list = append(list, Use{r.va, spans(x.read, r), spans(x.written, r)})
	}
	slices.SortFunc(list, func(a, b Use) int {
		if a.Base < b.Base {
			return -1
		}
		return 1
	})
	return list
}

// spans turns bits into ranges.
func spans(set []atomic.Uint32, r *region) []Span {
	var list []Span
	for i := range set {
		for w := set[i].Load(); w != 0; w &= w - 1 {
			lo := r.va + uint64(32*i+bits.TrailingZeros32(w))*unit
			if n := len(list); n > 0 && list[n-1].Hi == lo {
				list[n-1].Hi += unit
			} else {
				list = append(list, Span{lo, lo + unit})
			}
		}
	}
	if n := len(list); n > 0 {
		list[n-1].Hi = min(list[n-1].Hi, r.end())
	}
	return list
}
