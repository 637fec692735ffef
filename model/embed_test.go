package model

import (
	"context"
	"math"
	"testing"

	"gorun/model/tokenizer"
)

func TestEmbed(t *testing.T) {
	m := openDemo(t, Options{Reference: true, Batch: 5})
	tok, err := m.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	ids, err := tok.Encode("The Tin Woodman wept.", tokenizer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	embed := func(ids []int32, p Pooling, normalize bool) []float32 {
		v, err := m.Embed(context.Background(), ids, p, normalize)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	// The last state of each prefix is the state at its end.
	sum := make([]float64, m.Spec().Width)
	for n := range ids {
		last := embed(ids[:n+1], PoolLast, false)
		for i, v := range last {
			sum[i] += float64(v)
		}
		if n == 0 {
			if d := differ(embed(ids, PoolFirst, false), last); d != "" {
				t.Errorf("first: %s", d)
			}
		}
	}
	mean, unit := embed(ids, PoolDefault, false), embed(ids, PoolMean, true)
	length := 0.0
	for i, s := range sum {
		if want := s / float64(len(ids)); math.Abs(float64(mean[i])-want) > 1e-6*(1+math.Abs(want)) {
			t.Fatalf("mean %d: %v, want %v", i, mean[i], want)
		}
		length += float64(unit[i]) * float64(unit[i])
	}
	if math.Abs(length-1) > 1e-6 {
		t.Errorf("normalized to a square of %v", length)
	}
	for _, c := range []struct {
		ids []int32
		p   Pooling
	}{{nil, PoolMean}, {ids, 9}, {[]int32{-1}, PoolMean}} {
		if _, err := m.Embed(context.Background(), c.ids, c.p, false); err == nil {
			t.Errorf("%v, pooling %d: no error", c.ids, c.p)
		}
	}
}
