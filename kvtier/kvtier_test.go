package kvtier

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gorun/compute"
	"gorun/compute/cpu"
	"gorun/tensor"
)

func TestGeometry(t *testing.T) {
	for _, c := range []struct {
		name       string
		shapes     []Shape
		k, v       tensor.Type
		block      int
		wantBlock  int
		wantPerTok int64
	}{
		{"llama-8b f16", repeat(32, Shape{Heads: 8, KDim: 128, VDim: 128}), tensor.F16, tensor.F16, 0, 32, 32 * 8 * 256 * 2},
		{"one small head", repeat(2, Shape{Heads: 1, KDim: 8, VDim: 8}), tensor.F16, tensor.F16, 0, 256, 2 * 32},
		{"asymmetric", repeat(1, Shape{Heads: 4, KDim: 64, VDim: 64}), tensor.F32, tensor.F16, 0, 128, 4 * 64 * 6},
		{"MLA", repeat(1, Shape{Heads: 1, KDim: 576, VDim: 512, VInK: true}), tensor.F16, tensor.F16, 0, 128, 1152},
		{"given", repeat(3, Shape{Heads: 2, KDim: 64, VDim: 64}), tensor.F16, tensor.F16, 4, 4, 3 * 2 * 64 * 4},
		{"no KV in layer 0", append(repeat(1, Shape{}), Shape{Heads: 2, KDim: 64, VDim: 64}), tensor.F16, tensor.F16, 8, 8, 512},
	} {
		g, err := NewGeometry(c.shapes, c.k, c.v, c.block)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if g.BlockTokens != c.wantBlock || g.BytesPerToken() != c.wantPerTok || g.Waste() != 0 {
			t.Errorf("%s: block %d, %d B a token, waste %d; want %d, %d, 0",
				c.name, g.BlockTokens, g.BytesPerToken(), g.Waste(), c.wantBlock, c.wantPerTok)
		}
	}
}

func TestGeometryErrors(t *testing.T) {
	ok := repeat(1, Shape{Heads: 1, KDim: 64, VDim: 64})
	for name, make := range map[string]func() (Geometry, error){
		"block 3":   func() (Geometry, error) { return NewGeometry(ok, tensor.F16, tensor.F16, 3) },
		"block 2":   func() (Geometry, error) { return NewGeometry(ok, tensor.F16, tensor.F16, 2) },
		"block 512": func() (Geometry, error) { return NewGeometry(ok, tensor.F16, tensor.F16, 512) },
		"block -4":  func() (Geometry, error) { return NewGeometry(ok, tensor.F16, tensor.F16, -4) },
		"type i32":  func() (Geometry, error) { return NewGeometry(ok, tensor.I32, tensor.F16, 4) },
		"type 99":   func() (Geometry, error) { return NewGeometry(ok, tensor.F16, tensor.Type(99), 4) },
		"no KDim":   func() (Geometry, error) { return NewGeometry([]Shape{{Heads: 1, VDim: 64}}, tensor.F16, tensor.F16, 4) },
		"neg. heads": func() (Geometry, error) {
			return NewGeometry([]Shape{{Heads: -1, KDim: 64, VDim: 64}}, tensor.F16, tensor.F16, 4)
		},
	} {
		if g, err := make(); err == nil {
			t.Errorf("%s: no error, %+v", name, g)
		}
	}
}

func repeat(n int, s Shape) []Shape {
	shapes := make([]Shape, n)
	for i := range shapes {
		shapes[i] = s
	}
	return shapes
}

