package model

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Pooling makes one vector of the hidden states of a text's tokens.
type Pooling int

// The ways of pooling, numbered as in GGUF's pooling_type.
const (
	PoolDefault Pooling = 0 // what the file asks for, or the mean
	PoolMean    Pooling = 1
	PoolFirst   Pooling = 2 // "cls"
	PoolLast    Pooling = 3
)

// Embed makes a vector of Width values of a text: the pooled hidden states
// after the last norm, brought to length one if normalize is set.
func (m *Model) Embed(ctx context.Context, tokens []int32, pooling Pooling, normalize bool) ([]float32, error) {
	if len(tokens) == 0 {
		return nil, errors.New("an embedding of no tokens")
	}
	if pooling == PoolDefault {
		n, ok, err := m.file.Metadata().Uint(m.Spec().Arch + ".pooling_type")
		if err != nil {
			return nil, err
		}
		if pooling = PoolMean; ok && n != 0 {
			pooling = Pooling(n)
		}
	}
	if pooling < PoolMean || pooling > PoolLast {
		return nil, fmt.Errorf("pooling %d is not supported: want mean (1), first (2) or last (3)", pooling)
	}
	seq := m.NewSequence()
	defer seq.Free()
	sum := make([]float64, m.Spec().Width)
	err := m.Forward(ctx, []Run{{Seq: seq, Tokens: tokens, Want: AllHidden}}, func(_, i int, hidden []float32) error {
		if pooling == PoolMean || pooling == PoolFirst && i == 0 || pooling == PoolLast && i == len(tokens)-1 {
			for j, v := range hidden {
				sum[j] += float64(v)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	scale := 1.0
	if pooling == PoolMean {
		scale = 1 / float64(len(tokens))
	}
	if normalize {
		square := 0.0
		for _, v := range sum {
			square += v * v
		}
		if square > 0 {
			scale = 1 / math.Sqrt(square)
		}
	}
	vector := make([]float32, len(sum))
	for i, v := range sum {
		vector[i] = float32(v * scale)
	}
	return vector, nil
}
