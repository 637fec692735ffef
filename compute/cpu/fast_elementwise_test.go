package cpu

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"gorun/compute"
	"gorun/tensor"
	"gorun/tensor/vec"
)

// TestFastOperations wants of the fast path what the reference gives, nearly,
// and the same bits of every kernel set and number of threads.
func TestFastOperations(t *testing.T) {
	best := vec.Sets.Current().Name()
	defer vec.Sets.Select(best)
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		rows, group, groups := rapid.IntRange(1, 9).Draw(t, "rows"), 2*rapid.IntRange(1, 40).Draw(t, "pairs"), rapid.IntRange(1, 3).Draw(t, "groups")
		cols := group * groups
		scale := rapid.SampledFrom([]float32{1, -0.3}).Draw(t, "scale")
		f := compute.Activation(rapid.IntRange(int(compute.SiLU), int(compute.SquaredReLU)).Draw(t, "activation"))
		limits := compute.Gated{F: f}
		if rapid.Bool().Draw(t, "limits") {
			limits = compute.Gated{F: f, GateLimit: 1, Limit: 0.8, UpLimit: 0.9, UpBias: 1}
		}
		rotation := compute.Rotation{HeadDim: group, Halves: rapid.Bool().Draw(t, "halves")}
		turn := 2 * rapid.IntRange(1, group/2).Draw(t, "turned pairs")
		run := func(b *bench) (results [][]float32) {
			defer b.close()
			r := rand.New(rand.NewPCG(seed, 3))
			m := func(rows, cols int) compute.Matrix { return b.matrix(rows, cols, normal(r, rows*cols)) }
			keep := func(m compute.Matrix) { results = append(results, b.read(m)) }
			x, y, weight, heads := m(rows, cols), m(rows, cols), m(1, group), m(groups, group)
			b.s.Norm(x, x, compute.Norm{Weight: weight, Eps: 1e-5})
			keep(x)
			b.s.Norm(y, x, compute.Norm{Weight: heads, Eps: 1e-5})
			keep(y)
			b.s.AddScaled(x, y, scale)
			keep(x)
			b.s.GatedUnit(y, x, y, limits)
			keep(y)
			b.s.Activate(y, f)
			keep(y)
			b.s.Combine(x, m(3*rows, cols), m(rows, 3))
			keep(x)
			rotation.Table = m(rows, turn)
			b.s.Rotate(x, rotation)
			keep(x)
			return results
		}
		want := run(newBench(t, 1))
		var one [][]float32
		for _, set := range vec.Sets.All() {
			if err := vec.Sets.Select(set.Name()); err != nil {
				t.Fatal(err)
			}
			b := newFastBench(t, rapid.IntRange(1, 3).Draw(t, "threads"), compute.Work{})
			got := run(b)
			if one == nil {
				one = got
			}
			for i := range got {
				close32(t, "fast", got[i], want[i], 1e-5)
				same(t, set.Name(), got[i], one[i])
			}
		}
	})
}