// newPool makes a pool on the CPU.
func newPool(t interface{ Fatal(...any) }, g Geometry, ctx, batch, sequences int) *Pool {
	d, err := cpu.NewReference(1)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.NewStream(compute.Work{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPool(d, s, Config{Geometry: g, Context: ctx, Batch: batch, Sequences: sequences})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPool drives random sequences and their forks, and checks after every
// step that counts of references and bytes are true, and that every position
// holds what its sequence wrote there.
func TestPool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const ctx, batch, sequences = 64, 8, 4
		shapes := []Shape{
			{Heads: 2, KDim: 8, VDim: 8}, {State: 100}, {Heads: 2, KDim: 8, VDim: 8, Window: 10},
			{Heads: 1, KDim: 16, VDim: 8, Window: 3}, {Heads: 1, KDim: 24, VDim: 16, VInK: true}, {State: 4},
		}
		g, err := NewGeometry(shapes, tensor.F16, tensor.F32, 4)
		if err != nil {
			t.Fatal(err)
		}
		p := newPool(t, g, ctx, batch, sequences)
		if sizes := p.Sizes(); p.Capacity() != sizes.Hot+sizes.Fixed || sizes.Hot != int64(sequences*ctx/4)*g.BlockBytes() {
			t.Fatalf("capacity %d, planned %+v", p.Capacity(), sizes)
		}
		w := &world{t: t, p: p}
		for range sequences {
			w.seqs = append(w.seqs, &written{Sequence: p.NewSequence()})
		}
		t.Repeat(map[string]func(*rapid.T){
			"grow":     func(t *rapid.T) { w.grow(w.any("s"), rapid.IntRange(0, batch).Draw(t, "n")) },
			"truncate": func(t *rapid.T) { w.truncate(w.any("s")) },
			"free":     func(t *rapid.T) { w.free(w.any("s")) },
			"fork": func(t *rapid.T) {
				from, to := w.any("from"), w.any("to")
				if from != to {
					w.free(to)
					*to = written{from.Fork(), slices.Clone(from.marks)}
				}
			},
			"": func(t *rapid.T) { w.check() },
		})
	})
}

// world is a pool whose sequences write a mark of their own at each position.
type world struct {
	t    *rapid.T
	p    *Pool
	seqs []*written
	next byte
}

type written struct {
	*Sequence
	marks []byte
}

func (w *world) any(name string) *written { return rapid.SampledFrom(w.seqs).Draw(w.t, name) }

func (w *world) free(s *written) {
	s.Free()
	s.marks = nil
}

func (w *world) grow(s *written, n int) {
	n = min(n, 64-s.Len())
	w.p.Begin([]*Sequence{s.Sequence})
	if err := s.Reserve(n); err != nil {
		w.t.Fatalf("a sequence within its limits: %v", err)
	}
	for i := range n {
		w.next++
		s.marks = append(s.marks, w.next)
		for layer, l := range w.p.geo.Layers {
			if l.Holds() {
				run := s.Run(layer, 0, n)
				pos := run.Pos + i
				page := run.Pages[pos/l.BlockTokens-run.FirstBlock]
				w.p.stream.Write(page.At(l.KAt(pos%l.BlockTokens, 0), 1), []byte{w.next})
			}
			if l.State > 0 {
				w.p.stream.Write(s.State(layer, 0, n, 0, l.State).To.At(0, 1), []byte{w.next})
			}
		}
	}
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = int32(s.marks[s.Len()+i])
	}
	s.Advance(tokens)
}

func (w *world) truncate(s *written) {
	n, before := rapid.IntRange(0, s.Len()).Draw(w.t, "n"), s.Len()
	if err := s.Truncate(n); err != nil {
		if s.Len() != before {
			w.t.Fatal("a refused cut changed the sequence")
		}
		return
	}
	s.marks = s.marks[:n]
}

func (w *world) check() {
	refs, blocks := map[*slot]int{}, map[*block]int{}
	for _, s := range w.seqs {
		for _, b := range s.blocks {
			blocks[b]++
		}
		for layer, l := range w.p.geo.Layers {
			for _, slot := range s.layers[layer].slots {
				refs[slot]++
			}
			if l.Holds() {
				w.marks(s, layer)
			}
			if l.State > 0 && s.Len() > 0 {
				w.mark(s.states[0].At(l.stateAt, 1), s.marks[s.Len()-1])
			}
		}
		for _, state := range s.states {
			if state != nil {
				refs[state]++
			}
		}
	}
	var used int64
	for slot, n := range refs {
		if slot.refs != n {
			w.t.Fatalf("a slot counts %d references and has %d", slot.refs, n)
		}
		used += slot.N
	}
	for b, n := range blocks {
		if b.Users != n {
			w.t.Fatalf("block %d counts %d users and has %d", b.id, b.Users, n)
		}
		used += w.p.geo.BlockBytes()
	}
	if w.p.Used() != used || used > w.p.Capacity() {
		w.t.Fatalf("used %d, counted %d, capacity %d", w.p.Used(), used, w.p.Capacity())
	}
}

