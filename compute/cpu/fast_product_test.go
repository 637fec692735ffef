package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gorun/compute"
	"gorun/tensor"
	"gorun/tensor/gemm"
)

// layerOfExperts is products side by side: each row goes through some experts,
// of several types and sizes, and its results to slots of its own.
type layerOfExperts struct {
	cols, width int
	experts     []compute.Page
	weights     [][]byte
	x           []float32
	rows        []compute.Rows
	slots       int
}

func newLayerOfExperts(r *rand.Rand, batch int) *layerOfExperts {
	l := &layerOfExperts{cols: 256, width: 72, x: normal(r, batch*256)}
	used, types := 3, []tensor.Type{tensor.Q4_0, tensor.Q4_K, tensor.F16, tensor.Q8_0, tensor.Q4_0, tensor.IQ4_NL}
	for i, t := range types {
		rows := []int{72, 40, 16, 5, 72, 33}[i]
		bytes, err := t.RowSize(int64(l.cols))
		if err != nil {
			panic(err)
		}
		w := make([]byte, rows*int(bytes))
		if err := tensor.Quantize(t, w, normal(r, rows*l.cols)); err != nil {
			panic(err)
		}
		l.weights = append(l.weights, w)
		l.experts = append(l.experts, compute.Page{Type: t, Rows: rows, Cols: l.cols})
	}
	l.rows = make([]compute.Rows, len(types))
	for row := range batch {
		for _, e := range r.Perm(len(types))[:used] {
			l.rows[e].From = append(l.rows[e].From, int32(row))
			l.rows[e].To = append(l.rows[e].To, int32(l.slots))
			l.slots++
		}
	}
	return l
}

// products are those of experts that have rows, with the result that they go to.
func (l *layerOfExperts) products(b *bench) ([]compute.Product, compute.Matrix) {
	dst := b.matrix(l.slots, l.width, make([]float32, l.slots*l.width))
	x := b.matrix(len(l.x)/l.cols, l.cols, l.x)
	var list []compute.Product
	for i, w := range l.experts {
		if len(l.rows[i].From) > 0 {
			w.Data = b.span(l.weights[i])
			list = append(list, compute.Product{Dst: dst, W: w, X: x, Rows: l.rows[i]})
		}
	}
	return list, dst
}

// one is every product of one row alone, on one thread of the generic kernels.
func (l *layerOfExperts) one(t *testing.T) []float32 {
	if err := gemm.Sets.Select("generic"); err != nil {
		t.Fatal(err)
	}
	b := newFastBench(t, 1, compute.Work{Rows: 1, Cols: l.cols})
	defer b.close()
	list, dst := l.products(b)
	for _, p := range list {
		from, to := p.Rows.From, p.Rows.To
		for i := range from {
			p.Rows = compute.Rows{From: from[i : i+1], To: to[i : i+1]}
			b.s.MatMul(p)
		}
	}
	return b.read(dst)
}

// TestProductsSideBySide wants the bits that each product has alone, row by
// row, of every kernel set and number of threads, whatever memory there is for
// activations.
func TestProductsSideBySide(t *testing.T) {
	best := gemm.Sets.Current().Name()
	defer gemm.Sets.Select(best)
	for _, batch := range []int{1, 2, 7, 32, 512} {
		l := newLayerOfExperts(rand.New(rand.NewPCG(uint64(batch), 5)), batch)
		want := l.one(t)
		for _, set := range gemm.Sets.All() {
			if err := gemm.Sets.Select(set.Name()); err != nil {
				t.Fatal(err)
			}
			for _, threads := range []int{1, 2, 3, 8} {
				b := newFastBench(t, threads, compute.Work{Rows: batch, Cols: l.cols})
				list, dst := l.products(b)
				for range 3 { // then what follows is foretold
					b.s.MatMul(list...)
				}
				same(t, fmt.Sprintf("%d rows, %s, %d threads", batch, set.Name(), threads), b.read(dst), want)
				b.close()
			}
		}
	}
}

// TestProductsInAnyOrder draws products with inputs in common and of their own,
// and wants what the reference gives, nearly, each page released once.
func TestProductsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, n := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 7).Draw(t, "products")
		run := func(b *bench) (results []float32) {
			defer b.close()
			r := rand.New(rand.NewPCG(seed, 6))
			const most = 9
			inputs := []compute.Matrix{b.matrix(most, 40, normal(r, most*40)), b.matrix(4, 70, normal(r, 4*70))}
			released := 0
			var list []compute.Product
			var outs []compute.Matrix
			for range n {
				x := inputs[r.IntN(2)]
				rows, first := r.IntN(50), r.IntN(3)
				p := compute.Product{X: x, W: compute.Page{
					Data: b.span(asBytes(normal(r, (1+rows)*x.Cols))), Type: tensor.F32, First: first, Rows: 1 + rows, Cols: x.Cols, Hold: counter{&released},
				}}
				count := x.Rows
				if r.IntN(2) == 0 {
					count = r.IntN(2 * x.Rows)
					p.Rows.From = []int32{}
					for range count {
						p.Rows.From = append(p.Rows.From, int32(r.IntN(x.Rows)))
					}
				}
				p.Dst = b.matrix(count+1, first+1+rows+2, make([]float32, (count+1)*(first+1+rows+2)))
				if r.IntN(2) == 0 {
					for _, to := range r.Perm(count + 1)[:count] {
						p.Rows.To = append(p.Rows.To, int32(to))
					}
				}
				list, outs = append(list, p), append(outs, p.Dst)
			}
			b.s.MatMul(list...)
			if released != n {
				t.Fatalf("%d of %d pages were released", released, n)
			}
			for _, m := range outs {
				results = slices.Concat(results, b.read(m))
			}
			return results
		}
		want := run(newBench(t, 1))
		rows := rapid.IntRange(18, 60).Draw(t, "rows that there is memory for") // one product has up to twice nine
		threads := rapid.IntRange(1, 3).Draw(t, "threads")
		close32(t, "products", run(newFastBench(t, threads, compute.Work{Rows: rows, Cols: 40})), want, 1e-4)
	})
}