// TestFastDeltaNet is likewise for the recurrence, and cuts the run in two.
func TestFastDeltaNet(t *testing.T) {
	best := vec.Sets.Current().Name()
	defer vec.Sets.Select(best)
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		p := compute.DeltaNet{
			KeyHeads: rapid.IntRange(1, 2).Draw(t, "key heads"), KeyDim: rapid.IntRange(1, 40).Draw(t, "key dim"),
			ValueDim: rapid.IntRange(1, 100).Draw(t, "value dim"), Eps: 1e-6, Grouped: rapid.Bool().Draw(t, "grouped"),
		}
		p.ValueHeads = p.KeyHeads * rapid.IntRange(1, 2).Draw(t, "value heads")
		rows := rapid.IntRange(2, 12).Draw(t, "rows")
		run := func(b *bench, cut int) (results [][]float32) {
			defer b.close()
			r := rand.New(rand.NewPCG(seed, 4))
			m := func(rows, cols int) compute.Matrix { return b.matrix(rows, cols, normal(r, rows*cols)) }
			p.Q, p.K, p.V = m(rows, p.KeyHeads*p.KeyDim), m(rows, p.KeyHeads*p.KeyDim), m(rows, p.ValueHeads*p.ValueDim)
			p.Alpha, p.Beta, p.A, p.DtBias = m(rows, p.ValueHeads), m(rows, p.ValueHeads), m(1, p.ValueHeads), m(1, p.ValueHeads)
			b.s.Activate(p.A, compute.Sigmoid)
			b.s.Scale(p.A, -1)
			states := []compute.Span{b.span(make([]byte, p.StateBytes())), b.span(make([]byte, p.StateBytes()))}
			dst := m(rows, p.ValueHeads*p.ValueDim)
			b.s.DeltaNet(dst, p, []compute.StateRun{{Row: 0, Count: cut, First: true, From: states[0], To: states[1]}})
			b.s.DeltaNet(dst, p, []compute.StateRun{{Row: cut, Count: rows - cut, From: states[1], To: states[0]}})
			state := compute.MatrixOf(states[0], 1, int(states[0].N/4))
			return [][]float32{b.read(dst), b.read(state)}
		}
		want := run(newBench(t, 1), 1)
		var one [][]float32
		for _, set := range vec.Sets.All() {
			if err := vec.Sets.Select(set.Name()); err != nil {
				t.Fatal(err)
			}
			for _, cut := range []int{1, rows - 1} {
				got := run(newFastBench(t, rapid.IntRange(1, 3).Draw(t, "threads"), compute.Work{}), cut)
				if one == nil {
					one = got
				}
				for i := range got {
					close32(t, "fast", got[i], want[i], 1e-4)
					same(t, set.Name(), got[i], one[i])
				}
			}
		}
	})
}

// TestFastConv wants of a convolution, cut anywhere, what the reference gives.
func TestFastConv(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		rows, cols, width := rapid.IntRange(2, 9).Draw(t, "rows"), rapid.IntRange(1, 600).Draw(t, "columns"), rapid.IntRange(2, 5).Draw(t, "width")
		run := func(b *bench, cut int) [][]float32 {
			defer b.close()
			r := rand.New(rand.NewPCG(seed, 6))
			m := func(rows, cols int) compute.Matrix { return b.matrix(rows, cols, normal(r, rows*cols)) }
			x, kernel, dst := m(rows, cols), m(cols, width), m(rows, cols)
			first, last := m(width-1, cols), m(width-1, cols)
			b.s.Conv(dst, x, kernel, []compute.StateRun{{Row: 0, Count: cut, First: true, From: last.Span(), To: first.Span()}})
			b.s.Conv(dst, x, kernel, []compute.StateRun{{Row: cut, Count: rows - cut, From: first.Span(), To: last.Span()}})
			return [][]float32{b.read(dst), b.read(last)}
		}
		want, one := run(newBench(t, 1), 1), run(newFastBench(t, 2, compute.Work{}), rows-1)
		got := run(newFastBench(t, rapid.IntRange(1, 3).Draw(t, "threads"), compute.Work{}), rapid.IntRange(1, rows-1).Draw(t, "cut"))
		for i := range got {
			close32(t, "fast", got[i], want[i], 1e-5)
			same(t, "cut", got[i], one[i])
		}
	})
}

// TestFastStoreKV wants the same bytes as the reference.
func TestFastStoreKV(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, dim := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 50).Draw(t, "dim")
		l, err := compute.NewKVLayout(2, dim, dim, rapid.Bool().Draw(t, "V in K"), tensor.F16, tensor.F16, 4)
		if err != nil {
			t.Fatal(err)
		}
		store := func(b *bench) []byte {
			defer b.close()
			r := rand.New(rand.NewPCG(seed, 5))
			k, v := b.matrix(3, 2*dim, normal(r, 6*dim)), b.matrix(3, 2*dim, normal(r, 6*dim))
			pages := b.span(make([]byte, 2*l.PageBytes()))
			b.s.StoreKV(l, k, v, []compute.KVRun{{
				Row: 0, Count: 3, Pos: 2, Pages: []compute.Span{pages.At(0, l.PageBytes()), pages.At(l.PageBytes(), l.PageBytes())},
			}})
			got := make([]byte, pages.N)
			if err := b.s.Read(got, pages); err != nil {
				b.t.Fatal(err)
			}
			return got
		}
		if string(store(newBench(t, 1))) != string(store(newFastBench(t, 2, compute.Work{}))) {
			t.Fatal("pages differ from the reference's")
		}
	})
}