// marks checks what the next token would see of a layer.
func (w *world) marks(s *written, layer int) {
	l, list := w.p.geo.Layers[layer], s.layers[layer]
	oldest := 0
	if l.Window > 0 {
		oldest = max(0, s.Len()-l.Window+1)
	}
	for pos := oldest; pos < s.Len(); pos++ {
		at := l.KAt(pos%l.BlockTokens, 0)
		if l.Window > 0 {
			w.mark(list.pages[pos/l.BlockTokens-list.first].At(at, 1), s.marks[pos])
		} else {
			w.mark(s.blocks[pos/l.BlockTokens].hot.At(l.blockAt+at, 1), s.marks[pos])
		}
	}
}

func (w *world) mark(at compute.Span, want byte) {
	var got [1]byte
	if err := w.p.stream.Read(got[:], at); err != nil || got[0] != want {
		w.t.Fatalf("read mark %d, wrote %d (%v)", got[0], want, err)
	}
}

func TestFull(t *testing.T) {
	g, err := NewGeometry(repeat(2, Shape{Heads: 1, KDim: 8, VDim: 8}), tensor.F16, tensor.F16, 4)
	if err != nil {
		t.Fatal(err)
	}
	p := newPool(t, g, 8, 4, 1)
	s, other := p.NewSequence(), p.NewSequence()
	if err := s.Reserve(8); err != nil {
		t.Fatal(err)
	}
	s.Advance(make([]int32, 8))
	if err := other.Reserve(1); !errors.Is(err, ErrFull) {
		t.Fatalf("got %v, want ErrFull", err)
	}
	s.Free()
	if err := other.Reserve(8); err != nil {
		t.Fatalf("after freeing: %v", err)
	}
	if err := p.Close(); err != nil || p.Used() != 0 {
		t.Fatal(err, p.Used())
	}
}

func TestTruncateBehindWindow(t *testing.T) {
	g, err := NewGeometry(repeat(1, Shape{Heads: 1, KDim: 8, VDim: 8, Window: 6}), tensor.F16, tensor.F16, 4)
	if err != nil {
		t.Fatal(err)
	}
	s := newPool(t, g, 64, 8, 1).NewSequence()
	for range 8 {
		if err := s.Reserve(4); err != nil {
			t.Fatal(err)
		}
		s.Advance(make([]int32, 4))
	}
	if err := s.Truncate(31); err != nil {
		t.Errorf("one token back: %v", err)
	}
	if err := s.Truncate(12); err == nil {
		t.Error("cut to 12 although the window before it is gone")
	}
	if err := s.Truncate(0); err != nil {
		t.Errorf("start over: %v", err)
	}
	for _, n := range []int{-1, 1} {
		if err := s.Truncate(n); err == nil {
			t.Errorf("cut an empty sequence to %d", n)
		}
	}
}

// TestUsersShareNothing: what one user's sequence holds, another's does not
// find, while the same user's does.
func TestUsersShareNothing(t *testing.T) {
	g, err := NewGeometry(repeat(1, Shape{Heads: 1, KDim: 8, VDim: 8}), tensor.F16, tensor.F16, 4)
	if err != nil {
		t.Fatal(err)
	}
	p := newPool(t, g, 64, 16, 4)
	tokens := []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	alice := p.NewSequenceFor("alice", nil)
	if err := alice.Reserve(12); err != nil {
		t.Fatal(err)
	}
	alice.Advance(tokens)
	for range 2 { // while the sequence is there, and afterwards
		for user, want := range map[string]int{"alice": 12, "bob": 0, "": 0} {
			if n := p.NewSequenceFor(user, nil).Known(tokens); n != want {
				t.Errorf("user %q finds %d tokens, want %d", user, n, want)
			}
		}
		if n := p.NewSequence().Known(tokens); n != 0 {
			t.Errorf("the default user finds %d tokens", n)
		}
		alice.Free()
	}
}
