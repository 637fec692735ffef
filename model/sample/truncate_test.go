package sample

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// loaded returns the candidates of all logits.
func loaded(t rapid.TB, logits []float32) *candidates {
	t.Helper()
	c := new(candidates)
	if err := c.load(logits, nil, 0); err != nil {
		t.Fatal(err)
	}
	return c
}

// ids returns the ids that are left, ascending.
func (c *candidates) ids() []int {
	var ids []int
	for _, d := range c.list {
		ids = append(ids, int(d.id))
	}
	slices.Sort(ids)
	return ids
}

func idsOf(l []float64) []int {
	ids := refOrder(l, func(int) float64 { return 0 })
	return ids
}

// drawSource lets rapid choose the seed of continuous random numbers.
func drawSource(t *rapid.T) *rand.Rand {
	return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
}

// Each step drops what its definition drops, whether it comes first or after
// another one.
func TestTruncationIsAsDefined(t *testing.T) {
	steps := []struct {
		name  string
		apply func(c *candidates, x float64)
		ref   func(l []float64, x float64) []float64
		scale float64 // x is from 0 to scale
	}{
		{"top-k", func(c *candidates, x float64) { c.topK(1 + int(x)) },
			func(l []float64, x float64) []float64 { return refTopK(l, 1+int(x)) }, 50},
		{"top-p", (*candidates).topP, refTopP, 1},
		{"min-p", (*candidates).minP, refMinP, 1},
		{"typical", (*candidates).typical, refTypical, 1},
		{"top-n-sigma", (*candidates).topNSigma, refTopNSigma, 3},
		{"xtc", (*candidates).xtc, refXTC, 0.6},
		{"mirostat 1", func(c *candidates, x float64) {
			m := mirostat{Mirostat{Version: 1}, int(c.list[len(c.list)-1].id) + 1, x}
			m.truncate(c)
		}, nil, 12},
		{"mirostat 2", func(c *candidates, x float64) {
			m := mirostat{Mirostat{Version: 2}, 0, x}
			m.truncate(c)
		}, refMirostat2, 12},
	}
	for _, first := range steps {
		t.Run(first.name, rapid.MakeCheck(func(t *rapid.T) {
			r := drawSource(t)
			logits := normalLogits(r, rapid.IntRange(2, 300).Draw(t, "vocabulary"))
			logits[len(logits)-1] = 0 // the size of the vocabulary shows in the last id
			c, l := loaded(t, logits), widen(logits)
			x := r.Float64() * first.scale
			first.apply(c, x)
			if first.ref == nil {
				l = refMirostat1(l, x)
			} else {
				l = first.ref(l, x)
			}
			if got, want := c.ids(), idsOf(l); !slices.Equal(got, want) {
				t.Fatalf("%s(%v) keeps %v; want %v", first.name, x, got, want)
			}
			second := rapid.SampledFrom(steps[:6]).Draw(t, "then")
			y := r.Float64() * second.scale
			second.apply(c, y)
			l = second.ref(l, y)
			if got, want := c.ids(), idsOf(l); !slices.Equal(got, want) {
				t.Fatalf("%s(%v) after %s(%v) keeps %v; want %v", second.name, y, first.name, x, got, want)
			}
		}))
	}
}

// With many equal logits the lowest ids win, and no step drops everything.
func TestTruncationOfTies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		level := rapid.Custom(func(t *rapid.T) float32 { return float32(rapid.IntRange(-2, 2).Draw(t, "level")) })
		logits := rapid.SliceOfN(level, 1, 60).Draw(t, "logits")
		n := rapid.IntRange(1, 60).Draw(t, "k")
		c := loaded(t, logits)
		c.topK(n)
		if got, want := c.ids(), idsOf(refTopK(widen(logits), n)); !slices.Equal(got, want) {
			t.Fatalf("top-k %d keeps %v; want %v", n, got, want)
		}
		direct := new(candidates)
		if err := direct.load(logits, nil, n); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(direct.ids(), c.ids()) {
			t.Fatalf("loading the %d largest gives %v; want %v", n, direct.ids(), c.ids())
		}
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		for name, step := range map[string]func(*candidates, float64){
			"top-p": (*candidates).topP, "typical": (*candidates).typical, "min-p": (*candidates).minP,
			"top-n-sigma": (*candidates).topNSigma, "xtc": (*candidates).xtc,
		} {
			c := loaded(t, logits)
			step(c, p)
			if len(c.list) == 0 {
				t.Fatalf("%s(%v) of %v leaves nothing", name, p, logits)
			}
			// Of equal logits those that stay have the lowest ids; XTC keeps
			// the highest.
			for _, d := range c.list {
				for i := range int(d.id) {
					if name != "xtc" && logits[i] == logits[d.id] && !slices.Contains(c.ids(), i) {
						t.Fatalf("%s(%v) of %v keeps %d but not %d", name, p, logits, d.id, i)
					}
				}
			}
		}
	})
}

// What top-p and typical keep has the mass asked for, and would not have it
// without its last member.
func TestMassIsReachedAndNotExceeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logits := rapid.SliceOfN(rapid.Float32Range(-20, 20), 1, 80).Draw(t, "logits")
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		for _, step := range []func(*candidates, float64){(*candidates).topP, (*candidates).typical} {
			c := loaded(t, logits)
			step(c, p)
			probs, have := refProbs(widen(logits)), 0.0
			for _, d := range c.list[:len(c.list)-1] {
				have += probs[d.id]
			}
			last := c.list[len(c.list)-1].id
			if have >= p+1e-12 || have+probs[last] < p-1e-12 {
				t.Fatalf("%d tokens of mass %v, and one more of %v; want %v", len(c.list)-1, have, probs[last], p)
			}
		}
	})
}

func TestEntropy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logits := normalLogits(drawSource(t), 100)
		got, _ := loaded(t, logits).entropy()
		if want := refEntropy(widen(logits)); math.Abs(got-want) > 1e-12 {
			t.Fatalf("entropy %v; want %v", got, want)
		}
	})
}
