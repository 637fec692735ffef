// Package machine measures what a machine can do at best: how fast all threads
// together read memory and multiply. Speeds of a model are told as shares of
// these limits, measured in the same run.
package machine

//go:generate sh -c "cd _asm && go run . -out ../loops_amd64.s -stubs ../loops_amd64.go -pkg machine"

import (
	"errors"
	"sync"
	"time"

	"gorun/internal/arena"
)

// Limits are the limits of a machine. Zero: not known.
type Limits struct {
	ReadBytesPerSecond float64 `json:"read_bytes_per_second"`
	// FlopsPerSecond counts a float32 multiply-add as two.
	FlopsPerSecond float64 `json:"fp32_flops_per_second"`
}

// readBytes is what each thread reads in a turn, well beyond caches.
const readBytes = 128 << 20

// turns of each measurement, some 20 ms together; the best counts, since a
// neighbour can only make it worse.
const turns = 3

// A Meter measures the limits of a number of threads again and again, so that
// what is told as a share of them can be measured in between: the speed of
// shared machines changes from second to second.
type Meter struct {
	memory []*arena.Arena
}

// NewMeter takes 128 MiB of memory for each thread.
func NewMeter(threads int) (*Meter, error) {
	m := &Meter{}
	for range threads {
		a, err := arena.New(readBytes)
		if err != nil {
			return nil, errors.Join(err, m.Close())
		}
		m.memory = append(m.memory, a)
		b := a.Bytes()
		for at := 0; at < readBytes; at += 4096 {
			b[at] = 1 // so that each page is there, and not the zero page
		}
	}
	return m, nil
}

// Close gives the memory back.
func (m *Meter) Close() error {
	var errs []error
	for _, a := range m.memory {
		errs = append(errs, a.Free())
	}
	m.memory = nil
	return errors.Join(errs...)
}

// Measure takes some 50 ms.
func (m *Meter) Measure() Limits {
	const n = 1 << 20
	l := Limits{ReadBytesPerSecond: m.best(readBytes, func(i int) { read(m.memory[i].Bytes()) })}
	if loop, flops := multiplyAdd(); loop != nil {
		l.FlopsPerSecond = m.best(float64(n*flops), func(int) { loop(n) })
	}
	return l
}

// best is the largest rate, in units per second, at which all threads do work
// of so many units each.
func (m *Meter) best(units float64, work func(thread int)) (rate float64) {
	for range turns {
		var all sync.WaitGroup
		begin := time.Now()
		for i := range m.memory {
			all.Go(func() { work(i) })
		}
		all.Wait()
		rate = max(rate, units*float64(len(m.memory))/time.Since(begin).Seconds())
	}
	return rate
}

// Between is the mean of two measurements: what to expect between them.
func Between(a, b Limits) Limits {
	return Limits{(a.ReadBytesPerSecond + b.ReadBytesPerSecond) / 2, (a.FlopsPerSecond + b.FlopsPerSecond) / 2}
}
