package sample

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// dry finds the tokens that would prolong a repeated run.
type dry struct {
	DRY
	piece func(id int32) string

	// text is the end of the text of the sequence, as long as an unfinished
	// breaker can be, and clear how many tokens have come since the one in
	// which the last breaker ended.
	text  string
	clear int

	matches []int32 // scratch of find
	hits    []hit
}

// A hit is a token that would prolong a run of n.
type hit struct {
	id int32
	n  int
}

func (d *dry) on() bool {
	return d.Multiplier > 0 && d.PenaltyLastN != 0
}

// add takes note of a breaker that ends in the token.
func (d *dry) add(id int32) {
	if len(d.Breakers) == 0 {
		d.clear++
		return
	}
	piece := d.piece(id)
	old := len(d.text)
	d.text += piece
	d.clear++
	longest := 0
	for _, b := range d.Breakers {
		longest = max(longest, len(b))
		if strings.Contains(d.text[max(0, old-len(b)+1):], b) {
			d.clear = 0
		}
	}
	d.text = d.text[max(0, len(d.text)-longest+1):]
}

// find sets hits for the sequence, sorted by id.
func (d *dry) find(h *history) {
	d.hits = d.hits[:0]
	if !d.on() {
		return
	}
	window := h.last(d.PenaltyLastN)
	limit := min(d.clear, len(window))
	if limit < d.AllowedLength {
		return
	}
	// matches[i] is how many tokens before the end agree with as many before
	// the place i tokens earlier. Read backwards, that is the Z function.
	last := len(window) - 1
	d.matches = slices.Grow(d.matches[:0], len(window))[:len(window)]
	from, to := 0, 0 // the match that reaches back furthest: [from, to)
	for i := 1; i < len(window); i++ {
		n := 0
		if i < to {
			n = min(int(d.matches[i-from]), to-i)
		}
		for i+n < len(window) && window[last-n] == window[last-i-n] {
			n++
		}
		if i+n > to {
			from, to = i, i+n
		}
		d.matches[i] = int32(n)
		if n = min(n, limit); n >= d.AllowedLength {
			d.hits = append(d.hits, hit{window[last-i+1], n})
		}
	}
	// Of several runs that a token would prolong, the longest counts.
	slices.SortFunc(d.hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(b.n, a.n))
	})
	d.hits = slices.CompactFunc(d.hits, func(a, b hit) bool { return a.id == b.id })
	if len(d.Breakers) > 0 {
		d.hits = slices.DeleteFunc(d.hits, func(h hit) bool { return d.breaks(d.piece(h.id)) })
	}
}

// breaks reports whether the text holds a breaker.
func (d *dry) breaks(text string) bool {
	return slices.ContainsFunc(d.Breakers, func(b string) bool { return strings.Contains(text, b) })
}

// penalty is what a run of n costs; the bound keeps logits finite.
func (d *dry) penalty(n int) float64 {
	p := d.Multiplier
	for ; n > d.AllowedLength && p < math.MaxFloat32; n-- {
		p *= d.Base
	}
	return min(p, math.MaxFloat32)
}
