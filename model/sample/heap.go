package sample

// An order tells which of two candidates comes first. Orders are total, with
// the id as last resort, so that results do not depend on the algorithm.
type order func(a, b *candidate) bool

// better puts the largest logit first, the lowest id among equals.
func better(a, b *candidate) bool {
	if a.logit != b.logit {
		return a.logit > b.logit
	}
	return a.id < b.id
}

// worse is the reverse of better.
func worse(a, b *candidate) bool {
	return better(b, a)
}

// heapify makes h a binary heap: none comes before its parent, and the first of
// all is on top.
func heapify(h []candidate, before order) {
	for i := len(h)/2 - 1; i >= 0; i-- {
		siftDown(h, i, before)
	}
}

// siftDown moves h[i] to its place in a heap that is right but for h[i].
func siftDown(h []candidate, i int, before order) {
	for {
		first := 2*i + 1
		if first >= len(h) {
			return
		}
		if r := first + 1; r < len(h) && before(&h[r], &h[first]) {
			first = r
		}
		if !before(&h[first], &h[i]) {
			return
		}
		h[i], h[first] = h[first], h[i]
		i = first
	}
}
