package perplexity

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gorun/model"
)

func TestMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-50, 50), 2, 40).Draw(t, "values")
		var m Mean
		sum := 0.0
		for _, v := range values {
			m.Add(v)
			sum += v
		}
		mean, n := sum/float64(len(values)), float64(len(values))
		variance := 0.0
		for _, v := range values {
			variance += (v - mean) * (v - mean) / n
		}
		if math.Abs(m.Value()-mean) > 1e-9 || math.Abs(m.Error()-math.Sqrt(variance/(n-1))) > 1e-6 || m.N() != len(values) {
			t.Fatalf("mean %v ± %v, want %v ± %v", m.Value(), m.Error(), mean, math.Sqrt(variance/(n-1)))
		}
	})
}

func TestLogLoss(t *testing.T) {
	logits := []float32{1, 2, 3, 200}
	if got := LogLoss(logits, 3); math.Abs(got) > 1e-12 {
		t.Errorf("loss of a certain token: %v", got)
	}
	if got := LogLoss(logits, 0); math.Abs(got-199) > 1e-12 {
		t.Errorf("loss: %v, want 199", got)
	}
}

// random makes logits of several predictions.
func random(seed uint64, rows, vocab int) [][]float32 {
	r := rand.New(rand.NewPCG(seed, 3))
	all := make([][]float32, rows)
	for i := range all {
		for range vocab {
			all[i] = append(all[i], float32(3*r.NormFloat64()))
		}
	}
	return all
}

func TestBaseFile(t *testing.T) {
	for _, vocab := range []int{1, 2, 7, 300} {
		c := Chunks{Size: 6, Tokens: make([]int32, 12)}
		for i := range c.Tokens {
			c.Tokens[i] = int32(i % vocab)
		}
		logits := random(uint64(vocab), c.Len()*c.Scored(), vocab)
		var file bytes.Buffer
		w, err := NewBaseWriter(&file, c, vocab)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range logits {
			if err := w.Add(l); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		whole := file.Bytes()
		r, err := NewBaseReader(bytes.NewReader(whole), int64(len(whole)))
		if err != nil {
			t.Fatal(err)
		}
		if r.Size != 6 || r.Vocab != vocab || !slices.Equal(r.Tokens, c.Tokens) {
			t.Fatalf("read back %+v", r.Chunks)
		}
		for i, l := range logits {
			got, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			for token, g := range got {
				if want := -LogLoss(l, int32(token)); math.Abs(g-want) > 16.0/65535 && l[token] > slices.Max(l)-maxDepth {
					t.Fatalf("prediction %d, token %d: %v, want %v", i, token, g, want)
				}
			}
		}
		if _, err := r.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("past the end: %v", err)
		}
		for n := range whole {
			if _, err := NewBaseReader(bytes.NewReader(whole[:n]), int64(n)); err == nil {
				t.Fatalf("a file cut to %d of %d bytes opened", n, len(whole))
			}
		}
	}
}

func TestDivergence(t *testing.T) {
	const vocab = 20
	var d Divergence
	var direct float64
	p, q := random(1, 50, vocab), random(2, 50, vocab)
	agree := 0
	for i := range p {
		base := make([]float64, vocab)
		for j := range base {
			base[j] = -LogLoss(p[i], int32(j))
			direct += math.Exp(base[j]) * (base[j] + LogLoss(q[i], int32(j)))
		}
		if slices.Index(p[i], slices.Max(p[i])) == slices.Index(q[i], slices.Max(q[i])) {
			agree++
		}
		d.Add(base, q[i], int32(i%vocab))
	}
	s := d.Summary()
	if math.Abs(s.MeanKL-direct/50) > 1e-9 || s.Predictions != 50 || s.Top1 != float64(agree)/50 {
		t.Errorf("%+v, want mean %v, agreement %d of 50", s, direct/50, agree)
	}
	if !(s.MedianKL <= s.P99KL && s.P99KL <= s.MaxKL && s.MedianKL > 0) {
		t.Errorf("%+v", s)
	}
	if got := new(Divergence).Summary().Predictions; got != 0 {
		t.Errorf("nothing has %d predictions", got)
	}
}

// TestPublishedFigures computes figures that llama-perplexity printed, on the
// fast path; both round activations, each in its way.
func TestPublishedFigures(t *testing.T) {
	text, err := os.ReadFile("../../shared/data/text/tinystories-ascii-330k.txt")
	if err != nil {
		t.Skip("no texts in ../shared/data/text")
	}
	if testing.Short() {
		t.Skip("takes some seconds for each model; run without -short")
	}
	for file, c := range map[string]struct{ want, within float64 }{
		"F16": {3.7926, 0.0005}, "Q4_K_M": {4.0180, 0.005}, "IQ4_XS": {4.0603, 0.005}, "IQ3_S": {6.0974, 0.02},
	} {
		t.Run(file, func(t *testing.T) {
			loss := figure(t, "../../shared/data/models/stories260K-wide256-dense-"+file+".gguf", string(text))
			if got, e := loss.Perplexity(); !(math.Abs(got-c.want) <= c.within*c.want) || loss.N() != 64*127 || !(e > 0 && e < 0.03*got) {
				t.Errorf("perplexity %.4f ± %.4f over %d predictions, want %.4f", got, e, loss.N(), c.want)
			}
		})
	}
}

// figure is the loss over the first 64 chunks of 256 tokens.
func figure(t *testing.T, path, text string) *Mean {
	m, err := model.Open(context.Background(), path, model.Options{Context: 256})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	tok, err := m.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Cut(tok, text, 256, 64)
	if err != nil {
		t.Fatal(err)
	}
	loss := &Mean{}
	err = Run(context.Background(), m, c, func(_, _ int, logits []float32, next int32) error {
		loss.Add(LogLoss(logits, next))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return loss
}

func TestCut(t *testing.T) {
	if _, err := Cut(nil, "", 3, 0); err == nil {
		t.Error("chunks of 3 tokens")
	}
}
