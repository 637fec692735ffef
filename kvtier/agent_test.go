package kvtier

import (
	"context"
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"gorun/compute"
	"gorun/compute/cpu"
	"gorun/compute/strict"
	"gorun/kvtier/store"
	"gorun/policy"
	"gorun/tensor"
)

// agents are conversations that write, for each position and layer, a mark
// that follows from all tokens up to it, as keys and values do.
type agents struct {
	t      *testing.T
	r      *rand.Rand
	p      *Pool
	stream compute.Stream
	geo    Geometry
	dev    compute.Device
	dir    string
	store  *store.Store
	conv   []*Sequence
}

// markOf is the byte at the last of these positions.
func markOf(tokens []int32) byte {
	h := fnv.New32a()
	for _, t := range tokens {
		h.Write([]byte{byte(t), byte(t >> 8)})
	}
	return byte(h.Sum32() >> 13)
}

const agentContext = 96

func newAgents(t *testing.T, seed uint64, strictly bool, user string) *agents {
	shapes := []Shape{
		{Heads: 2, KDim: 8, VDim: 8}, {State: 100}, {Heads: 1, KDim: 16, VDim: 8, Window: 10}, {Heads: 1, KDim: 24, VDim: 16, VInK: true},
	}
	if seed%2 == 0 {
		shapes = []Shape{{Heads: 2, KDim: 8, VDim: 8}, {Heads: 1, KDim: 24, VDim: 16}}
	}
	geo, err := NewGeometry(shapes, tensor.F16, tensor.F32, 4)
	if err != nil {
		t.Fatal(err)
	}
	a := &agents{t: t, r: rand.New(rand.NewPCG(seed, 1)), geo: geo, dir: filepath.Join(t.TempDir(), "kv")}
	d, err := cpu.NewReference(1)
	if err != nil {
		t.Fatal(err)
	}
	a.dev = d
	if strictly {
		if a.dev, err = strict.Wrap(d); err != nil {
			t.Fatal(err)
		}
	}
	if a.stream, err = a.dev.NewStream(compute.Work{}); err != nil {
		t.Fatal(err)
	}
	a.open()
	return a
}

func (a *agents) open() {
	var err error
	if a.store, err = store.Open(store.Options{FS: store.Dir(a.dir), Cap: 4 << 20}); err != nil {
		a.t.Fatal(err)
	}
	set, err := a.store.Set("u", a.geo.Layout("m", "w", "n"))
	if err != nil {
		a.t.Fatal(err)
	}
	block := a.geo.BlockBytes()
	a.p, err = NewPool(a.dev, a.stream, Config{
		Geometry: a.geo, Context: agentContext, Batch: 16, Sequences: 9, Cold: set, Tiers: Tiers{Hot: 8 * block, Warm: 10 * block},
	})
	if err != nil {
		a.t.Fatal(err)
	}
	a.conv = nil
	for range 8 {
		a.conv = append(a.conv, a.p.NewSequence())
	}
}

func (a *agents) close() {
	for _, s := range a.conv {
		s.Free()
	}
	if err := errors.Join(a.p.Close(), a.store.Close()); err != nil {
		a.t.Fatal(err)
	}
}

// turn adds tokens to a conversation, in a pass of its own.
func (a *agents) turn(s *Sequence, tokens []int32) {
	for len(tokens) > 0 && s.Len() < agentContext {
		n := min(len(tokens), agentContext-s.Len(), s.Room(a.p.HotBlocks()), 16)
		a.p.Begin([]*Sequence{s})
		if err := s.Reserve(n); err != nil {
			a.t.Fatal(err)
		}
		if err := a.p.Promote(context.Background(), []*Sequence{s}); err != nil {
			a.t.Fatal(err)
		}
		whole := append(slices.Clone(s.Tokens()), tokens[:n]...)
		for layer, l := range a.geo.Layers {
			if l.Holds() {
				run := s.Run(layer, 0, n)
				for i := range n {
					pos := run.Pos + i
					page := run.Pages[pos/l.BlockTokens-run.FirstBlock]
					a.stream.Write(page.At(l.KAt(pos%l.BlockTokens, 0), 1), []byte{markOf(whole[:pos+1])})
				}
			}
			if l.State > 0 {
				a.stream.Write(s.State(layer, 0, n, 0, l.State).To.At(0, 1), []byte{markOf(whole)})
			}
		}
		if err := a.stream.Sync(); err != nil {
			a.t.Fatal(err)
		}
		s.Advance(tokens[:n])
		tokens = tokens[n:]
	}
}

