package synth

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorun/tensor"
)

func TestPopularity(t *testing.T) {
	for _, c := range []struct {
		count, used    int
		exponent, most float64
	}{{128, 8, 1, 0.45}, {256, 8, 0.7, 0.97}, {32, 4, 1.5, 0.97}, {8, 2, 1, 0.45}, {512, 10, 0.1, 0.45}} {
		p := popularity(c.count, c.used, c.exponent, c.most)
		sum := 0.0
		for i, x := range p {
			sum += x
			if i > 0 && p[i-1] < c.most {
				if want := math.Pow(float64(i+1)/float64(i), -c.exponent); math.Abs(x/p[i-1]-want) > 1e-9 {
					t.Fatalf("%+v: rank %d is %g of the one before, not %g", c, i, x/p[i-1], want)
				}
			}
		}
		if math.Abs(sum-float64(c.used)) > 1e-6 || p[0] > c.most {
			t.Errorf("%+v: %g in all, %g for the first", c, sum, p[0])
		}
	}
	if p := popularity(4, 4, 1, 0.45); p[0] != 0.45 || p[3] != 0.45 {
		t.Errorf("all used: %v", p)
	}
}

// routed runs a router on random inputs and returns how often each expert was
// chosen, the most popular first.
func routed(t *testing.T, like string, routing Routing, sigmoid bool) []float64 {
	t.Helper()
	m, err := New(Options{Like: like, Type: tensor.Q4_K, Layers: 4, Routing: routing})
	if err != nil {
		t.Fatal(err)
	}
	b, e := m.builder, m.builder.shape.experts
	values := map[string][]float32{}
	for _, x := range b.tensors {
		if x.values != nil {
			list := make([]float32, x.Elements())
			x.values(rand.New(b.random(x.Name, 0)), list)
			values[x.Name] = list
		}
	}
	weights := values["blk.3.ffn_gate_inp.weight"]
	logitBias, choiceBias := values["blk.3.ffn_gate_inp.bias"], values["blk.3.exp_probs_b.bias"]
	const tokens = 500
	random := rand.New(rand.NewPCG(1, 2))
	width := b.shape.width
	x, scores, order := make([]float32, width), make([]float64, e.count), make([]int, e.count)
	counts := make([]float64, e.count)
	for range tokens {
		normal(0, 1)(random, x)
		for j := range scores {
			var z float32
			for i, w := range weights[j*width:][:width] {
				z += w * x[i]
			}
			order[j], scores[j] = j, float64(z)
			if logitBias != nil {
				scores[j] += float64(logitBias[j])
			}
			if sigmoid {
				scores[j] = 1/(1+math.Exp(-scores[j])) + float64(choiceBias[j])
			}
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
		for _, j := range order[:e.used] {
			counts[j]++
		}
	}
	slices.SortFunc(counts, func(a, b float64) int { return cmp.Compare(b, a) })
	for i := range counts {
		counts[i] /= tokens
	}
	return counts
}

// TestZipf measures the popularity of experts against what was asked for.
func TestZipf(t *testing.T) {
	for _, c := range []struct {
		like    string
		by      choice
		sigmoid bool
	}{
		{"qwen3-30b-a3b", byScale, false},
		{"gpt-oss-20b", byLogitBias, false},
		{"minimax-m2-229b", byChoiceBias, true},
	} {
		even := routed(t, c.like, Routing{}, c.sigmoid)
		got := routed(t, c.like, Routing{1}, c.sigmoid)
		used, count := 0.0, len(got)
		for _, p := range got {
			used += p
		}
		want := popularity(count, int(math.Round(used)), 1, c.by.most())
		head := count / 8
		sum := func(list []float64) (n float64) {
			for _, p := range list[:head] {
				n += p
			}
			return n / used
		}
		t.Logf("%s: the first eighth of experts has %.2f of all choices, wanted %.2f, without routing %.2f", c.like, sum(got), sum(want), sum(even))
		if math.Abs(sum(got)-sum(want)) > 0.08 || sum(even) > 0.3 {
			t.Errorf("%s: %.2f of all choices, wanted %.2f, without routing %.2f", c.like, sum(got), sum(want), sum(even))
		}
		// The slope in a double logarithmic plot, where shares are neither
		// cut off nor rare.
		low, high := count/8, count/2
		slope := math.Log(got[low]/got[high]) / math.Log(float64(high+1)/float64(low+1))
		if !(slope > 0.7 && slope < 1.5) {
			t.Errorf("%s: slope %.2f", c.like, slope)
		}
	}
}

func TestRoutingText(t *testing.T) {
	var r Routing
	if err := r.UnmarshalText([]byte("zipf:1.25")); err != nil || r.Exponent != 1.25 {
		t.Errorf("%v, %v", r, err)
	}
	for _, text := range []string{"", "zipf", "zipf:", "zipf:x", "zipf:-1", "zipf:NaN", "zipf:1e9", "1"} {
		if err := r.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
