package model

import (
	"bufio"
	"context"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gorun/compute"
	"gorun/compute/cpu"
	"gorun/kvtier"
	"gorun/tensor/gemm"
)

// fastDevice is the CPU with its fast kernels.
func fastDevice(t testing.TB, threads int) compute.Device {
	dev, err := cpu.New(threads)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	return dev
}

// divergences is KL(exact, fast) at each position, in nats.
func divergences(exact, fast []float32, vocab int) []float64 {
	var all []float64
	for len(exact) > 0 {
		p, q := logSoftmax(exact[:vocab]), logSoftmax(fast[:vocab])
		kl := 0.0
		for i := range p {
			kl += math.Exp(p[i]) * (p[i] - q[i])
		}
		all = append(all, kl)
		exact, fast = exact[vocab:], fast[vocab:]
	}
	return all
}

func logSoftmax(logits []float32) []float64 {
	top := float64(slices.Max(logits))
	sum := 0.0
	for _, l := range logits {
		sum += math.Exp(float64(l) - top)
	}
	out := make([]float64, len(logits))
	for i, l := range logits {
		out[i] = float64(l) - top - math.Log(sum)
	}
	return out
}

// TestFastDivergence holds the fast path to llama.cpp's own: the file has the
// divergence of its quantized path from the exact logits.
func TestFastDivergence(t *testing.T) {
	file, err := os.Open("../testdata/golden/fast-path-kl.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var name string
		var theirMean, theirMedian float64
		fields := strings.Fields(lines.Text())
		if len(fields) != 4 {
			continue
		}
		name, theirMean, theirMedian = fields[0], number(t, fields[1]), number(t, fields[2])
		t.Run(name, func(t *testing.T) {
			experts := strings.HasSuffix(name, "-experts")
			suffix := ".q8_0"
			if experts {
				suffix = ".q4_0"
			}
			g := loadGolden(t, name+suffix)
			m := openGolden(t, g, fastDevice(t, 2), 1)
			fast := logitsOf(t, m, g.tokens, len(g.tokens))
			kl := divergences(g.want, fast, m.Spec().Vocab)
			mean := 0.0
			for _, v := range kl {
				mean += v / float64(len(kl))
			}
			slices.Sort(kl)
			median := (kl[(len(kl)-1)/2] + kl[len(kl)/2]) / 2
			t.Logf("mean %.3g (llama.cpp %.3g), median %.3g (%.3g)", mean, theirMean, median, theirMedian)
			if experts { // a router's flip is a coin toss
				if median > 1.3*theirMedian || mean > 2*theirMean {
					t.Errorf("mean %.3g, median %.3g; llama.cpp's are %.3g and %.3g", mean, median, theirMean, theirMedian)
				}
			} else if mean > max(1.2*theirMean, 1e-6) {
				t.Errorf("mean %.3g; llama.cpp's is %.3g", mean, theirMean)
			}
			for _, chunk := range []int{1, 7} {
				if d := differ(fast, logitsOf(t, m, g.tokens, chunk)); d != "" {
					t.Errorf("chunks of %d: %s", chunk, d)
				}
			}
		})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

func number(t *testing.T, text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestFastBits wants the same bits of every kernel set and number of threads.
func TestFastBits(t *testing.T) {
	best := gemm.Sets.Current().Name()
	defer gemm.Sets.Select(best)
	for _, name := range []string{"qwen35.q8_0", "deepseek2-experts.q4_0"} {
		g := loadGolden(t, name)
		var want []float32
		for _, set := range gemm.Sets.All() {
			if err := gemm.Sets.Select(set.Name()); err != nil {
				t.Fatal(err)
			}
			for _, threads := range []int{1, 3} {
				got := logitsOf(t, openGolden(t, g, fastDevice(t, threads), 1), g.tokens, 50)
				if want == nil {
					want = got
				}
				if d := differ(got, want); d != "" {
					t.Errorf("%s, %s with %d threads: %s", name, set.Name(), threads, d)
				}
			}
		}
	}
}

// TestInterleaved feeds two sequences of every golden in turn and together,
// and wants of each the bits that it gives alone.
func TestInterleaved(t *testing.T) {
	for _, c := range goldens {
		t.Run(c.name, func(t *testing.T) {
			g := loadGolden(t, c.name)
			m := openGolden(t, g, fastDevice(t, 2), 2)
			other := slices.Clone(g.tokens)
			slices.Reverse(other)
			inputs := [2][]int32{g.tokens, other}
			seqs := [2]*kvtier.Sequence{m.NewSequence(), m.NewSequence()}
			var got [2][]float32
			for len(got[0]) < len(g.want) || len(got[1]) < len(g.want) {
				var runs []Run
				var which []int
				for i, n := range []int{5, 9} {
					rest := inputs[i][seqs[i].Len():]
					if n = min(n, len(rest)); n > 0 {
						runs, which = append(runs, Run{seqs[i], rest[:n], AllLogits}), append(which, i)
					}
				}
				err := m.Forward(context.Background(), runs, func(run, _ int, logits []float32) error {
					got[which[run]] = append(got[which[run]], logits...)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			for i, seq := range seqs {
				seq.Free()
				if d := differ(got[i], logitsOf(t, m, inputs[i], 96)); d != "" {
					t.Errorf("sequence %d: %s", i, d)
				}
			}
		})
	}
}
