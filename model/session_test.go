package model

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"gorun/demo"
	"gorun/model/sample"
)

func openDemo(t *testing.T, o Options) *Model {
	t.Helper()
	f, err := demo.Open()
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(context.Background(), f, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// write collects a generation.
func write(t *testing.T, s *Session, prompt []int32, g Generation) (text string, ids []int32, end Finish) {
	t.Helper()
	for token, err := range s.Generate(context.Background(), prompt, g) {
		if err != nil {
			t.Fatal(err)
		}
		if end != "" {
			t.Fatalf("a token after the end: %+v", token)
		}
		text, ids, end = text+token.Text, append(ids, token.ID), token.Finish
	}
	return text, ids, end
}

func TestSessionReusesPrefix(t *testing.T) {
	m := openDemo(t, Options{Sequences: 2, Batch: 16})
	prompt, err := m.Prompt("The Scarecrow and the Tin Woodman walked along the road of yellow brick, and")
	if err != nil {
		t.Fatal(err)
	}
	fresh := func(prompt []int32) []int32 {
		s := m.NewSession()
		defer s.Close()
		_, ids, _ := write(t, s, prompt, Generation{MaxTokens: 12})
		return ids
	}
	s := m.NewSession()
	defer s.Close()
	for _, c := range []struct {
		name   string
		prompt []int32
		most   int // tokens that may be computed
	}{
		{"first", prompt, len(prompt)},
		{"same again", prompt, 1},
		{"shorter", prompt[:10], 1},
		{"diverging", append(slices.Clone(prompt[:8]), 340, 46), 2},
		{"other", []int32{340}, 1},
		{"grown", append([]int32{340}, fresh([]int32{340})[:11]...), 2},
	} {
		computed := -1
		_, ids, _ := write(t, s, c.prompt, Generation{MaxTokens: 12, Progress: func(done, total int) {
			if computed < 0 {
				computed = total - done
			}
		}})
		if want := fresh(c.prompt); !slices.Equal(ids, want) {
			t.Errorf("%s: %v, a fresh session gives %v", c.name, ids, want)
		}
		if computed > c.most {
			t.Errorf("%s: computed %d tokens, %d should do", c.name, computed, c.most)
		}
	}
}

func TestSessionOnRecurrentModel(t *testing.T) {
	// The golden has no vocabulary, so drive the session below Generate.
	g := loadGolden(t, "qwen35.q8_0")
	m := openGolden(t, g, cpuDevice(t, 2), 2)
	next := func(s *Session, prompt []int32) int32 {
		chain, err := sample.New(sample.Params{}, m.Spec().Vocab, nil)
		if err != nil {
			t.Fatal(err)
		}
		token, err := s.feed(context.Background(), prompt, chain, nil)
		if err != nil {
			t.Fatal(err)
		}
		return token.ID
	}
	s := m.NewSession()
	defer s.Close()
	for _, n := range []int{50, 60, 20, 96} {
		fresh := m.NewSession()
		if got, want := next(s, g.tokens[:n]), next(fresh, g.tokens[:n]); got != want {
			t.Errorf("after %d tokens: %d, a fresh session gives %d", n, got, want)
		}
		fresh.Close()
	}
}

func TestGenerationEnds(t *testing.T) {
	m := openDemo(t, Options{Context: 64})
	s := m.NewSession()
	defer s.Close()
	prompt, err := m.Prompt("Dorothy")
	if err != nil {
		t.Fatal(err)
	}
	full, ids, end := write(t, s, prompt, Generation{})
	if end != FinishContext || len(ids)+len(prompt) != 65 {
		t.Errorf("context: %q after %d tokens", end, len(ids))
	}
	if _, ids, end := write(t, s, prompt, Generation{MaxTokens: 5}); end != FinishLength || len(ids) != 5 {
		t.Errorf("length: %q after %d tokens", end, len(ids))
	}
	for _, stop := range []string{"Munchkins", " straight to", "quite as the Munchkins, and"} {
		text, _, end := write(t, s, prompt, Generation{Stop: []string{"never", stop}})
		if want := full[:strings.Index(full, stop)]; end != FinishStop || text != want {
			t.Errorf("stop at %q: %q, want %q (%q)", stop, text, want, end)
		}
	}
	tok, err := m.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	eos, _ := tok.EOS()
	bias := Generation{Sampling: sample.Params{LogitBias: map[int32]float32{eos: 1000}}}
	if text, ids, end := write(t, s, prompt, bias); end != FinishStop || text != "" || len(ids) != 1 {
		t.Errorf("end of text: %q, %q after %d tokens", text, end, len(ids))
	}
}

func TestGenerationErrors(t *testing.T) {
	m := openDemo(t, Options{Context: 32})
	s := m.NewSession()
	defer s.Close()
	first := func(ctx context.Context, prompt []int32, g Generation) error {
		for _, err := range s.Generate(ctx, prompt, g) {
			return err
		}
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		ctx    context.Context
		prompt []int32
		params sample.Params
		want   error
	}{
		"no tokens":       {context.Background(), nil, sample.Params{}, nil},
		"unknown token":   {context.Background(), []int32{9999}, sample.Params{}, nil},
		"too long":        {context.Background(), make([]int32, 33), sample.Params{}, ErrContext},
		"cancelled":       {ctx, []int32{340}, sample.Params{}, context.Canceled},
		"bad temperature": {context.Background(), []int32{340}, sample.Params{Temperature: -1}, nil},
	} {
		err := first(c.ctx, c.prompt, Generation{Sampling: c.params})
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, ids, _ := write(t, s, []int32{340}, Generation{MaxTokens: 3}); len(ids) != 3 {
		t.Error("the session does not go on after errors")
	}
}

func TestPlanFits(t *testing.T) {
	f, err := demo.Open()
	if err != nil {
		t.Fatal(err)
	}
	whole, err := NewPlan(f, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if whole.Options.Context != 512 || whole.Check() != nil {
		t.Errorf("%+v", whole.Options)
	}
	tight, err := NewPlan(f, Options{Memory: 1 << 20})
	if err != nil || !errors.Is(tight.Check(), ErrMemory) {
		t.Errorf("1 MiB: %v, %v", err, tight.Check())
	}
	if _, err := tight.Load(context.Background(), f); !errors.Is(err, ErrMemory) {
		t.Errorf("loading what does not fit: %v", err)
	}
	for _, o := range []Options{{Context: -1}, {Batch: 1 << 30}, {Weights: "nowhere"}, {KVBlock: 5}} {
		if _, err := NewPlan(f, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}
