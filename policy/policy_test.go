package policy

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// makers are all policies, the fixed ones for pages below 40.
func makers() []Maker {
	return append(Online(),
		Maker{"fixed", func(slots int) Policy {
			keep := Spread(min(max(0, slots-2), 40), 40)
			return NewFixed(func(p Page) bool { return p < 40 && keep(int(p)) })
		}},
		Maker{"best fixed", func(slots int) Policy { return BestFixed(slots, []Ref{{Page: 3}, {Page: 7}, {Page: 3}}) }},
	)
}

func drawRefs(t *rapid.T) []Ref {
	pages := rapid.Uint64Range(0, uint64(rapid.IntRange(0, 39).Draw(t, "pages")))
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Ref {
		return Ref{Page(pages.Draw(t, "page")), rapid.IntRange(0, 9).Draw(t, "cold") == 0}
	}), 0, 400).Draw(t, "refs")
}

// TestNoPolicyBeatsOPT replays random references and wants no more hits than
// Belady's optimum, and OPT to be what brute force finds.
func TestNoPolicyBeatsOPT(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		refs := drawRefs(t)
		slots := rapid.IntRange(1, 20).Draw(t, "slots")
		opt := OPT(slots, refs, 0)
		if opt.Hits+opt.Misses != len(refs) {
			t.Fatalf("OPT counts %+v of %d", opt, len(refs))
		}
		if want := bruteOPT(slots, refs); opt != want {
			t.Fatalf("OPT gives %+v, brute force %+v", opt, want)
		}
		for _, m := range makers() {
			o := Replay(m.New(slots), slots, refs)
			if o.Hits > opt.Hits || o.Hits+o.Misses != len(refs) {
				t.Fatalf("%s: %+v, OPT %+v", m.Name, o, opt)
			}
		}
	})
}

// bruteOPT looks into the future at every eviction.
func bruteOPT(slots int, refs []Ref) (o Outcome) {
	var resident []Page
	for i, r := range refs {
		hit := slices.Contains(resident, r.Page)
		o.add(hit)
		if hit {
			continue
		}
		if len(resident) == slots {
			next := func(p Page) int {
				for j, later := range refs[i:] {
					if later.Page == p {
						return j
					}
				}
				return len(refs)
			}
			worst := 0
			for k, p := range resident {
				if next(p) > next(resident[worst]) {
					worst = k
				}
			}
			resident = slices.Delete(resident, worst, worst+1)
		}
		resident = append(resident, r.Page)
	}
	return o
}

// TestVictims drives every policy with pages that may not leave and pages that
// leave for reasons of their own, and wants victims that are resident, may
// leave, and are found whenever there is one.
func TestVictims(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(makers()).Draw(t, "policy")
		slots := rapid.IntRange(1, 12).Draw(t, "slots")
		p := m.New(slots)
		resident, pinned := map[Page]bool{}, map[Page]bool{}
		may := func(p Page) bool {
			if !resident[p] {
				t.Fatalf("%s asks about page %d, which is not resident", m.Name, p)
			}
			return !pinned[p]
		}
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			page := Page(rapid.IntRange(0, 39).Draw(t, "page"))
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				pinned[page] = !pinned[page]
			case 1:
				if resident[page] {
					p.Evict(page)
					delete(resident, page)
				}
			default:
				if resident[page] {
					p.Touch(page)
					continue
				}
				if len(resident) == slots {
					victim, ok := p.Victim(may)
					free := 0
					for r := range resident {
						if !pinned[r] {
							free++
						}
					}
					if ok != (free > 0) || ok && (!resident[victim] || pinned[victim]) {
						t.Fatalf("%s: victim %d, %v, of %v without %v", m.Name, victim, ok, resident, pinned)
					}
					if !ok {
						continue
					}
					p.Evict(victim)
					delete(resident, victim)
				}
				p.Admit(page, rapid.Bool().Draw(t, "cold"))
				resident[page] = true
			}
		}
	})
}

// cycle are rounds over n pages.
func cycle(n, rounds int) (refs []Ref) {
	for range rounds {
		for p := range n {
			refs = append(refs, Ref{Page: Page(p)})
		}
	}
	return refs
}

// TestCycle is the reason for a fixed part: on a cycle LRU has no hit at all,
// and the fixed set of C pages has C in each round.
func TestCycle(t *testing.T) {
	const n, slots, ring, rounds = 100, 40, 4, 10
	refs := cycle(n, rounds)
	keep := Spread(slots-ring, n)
	fixed := Replay(NewFixed(func(p Page) bool { return keep(int(p)) }), slots, refs)
	if want := (slots - ring) * (rounds - 1); fixed.Hits != want {
		t.Errorf("the fixed part hits %d times, want %d", fixed.Hits, want)
	}
	for _, m := range []Maker{{"LRU", func(int) Policy { return NewLRU() }}, {"CLOCK", func(int) Policy { return NewClock() }}} {
		if o := Replay(m.New(slots), slots, refs); o.Hits != 0 {
			t.Errorf("%s hits %d times on a cycle", m.Name, o.Hits)
		}
	}
}

func TestSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		keep := rapid.IntRange(0, n).Draw(t, "keep")
		kept := Spread(keep, n)
		count, gap := 0, 0
		for i := range n {
			if kept(i) {
				count, gap = count+1, 0
			} else if gap++; keep > 0 && gap > (n+keep-1)/keep {
				t.Fatalf("a gap of %d pages, %d of %d are kept", gap, keep, n)
			}
		}
		if count != keep {
			t.Fatalf("%d of %d kept, want %d", count, n, keep)
		}
	})
}

// zipfRefs are tokens of a mixture of experts: each layer uses some of its
// experts, the popular more often.
func zipfRefs(tokens, layers, experts, used int, exponent float64, seed uint64) (refs []Ref) {
	r := rand.New(rand.NewPCG(seed, 0))
	weights := make([]float64, experts)
	for range tokens {
		for l := range layers {
			for i := range weights {
				// Gumbel's trick: the largest are a draw without replacement.
				weights[i] = -exponent*math.Log(float64((i*37+l*11)%experts+1)) - math.Log(-math.Log(r.Float64()))
			}
			for range used {
				best := 0
				for i, w := range weights {
					if w > weights[best] {
						best = i
					}
				}
				weights[best] = math.Inf(-1)
				refs = append(refs, Ref{Page: Page(l*experts + best)})
			}
		}
	}
	return refs
}

// TestScanDoesNotFlush reads a prompt, which touches every page once, in the
// middle of a text, and wants frequency-aware policies not to care.
func TestScanDoesNotFlush(t *testing.T) {
	const layers, experts, used, slots = 4, 64, 8, 64
	for _, m := range Online() {
		if m.Name != "S3-FIFO" && m.Name != "W-TinyLFU" && m.Name != "Perfect-LFU" {
			continue
		}
		text := zipfRefs(400, layers, experts, used, 1, 1)
		var refs []Ref
		refs = append(refs, text[:len(text)/2]...)
		for p := range layers * experts {
			refs = append(refs, Ref{Page(p), true})
		}
		refs = append(refs, text[len(text)/2:]...)
		half, window := len(text)/2, 10*layers*used
		without := ReplayFrom(m.New(slots), slots, text[:half+window], half)
		with := ReplayFrom(m.New(slots), slots, refs[:half+layers*experts+window], half+layers*experts)
		if with.Misses > without.Misses+slots/8 {
			t.Errorf("%s: %d misses after a scan, %d without", m.Name, with.Misses, without.Misses)
		}
	}
}

// TestPerfectLFULearns wants no more misses than the set that is best for the
// first half of a text has in the second, and little more than the best set.
func TestPerfectLFULearns(t *testing.T) {
	const layers, experts, used = 4, 64, 8
	for _, exponent := range []float64{0, 0.5, 1} {
		refs := zipfRefs(3000, layers, experts, used, exponent, 2)
		half := len(refs) / 2
		for _, slots := range []int{32, 64, 128} {
			got := ReplayFrom(NewPerfectLFU(slots), slots, refs, half).Misses
			learned := ReplayFrom(BestFixed(slots, refs[:half]), slots, refs, half).Misses
			best := ReplayFrom(BestFixed(slots, refs), slots, refs, half).Misses
			if float64(got) > 1.01*float64(learned) || float64(got) > 1.05*float64(best) {
				t.Errorf("exponent %v, %d slots: %d misses, %d with a set that was learned, %d with the best", exponent, slots, got, learned, best)
			}
		}
	}
}

// TestPerfectLFUForgets changes what is popular in the middle, and wants it to be
// hardly worse than W-TinyLFU, whose memory is short, soon after: the reads by
// which it notices; and no worse in the long run.
func TestPerfectLFUForgets(t *testing.T) {
	const layers, experts, used = 4, 64, 8
	refs := zipfRefs(3000, layers, experts, used, 1, 3)
	change := len(refs) / 2
	for i := range refs[change:] {
		refs[change+i].Page = layers*experts - 1 - refs[change+i].Page
	}
	for _, slots := range []int{32, 64, 128} {
		for _, tokens := range []int{100, 1500} {
			upTo := refs[:change+tokens*layers*used]
			got := ReplayFrom(NewPerfectLFU(slots), slots, upTo, change).Misses
			tiny := ReplayFrom(NewTinyLFU(slots), slots, upTo, change).Misses
			if float64(got) > float64(tiny)+2*max(leastLead, float64(slots)) || tokens == 1500 && got > tiny {
				t.Errorf("%d slots, %d tokens after a change: %d misses, W-TinyLFU has %d", slots, tokens, got, tiny)
			}
		}
	}
}

// TestPerfectLFULong makes counts grow beyond what they are scaled to.
func TestPerfectLFULong(t *testing.T) {
	p := NewPerfectLFU(2)
	p.Admit(1, false)
	p.Admit(2, false)
	for range 100000 {
		p.Touch(1)
	}
	if v, _ := p.Victim(Any); v != 2 {
		t.Errorf("victim %d", v)
	}
	for range 100000 {
		p.Touch(2)
	}
	if v, _ := p.Victim(Any); v != 1 {
		t.Errorf("victim %d", v)
	}
	if w := p.weight; math.IsInf(w[long], 0) || w[short] > 1e101 {
		t.Errorf("weights %v", w)
	}
}
