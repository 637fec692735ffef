package kvtier

import (
	"errors"
	"fmt"
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
		{"llama-8b f16", repeat(32, Shape{Heads: 8, KDim: 128, VDim: 128}), tensor.F16, tensor.F16, 0, 16, 32 * 8 * 256 * 2},
		{"one small head", repeat(2, Shape{Heads: 1, KDim: 8, VDim: 8}), tensor.F16, tensor.F16, 0, 256, 2 * 32},
		{"asymmetric", repeat(1, Shape{Heads: 4, KDim: 64, VDim: 64}), tensor.F32, tensor.F16, 0, 64, 4 * 64 * 6},
		{"MLA", repeat(1, Shape{Heads: 1, KDim: 576, VDim: 512, VInK: true}), tensor.F16, tensor.F16, 0, 64, 1152},
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

func device(t interface{ Fatal(...any) }) compute.Device {
	d, err := cpu.New(1)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestPool drives random sequences and checks after every step that no page
// has two owners, that every position a token may see has a page, and that
// counts add up.
func TestPool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const ctx, batch, sequences = 64, 8, 3
		shapes := []Shape{
			{Heads: 2, KDim: 8, VDim: 8}, {State: 100}, {Heads: 2, KDim: 8, VDim: 8, Window: 10},
			{Heads: 1, KDim: 16, VDim: 8, Window: 3}, {Heads: 1, KDim: 24, VDim: 16, VInK: true}, {State: 4},
		}
		g, err := NewGeometry(shapes, tensor.F16, tensor.F32, 4)
		if err != nil {
			t.Fatal(err)
		}
		p := NewPool(device(t), g, ctx, batch, sequences)
		if p.Capacity() != g.PoolBytes(ctx, batch, sequences) {
			t.Fatalf("capacity %d, planned %d", p.Capacity(), g.PoolBytes(ctx, batch, sequences))
		}
		seqs := make([]*Sequence, sequences)
		for i := range seqs {
			seqs[i] = p.NewSequence()
		}
		t.Repeat(map[string]func(*rapid.T){
			"grow": func(t *rapid.T) {
				s := rapid.SampledFrom(seqs).Draw(t, "s")
				n := rapid.IntRange(0, min(batch, ctx-s.Len())).Draw(t, "n")
				if err := s.Reserve(n); err != nil {
					t.Fatalf("a sequence within its limits: %v", err)
				}
				for layer, l := range g.Layers {
					if l.State > 0 {
						run := s.State(layer, 0, n, 0, l.State)
						if run.From == run.To || run.From.N != l.State || run.First != (s.Len() == 0) {
							t.Fatalf("layer %d at %d: state %+v", layer, s.Len(), run)
						}
					}
					if !l.Holds() {
						continue
					}
					run := s.Run(layer, 0, n)
					oldest := max(0, run.Pos-l.Window+1)
					if l.Window == 0 {
						oldest = 0
					}
					have := run.FirstBlock * g.BlockTokens
					if have > oldest || have+len(run.Pages)*g.BlockTokens < run.Pos+n {
						t.Fatalf("layer %d at %d: pages hold [%d, +%d blocks), needs [%d, %d)", layer, run.Pos, have, len(run.Pages), oldest, run.Pos+n)
					}
				}
				s.Advance(n)
			},
			"truncate": func(t *rapid.T) {
				s := rapid.SampledFrom(seqs).Draw(t, "s")
				n := rapid.IntRange(0, s.Len()).Draw(t, "n")
				before := s.Len()
				if err := s.Truncate(n); err != nil {
					if s.Len() != before {
						t.Fatal("a refused cut changed the sequence")
					}
					return
				}
				if s.Len() != n {
					t.Fatalf("cut to %d left %d", n, s.Len())
				}
			},
			"free": func(t *rapid.T) { rapid.SampledFrom(seqs).Draw(t, "s").Free() },
			"": func(t *rapid.T) {
				owners := map[string]int{}
				var used int64
				for i, s := range seqs {
					for _, l := range s.layers {
						for _, page := range l.pages {
							key := fmt.Sprintf("%p+%d", page.Buf, page.Off)
							if other, taken := owners[key]; taken {
								t.Fatalf("page %s belongs to sequences %d and %d", key, other, i)
							}
							owners[key] = i
							used += page.N
						}
					}
					for _, state := range s.states {
						key := fmt.Sprintf("%p+%d", state.Buf, state.Off)
						if other, taken := owners[key]; taken && state.N > 0 {
							t.Fatalf("state %s belongs to sequences %d and %d", key, other, i)
						}
						owners[key] = i
						used += state.N
					}
				}
				if p.Used() != used || used > p.Capacity() {
					t.Fatalf("used %d, counted %d, capacity %d", p.Used(), used, p.Capacity())
				}
			},
		})
	})
}

func TestFull(t *testing.T) {
	g, err := NewGeometry(repeat(2, Shape{Heads: 1, KDim: 8, VDim: 8}), tensor.F16, tensor.F16, 4)
	if err != nil {
		t.Fatal(err)
	}
	p := NewPool(device(t), g, 8, 4, 1)
	s, other := p.NewSequence(), p.NewSequence()
	if err := s.Reserve(8); err != nil {
		t.Fatal(err)
	}
	s.Advance(8)
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
	s := NewPool(device(t), g, 64, 8, 1).NewSequence()
	for range 8 {
		if err := s.Reserve(4); err != nil {
			t.Fatal(err)
		}
		s.Advance(4)
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