// read goes over all pages of a sequence as attention does.
func (a *agents) read(s *Sequence) {
	a.p.Begin([]*Sequence{s})
	if err := a.p.Promote(context.Background(), []*Sequence{s}); err != nil {
		a.t.Fatal(err)
	}
	var layers []int
	for i, l := range a.geo.Layers {
		if l.Holds() {
			layers = append(layers, i)
		}
	}
	reader := a.p.NewReader(context.Background(), layers, []*Sequence{s})
	defer reader.Close()
	for _, i := range layers {
		l := a.geo.Layers[i]
		check := func(first int, pages []compute.Span) {
			for j, page := range pages {
				for pos := (first + j) * 4; pos < min((first+j+1)*4, s.Len()); pos++ {
					a.mark(page.At(l.KAt(pos%4, 0), 1), markOf(s.tokens[:pos+1]), "layer %d, position %d of %d", i, pos, s.Len())
				}
			}
		}
		switch {
		case l.Window > 0:
			list := s.layers[i]
			first, end := a.geo.windowRange(l, s.Len())
			for page := first; page < end; page++ {
				for pos := max(page*4, s.Len()-l.Window+1); pos < min(page*4+4, s.Len()); pos++ {
					a.mark(list.pages[page-list.first].At(l.KAt(pos%4, 0), 1), markOf(s.tokens[:pos+1]), "window, position %d", pos)
				}
			}
		case s.InPlace():
			check(0, s.Run(i, 0, 0).Pages)
		default:
			if err := reader.Each(i, s, check); err != nil {
				a.t.Fatal(err)
			}
		}
	}
	for _, l := range a.geo.Layers {
		if l.State > 0 && s.Len() > 0 {
			a.mark(s.states[0].At(l.stateAt, 1), markOf(s.tokens), "state of %d", s.Len())
		}
	}
}

func (a *agents) mark(at compute.Span, want byte, format string, args ...any) {
	a.t.Helper()
	var got [1]byte
	if err := a.stream.Read(got[:], at); err != nil || got[0] != want {
		a.t.Fatalf(format+": %d, want %d (%v)", append(args, got[0], want, err)...)
	}
}

// check holds all counts to what sequences hold.
func (a *agents) check() {
	users, fixed := map[*block]int{}, map[*slot]int{}
	for _, s := range a.conv {
		for _, b := range s.blocks {
			users[b]++
		}
		for _, l := range s.layers {
			for _, slot := range l.slots {
				fixed[slot]++
			}
		}
		for _, slot := range s.states {
			if slot != nil {
				fixed[slot]++
			}
		}
	}
	cached := 0
	for _, b := range a.p.main.index {
		if users[b] == 0 {
			cached++
			users[b] = 0
		}
	}
	hot, warm, spans := 0, 0, map[compute.Span]bool{}
	for b, n := range users {
		if b.Users != n {
			a.t.Fatalf("block %d counts %d users and has %d", b.id, b.Users, n)
		}
		if b.isHot() != a.p.policy.In(policy.Hot, &b.KVBlock) || (b.warm != nil) != a.p.policy.In(policy.Warm, &b.KVBlock) {
			a.t.Fatalf("block %d: the policy has it elsewhere", b.id)
		}
		if !b.isHot() && b.warm == nil && b.cold == nil {
			a.t.Fatalf("block %d is nowhere", b.id)
		}
		if b.isHot() {
			hot++
			if spans[b.hot.Span] {
				a.t.Fatal("two blocks in one slot")
			}
			spans[b.hot.Span] = true
		}
		if b.warm != nil {
			warm++
		}
		if b.known != (a.p.main.index[b.key] == b) {
			a.t.Fatalf("block %d: known %v, and the index differs", b.id, b.known)
		}
	}
	if hot != a.p.hot.used() || hot > a.p.sizes.HotBlocks || warm+len(a.p.warmFree) != a.p.warmMade || a.p.warmMade > a.p.sizes.WarmBlocks || cached != a.p.cached {
		a.t.Fatalf("hot %d of %d used, warm %d + %d free of %d, cached %d and %d", hot, a.p.hot.used(), warm, len(a.p.warmFree), a.p.warmMade, cached, a.p.cached)
	}
	used := 0
	for slot, n := range fixed {
		if slot.refs != n {
			a.t.Fatalf("a slot counts %d references and has %d", slot.refs, n)
		}
		used++
	}
	total := 0
	for _, c := range a.p.fixed {
		total += c.used()
	}
	if used != total {
		a.t.Fatalf("%d slots of windows and states in use, %d held", total, used)
	}
	if s := a.store; s.Used() > s.Cap() {
		a.t.Fatalf("%d bytes on disk", s.Used())
	}
}

