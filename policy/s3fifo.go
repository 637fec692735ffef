package policy

// S3FIFO is S3-FIFO: new pages enter a small queue S; those used again go on to
// the main queue M, the others to the ghost queue G, which remembers names
// only. A page found in G enters M directly. M gives pages that were used
// another round.
type S3FIFO struct {
	small, main, ghost *order
	freq               map[Page]int // of resident pages, up to 3
	smallSlots         int
	ghostSlots         int
}

// NewS3FIFO makes an empty S3-FIFO for that many slots, a tenth of them in S.
func NewS3FIFO(slots int) *S3FIFO {
	small := max(1, slots/10)
	return &S3FIFO{newOrder(), newOrder(), newOrder(), map[Page]int{}, small, max(1, slots-small)}
}

// Name implements Policy.
func (s *S3FIFO) Name() string { return "S3-FIFO" }

// Touch implements Policy.
func (s *S3FIFO) Touch(p Page) { s.freq[p] = min(s.freq[p]+1, 3) }

// Admit implements Policy.
func (s *S3FIFO) Admit(p Page, cold bool) {
	s.freq[p] = 0
	switch {
	case s.ghost.remove(p):
		s.main.pushFront(p)
	case cold:
		s.small.pushBack(p)
	default:
		s.small.pushFront(p)
	}
}

// Victim implements Policy.
func (s *S3FIFO) Victim(may func(Page) bool) (Page, bool) {
	if s.small.len() >= s.smallSlots || s.main.len() == 0 {
		if p, ok := s.evictSmall(may); ok {
			return p, ok
		}
	}
	if p, ok := s.evictMain(may); ok {
		return p, ok
	}
	return s.evictSmall(may)
}

// evictSmall looks for a victim in S, and moves pages that were used more than
// once to M.
func (s *S3FIFO) evictSmall(may func(Page) bool) (Page, bool) {
	for {
		p, ok := s.small.fromBack(may)
		if !ok || s.freq[p] <= 1 {
			return p, ok
		}
		s.small.remove(p)
		s.freq[p] = 0
		s.main.pushFront(p)
	}
}

// evictMain looks for a victim in M; pages that were used stay a round longer.
func (s *S3FIFO) evictMain(may func(Page) bool) (Page, bool) {
	for {
		p, ok := s.main.fromBack(may)
		if !ok || s.freq[p] == 0 {
			return p, ok
		}
		s.freq[p]--
		s.main.toFront(p)
	}
}

// Evict implements Policy.
func (s *S3FIFO) Evict(p Page) {
	if s.small.remove(p) {
		s.ghost.pushFront(p)
		if s.ghost.len() > s.ghostSlots {
			oldest, _ := s.ghost.last()
			s.ghost.remove(oldest)
		}
	}
	s.main.remove(p)
	delete(s.freq, p)
}
