package sample

import (
	"cmp"
	"slices"
)

// all is the length of a window that holds the whole sequence.
const all = -1

// history holds the last tokens of a sequence, as many as the steps look at.
type history struct {
	keep   int // all, or how many
	tokens []int32
}

// last returns the last n tokens, or all there are.
func (h *history) last(n int) []int32 {
	if n == all || n > len(h.tokens) {
		return h.tokens
	}
	return h.tokens[len(h.tokens)-n:]
}

func (h *history) add(id int32) {
	if h.keep == 0 {
		return
	}
	// Moving once in a while costs less than moving each time.
	if h.keep != all && len(h.tokens) >= 2*h.keep {
		h.tokens = h.tokens[:copy(h.tokens, h.last(h.keep))]
	}
	h.tokens = append(h.tokens, id)
}

// wider returns the longer of two windows.
func wider(a, b int) int {
	if a == all || b == all {
		return all
	}
	return max(a, b)
}

// A count says how often a token occurs in a window.
type count struct {
	id int32
	n  int
}

// counts are sorted by id and hold no zeros.
type counts []count

func byID(c count, id int32) int {
	return cmp.Compare(c.id, id)
}

func (c *counts) add(id int32) {
	i, found := slices.BinarySearchFunc(*c, id, byID)
	if found {
		(*c)[i].n++
		return
	}
	*c = slices.Insert(*c, i, count{id, 1})
}

// remove takes back one add.
func (c *counts) remove(id int32) {
	i, _ := slices.BinarySearchFunc(*c, id, byID)
	if (*c)[i].n--; (*c)[i].n == 0 {
		*c = slices.Delete(*c, i, i+1)
	}
}
