package pager

import "time"

// Stats counts what a paged residency has done.
type Stats struct {
	Passes, Tokens int64
	Hits, Misses   [pools]int64 // uses of pages, by Use
	BytesUsed      int64        // of pages
	BytesRead      int64        // of pages, those read ahead in vain included
	Rows, RowBytes int64        // looked up
	Stalled        time.Duration
	Busy           time.Duration // with reads under way
}

// Stats returns the counts so far.
func (p *Paged) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Busy = p.queue.Busy()
	return s
}

// Sub returns what happened since other.
func (s Stats) Sub(before Stats) Stats { return s.plus(-1, before) }

// Add returns the sum of both.
func (s Stats) Add(other Stats) Stats { return s.plus(1, other) }

func (s Stats) plus(sign int64, other Stats) Stats {
	s.Passes += sign * other.Passes
	s.Tokens += sign * other.Tokens
	for i := range s.Hits {
		s.Hits[i] += sign * other.Hits[i]
		s.Misses[i] += sign * other.Misses[i]
	}
	s.BytesUsed += sign * other.BytesUsed
	s.BytesRead += sign * other.BytesRead
	s.Rows += sign * other.Rows
	s.RowBytes += sign * other.RowBytes
	s.Stalled += time.Duration(sign) * other.Stalled
	s.Busy += time.Duration(sign) * other.Busy
	return s
}

// HitRate is the share of uses of pages that found them here.
func (s Stats) HitRate() float64 {
	return rate(s.Hits[Always]+s.Hits[Routed], s.Misses[Always]+s.Misses[Routed])
}

// HitRateOf is that of pages of one use.
func (s Stats) HitRateOf(u Use) float64 { return rate(s.Hits[u], s.Misses[u]) }

func rate(hits, misses int64) float64 {
	if hits+misses == 0 {
		return 1
	}
	return float64(hits) / float64(hits+misses)
}