// words draws tokens of a small vocabulary, so that texts meet.
func (a *agents) words(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(a.r.IntN(3))
	}
	return list
}

// TestAgents has 8 conversations of agents over three small tiers: turns,
// forks, ends, cuts, restarts, with all counts checked after each step and all
// contents again and again.
func TestAgents(t *testing.T) {
	for seed := range uint64(4) {
		steps := 500
		a := newAgents(t, seed, seed >= 2, "u")
		for step := range steps {
			i := a.r.IntN(len(a.conv))
			s := a.conv[i]
			switch k := a.r.IntN(100); {
			case k < 50:
				a.turn(s, a.words(1+a.r.IntN(20)))
			case k < 60: // end, and another begins with what is known
				if err := s.Save(); err != nil {
					t.Fatal(err)
				}
				tokens := append(slices.Clone(s.Tokens()), a.words(5)...)
				s.Free()
				if a.r.IntN(2) == 0 {
					if err := a.store.Flush(); err != nil { // what is known stays what it is
						t.Fatal(err)
					}
					known := s.Known(tokens)
					n, err := s.Resume(context.Background(), tokens)
					if err != nil || n != known || s.Len() != n || !slices.Equal(s.Tokens(), tokens[:n]) {
						t.Fatalf("resumed %d, %d were known: %v", n, known, err)
					}
				}
			case k < 70:
				from := a.conv[a.r.IntN(len(a.conv))]
				if from != s {
					s.Free()
					a.conv[i] = from.Fork()
				}
			case k < 78:
				n := a.r.IntN(s.Len() + 1)
				if s.Truncate(n) == nil && s.Len() != n {
					t.Fatal("a cut that did not cut")
				}
			case k < 85:
				if err := s.Save(); err != nil {
					t.Fatal(err)
				}
			case k < 99:
				a.read(s)
			default:
				a.restart()
			}
			a.check()
			if step%50 == 0 {
				for _, s := range a.conv {
					a.read(s)
				}
				a.check()
			}
		}
		a.close()
		s, err := store.Open(store.Options{FS: store.Dir(a.dir), Look: true})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := s.Check(nil); err != nil || len(r.Damaged)+len(r.Lost) > 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		s.Close()
	}
}

// restart ends everything and goes on from the disk.
func (a *agents) restart() {
	var texts [][]int32
	for _, s := range a.conv {
		if err := s.Save(); err != nil {
			a.t.Fatal(err)
		}
		texts = append(texts, slices.Clone(s.Tokens()))
	}
	a.close()
	a.open()
	for i, tokens := range texts {
		n, err := a.conv[i].Resume(context.Background(), tokens)
		if err != nil {
			a.t.Fatal(err)
		}
		a.turn(a.conv[i], tokens[n:])
	}
}
